"""Checks of the network of an AWSCluster: ranges, zones, subnets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from freehold.api.parse import broken_rules
from freehold.providers.aws.cluster.address_plan import LARGEST, SMALLEST, NoRoom, Slot
from freehold.providers.aws.cluster.cluster_plan import Role
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.subnets import is_aws_id, is_default, own_subnets, recorded_name, slots_of
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.types.load_balancer import AWSLoadBalancerSpec
from freehold.providers.aws.types.network import NetworkSpec, SubnetSpec, VPCSpec
from freehold.providers.aws.types.rules import DEFAULT_VPC_RANGE
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.spec_problems import SpecProblem

Checks = Iterator[SpecProblem]
Ranges = list[tuple[str, IPv4Network]]
"""Ranges with the fields that give them."""

_VPC = "spec.network.vpc"
_SUBNETS = "spec.network.subnets"
_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""RFC 1918."""
_SECONDARY_LIMIT = 4
"""A VPC has at most five ranges (https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html)."""


def check(names: AWSClusterNames, spec: AWSClusterSpec, facts: AWSClusterFacts) -> Checks:
    """Check the VPC, its subnets and overridden groups."""
    network = spec.network or NetworkSpec()
    vpc = network.vpc or VPCSpec()
    given = bool(facts.recorded.given_vpc_of(vpc))
    if any(broken_rules(vpc, _VPC)):
        return  # of ranges that cannot be read nothing more can be said
    yield from _overrides(network, given=given)
    yield from (
        _check_given_subnets(network.subnets)
        if given
        else _check_created_network(names, network, vpc, facts, closed=_is_closed(spec))
    )


def _is_closed(spec: AWSClusterSpec) -> bool:
    """Return whether neither a load balancer nor a bastion is to have public addresses."""
    balancers = [spec.control_plane_load_balancer or AWSLoadBalancerSpec()]
    balancers += [spec.secondary_control_plane_load_balancer] if spec.secondary_control_plane_load_balancer else []
    open_ = [each for each in balancers if each.load_balancer_type != "disabled" and each.scheme != "internal"]
    return not open_ and not (spec.bastion and spec.bastion.enabled)


def _overrides(network: NetworkSpec, *, given: bool) -> Checks:
    field = "spec.network.securityGroupOverrides"
    if network.security_group_overrides and not given:
        yield SpecProblem(field, "security groups are in a VPC, and this one is created; remove them, or set vpc.id")
    for role, ident in network.security_group_overrides.items():
        if role not in {each.value for each in Role}:
            known = ", ".join(sorted(Role))
            yield SpecProblem(f"{field}[{role}]", f"there is no security group {role!r}; choose among {known}")
        if not ident.startswith("sg-"):
            yield SpecProblem(
                f"{field}[{role}]",
                f"{ident!r} is not the id of a security group; write one like sg-0123456789abcdef0",
            )


def _check_given_subnets(subnets: Sequence[SubnetSpec]) -> Checks:
    if not subnets:
        yield SpecProblem(
            _SUBNETS, "with vpc.id nothing is created in the VPC; give at least one of its subnets by its id"
        )
    yield from _find_repeated_ids([each.id for each in subnets])
    for index, each in enumerate(subnets):
        yield from _zone_type(f"{_SUBNETS}[{index}]", each)
        if not is_aws_id(each.id):
            yield SpecProblem(
                f"{_SUBNETS}[{index}].id",
                f"{each.id!r} is not the id of a subnet; with vpc.id give ids like subnet-0123456789abcdef0",
            )


def is_in_edge_zone(subnet: SubnetSpec) -> bool:
    """Return whether the spec says that a subnet is in a local or Wavelength zone."""
    return subnet.zone_type in ("local-zone", "wavelength-zone")


def _zone_type(field: str, subnet: SubnetSpec) -> Checks:
    if is_in_edge_zone(subnet):
        yield SpecProblem(
            f"{field}.zoneType", f"{subnet.zone_type} is not served; remove the subnet, or use an availability zone"
        )


def _find_repeated_ids(idents: Sequence[str]) -> Checks:
    for index, each in enumerate(idents):
        first = idents.index(each)
        if first < index:
            yield SpecProblem(f"{_SUBNETS}[{index}].id", f"{each!r} is {_SUBNETS}[{first}].id too; rename one")


def _check_created_network(
    names: AWSClusterNames, network: NetworkSpec, vpc: VPCSpec, facts: AWSClusterFacts, *, closed: bool
) -> Checks:
    ranges: Ranges = []
    problems = list(_vpc_ranges(vpc, ranges))
    yield from problems
    if problems:
        return
    zones = facts.zones.value if isinstance(facts.zones, Answer) else ()
    if network.subnets:
        yield from _ListedSubnetChecks(names, network.subnets, vpc, facts, zones, tuple(ranges), closed).problems()
    elif zones:
        yield from _check_derived_subnets(names, network, facts, zones, ranges[0][1])


