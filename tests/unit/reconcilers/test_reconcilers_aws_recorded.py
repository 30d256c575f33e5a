"""The journal is what derived subnets, NAT gateways and the bastion are known by: from it, the same wish each pass."""

from __future__ import annotations

import pytest

from freehold.lifecycle.journal import Entry, Phase
from freehold.lifecycle.kinds import NodeKey
from freehold.reconcilers.aws_cluster.decide import Decided, decide
from freehold.reconcilers.aws_cluster.facts import Recorded
from freehold.reconcilers.aws_cluster.keys import BASTION, NAT_GATEWAY_KIND, SUBNET_KIND, VPC
from freehold.reconcilers.aws_cluster.recorded import recorded_in
from freehold.reconcilers.aws_cluster.wish import ClusterWish
from harness.aws_specs import NAMES, REGION, ZONES, Spec, cluster, facts

SPEC: Spec = {"region": REGION, "bastion": {"enabled": True}}


def wish(spec: Spec, recorded: Recorded, zones: tuple[str, ...] = ZONES) -> ClusterWish:
    found = decide(NAMES, cluster(spec), facts(zones, recorded=recorded))
    assert isinstance(found, Decided), found
    return found.wish


def journal_of(found: ClusterWish, phase: Phase = Phase.OWNED) -> dict[NodeKey, Entry]:
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
    first = wish(SPEC, Recorded())
    held = recorded_in(journal_of(first, phase))
    limited: Spec = {**SPEC, "network": {"vpc": {"availabilityZoneUsageLimit": 1, "subnetSchema": "PreferPublic"}}}
    for spec, zones in ((SPEC, ZONES), (limited, ZONES), (SPEC, ("eu-central-10", *ZONES))):
        later = wish(spec, held, zones)
        assert (later.subnets, later.nat_gateways, later.bastion) == (first.subnets, first.nat_gateways, first.bastion)


@pytest.mark.parametrize("phase", [Phase.GIVEN, Phase.REUSED, Phase.VACANT, Phase.THEIRS])
def test_what_is_not_ours_was_no_choice(phase: Phase) -> None:
    assert recorded_in(journal_of(wish(SPEC, Recorded()), phase)) == Recorded()


def test_an_empty_journal_records_nothing() -> None:
    assert recorded_in({}) == Recorded()
