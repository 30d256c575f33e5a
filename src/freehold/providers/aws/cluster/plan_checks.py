"""The checks of a cluster plan: what its parts need of each other where each field of the spec is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from freehold.providers.aws.cluster.cluster_plan import ClusterPlan, PlannedSubnet
from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenSubnet
from freehold.providers.aws.cluster.load_balancers import PRIMARY
from freehold.providers.aws.cluster.load_balancers import SECONDARY as SECOND
from freehold.providers.aws.cluster.rules import ingress_rules
from freehold.providers.aws.cluster.subnets import is_aws_id
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.tags.capa_tags import ASSOCIATION, SECONDARY
from freehold.providers.aws.zones import AVAILABILITY_ZONE
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.spec_problems import SpecProblem

Checks = Iterator[SpecProblem]


def check(spec: AWSClusterSpec, plan: ClusterPlan, facts: AWSClusterFacts) -> Checks:
    """Check the cluster plan of a ``spec`` in which :mod:`spec_checks` found nothing."""
    yield from _nat_gateways(spec, plan)
    balancers = (
        ("spec.controlPlaneLoadBalancer", PRIMARY, spec.control_plane_load_balancer),
        ("spec.secondaryControlPlaneLoadBalancer", SECOND, spec.secondary_control_plane_load_balancer),
    )
    places = _BalancerSubnets(plan, facts)
    wanted = {each.key: each for each in plan.load_balancers}
    for field, key, each in balancers:
        if each and key in wanted:
            yield from places.check_named(f"{field}.subnets", each.subnets)
    yield from _ipv6(plan, places)
    yield from _pods(plan)


def _nat_gateways(spec: AWSClusterSpec, plan: ClusterPlan) -> Checks:
    """Refuse rules for NAT gateways that are not there: upstream waits for ever. A given group has no rules of ours."""
    if plan.nat_gateways or plan.given_nat_addresses:
        return
    given = {group.role for group in plan.groups if group.given}
    if plan.created_vpc:
        none, mend = "without private subnets the cluster has", "remove it, or give ranges in cidrBlocks"
    else:
        none, mend = "routes of the given subnets lead to", "give ranges in cidrBlocks"
    for field, role, rule in ingress_rules(spec):
        if rule.nat_gateways_ips_source and role not in given:
            yield SpecProblem(
                f"{field}.natGatewaysIPsSource", f"{none} no NAT gateways, so this rule lets nobody in; {mend}"
            )


@dataclass(frozen=True)
class _BalancerSubnets:
    """The subnets that load balancers are in."""

    plan: ClusterPlan
    facts: AWSClusterFacts

    def check_named(self, field: str, idents: Sequence[str]) -> Checks:
        """Check the subnets that the spec names: of this VPC, in availability zones, one in each.

        https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html
        """
        taken: dict[str, tuple[str, str]] = {}
        for index, ident in enumerate(idents):
            where = f"{field}[{index}]"
            own, given = self._own(ident), self._find_given(ident)
            if problem := self._explain_unusable(ident, own, given):
                yield SpecProblem(where, problem)
                continue
            zone = own.zone if own and own.zone else given.zone if given else ""
            logical = own.logical if own else ident
            other, first = taken.setdefault(zone, (where, logical))
            if zone and first != logical:
                yield SpecProblem(
                    where,
                    f"{ident!r} is in {zone}, as {other} is, and a load balancer is in one subnet of a zone; remove "
                    "one of the two",
                )

    def _explain_unusable(self, ident: str, own: PlannedSubnet | None, given: GivenSubnet | None) -> str:
        """Say why it cannot be used; empty where it can, as far as is known."""
        vpc = self.plan.vpc.given
        if given and given.zone_type != AVAILABILITY_ZONE:
            return f"{ident} is in {given.zone}, a {given.zone_type}, which is not served; remove it"
        if vpc and isinstance(self.facts.network, Answer) and given is None:
            return f"VPC {vpc} has no subnet {ident}; give one that it has"
        if not vpc and own is None and is_aws_id(ident) and self.facts.nothing_made:
            return f"{ident} exists in some VPC, and this one is created; give one of spec.network.subnets"
        return ""

    def _own(self, ident: str) -> PlannedSubnet | None:
        """Find the subnet of the spec's network that is meant, by its name or its id."""
        logical = self.facts.recorded.subnet_of(ident) or ident
        return next((each for each in self.plan.subnets if ident == each.name or each.logical == logical), None)

    def _find_given(self, ident: str) -> GivenSubnet | None:
        return self.facts.network.value.subnets.get(ident) if isinstance(self.facts.network, Answer) else None

    def lacks_ipv6(self, ident: str) -> bool:
        """Return whether it is known that a subnet has no IPv6 range, and gets none."""
        if self.plan.vpc.given:
            given = self._find_given(ident)
            return given is not None and not given.ipv6
        own = self._own(ident)
        return own is not None and not own.ipv6 and own.ipv6_number is None


def _ipv6(plan: ClusterPlan, places: _BalancerSubnets) -> Checks:
    """Check that the subnets of a network load balancer with IPv6 addresses have IPv6: AWS refuses others.

    https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html
    """
    lacking = sorted(
        {each for one in plan.load_balancers if one.dualstack for each in one.subnets if places.lacks_ipv6(each)}
    )
    if not lacking:
        return
    if plan.vpc.given:
        mend = "give them one in AWS, or remove vpc.ipv6"
    elif places.facts.recorded.vpc:
        mend = "give each a /64 of the VPC's range, in ipv6CidrBlock"
    else:
        mend = "list no subnets, and each gets one; or write loadBalancerType: classic, or remove vpc.ipv6"
    yield SpecProblem(
        "spec.network.vpc.ipv6",
        f"network load balancers have IPv6 addresses then, for which {', '.join(lacking)} must have an IPv6 range; "
        f"{mend}",
    )


def _pods(plan: ClusterPlan) -> Checks:
    """Check that something is left for what is in subnets, where the others are for pods."""
    pods = [each for each in plan.subnets if each.for_pods]
    if not pods:
        return
    why = f"subnets with the tag {ASSOCIATION}: {SECONDARY} are for pods alone"
    mend = "add another subnet to spec.network.subnets, or take the tag off one"
    fields = {PRIMARY: "spec.controlPlaneLoadBalancer", SECOND: "spec.secondaryControlPlaneLoadBalancer"}
    for one in plan.load_balancers:
        if not one.subnets:
            yield SpecProblem(f"{fields[one.key]}.subnets", f"none is left for it, as {why}; {mend}")
    if plan.bastion and not plan.bastion.subnet:
        yield SpecProblem("spec.bastion.enabled", f"no public subnet is left for it, as {why}; {mend}")
    served = {nat.zone for nat in plan.nat_gateways}
    for zone in sorted({each.zone for each in pods if each.public and plan.created_vpc} - served):
        if any(each.zone == zone and not each.public for each in plan.subnets):
            yield SpecProblem(
                "spec.network.subnets",
                f"zone {zone!r} has no public subnet for a NAT gateway, as {why}, so its private ones have no way out; "
                f"{mend}",
            )