def _vpc_ranges(vpc: VPCSpec, ranges: Ranges) -> Checks:
    """Check the ranges of the VPC, and add the legal ones to ``ranges``, the VPC's own first."""
    yield from _range(f"{_VPC}.cidrBlock", vpc.cidr_block or DEFAULT_VPC_RANGE, ranges)
    for index, each in enumerate(vpc.secondary_cidr_blocks):
        yield from _range(f"{_VPC}.secondaryCidrBlocks[{index}].ipv4CidrBlock", each.ipv4_cidr_block, ranges)
    if (count := len(vpc.secondary_cidr_blocks)) > _SECONDARY_LIMIT:
        yield SpecProblem(
            f"{_VPC}.secondaryCidrBlocks", f"there are {count}; a VPC has at most {_SECONDARY_LIMIT} more ranges"
        )
    yield from _find_mixed_ranges(ranges)


def _find_mixed_ranges(ranges: Ranges) -> Checks:
    """Check that ranges are out of one private range: AWS lets a VPC have any others beside it.

    https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html#add-cidr-block-restrictions. What else
    that page restricts has been seen less often; AWS says it, if it is so.
    """
    private = [(field, each, whole) for field, each in ranges for whole in _PRIVATE if each.subnet_of(whole)]
    for field, each, whole in private[1:]:
        first, other, theirs = private[0]
        if whole != theirs:
            yield SpecProblem(
                field,
                f"AWS restricts {str(each)!r} beside {first} {str(other)!r}, which is in another private range; choose "
                f"one in {theirs} or 100.64.0.0/10",
            )


def _range(field: str, text: str, taken: Ranges) -> Checks:
    """Check a range against those that are ``taken``, and add it to them if its size is legal."""
    network = IPv4Network(text, strict=False)
    if not LARGEST <= network.prefixlen <= SMALLEST:
        yield SpecProblem(field, f"{text!r} has the wrong size; AWS allows /{LARGEST} to /{SMALLEST}")
        return
    for other, earlier in taken:
        if network.overlaps(earlier):
            yield SpecProblem(field, f"{text!r} overlaps {other} {str(earlier)!r}; choose ranges that do not overlap")
    taken.append((field, network))


def _check_derived_subnets(
    names: AWSClusterNames, network: NetworkSpec, facts: AWSClusterFacts, zones: tuple[str, ...], vpc: IPv4Network
) -> Checks:
    field = f"{_VPC}.cidrBlock"
    outside = [slot.block for slot in slots_of(facts.recorded) if not IPv4Network(slot.block).subnet_of(vpc)]
    if outside:
        yield SpecProblem(field, f"{vpc} leaves out {', '.join(outside)} of this cluster's subnets; it cannot change")
        return
    if isinstance(room := own_subnets(network, names, zones, facts.recorded), NoRoom):
        yield SpecProblem(
            field,
            f"{vpc} has no room for {room.subnets} subnets of at least 16 addresses; give a larger range, lower "
            "availabilityZoneUsageLimit, or list the subnets",
        )


