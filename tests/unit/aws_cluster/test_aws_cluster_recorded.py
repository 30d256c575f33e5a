"""The journal is what derived subnets, NAT gateways and the bastion are known by: from it, the same wish each pass."""

from __future__ import annotations

import pytest

from freehold.engine.journal import Entry, Phase
from freehold.engine.resources import NodeKey
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.facts import Recorded
from freehold.providers.aws.cluster.keys import BASTION, NAT_GATEWAY_KIND, SUBNET_KIND, VPC
from freehold.providers.aws.cluster.kind import QUICK_HEALTH_CHECKS
from freehold.providers.aws.cluster.nodes.balancers import balancer_key
from freehold.providers.aws.cluster.recorded import recorded_in
from harness.aws_specs import NAMES, REGION, ZONES, Spec, cluster, decide, facts

SPEC: Spec = {"region": REGION, "bastion": {"enabled": True}}


def plan_of(spec: Spec, recorded: Recorded, zones: tuple[str, ...] = ZONES) -> ClusterPlan:
    found = decide(NAMES, cluster(spec), facts(zones, recorded=recorded))
    assert isinstance(found, Decided), found
    return found.cluster_plan


def journal_of(found: ClusterPlan, phase: Phase = Phase.OWNED) -> dict[NodeKey, Entry]:
    """As the engine writes it: one entry a node, with the nodes that must outlive it."""
    assert found.bastion is not None
    record = {VPC: Entry(phase, "vpc-0123456789abcdef0")}
    for number, each in enumerate(found.subnets):
        record[NodeKey(SUBNET_KIND, each.logical)] = Entry(phase, f"subnet-{number:017x}", requires=(str(VPC),))
    for gateway in found.nat_gateways:
        home = str(NodeKey(SUBNET_KIND, gateway.subnet))
        record[NodeKey(NAT_GATEWAY_KIND, gateway.logical)] = Entry(phase, "nat-1", requires=("elastic-ip/a", home))
    home = str(NodeKey(SUBNET_KIND, found.bastion.subnet))
    record[BASTION] = Entry(phase, "i-1", requires=("security-group/bastion", home))
    return record


@pytest.mark.parametrize("phase", [Phase.INTENDED, Phase.RECORDED, Phase.OWNED])
def test_what_the_journal_holds_is_wanted_again(phase: Phase) -> None:
    """Also a create that may have been sent: a second choice would make a second subnet."""
    first = plan_of(SPEC, Recorded())
    held = recorded_in(journal_of(first, phase))
    limited: Spec = {**SPEC, "network": {"vpc": {"availabilityZoneUsageLimit": 1, "subnetSchema": "PreferPublic"}}}
    for spec, zones in ((SPEC, ZONES), (limited, ZONES), (SPEC, ("eu-central-10", *ZONES))):
        later = plan_of(spec, held, zones)
        assert (later.subnets, later.nat_gateways, later.bastion) == (first.subnets, first.nat_gateways, first.bastion)


@pytest.mark.parametrize("phase", [Phase.GIVEN, Phase.REUSED, Phase.VACANT, Phase.THEIRS])
def test_what_is_not_ours_was_no_choice(phase: Phase) -> None:
    known = phase in (Phase.GIVEN, Phase.REUSED)
    assert recorded_in(journal_of(plan_of(SPEC, Recorded()), phase)) == Recorded(anything=known)


def test_an_empty_journal_records_nothing() -> None:
    assert recorded_in({}) == Recorded()


@pytest.mark.parametrize("scheme", ("internet-facing", "internal"))
@pytest.mark.parametrize("kind", ("classic", "nlb"))
def test_a_load_balancer_stays_in_the_subnets_that_it_is_in(kind: str, scheme: str) -> None:
    """One more subnet, whatever it is called, would move it to other addresses; AWS lets it into one of a zone."""

    def listed(*names: str) -> Spec:
        subnets = [
            {
                "id": f"{name}-{way}",
                "availabilityZone": ZONES[0],
                "cidrBlock": f"10.0.{at}{number}.0/24",
                "isPublic": open_,
            }
            for number, name in enumerate(names)
            for at, (way, open_) in enumerate((("in", False), ("out", True)), start=1)
        ]
        front = {"loadBalancerType": kind, "scheme": scheme}
        return {"region": REGION, "network": {"subnets": subnets}, "controlPlaneLoadBalancer": front}

    (first,) = plan_of(listed("m"), Recorded()).load_balancers
    requires = tuple(str(NodeKey(SUBNET_KIND, each)) for each in first.subnets)
    held = recorded_in(
        {balancer_key(first): Entry(Phase.OWNED, "lb", requires=(*requires, "security-group/apiserver-lb"))}
    )
    (later,) = plan_of(listed("a", "m", "z"), held).load_balancers
    assert later.subnets == first.subnets
    (new,) = plan_of(listed("a", "m", "z"), Recorded()).load_balancers
    assert new.subnets != first.subnets, "otherwise this shows nothing"


def test_the_health_checks_are_those_that_the_cluster_was_begun_with() -> None:
    assert recorded_in({}, QUICK_HEALTH_CHECKS).quick_checks
    assert not recorded_in({}, 0).quick_checks
