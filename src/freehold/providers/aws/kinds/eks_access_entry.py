"""Kind ``eks-access-entry``: a principal of IAM that a cluster lets in; its engine id is its ARN, which is unique.

Request: ``cluster`` (its name), ``principal_arn``, ``type`` (``STANDARD``, ``EC2_LINUX``), ``groups`` (sorted),
``username``; groups and an own user name only with ``STANDARD``, an empty user name leaves it to EKS. Parts:
:func:`policy_part`.
"""

from __future__ import annotations

from collections.abc import Collection

from freehold.engine.errors import Invalid, NotFound
from freehold.engine.kinds import AttributeRules, DeleteRules, Kind, PartRules
from freehold.engine.resources import Birth, Observed, Part, Ref, Request, State
from freehold.providers.aws import eks, errors
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource, epoch
from freehold.providers.aws.eks import CLUSTER_KIND, SERVICE, InnerDriver, InnerName
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.tags import birth_tags

POLICY = "access-policy"
STANDARD, EC2_LINUX = "STANDARD", "EC2_LINUX"


def decode(body: Json) -> DecodedResource:
    """Decode an entry. What EKS gives the nodes of other types is no attribute."""
    arn, standard = body["accessEntryArn"], body.get("type") == STANDARD
    return DecodedResource(
        id=arn,
        arn=arn,
        state=State.READY,
        tags=body.get("tags") or {},
        attributes={
            "cluster": body["clusterName"],
            "name": body["principalArn"],
            "principal_arn": body["principalArn"],
            "type": body.get("type", ""),
            "groups": sorted(body.get("kubernetesGroups") or ()) if standard else [],
            "username": (body.get("username") or "") if standard else "",
        },
        created_at=epoch(body.get("createdAt")),
        shows_parts=False,
    )


def policy_part(policy_arn: str, namespaces: Collection[str] = ()) -> Part:
    """Return the part of a policy that holds in the whole cluster, or in some namespaces."""
    names = sorted(namespaces)
    scope: Json = {"type": "namespace", "namespaces": names} if names else {"type": "cluster"}
    text = f"namespace:{','.join(names)}" if names else "cluster"
    return Part(POLICY, f"{policy_arn} {text}", request={"policyArn": policy_arn, "accessScope": scope})


