"""Facts of an account and region that a cluster's plan depends on. Cached: they change slowly."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, NotFound
from freehold.engine.keyed_codec import UUID
from freehold.engine.port import run_together
from freehold.engine.resources import State
from freehold.providers.aws.answer_cache import AnswerCache
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.kinds import nat_gateway, route_table, security_group, subnet, vpc
from freehold.providers.aws.reading import read_by_filter, read_by_id
from freehold.providers.aws.tags.capa_tags import Lifecycle, cloud_provider_key, cluster_key
from freehold.providers.aws.tags.native_tags import NativeTags, TagsByArn, group_by_keeper
from freehold.providers.aws.tags.tag_map import find_foreign
from freehold.providers.aws.zones import AVAILABILITY_ZONE, Zone, read_zones

BASTION_IMAGE = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"
"""The newest Ubuntu of the release that upstream's bastion has
(https://documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images/)."""
_SLOW, _NETWORK = 3 * 3600.0, 300.0


class TagSearch(Protocol):
    async def find_by_tag(self, key: str, values: Sequence[str] = ()) -> TagsByArn:
        """Return what has this tag in this region, of every owner; with one of ``values`` where any are given."""
        ...


@dataclass(frozen=True)
class SubnetFacts:
    """A subnet. ``public``: its route table has a route to an internet gateway. ``ipv6``: it has an IPv6 range.

    ``way_out``: the id of the target of its route to all IPv4 addresses, empty where it has none. A zone that is not
    listed, of a VPC of another account, counts as an availability zone.
    """

    id: str
    zone: str
    cidr: str
    public: bool
    ipv6: bool
    zone_type: str = AVAILABILITY_ZONE
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    way_out: str = ""


class AwsFacts:
    """Facts for one identity in one region. A missing resource is read again each time."""

    def __init__(self, client: AwsClient, tags: TagSearch, clock: Clock) -> None:
        self._client = client
        self._tags = tags
        self._answers = AnswerCache(clock)

    @property
    def not_bound(self) -> str:
        """The reason why AWS does not check the owner before a delete by a role; else empty."""
        found = self._client.session.not_bound
        return found.why if found else ""

    async def zones(self) -> tuple[str, ...]:
        """Return the names of the availability zones that can be used."""
        found = [each for each in await self._read_zones() if each.type == AVAILABILITY_ZONE and each.usable]
        if not found:
            self._answers.forget("zones")
        return tuple(each.name for each in found)

    async def _read_zones(self) -> tuple[Zone, ...]:
        return await self._answers.ask_once("zones", _SLOW, lambda: read_zones(self._client))

    async def subnets(self, ident: str) -> tuple[SubnetFacts, ...] | None:
        """Return the subnets of a VPC, sorted; None where there is no VPC of this id."""
        found = await self._answers.ask_once(("subnets", ident), _NETWORK, lambda: self._read_subnets(ident))
        types = await self._zone_types()
        return found and tuple(replace(each, zone_type=types.get(each.zone, AVAILABILITY_ZONE)) for each in found)

    async def nat_addresses(self, ident: str) -> Mapping[str, tuple[str, ...]]:
        """Return the public addresses of a VPC's NAT gateways that are ready or pending, by gateway id."""
        return await self._answers.ask_once(("nat", ident), _NETWORK, lambda: self._read_nat_addresses(ident))

    async def _read_nat_addresses(self, ident: str) -> Mapping[str, tuple[str, ...]]:
        found = await read_by_filter(self._client, nat_gateway.READ, "vpc-id", [ident])
        there = [each for each in found if each.state in (State.READY, State.PENDING)]
        return {each.id: each.attributes["addresses"] for each in there}

    async def _zone_types(self) -> Mapping[str, str]:
        """Return the types of zones by name; empty where the zones may not be listed.

        Nothing is created then (:meth:`zones`), and a delete goes on, which needs no type.
        """
        try:
            return {each.name: each.type for each in await self._read_zones()}
        except CloudError:
            return {}

    async def has_ipv6(self, ident: str) -> bool | None:
        """Return whether a VPC has a range of IPv6 or is being given one; None where there is no VPC of this id."""
        return await self._answers.ask_once(("ipv6", ident), _NETWORK, lambda: self._read_has_ipv6(ident))

    async def bastion_image(self) -> str | None:
        """Return the id of the newest image; None where AWS offers none in this region."""
        return await self._answers.ask_once("image", _SLOW, self._read_image)

    async def vpcs_of_groups(self, idents: Collection[str]) -> Mapping[str, str]:
        """Return the VPCs of existing groups, by group id. Not cached: it is called only until something is created."""
        found = await read_by_id(self._client, security_group.READ, idents)
        return {ident: seen.attributes["vpc_id"] for ident, seen in found.items()}

    async def namesakes(self, cluster: str, uuid: str, of_workloads: str = "") -> TagsByArn:
        """Return what CAPA's tag or the cloud controller's gives to a cluster of this name, of this owner too.

        ``of_workloads`` is the name in the cloud controller's tag, ``cluster`` where it is empty.

        Not cached: it decides whether to create. The index still shows resources that are gone, so those of others are
        read from their own services.
        """
        name = of_workloads or cluster
        shown = await self._find_named(cluster, name)
        own = {arn: tags for arn, tags in shown.items() if tags.get(UUID) == uuid}
        if all(map(_has_instance_tags, find_foreign(uuid, shown))):
            return own
        there = await self._drop_ended([arn for arn in shown if not _has_instance_tags(arn)], shown)
        return {arn: tags for arn, tags in there.items() if _has_cluster_tag(tags, cluster, name)}

    async def _find_named(self, cluster: str, of_workloads: str) -> TagsByArn:
        """Return what has either tag.

        The index has no query for "this key or that one", and shows a new resource late; EC2's own list shows one at
        once. https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html
        """
        keys = [cluster_key(cluster), cloud_provider_key(of_workloads)]
        asked = (
            self._tags.find_by_tag(keys[0]),
            self._tags.find_by_tag(keys[1], [Lifecycle.OWNED.value]),
            NativeTags(self._client).find_in_ec2(f"of cluster {cluster}", [{"Name": "key", "Values": keys}]),
        )
        found: TagsByArn = {}
        for answer in await run_together(asked):
            if isinstance(answer, Exception):
                raise answer
            found |= {arn: tags for arn, tags in answer.items() if _has_cluster_tag(tags, cluster, of_workloads)}
        return found

    async def _drop_ended(self, arns: Collection[str], shown: TagsByArn) -> TagsByArn:
        """Return those that exist, with their own tags; with the index's tags where their service cannot be read."""
        askable = {arn for group in group_by_keeper(arns).values() for arn in group}
        own = await NativeTags(self._client).tags_of(askable)
        ended = await self._find_ended(own)
        found = {arn: tags for arn, tags in own.items() if arn not in ended}
        return found | {arn: shown[arn] for arn in arns if arn not in askable}

    async def _find_ended(self, arns: Collection[str]) -> frozenset[str]:
        """Return those that have ended: AWS shows them, with their tags, for an hour."""
        ids = {arn: ident for arn in arns if (ident := arn.rpartition("/")[2]).startswith(("nat-", "i-"))}
        nats = [ident for ident in ids.values() if ident.startswith("nat-")]
        machines = [ident for ident in ids.values() if ident.startswith("i-")]
        there = {*await read_by_id(self._client, nat_gateway.READ, nats), *await self._find_unterminated(machines)}
        return frozenset(arn for arn, ident in ids.items() if ident not in there)

    async def _find_unterminated(self, idents: Sequence[str]) -> frozenset[str]:
        if not idents:
            return frozenset()
        states = ["pending", "running", "shutting-down", "stopping", "stopped"]
        filters = [{"Name": "instance-id", "Values": list(idents)}, {"Name": "instance-state-name", "Values": states}]
        rows = await self._client.read_list(
            "ec2", "describe_instances", "Reservations", ", ".join(idents), Filters=filters, MaxResults=1000
        )
        return frozenset(each["InstanceId"] for row in rows for each in row["Instances"])

    async def _read_subnets(self, ident: str) -> tuple[SubnetFacts, ...] | None:
        if ident not in await read_by_id(self._client, vpc.READ, [ident]):
            return None
        subnets = await read_by_filter(self._client, subnet.READ, "vpc-id", [ident])
        tables = await read_by_filter(self._client, route_table.READ, "vpc-id", [ident])
        table_of = _tables_of(tables, {each.id for each in subnets})
        found = (_subnet_facts(each, table_of[each.id]) for each in subnets)
        return tuple(sorted(found, key=lambda each: each.id))

    async def _read_has_ipv6(self, ident: str) -> bool | None:
        found = await read_by_id(self._client, vpc.READ, [ident])
        return bool(found[ident].attributes["ipv6"]) if ident in found else None

    async def _read_image(self) -> str | None:
        try:
            body = await self._client.read("ssm", "get_parameter", BASTION_IMAGE, Name=BASTION_IMAGE)
        except NotFound:
            return None
        return str(body["Parameter"]["Value"])


def _has_cluster_tag(tags: Mapping[str, str], cluster: str, of_workloads: str) -> bool:
    """Return whether the tags give it to the cluster: CAPA's tag, or the cloud controller's and CAPA's collector's.

    The collector takes what has their tag with ``owned``; ``shared`` is on networks that clusters only use
    (https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/gc/cleanup.go).
    """
    return cluster_key(cluster) in tags or tags.get(cloud_provider_key(of_workloads)) == Lifecycle.OWNED.value


def _has_instance_tags(arn: str) -> bool:
    """Return whether it is a volume or interface: these have the tags of their instance, without marks."""
    parsed = Arn.parse(arn)
    return parsed is not None and parsed.type in ("volume", "network-interface")


def _subnet_facts(seen: DecodedResource, table: DecodedResource | None) -> SubnetFacts:
    ipv6 = any(part.kind == subnet.IPV6_CIDR for part in seen.parts)
    ways = {part.natural_key: part.behavior for part in table.parts if part.kind == route_table.ROUTE} if table else {}
    public = any(way.startswith("igw-") for way in ways.values())
    return SubnetFacts(
        seen.id,
        seen.attributes["zone"],
        seen.attributes["cidr"],
        public,
        ipv6,
        tags=seen.tags,
        way_out=ways.get("0.0.0.0/0", ""),
    )


def _tables_of(tables: Collection[DecodedResource], subnets: Collection[str]) -> Mapping[str, DecodedResource | None]:
    """Return the route table of each subnet: its own, else the main one
    (https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html)."""
    own = {part.natural_key: table for table in tables for part in table.parts if part.kind == route_table.ASSOCIATION}
    main = next((table for table in tables if table.attributes["main"]), None)
    return {ident: own.get(ident, main) for ident in subnets}
