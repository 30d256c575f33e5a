"""Checks of the network that an AWSCluster has or is given, by what the cloud and the record say of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from freehold.providers.aws.cluster.facts import AWSClusterFacts, GivenNetwork, Recorded
from freehold.providers.aws.cluster.network_checks import is_in_edge_zone
from freehold.providers.aws.cluster.subnets import is_aws_id
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.types.load_balancer import AWSLoadBalancerSpec
from freehold.providers.aws.types.network import NetworkSpec, SubnetSpec, VPCSpec
from freehold.providers.aws.zones import AVAILABILITY_ZONE
from freehold.providers.objects.cloud_answers import Answer, NotThere
from freehold.providers.objects.spec_problems import SpecProblem

Checks = Iterator[SpecProblem]


def check(spec: AWSClusterSpec, facts: AWSClusterFacts) -> Checks:
    """Check the given network against what the cloud says of it, and that the VPC is still the same."""
    network = spec.network or NetworkSpec()
    vpc = network.vpc.id if network.vpc else None
    if moved := list(_check_vpc_stays(vpc or "", facts.recorded)):
        yield from moved
        return
    if not vpc or vpc == facts.recorded.vpc:
        return
    if isinstance(facts.network, NotThere):
        yield SpecProblem(
            "spec.network.vpc.id",
            f"there is no VPC {vpc} in {spec.region}; correct the id or the region (an object that is stored "
            "keeps both: delete it, and apply it with the right ones)",
        )
    elif isinstance(facts.network, Answer):
        problems = list(_subnets(network.subnets, vpc, facts.network.value))
        yield from problems
        if not problems:
            yield from _places(spec, network.subnets, facts.network.value)
            yield from _family(network, vpc, facts.network.value)


def _check_vpc_stays(vpc: str, recorded: Recorded) -> Checks:
    """Check that the VPC stays: security groups and load balancers are in one for life.

    The API server lets an id be written where there was none, because it may be that of the object's own VPC, and
    be taken out again: it does not know which VPC there is.
    """
    field = "spec.network.vpc.id"
    if recorded.vpc and vpc not in ("", recorded.vpc):
        yield SpecProblem(
            field,
            f"the cluster is in {recorded.vpc}, which was made for it, and cannot move to {vpc}; take the id and the "
            "subnets of that VPC out",
        )
    elif recorded.given_vpc and vpc != recorded.given_vpc:
        given = recorded.given_vpc
        yield SpecProblem(field, f"the cluster is in {given}, and cannot leave it; write {given}")


def _subnets(subnets: Sequence[SubnetSpec], vpc: str, there: GivenNetwork) -> Checks:
    for index, each in enumerate(subnets):
        field, found = f"spec.network.subnets[{index}].id", there.subnets.get(each.id)
        if is_aws_id(each.id) and found is None:
            yield SpecProblem(field, f"VPC {vpc} has no subnet {each.id}; give one that it has")
        elif found and found.zone_type != AVAILABILITY_ZONE and not is_in_edge_zone(each):
            yield SpecProblem(
                field, f"{each.id} is in {found.zone}, a {found.zone_type}, which is not served; remove the subnet"
            )


def _family(network: NetworkSpec, vpc: str, there: GivenNetwork) -> Checks:
    """Refuse IPv6 where no subnet has it. Upstream takes the field out; here rules would let in what cannot come."""
    if network.vpc and network.vpc.ipv6 is not None and not any(each.ipv6 for each in there.subnets.values()):
        yield SpecProblem(
            "spec.network.vpc.ipv6",
            f"no subnet of VPC {vpc} has an IPv6 range, and nothing of a given VPC is changed; give them ranges in "
            "AWS, or remove vpc.ipv6",
        )


def _places(spec: AWSClusterSpec, subnets: Sequence[SubnetSpec], there: GivenNetwork) -> Checks:
    """Check that what has public addresses is in a subnet which the internet can reach."""
    if any(there.subnets[each.id].public for each in subnets if each.id in there.subnets):
        return
    mend = "add a subnet whose routes lead to an internet gateway to spec.network.subnets"
    if spec.bastion and spec.bastion.enabled:
        yield SpecProblem("spec.bastion.enabled", f"none of the given subnets is public; {mend}")
    first = spec.control_plane_load_balancer or AWSLoadBalancerSpec()
    wanted = (
        ("spec.controlPlaneLoadBalancer", first),
        ("spec.secondaryControlPlaneLoadBalancer", spec.secondary_control_plane_load_balancer),
    )
    for field, each in wanted:
        if each and each.load_balancer_type != "disabled" and each.scheme == "internet-facing" and not each.subnets:
            yield SpecProblem(f"{field}.scheme", f"none of the given subnets is public; {mend}, or write internal")


def check_families(spec: AWSClusterSpec, facts: AWSClusterFacts) -> Checks:
    """Check that a VPC of the cluster's own has the address families that it was made with.

    Subnets could be given blocks of IPv6 later. A target group has one family for life, and the load balancer that
    leads to it is the endpoint (https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-target-groups.html).
    Which families a given VPC is used for, the API server keeps alone.
    """
    vpc = (spec.network and spec.network.vpc) or VPCSpec()
    own = facts.recorded.vpc
    if not own or (vpc.id and vpc.id != own):
        return
    if facts.recorded.ipv6 and vpc.ipv6 is None:
        yield SpecProblem(
            "spec.network.vpc.ipv6",
            f"{own} was made with IPv6, which cannot be taken away from a cluster; write ipv6: {{}}",
        )
    elif vpc.ipv6 is not None and facts.own_vpc_has_ipv6 == Answer(False):
        yield SpecProblem(
            "spec.network.vpc.ipv6",
            f"{own} was made without IPv6, which cannot be added to a cluster; remove it, or make another cluster",
        )