class EksAccessEntryDriver(InnerDriver):
    """A driver. An entry is there at once and gone at once."""

    def __init__(self, client: AwsClient) -> None:
        super().__init__(client, "access-entry")
        self._principals: dict[str, str] = {}
        """The principals of entries that were seen: their ARNs name them without the paths."""

    async def create(self, request: Request, birth: Birth) -> Observed:
        said: Json = {"type": request["type"]}
        if request.get("groups"):
            said["kubernetesGroups"] = list(request["groups"])
        if request.get("username"):
            said["username"] = request["username"]
        body = await self._write(
            "create_access_entry",
            str(request.get("name") or request["principal_arn"]),
            clusterName=request["cluster"],
            principalArn=request["principal_arn"],
            clientRequestToken=birth.token,
            tags=birth_tags.tags_of(birth),
            **said,
        )
        return self._decode(body["accessEntry"]).to_observed()

    async def update(self, ref: Ref, changes: Request) -> None:
        said: Json = {}
        if "groups" in changes:
            said["kubernetesGroups"] = list(changes["groups"])
        if "username" in changes:
            said["username"] = changes["username"]
        await self._change("update_access_entry", ref, clientRequestToken=eks.one_time_token(), **said)

    async def delete(self, ref: Ref) -> None:
        await self._change("delete_access_entry", ref)

    async def _change(self, operation: str, ref: Ref, **what: object) -> None:
        named, principal = InnerName.parse(ref.id), await self._principal_of(ref.id)
        if named is None or not principal:
            raise NotFound(f"EKS does not show the access entry {ref.id}", advice="Check that it still exists")
        subject = f"{principal} in {named.cluster}"
        await self._write(operation, subject, clusterName=named.cluster, principalArn=principal, **what)

    # -- reads ----------------------------------------------------------------------------------------------------

    async def _read_named(self, cluster: str, name: str) -> DecodedResource | None:
        try:
            body = await eks.describe(
                self._client, "describe_access_entry", f"{name} in {cluster}", "accessEntry",
                clusterName=cluster, principalArn=name,
            )  # fmt: skip
        except Invalid:
            if not await self._has_no_entries(cluster):
                raise
            return None
        return self._decode(body) if body else None

    async def _has_no_entries(self, cluster: str) -> bool:
        """Return whether this cluster knows users by its ConfigMap alone: a later one of the name may, never ours."""
        body = await eks.describe_cluster(self._client, cluster)
        return (body.get("accessConfig") or {}).get("authenticationMode") == "CONFIG_MAP"

    def _decode(self, body: Json) -> DecodedResource:
        seen = decode(body)
        self._principals[seen.id] = seen.name
        return seen

    async def _read_by_id(self, ident: str) -> DecodedResource | None:
        """Read what has this ARN, whose principal was seen before, has no path, or is one of those with its name."""
        named = InnerName.parse(ident)
        if named is None:
            return None
        first = self._principals.get(ident) or _without_path(ident, named)
        seen = await self._read_named(named.cluster, first)
        if (seen and seen.id == ident) or ident in self._principals:
            return seen if seen and seen.id == ident else None
        try:
            principals = await self._list_names(named.cluster)
        except NotFound:
            return None
        word = named.rest.rpartition("/")[2]
        for principal in principals:
            if principal != first and principal.rpartition("/")[2] == word:
                seen = await self._read_named(named.cluster, principal)
                if seen and seen.id == ident:
                    return seen
        return None

    async def _principal_of(self, ident: str) -> str:
        if ident not in self._principals:
            await self._read_by_id(ident)
        return self._principals.get(ident, "")

    async def _list_names(self, cluster: str) -> list[str]:
        try:
            return await eks.list_names(self._client, "list_access_entries", "accessEntries", cluster)
        except Invalid:
            if not await self._has_no_entries(cluster):
                raise
            return []

    def _name_of(self, request: Request) -> str:
        return str(request["principal_arn"])

    # -- policies -------------------------------------------------------------------------------------------------

    async def parts(self, ref: Ref) -> frozenset[Part]:
        named, principal = InnerName.parse(ref.id), await self._principal_of(ref.id)
        if named is None or not principal:
            return frozenset()
        try:
            rows = await self._client.read_list(
                SERVICE, "list_associated_access_policies", "associatedAccessPolicies", principal,
                clusterName=named.cluster, principalArn=principal,
            )  # fmt: skip
        except errors.ListNotFound as missing:
            raise NotFound(missing.fact, advice="Check that it still exists", code=missing.code) from missing
        return frozenset(policy_part(row["policyArn"], row["accessScope"].get("namespaces") or ()) for row in rows)

    async def add_part(self, ref: Ref, part: Part) -> None:
        """Associate a policy. One that is associated gets another scope."""
        await self._change("associate_access_policy", ref, **part.request)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        """Take a policy away, unless it is there with another scope, which has taken the place of this one."""
        if part in await self.parts(ref):
            await self._change("disassociate_access_policy", ref, policyArn=part.natural_key.partition(" ")[0])


def _without_path(ident: str, named: InnerName) -> str:
    """Return the principal of an entry ``role/<account>/<name>``, if it has no path."""
    arn = Arn.parse(ident)
    kind_, account, name = [*named.rest.split("/", 2), "", ""][:3]
    return f"arn:{arn.partition if arn else 'aws'}:iam::{account}:{kind_}/{name}"


def kind(client: AwsClient) -> Kind:
    driver = EksAccessEntryDriver(client)
    return aws_kind(
        "eks-access-entry",
        driver,
        requires=(CLUSTER_KIND,),
        parent_kind=CLUSTER_KIND,
        attributes=AttributeRules(
            mutable=frozenset({"groups", "username"}),
            chosen=frozenset({"username"}),
            calls_a_change=lambda changes: 1,
        ),
        parts=PartRules(driver=driver, independent=True),
        deletion=DeleteRules(prunable=True, gone_at_once=True),
    )
