"""The subnets of a cluster: given, listed, or derived from the zones of the region."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network

from freehold.providers.aws.cluster.address_plan import Layout, NoRoom, Slot, derive, number_of
from freehold.providers.aws.cluster.cluster_plan import NatGateway, PlannedSubnet
from freehold.providers.aws.cluster.facts import GivenSubnet, Recorded
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.tags.capa_tags import is_for_pods
from freehold.providers.aws.types.network import NetworkSpec, SubnetSpec, VPCSpec
from freehold.providers.aws.types.rules import DEFAULT_VPC_RANGE

_AWS_ID = re.compile(r"subnet-[0-9a-f]{8}([0-9a-f]{9})?")


def is_aws_id(ident: str) -> bool:
    """Return whether it is the id of a subnet in AWS: upstream's manifests call ones to create ``subnet-zone-1``."""
    return _AWS_ID.fullmatch(ident) is not None


def normal_block(text: str) -> str:
    """Return a range without host bits, which AWS drops. Raises ValueError."""
    return str(IPv4Network(text, strict=False))


def normal_block_6(text: str) -> str:
    """Return an IPv6 range without host bits. Raises ValueError."""
    return str(IPv6Network(text, strict=False))


def layout(vpc: VPCSpec, cluster: str) -> Layout:
    """Return how the spec wants the range of a created VPC to be divided."""
    return Layout(
        normal_block(vpc.cidr_block or DEFAULT_VPC_RANGE),
        vpc.availability_zone_usage_limit,
        prefer_public=vpc.subnet_schema == "PreferPublic",
        shuffle=cluster if vpc.availability_zone_selection == "Random" else "",
    )


def slots_of(recorded: Recorded) -> tuple[Slot, ...]:
    """Return the derived subnets on record."""
    return tuple(slot for logical in sorted(recorded.subnets) if (slot := Slot.parse_name(logical)))


def zones_beyond_limit(vpc: VPCSpec, recorded: Recorded) -> tuple[str, ...]:
    """Return the zones that have derived subnets, where the limit is lower today; else none."""
    held = tuple(sorted({slot.zone for slot in slots_of(recorded)}))
    return held if len(held) > vpc.availability_zone_usage_limit else ()


def given_subnets(subnets: Sequence[SubnetSpec], there: Mapping[str, GivenSubnet]) -> tuple[PlannedSubnet, ...]:
    """Return the subnets that the spec gives by id, as listed. ``there``: what the cloud told of them, by id."""
    return tuple(_build_given_subnet(each, there.get(each.id)) for each in subnets)


def _build_given_subnet(spec: SubnetSpec, there: GivenSubnet | None) -> PlannedSubnet:
    """Make a given subnet. It is for pods if its tag in AWS, or the spec's, which nobody writes there, says so."""
    found = PlannedSubnet(spec.id, given=spec.id, for_pods=is_for_pods(spec.tags))
    if there is None:
        return found
    pods = found.for_pods or is_for_pods(there.tags)
    return replace(found, zone=there.zone, cidr=there.cidr, public=there.public, for_pods=pods)


def own_subnets(
    network: NetworkSpec, names: AWSClusterNames, zones: Collection[str], recorded: Recorded
) -> tuple[PlannedSubnet, ...] | NoRoom:
    """Return the subnets of a VPC of ours, as listed, or derived."""
    vpc = network.vpc or VPCSpec()
    if network.subnets:
        return tuple(_ListedSubnets(network.subnets, vpc, names, recorded).subnets())
    slots = derive(layout(vpc, names.cluster), zones, slots_of(recorded))
    if isinstance(slots, NoRoom):
        slots = derive(_as_held(vpc, names, recorded), (), slots_of(recorded)) if recorded.subnets else slots
    if isinstance(slots, NoRoom):
        return slots
    return tuple(_of_slot(slot, names, ipv6=vpc.ipv6 is not None) for slot in slots)


def _as_held(vpc: VPCSpec, names: AWSClusterNames, recorded: Recorded) -> Layout:
    """Return the layout with no zone beside those that have subnets."""
    return replace(layout(vpc, names.cluster), limit=len({slot.zone for slot in slots_of(recorded)}))


def has_room_for_all(vpc: VPCSpec, names: AWSClusterNames, zones: Collection[str], recorded: Recorded) -> bool:
    """Return whether derived subnets fit in as many zones as the spec allows. What is no range is said elsewhere."""
    try:
        wanted = layout(vpc, names.cluster)
    except ValueError:
        return True
    return not isinstance(derive(wanted, zones, slots_of(recorded)), NoRoom)


def _of_slot(slot: Slot, names: AWSClusterNames, *, ipv6: bool) -> PlannedSubnet:
    name = names.subnet(slot.zone, public=slot.public)
    number = slot.number if ipv6 else None
    return PlannedSubnet(slot.logical, "", name, slot.zone, slot.block, slot.public, ipv6_number=number)


def is_default(subnet: SubnetSpec, names: AWSClusterNames) -> bool:
    """Return whether an entry is called as upstream calls the derived subnet of its zone."""
    return subnet.id == names.subnet(subnet.availability_zone or "", public=bool(subnet.is_public))


