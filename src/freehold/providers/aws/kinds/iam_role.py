"""Kind ``iam-role``: its engine id is its name, which is unique in the account; a later one of it has another RoleId.

Request: ``name``, ``path``, ``trust`` (who may take it, as :func:`policy_json.canonical_policy` spells it) and
``permissions_boundary``, empty for none. Managed policies that are attached to it are parts: :func:`policy_part`. IAM
is global: the session's region selects the partition only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from freehold.engine.errors import CloudError, InUse, NotFound
from freehold.engine.kinds import AttributeRules, DeleteRules, Kind, NameRules, PartRules, ReadRules
from freehold.engine.resources import (
    Birth,
    NodeKey,
    NonceSet,
    Observed,
    ParentResource,
    Part,
    Ref,
    Request,
    State,
    Want,
)
from freehold.providers.aws import policy_json
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource, epoch
from freehold.providers.aws.iam import SERVICE, IamReader
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.permissions.policies import NAMES_END
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import tag_map

POLICY, CLUSTER_POLICY = "policy", "cluster-policy"
EKS_POLICY = "AmazonEKSClusterPolicy"
"""AWS's policy for the roles of clusters (https://docs.aws.amazon.com/eks/latest/userguide/cluster-iam-role.html)."""
_TYPE = "role"


def policy_part(arn: str) -> Part:
    """Return the part of an attached managed policy.

    That for clusters is of a sort of its own: on a role of ours it is ours, also where a lost journal does not say so.
    """
    return Part(CLUSTER_POLICY if arn.endswith(f":iam::aws:policy/{EKS_POLICY}") else POLICY, arn)


def decode(body: Json) -> DecodedResource:
    """Decode what GetRole shows. ListRoles shows neither tags nor boundary."""
    return DecodedResource(
        id=body["RoleName"],
        arn=body["Arn"],
        state=State.READY,
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "name": body["RoleName"],
            "path": body["Path"],
            "trust": policy_json.canonical_policy(body.get("AssumeRolePolicyDocument", "")),
            "permissions_boundary": body.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn", ""),
            "arn": body["Arn"],
        },
        shows_parts=False,
        created_at=epoch(body.get("CreateDate")),
        incarnation=body["RoleId"],
    )


class IamRoleDriver:
    """A driver. A create is refused if the name is taken, by anybody."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._reader = IamReader(client, "get_role", "RoleName", lambda name, reply: decode(reply["Role"]))

    async def create(self, request: Request, birth: Birth) -> Observed:
        boundary = request["permissions_boundary"]
        body = await self._write(
            "create_role",
            request["name"],
            Path=request["path"],
            AssumeRolePolicyDocument=request["trust"],
            Tags=birth_tags.birth_tag_list(birth),
            **({"PermissionsBoundary": boundary} if boundary else {}),
        )
        return decode(body["Role"]).to_observed()

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        return await self._reader.read(ref.id for ref in refs)

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        found = await self._reader.read(want.name for want in wants)
        return {want.key: [found[want.name]] if want.name in found else [] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Search for birth marks. The list shows no tags, so each role that has a name like ours is read."""
        found = await self._reader.read(want.name for want in wants)
        rows = await self._client.read_list(SERVICE, "list_roles", "Roles", f"all that end in {NAMES_END}")
        others = {str(row["RoleName"]) for row in rows if str(row["RoleName"]).endswith(NAMES_END)} - found.keys()
        return [*found.values(), *(await self._reader.read_born(sorted(others), nonces)).values()]

    def identify(self, target: str, carried: str = "") -> str:
        """Return the name, which is the last part of an ARN with a path."""
        arn = Arn.parse(target)
        return arn.id.rpartition("/")[2] if arn and (arn.service, arn.type) == (SERVICE, _TYPE) else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        if "trust" in changes:
            await self._write("update_assume_role_policy", ref.id, PolicyDocument=changes["trust"])
        if boundary := changes.get("permissions_boundary"):
            await self._write("put_role_permissions_boundary", ref.id, PermissionsBoundary=boundary)
        elif "permissions_boundary" in changes:
            with suppress(NotFound):
                await self._write("delete_role_permissions_boundary", ref.id)

    async def delete(self, ref: Ref) -> None:
        """Delete it. IAM refuses that while it has a policy or a profile, and does not say which."""
        try:
            await self._write("delete_role", ref.id)
        except InUse as refused:
            raise refused.held_by(", ".join(await self._list_holders(ref.id))) from refused

    async def _list_holders(self, name: str) -> list[str]:
        """List what keeps IAM from deleting it, each with the command that takes it away; nothing if that is denied."""
        role = f"--role-name {name}"
        try:
            attached = await self._list("list_attached_role_policies", "AttachedPolicies", name)
            inline = await self._list("list_role_policies", "PolicyNames", name)
            profiles = await self._list("list_instance_profiles_for_role", "InstanceProfiles", name)
        except CloudError:
            return []
        detach = f"aws iam detach-role-policy {role} --policy-arn"
        remove = f"aws iam remove-role-from-instance-profile {role} --instance-profile-name"
        return [
            *(f"policy {row['PolicyArn']}: {detach} {row['PolicyArn']}" for row in attached),
            *(f"inline policy {each}: aws iam delete-role-policy {role} --policy-name {each}" for each in inline),
            *(
                f"instance profile {row['InstanceProfileName']}: {remove} {row['InstanceProfileName']}"
                for row in profiles
            ),
        ]

    # -- parts --------------------------------------------------------------------------------------------------

    async def parts(self, ref: Ref) -> frozenset[Part]:
        rows = await self._list("list_attached_role_policies", "AttachedPolicies", ref.id)
        return frozenset(policy_part(row["PolicyArn"]) for row in rows)

    async def add_part(self, ref: Ref, part: Part) -> None:
        """Attach a policy, which may be attached already."""
        await self._write("attach_role_policy", ref.id, PolicyArn=part.natural_key)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        """Detach a policy, which may be detached already."""
        with suppress(NotFound):
            await self._write("detach_role_policy", ref.id, PolicyArn=part.natural_key)

    # -- calls --------------------------------------------------------------------------------------------------

    async def _list(self, operation: str, items: str, name: str) -> list[Any]:
        return await self._client.read_list(SERVICE, operation, items, name, RoleName=name)

    async def _write(self, operation: str, name: str, **what: Any) -> Json:
        return await self._client.write(SERVICE, operation, name, RoleName=name, **what)


def kind(client: AwsClient) -> Kind:
    driver, both = IamRoleDriver(client), frozenset({CLUSTER_POLICY, POLICY})
    return aws_kind(
        "iam-role",
        driver,
        naming=NameRules(name_in_region=True, id_returns=True),
        attributes=AttributeRules(
            mutable=frozenset({"trust", "permissions_boundary"}),
            outputs=frozenset({"arn"}),
        ),
        parts=PartRules(
            exclusive=frozenset({CLUSTER_POLICY}), essential=both, holding=both, independent=True, driver=driver
        ),
        deletion=DeleteRules(after_collection=True, gone_at_once=True),
        reads=ReadRules(indexed=False),
    )
