"""Kind ``eks-cluster``: a control plane that EKS runs; its engine id is its ARN, as is that of a later namesake.

Request: ``name``, ``version`` (``1.33``), ``role_arn``, ``subnets``, ``security_groups``, ``endpoint_public``,
``endpoint_private``, ``public_cidrs``, ``logging`` (the types that are on), ``access_mode``, ``creator_admin``,
``self_managed_addons``, ``encryption_key``, ``upgrade_policy``, ``service_cidr``. Lists are sorted; an empty text or
list means that nothing is said of it. How it is changed is in :mod:`eks_updates`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freehold.engine.errors import CloudError, InUse, Invalid, NotReady
from freehold.engine.kinds import AttributeRules, CreateRules, DeleteRules, Kind, NameRules
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, State, Want
from freehold.providers.aws import delete_blockers, eks
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.eks import SERVICE, cluster_name
from freehold.providers.aws.eks_cluster_view import OUTPUTS, decode
from freehold.providers.aws.eks_updates import MUTABLE, Updates, count_updates, encryption
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import READS_AT_ONCE, chunks

ROLE_SECONDS = 30.0
"""Seconds until a new role can surely be used."""


class EksClusterDriver:
    """A driver. Node groups and Fargate profiles keep a cluster; addons and access entries go with it."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._updates = Updates(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        try:
            body = await self._client.write(
                SERVICE,
                "create_cluster",
                request["name"],
                clientRequestToken=birth.token,
                tags=birth_tags.tags_of(birth),
                **_parameters(request),
            )
        except NotReady as refused:
            raise eks.more_slowly(refused, ROLE_SECONDS) from refused
        except Invalid as refused:
            raise await self._updates.explain_unknown_version(refused, str(request.get("version", ""))) from refused
        return decode(body["cluster"]).to_observed()

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        found = await eks.read_all([self._read_named(cluster_name(ref.id)) for ref in refs])
        return {seen.id: seen.to_observed() for seen in found if seen}

    async def _read_named(self, name: str) -> DecodedResource | None:
        body = await eks.describe_cluster(self._client, name)
        return decode(body) if body else None

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        found = await eks.read_all([self._read_named(want.name) for want in wants])
        return {want.key: [seen.to_observed()] if seen else [] for want, seen in zip(wants, found, strict=True)}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Search the whole region: the list has names only, so each cluster is asked for its birth mark."""
        listed = await self._client.read_list(SERVICE, "list_clusters", "clusters", "all", maxResults=100)
        wanted = {want.name for want in wants}
        found: list[Observed] = []
        for some in chunks(sorted({*map(str, listed), *wanted}), READS_AT_ONCE):
            found += [
                seen.to_observed()
                for seen in await eks.read_all([self._read_named(name) for name in some])
                if seen and (seen.name in wanted or birth_tags.has_birth_nonce(seen.tags, nonces))
            ]
        return found

    def identify(self, target: str, carried: str = "") -> str:
        return eks.identify(target, "cluster")

    async def update(self, ref: Ref, changes: Request) -> None:
        await self._updates.send_next(cluster_name(ref.id), changes)

    async def find_impossible(self, seen: Observed, changes: Request) -> Mapping[str, CloudError]:
        return await self._updates.find_impossible(seen, changes)

    async def delete(self, ref: Ref) -> None:
        """Delete it. Node groups and Fargate profiles in it are named."""
        name = cluster_name(ref.id)
        try:
            await self._client.write(SERVICE, "delete_cluster", name, name=name)
        except InUse as refused:
            raise refused.held_by(", ".join(await self._list_contents(name))) from refused

    async def _list_contents(self, name: str) -> list[str]:
        """List what keeps a cluster; nothing where that may not be listed."""
        try:
            groups = await eks.list_names(self._client, "list_nodegroups", "nodegroups", name)
            profiles = await eks.list_names(self._client, "list_fargate_profiles", "fargateProfileNames", name)
        except CloudError:
            return []
        return [*(f"node group {each}" for each in groups), *(f"Fargate profile {each}" for each in profiles)]

    async def leftovers(self, ref: Ref) -> Sequence[str]:
        """List the interfaces of the control plane that EKS has not taken away yet: they hold subnets and groups.

        Those of a later cluster of the name, which is not ours, are called the same.
        """
        name = cluster_name(ref.id)
        found = await delete_blockers.described_interfaces(self._client, f"Amazon EKS {name}")
        later = await self._read_named(name) if found else None
        return [] if later and later.state is not State.DELETING else found


def _parameters(request: Request) -> Json:
    """Return the parameters of a create: of what the request says nothing, EKS's own choice is left."""
    public = bool(request["endpoint_public"])
    network: Json = {
        "subnetIds": list(request["subnets"]),
        "endpointPublicAccess": public,
        "endpointPrivateAccess": bool(request["endpoint_private"]),
    }
    if groups := list(request.get("security_groups") or ()):
        network["securityGroupIds"] = groups
    if public and (cidrs := list(request.get("public_cidrs") or ())):
        network["publicAccessCidrs"] = cidrs
    said: dict[str, Any] = {
        "version": request.get("version"),
        "kubernetesNetworkConfig": (cidr := request.get("service_cidr")) and {"serviceIpv4Cidr": cidr},
        "logging": (types := request.get("logging")) and {"clusterLogging": [{"types": list(types), "enabled": True}]},
        "encryptionConfig": (key := request.get("encryption_key")) and encryption(key),
        "upgradePolicy": (policy := request.get("upgrade_policy")) and {"supportType": policy},
    }
    access: Json = {"bootstrapClusterCreatorAdminPermissions": bool(request.get("creator_admin", True))}
    if mode := request.get("access_mode"):
        access["authenticationMode"] = mode
    return {
        "name": request["name"],
        "roleArn": request["role_arn"],
        "resourcesVpcConfig": network,
        "accessConfig": access,
        "bootstrapSelfManagedAddons": bool(request.get("self_managed_addons", True)),
        **{name: value for name, value in said.items() if value},
    }


def kind(client: AwsClient) -> Kind:
    driver = EksClusterDriver(client)
    return aws_kind(
        "eks-cluster",
        driver,
        requires=("subnet", "security-group", "iam-role"),
        naming=NameRules(name_in_region=True, id_returns=True),
        attributes=AttributeRules(
            mutable=MUTABLE,
            judge=driver,
            chosen=frozenset({"public_cidrs", "upgrade_policy", "service_cidr", "access_mode"}),
            calls_a_change=count_updates,
            create_only=frozenset({"creator_admin", "self_managed_addons"}),
            outputs=OUTPUTS,
            addresses=frozenset({"address"}),
        ),
        creation=CreateRules(never_recreate=True),
        deletion=DeleteRules(before_collection=True, leftovers=driver),
    )