def is_numbered(subnet: SubnetSpec, vpc: VPCSpec, names: AWSClusterNames) -> bool:
    """Return whether an entry is a derived subnet whose IPv6 range follows from its place among the others."""
    return vpc.ipv6 is not None and not subnet.ipv6_cidr_block and is_default(subnet, names)


def recorded_name(subnet: SubnetSpec, names: AWSClusterNames, recorded: Recorded) -> str:
    """Return the logical name of the subnet on record that an entry means; empty where it means none.

    An entry means one by its id or its name: two may mean the same one in different words.
    """
    if own := recorded.subnet_of(subnet.id):
        return own
    held = _slot_held(subnet, recorded) if is_default(subnet, names) else None
    if held:
        return held.logical
    return subnet.id if subnet.id in recorded.subnets else ""


def _slot_held(subnet: SubnetSpec, recorded: Recorded) -> Slot | None:
    """Return the derived subnet on record in the zone of an entry with the default name."""
    place = (bool(subnet.is_public), subnet.availability_zone or "")
    return next((slot for slot in slots_of(recorded) if (slot.public, slot.zone) == place), None)


@dataclass(frozen=True)
class _ListedSubnets:
    """The subnets that a spec lists.

    An entry that has the default name, as upstream writes derived subnets into a spec, is the derived subnet.
    """

    specs: Sequence[SubnetSpec]
    vpc: VPCSpec
    names: AWSClusterNames
    recorded: Recorded

    def subnets(self) -> Iterator[PlannedSubnet]:
        zones = sorted({each.availability_zone or "" for each in self.specs if is_default(each, self.names)})
        for each in self.specs:
            tags = tuple(sorted(each.tags.items()))
            yield replace(self._one(each, zones), tags=tags, for_pods=is_for_pods(each.tags))

    def _one(self, subnet: SubnetSpec, zones: Sequence[str]) -> PlannedSubnet:
        own = self.recorded.subnet_of(subnet.id)
        if own and (slot := Slot.parse_name(own)):
            return _of_slot(slot, self.names, ipv6=self.vpc.ipv6 is not None)
        if own:
            return replace(_plain(subnet), logical=own, name=own)
        return self._written_out(subnet, zones) if is_default(subnet, self.names) else _plain(subnet)

    def _written_out(self, subnet: SubnetSpec, zones: Sequence[str]) -> PlannedSubnet:
        public, zone = bool(subnet.is_public), subnet.availability_zone or ""
        held = _slot_held(subnet, self.recorded)
        block = normal_block(subnet.cidr_block) if subnet.cidr_block else held.block if held else ""
        slot = held or Slot(public, zone, block, self._number(subnet, zones))
        ipv6 = self.vpc.ipv6 is not None and subnet.is_ipv6 is not False
        return replace(_of_slot(slot, self.names, ipv6=ipv6), cidr=block)

    def _number(self, subnet: SubnetSpec, zones: Sequence[str]) -> int:
        """Return the /64 that the entry names, else the one that upstream would give it."""
        if subnet.ipv6_cidr_block:
            prefix = int(IPv6Network(subnet.ipv6_cidr_block, strict=False).network_address) >> 64
            return prefix & 0xFF
        preferred = bool(subnet.is_public) == (self.vpc.subnet_schema == "PreferPublic")
        return number_of(zones.index(subnet.availability_zone or ""), len(zones), preferred=preferred)


def _plain(subnet: SubnetSpec) -> PlannedSubnet:
    return PlannedSubnet(
        subnet.id,
        name=subnet.id,
        zone=subnet.availability_zone or "",
        cidr=normal_block(subnet.cidr_block) if subnet.cidr_block else "",
        public=bool(subnet.is_public),
        ipv6=normal_block_6(subnet.ipv6_cidr_block) if subnet.ipv6_cidr_block else "",
    )


def homes(subnets: Sequence[PlannedSubnet], recorded: Recorded) -> dict[str, str]:
    """Return the public subnet of each zone for NAT gateway, load balancer and bastion, by logical name.

    Where a zone has several it is the one in which the NAT gateway is already, else the first that is listed and
    not for pods, as upstream's.
    """
    held = {NatGateway.parse_name(logical) for logical in recorded.nat_gateways}
    public = [(NatGateway(each.zone, each.logical) not in held, each) for each in subnets if each.public and each.zone]
    found: dict[str, str] = {}
    for new, each in sorted(public, key=lambda one: one[0]):
        if not (new and each.for_pods):
            found.setdefault(each.zone, each.logical)
    return found


def nat_gateways(subnets: Sequence[PlannedSubnet], public: Mapping[str, str]) -> tuple[NatGateway, ...]:
    """Make one in each zone with private subnets. ``public``: the subnet that it is in, by zone (:func:`homes`).

    A zone whose private subnets are all for pods has one too: they have no other way out. Upstream makes none
    there, and then fails for want of it.
    """
    zones = sorted({each.zone for each in subnets if not each.public})
    return tuple(NatGateway(zone, public[zone]) for zone in zones if zone in public)
