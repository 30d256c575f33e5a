"""Kind ``eks-addon``: software that EKS keeps in a cluster; its engine id is its ARN, which is unique.

Request: ``cluster`` (its name), ``name``, ``version``, ``configuration`` (JSON as text), ``role_arn``,
``resolve_conflicts`` (``OVERWRITE``, ``NONE``, ``PRESERVE``), ``preserve``: its objects stay in the cluster when it is
deleted. An empty text means that nothing is said of it. An addon that lacks nodes is there, and has an issue
(:attr:`Observed.vendor_state`).
"""

from __future__ import annotations

from collections.abc import Mapping

from freehold.engine.kinds import AttributeRules, DeleteRules, Kind
from freehold.engine.resources import Birth, Observed, Ref, Request, State
from freehold.providers.aws import eks
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource, epoch
from freehold.providers.aws.eks import CLUSTER_KIND, InnerDriver, InnerName
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.tags import birth_tags

PRESERVE = "preserve"
_STATES: Mapping[str, State] = {
    "CREATING": State.PENDING,
    "ACTIVE": State.READY,
    "DEGRADED": State.READY,
    "UPDATING": State.READY,
    "UPDATE_FAILED": State.READY,
    "DELETE_FAILED": State.READY,
    "CREATE_FAILED": State.FAILED,
    "DELETING": State.DELETING,
}
_NO_CONFIGURATION = "{}"
_MEMBERS: Mapping[str, str] = {
    "version": "addonVersion",
    "role_arn": "serviceAccountRoleArn",
    "configuration": "configurationValues",
    "resolve_conflicts": "resolveConflicts",
}


def decode(body: Json) -> DecodedResource:
    arn, word = body["addonArn"], body["status"]
    configuration = body.get("configurationValues") or ""
    return DecodedResource(
        id=arn,
        arn=arn,
        state=_STATES.get(word, State.PENDING),
        vendor_state=word,
        tags=body.get("tags") or {},
        attributes={
            "cluster": body["clusterName"],
            "name": body["addonName"],
            "version": body.get("addonVersion", ""),
            "role_arn": body.get("serviceAccountRoleArn") or "",
            "configuration": "" if configuration == _NO_CONFIGURATION else configuration,
            "issue": eks.health_of(body),
        },
        created_at=epoch(body.get("createdAt")),
        message=eks.health_of(body),
        busy=f"EKS is updating the addon {body['addonName']}" if word == "UPDATING" else "",
    )


class EksAddonDriver(InnerDriver):
    """A driver. An addon goes with its cluster."""

    async def create(self, request: Request, birth: Birth) -> Observed:
        said = {member: request[name] for name, member in _MEMBERS.items() if request.get(name)}
        body = await self._write(
            "create_addon",
            request["name"],
            clusterName=request["cluster"],
            addonName=request["name"],
            clientRequestToken=birth.token,
            tags=birth_tags.tags_of(birth),
            **said,
        )
        return decode(body["addon"]).to_observed()

    async def update(self, ref: Ref, changes: Request) -> None:
        """Change it. EKS keeps neither role nor conflict policy of an update that does not name them.

        Raises NotReady while EKS is at it, because what is to be read then is what was before.
        """
        cluster, name = _place(ref)
        is_ = await self._read_named(cluster, name)
        if is_ is None or not any(is_.attributes[each] != changes[each] for each in _find_said(changes)):
            return
        said = {member: changes[each] for each, member in _MEMBERS.items() if changes.get(each)}
        if changes.get("configuration") == "" and is_.attributes["configuration"]:
            said["configurationValues"] = _NO_CONFIGURATION
        token = {"clientRequestToken": eks.one_time_token()}
        await self._write("update_addon", f"{name} of {cluster}", clusterName=cluster, addonName=name, **token, **said)
        raise eks.is_being_updated(f"the addon {name} of cluster {cluster}")

    async def delete(self, ref: Ref) -> None:
        cluster, name = _place(ref)
        kept = {"preserve": True} if PRESERVE in ref.told else {}
        await self._write("delete_addon", f"{name} of {cluster}", clusterName=cluster, addonName=name, **kept)

    async def _read_named(self, cluster: str, name: str) -> DecodedResource | None:
        body = await eks.describe(
            self._client, "describe_addon", f"{name} of {cluster}", "addon", clusterName=cluster, addonName=name
        )
        return decode(body) if body else None

    async def _read_by_id(self, ident: str) -> DecodedResource | None:
        named = InnerName.parse(ident)
        seen = await self._read_named(named.cluster, named.rest) if named else None
        return seen if seen and seen.id == ident else None

    async def _list_names(self, cluster: str) -> list[str]:
        return await eks.list_names(self._client, "list_addons", "addons", cluster)

    def _name_of(self, request: Request) -> str:
        return str(request["name"])


_COMPARED = frozenset({"version", "role_arn", "configuration"})
_CHOSEN = frozenset({"version", "role_arn"})


def _find_said(changes: Request) -> frozenset[str]:
    """Return the attributes of which a request says something."""
    return frozenset(name for name in _COMPARED & changes.keys() if changes[name] or name not in _CHOSEN)


def _place(ref: Ref) -> tuple[str, str]:
    named = InnerName.parse(ref.id)
    assert named is not None, f"{ref.id} is no addon"
    return named.cluster, named.rest


def kind(client: AwsClient) -> Kind:
    driver = EksAddonDriver(client, "addon")
    return aws_kind(
        "eks-addon",
        driver,
        requires=(CLUSTER_KIND,),
        parent_kind=CLUSTER_KIND,
        attributes=AttributeRules(
            mutable=_COMPARED,
            chosen=_CHOSEN,
            beside=frozenset({"role_arn", "resolve_conflicts"}),
            calls_a_change=lambda changes: 1,
            create_only=frozenset({PRESERVE}),
        ),
        deletion=DeleteRules(prunable=True, told=frozenset({PRESERVE})),
    )