@dataclass(frozen=True)
class _ListedSubnetChecks:
    """Subnets to create, one by one. ``ranges`` are the VPC's, all legal. ``closed``: nothing needs a public one."""

    names: AWSClusterNames
    subnets: Sequence[SubnetSpec]
    vpc: VPCSpec
    facts: AWSClusterFacts
    zones: tuple[str, ...]
    ranges: tuple[tuple[str, IPv4Network], ...]
    closed: bool = False

    def problems(self) -> Checks:
        own = {ident for ident in self.facts.recorded.subnets.values() if ident}
        taken: Ranges = []
        yield from _find_repeated_ids([each.id for each in self.subnets])
        yield from self._one_subnet_twice()
        for index, each in enumerate(self.subnets):
            field = f"{_SUBNETS}[{index}]"
            if each.id in own:
                continue
            if is_aws_id(each.id):
                yield SpecProblem(
                    f"{field}.id",
                    f"{each.id!r} exists in some VPC, and this one is created; set vpc.id, or give it another id",
                )
            yield from self._block(field, each, taken)
            yield from self._zone(field, each)
            yield from self._six(field, each)
        yield from self._ways_out()

    def _one_subnet_twice(self) -> Checks:
        """Check that no two entries mean one subnet, by its id and by its name, for example."""
        recorded, seen = self.facts.recorded, dict[str, int]()
        for index, each in enumerate(self.subnets):
            if not (logical := recorded_name(each, self.names, recorded)):
                continue
            first = seen.setdefault(logical, index)
            if self.subnets[first].id != each.id:
                ident = recorded.subnets[logical] or logical
                yield SpecProblem(
                    f"{_SUBNETS}[{index}].id",
                    f"{each.id!r} is {ident}, which {_SUBNETS}[{first}] is already; remove one of the two",
                )

    def _block(self, field: str, subnet: SubnetSpec, taken: Ranges) -> Checks:
        if not subnet.cidr_block:
            if not (is_default(subnet, self.names) and self._is_on_record(subnet)):
                yield SpecProblem(f"{field}.cidrBlock", "it is missing; give the IPv4 range of the subnet")
            return
        if any(broken_rules(subnet, field)):
            return
        before = len(taken)
        yield from _range(f"{field}.cidrBlock", subnet.cidr_block, taken)
        if len(taken) > before and not any(taken[-1][1].subnet_of(each) for _, each in self.ranges):
            whole = ", ".join(str(each) for _, each in self.ranges)
            yield SpecProblem(
                f"{field}.cidrBlock", f"{subnet.cidr_block!r} is outside the VPC's {whole}; choose a range inside"
            )

    def _is_on_record(self, subnet: SubnetSpec) -> bool:
        held = {(slot.public, slot.zone) for slot in slots_of(self.facts.recorded)}
        derived = is_default(subnet, self.names) and (bool(subnet.is_public), subnet.availability_zone) in held
        return derived or subnet.id in self.facts.recorded.subnets

    def _zone(self, field: str, subnet: SubnetSpec) -> Checks:
        """Check the zone. That of a subnet that is there may be out of order today, and must not stop the others."""
        zone = subnet.availability_zone
        if is_in_edge_zone(subnet):
            yield from _zone_type(field, subnet)
        elif not zone:
            yield SpecProblem(
                f"{field}.availabilityZone", "it is missing; give the zone of the subnet, like us-east-1a"
            )
        elif self.zones and zone not in self.zones and not self._is_on_record(subnet):
            choice = ", ".join(self.zones)
            yield SpecProblem(f"{field}.availabilityZone", f"there is no zone {zone!r} for you; choose one of {choice}")

    def _six(self, field: str, subnet: SubnetSpec) -> Checks:
        if (subnet.is_ipv6 or subnet.ipv6_cidr_block) and self.vpc.ipv6 is None:
            part = "ipv6CidrBlock" if subnet.ipv6_cidr_block else "isIpv6"
            yield SpecProblem(f"{field}.{part}", "the VPC has no IPv6; set vpc.ipv6, or remove it")
        elif is_default(subnet, self.names):
            return
        elif self.facts.nothing_made and (subnet.is_ipv6 or subnet.ipv6_cidr_block):
            part = "ipv6CidrBlock" if subnet.ipv6_cidr_block else "isIpv6"
            yield SpecProblem(
                f"{field}.{part}",
                "Amazon gives the VPC its IPv6 range when it is made, so no /64 of it is known before; remove it, or "
                "list no subnets: each then gets one",
            )
        elif subnet.is_ipv6 and not subnet.ipv6_cidr_block:
            yield SpecProblem(
                f"{field}.ipv6CidrBlock", "it is missing; give a /64 of the VPC's range, or set isIpv6 to false"
            )

    def _ways_out(self) -> Checks:
        """Check that load balancers and NAT gateways have public subnets, the latter in each zone of private ones.

        A cluster without public subnets, load balancers and bastion is closed on purpose, as upstream accepts
        it.
        """
        places = [self._place(each) for each in self.subnets]
        public = {zone for is_public, zone in places if is_public}
        if not public and self.closed:
            return
        if not public:
            yield SpecProblem(
                _SUBNETS, "none is public; set isPublic on one in each zone: load balancer and NAT gateway need it"
            )
            return
        for index, (is_public, zone) in enumerate(places):
            if not is_public and zone and not public & {zone, ""}:
                yield SpecProblem(
                    f"{_SUBNETS}[{index}]",
                    f"zone {zone!r} has no public subnet, so this private one has no NAT gateway and "
                    "no way out; add a public subnet in the zone",
                )

    def _place(self, subnet: SubnetSpec) -> tuple[bool, str]:
        """Return whether a subnet is public, and its zone, empty where that is not known.

        Of a derived subnet that the spec gives by the id that it has, the spec need not say either.
        """
        slot = Slot.parse_name(self.facts.recorded.subnet_of(subnet.id))
        return (slot.public, slot.zone) if slot else (bool(subnet.is_public), subnet.availability_zone or "")
