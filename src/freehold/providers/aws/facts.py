"""What must be known of an account and region before anything can be wanted there. Cached: it changes slowly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, NotFound
from freehold.engine.keyed_codec import UUID
from freehold.engine.port import run_together
from freehold.engine.resources import State
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import ApiClient
from freehold.providers.aws.decoded import Seen
from freehold.providers.aws.kinds import nat_gateway, route_table, security_group, subnet, vpc
from freehold.providers.aws.reading import by_filter, by_id
from freehold.providers.aws.tags.capa_tags import Lifecycle, cloud_provider_key, cluster_key
from freehold.providers.aws.tags.native_tags import NativeTags, TagsByArn, by_keeper
from freehold.providers.aws.tags.tag_map import not_of
from freehold.providers.aws.zones import AVAILABILITY_ZONE, Zone, all_zones

T = TypeVar("T")
BASTION_IMAGE = "/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"
"""The newest Ubuntu of the release that upstream's bastion has
(https://documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images/)."""
_SLOW, _NETWORK = 3 * 3600.0, 300.0


class TagSearch(Protocol):
    async def with_tag(self, key: str, values: Sequence[str] = ()) -> TagsByArn:
        """Everything of this region with this tag, with one of ``values`` where any are given, of every owner."""
        ...


@dataclass(frozen=True)
class SubnetFacts:
    """A subnet. ``public``: its route table has a route to an internet gateway. ``ipv6``: it has an IPv6 range.

    ``way_out``: the id of what its route to all IPv4 addresses leads to, empty where it has none.
    A zone that is not listed, of a VPC of another account, counts as an availability zone.
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
    """Answers for one identity in one region. What does not exist is asked for anew each time."""

    def __init__(self, client: ApiClient, tags: TagSearch, clock: Clock) -> None:
        self._client = client
        self._tags = tags
        self._clock = clock
        self._kept: dict[Hashable, tuple[float, object]] = {}

    @property
    def not_bound(self) -> str:
        """Why AWS does not check whose a resource is before a delete by a role; else empty."""
        found = self._client.session.not_bound
        return found.why if found else ""

    async def zones(self) -> tuple[str, ...]:
        """The names of the availability zones that can be used."""
        found = [each for each in await self._zones() if each.type == AVAILABILITY_ZONE and each.usable]
        if not found:
            self._kept.pop("zones", None)
        return tuple(each.name for each in found)

    async def _zones(self) -> tuple[Zone, ...]:
        return await self._once("zones", _SLOW, lambda: all_zones(self._client))

    async def subnets(self, ident: str) -> tuple[SubnetFacts, ...] | None:
        """Those of a VPC, sorted; None where there is no VPC of this id."""
        found = await self._once(("subnets", ident), _NETWORK, lambda: self._subnets(ident))
        types = await self._zone_types()
        return found and tuple(replace(each, zone_type=types.get(each.zone, AVAILABILITY_ZONE)) for each in found)

    async def nat_addresses(self, ident: str) -> Mapping[str, tuple[str, ...]]:
        """The public addresses of the NAT gateways of a VPC that work or will, by id."""
        return await self._once(("nat", ident), _NETWORK, lambda: self._nat_addresses(ident))

    async def _nat_addresses(self, ident: str) -> Mapping[str, tuple[str, ...]]:
        found = await by_filter(self._client, nat_gateway.READ, "vpc-id", [ident])
        there = [each for each in found if each.state in (State.READY, State.PENDING)]
        return {each.id: each.attributes["addresses"] for each in there}

    async def _zone_types(self) -> Mapping[str, str]:
        """By name; empty where the zones may not be listed. Nothing is created then (:meth:`zones`), and a delete goes
        on, which needs no type."""
        try:
            return {each.name: each.type for each in await self._zones()}
        except CloudError:
            return {}

    async def has_ipv6(self, ident: str) -> bool | None:
        """Whether a VPC has, or is being given, a range of IPv6; None where there is no VPC of this id."""
        return await self._once(("ipv6", ident), _NETWORK, lambda: self._has_ipv6(ident))

    async def bastion_image(self) -> str | None:
        """The id of the newest image; None where AWS offers none in this region."""
        return await self._once("image", _SLOW, self._image)

    async def vpcs_of_groups(self, idents: Collection[str]) -> Mapping[str, str]:
        """By id, of those that are there. Read anew: it is asked until something is created."""
        found = await by_id(self._client, security_group.READ, idents)
        return {ident: seen.attributes["vpc_id"] for ident, seen in found.items()}

    async def namesakes(self, cluster: str, uuid: str) -> TagsByArn:
        """What CAPA's tag, or the cloud controller's, gives to a cluster of this name, of this owner too.

        Read anew: it decides whether to create. The index goes on showing what has gone, so what it shows of others is
        asked itself.
        """
        shown = await self._named(cluster)
        own = {arn: tags for arn, tags in shown.items() if tags.get(UUID) == uuid}
        if all(map(_comes_along, not_of(uuid, shown))):
            return own
        there = await self._there([arn for arn in shown if not _comes_along(arn)], shown)
        return {arn: tags for arn, tags in there.items() if _is_named(tags, cluster)}

    async def _named(self, cluster: str) -> TagsByArn:
        """What has either tag. The index has no question for "this key or that one", and shows a new resource late; EC2
        itself shows its own at once.

        https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html
        """
        keys = [cluster_key(cluster), cloud_provider_key(cluster)]
        asked = (
            self._tags.with_tag(keys[0]),
            self._tags.with_tag(keys[1], [Lifecycle.OWNED.value]),
            NativeTags(self._client).of_ec2(f"of cluster {cluster}", [{"Name": "key", "Values": keys}]),
        )
        found: TagsByArn = {}
        for answer in await run_together(asked):
            if isinstance(answer, Exception):
                raise answer
            found |= {arn: tags for arn, tags in answer.items() if _is_named(tags, cluster)}
        return found

    async def _there(self, arns: Collection[str], shown: TagsByArn) -> TagsByArn:
        """Each that exists, with its own tags; of a service that cannot be asked, with those that the index shows."""
        askable = {arn for group in by_keeper(arns).values() for arn in group}
        own = await NativeTags(self._client).tags_of(askable)
        ended = await self._ended(own)
        found = {arn: tags for arn, tags in own.items() if arn not in ended}
        return found | {arn: shown[arn] for arn in arns if arn not in askable}

    async def _ended(self, arns: Collection[str]) -> frozenset[str]:
        """What AWS shows for an hour after its end, tags included."""
        ids = {arn: ident for arn in arns if (ident := arn.rpartition("/")[2]).startswith(("nat-", "i-"))}
        nats = [ident for ident in ids.values() if ident.startswith("nat-")]
        machines = [ident for ident in ids.values() if ident.startswith("i-")]
        there = {*await by_id(self._client, nat_gateway.READ, nats), *await self._running(machines)}
        return frozenset(arn for arn, ident in ids.items() if ident not in there)

    async def _running(self, idents: Sequence[str]) -> frozenset[str]:
        if not idents:
            return frozenset()
        states = ["pending", "running", "shutting-down", "stopping", "stopped"]
        filters = [{"Name": "instance-id", "Values": list(idents)}, {"Name": "instance-state-name", "Values": states}]
        rows = await self._client.listed(
            "ec2", "describe_instances", "Reservations", ", ".join(idents), Filters=filters, MaxResults=1000
        )
        return frozenset(each["InstanceId"] for row in rows for each in row["Instances"])

    async def _once(self, key: Hashable, max_age: float, ask: Callable[[], Awaitable[T]]) -> T:
        kept = self._kept.get(key)
        if kept is not None and self._clock.monotonic() - kept[0] <= max_age:
            return kept[1]  # type: ignore[return-value]  # what ``ask`` of the same key answered
        found = await ask()
        if found:
            self._kept[key] = (self._clock.monotonic(), found)
        return found

    async def _subnets(self, ident: str) -> tuple[SubnetFacts, ...] | None:
        if ident not in await by_id(self._client, vpc.READ, [ident]):
            return None
        subnets = await by_filter(self._client, subnet.READ, "vpc-id", [ident])
        tables = await by_filter(self._client, route_table.READ, "vpc-id", [ident])
        of = _tables_of(tables, {each.id for each in subnets})
        found = (_facts(each, of[each.id]) for each in subnets)
        return tuple(sorted(found, key=lambda each: each.id))

    async def _has_ipv6(self, ident: str) -> bool | None:
        found = await by_id(self._client, vpc.READ, [ident])
        return bool(found[ident].attributes["ipv6"]) if ident in found else None

    async def _image(self) -> str | None:
        try:
            body = await self._client.read("ssm", "get_parameter", BASTION_IMAGE, Name=BASTION_IMAGE)
        except NotFound:
            return None
        return str(body["Parameter"]["Value"])


def _is_named(tags: Mapping[str, str], cluster: str) -> bool:
    """Whether it is the cluster's to CAPA, or to the cloud controller and CAPA's collector.

    The collector takes what has their tag with ``owned``; ``shared`` is on networks that clusters only use
    (https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/cloud/services/gc/cleanup.go).
    """
    return cluster_key(cluster) in tags or tags.get(cloud_provider_key(cluster)) == Lifecycle.OWNED.value


def _comes_along(arn: str) -> bool:
    """Volumes and interfaces have the tags of their instance, which is found itself, and no marks."""
    parsed = Arn.parse(arn)
    return parsed is not None and parsed.type in ("volume", "network-interface")


def _facts(seen: Seen, table: Seen | None) -> SubnetFacts:
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


def _tables_of(tables: Collection[Seen], subnets: Collection[str]) -> Mapping[str, Seen | None]:
    """The route table of each subnet. One without a table of its own has the main one
    (https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html)."""
    own = {part.natural_key: table for table in tables for part in table.parts if part.kind == route_table.ASSOCIATION}
    main = next((table for table in tables if table.attributes["main"]), None)
    return {ident: own.get(ident, main) for ident in subnets}
