"""A resource follows its identity: however the spec spells it, the same resource is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.providers.ibm.powervs.desired import build_desired
from freehold.providers.ibm.powervs.facts import PowerVSFacts, PowerZone
from freehold.providers.objects.adapter import RefusedSpec, WantedGraph
from freehold.providers.objects.cloud_answers import Answer
from harness.rows import over_rows
from harness.schemas import powervs_spec

CREATE = {"powervs.cluster.x-k8s.io/create-infra": "true"}
ZONES = ("us-south-1", "us-south-2", "us-south-3")
FACTS = PowerVSFacts(Answer("rg-id"), Answer(PowerZone("dal", edge_router=True)), Answer(ZONES))
LEAST: dict[str, Any] = {"resourceGroup": {"name": "rg"}, "zone": "dal10", "vpc": {"region": "us-south"}}
OWNER = Owner("u1", "IBMPowerVSCluster", "ns", "c1")

BALANCER = "loadBalancers"
SUBNETS = "vpcSubnets"
GROUPS = "vpcSecurityGroups"
RULE = {
    "action": "allow",
    "direction": "inbound",
    "source": {"protocol": "all", "remotes": [{"remoteType": "any"}]},
}
DEFAULT_SUBNETS = [{"name": f"c1-vpcsubnet-{zone}", "zone": zone} for zone in ZONES]


def _wanted(spec: dict[str, Any], journal: Journal | None = None) -> WantedGraph | RefusedSpec:
    found = build_desired("c1", CREATE, powervs_spec({"spec": {**LEAST, **spec}}), FACTS, journal)
    assert isinstance(found, WantedGraph | RefusedSpec)
    return found


def _names(spec: dict[str, Any], journal: Journal | None = None) -> dict[str, str]:
    found = _wanted(spec, journal)
    assert isinstance(found, WantedGraph), found
    return {str(key): node.name for key, node in found.graph.nodes.items()}


def _made(spec: dict[str, Any], phase: RecordState = RecordState.OWNED) -> Journal:
    """The journal once all of ``spec`` is there."""
    return _journal(*_names(spec), phase=phase)


def _journal(*keys: str, phase: RecordState = RecordState.OWNED) -> Journal:
    found = map(NodeKey.parse, keys)
    return Journal(OWNER, {key: Entry(phase, id=f"us-south/id-{key.logical.replace(':', '-')}") for key in found})


SAME = {
    "the default load balancer by its name": ({}, {BALANCER: [{"name": "c1-loadbalancer", "public": True}]}),
    "the default load balancer as an entry without a name": ({}, {BALANCER: [{"public": True}]}),
    "a listener more on the default load balancer": ({}, {BALANCER: [{"additionalListeners": [{"port": 22623}]}]}),
    "the default subnets by their names": ({}, {SUBNETS: DEFAULT_SUBNETS}),
    "the default subnets by their names, without zones": (
        {},
        {SUBNETS: [{"name": s["name"]} for s in DEFAULT_SUBNETS]},
    ),
    "the default subnets by their zones": ({}, {SUBNETS: [{"zone": zone} for zone in ZONES]}),
    "the default subnets in another order": ({SUBNETS: DEFAULT_SUBNETS}, {SUBNETS: DEFAULT_SUBNETS[::-1]}),
    "a name that is taken out": ({SUBNETS: [{"name": "a", "zone": ZONES[1]}]}, {SUBNETS: [{"zone": ZONES[1]}]}),
    "names that are taken out": (
        {SUBNETS: [{"name": "a"}, {"name": "b"}, {"name": "c"}], BALANCER: [{"name": "lb"}]},
        {SUBNETS: [{}, {}, {}], BALANCER: [{}]},
    ),
    "lists that are taken out": (
        {
            SUBNETS: [{"name": name, "zone": zone} for name, zone in zip("abc", ZONES, strict=True)],
            BALANCER: [{"name": "lb"}],
        },
        {},
    ),
    "names of a public and a private load balancer that are taken out": (
        {BALANCER: [{"name": "in", "public": False}, {"name": "out"}]},
        {BALANCER: [{"public": True}, {"public": False}]},
    ),
    "default names of entries": (
        {SUBNETS: [{}, {}], BALANCER: [{}, {"public": False}]},
        {
            SUBNETS: [{"name": "c1-vpcsubnet-0"}, {"name": "c1-vpcsubnet-1"}],
            BALANCER: [{"name": "c1-loadbalancer-0"}, {"name": "c1-loadbalancer-1", "public": False}],
        },
    ),
    "the chosen zone that is written out": (
        {SUBNETS: [{"name": "a"}]},
        {SUBNETS: [{"name": "a", "zone": "us-south-1"}]},
    ),
    "the names of vpc, workspace and gateway": (
        {},
        {
            "vpc": {"region": "us-south", "name": "c1-vpc"},
            "serviceInstance": {"name": "c1-serviceInstance"},
            "transitGateway": {"name": "c1-transitgateway"},
        },
    ),
}


@over_rows(("before", "after"), SAME.values(), ids=SAME.keys())
@over_rows("phase", [RecordState.INTENDED, RecordState.OWNED])
def test_another_spelling_wants_the_same_resources(
    before: dict[str, Any], after: dict[str, Any], phase: RecordState
) -> None:
    assert _names(after, _made(before, phase)) == _names(before)


BACK = {name: pair for name, pair in SAME.items() if "taken out" not in name}
"""A name that is put in and is not the default one asks for another resource."""


@pytest.mark.parametrize(("before", "after"), BACK.values(), ids=BACK.keys())
def test_and_back_again(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert _names(before, _made(after)) == _names(after)


def test_what_an_earlier_version_made_keeps_its_logical_name() -> None:
    """A named load balancer was its name alone, which does not say whether it is public."""
    spec = {BALANCER: [{"name": "out"}, {"name": "in", "public": False}]}
    earlier = _journal("load-balancer/out", "load-balancer/in")
    assert {"load-balancer/out", "load-balancer/in"} <= _names(spec, earlier).keys()


def test_the_only_load_balancer_that_an_earlier_version_made_is_the_public_one() -> None:
    assert _names({}, _journal("load-balancer/out"))["load-balancer/out"] == "out"


def test_what_is_recorded_by_its_birth_mark_stands_for_no_entry() -> None:
    logical = "fabcdefghijkl"
    keys = _names({}, _journal(f"load-balancer/{logical}", f"vpc-subnet/{logical}"))
    assert keys == _names({})


OWN = {
    "subnet": ({SUBNETS: [{"name": "a", "zone": "us-south-2"}]}, {SUBNETS: [{"id": "id-a-us-south-2"}]}),
    "load balancer": ({BALANCER: [{"name": "out"}]}, {BALANCER: [{"id": "id-out-public"}]}),
    "security group": ({GROUPS: [{"name": "web"}]}, {GROUPS: [{"id": "id-web"}]}),
}


@pytest.mark.parametrize(("before", "after"), OWN.values(), ids=OWN.keys())
def test_an_own_resource_that_is_given_by_its_id_stays_the_own_one(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert _names(after, _made(before)).keys() == _names(before).keys()


@pytest.mark.parametrize(("before", "after"), OWN.values(), ids=OWN.keys())
def test_a_person_is_told_that_a_given_id_is_of_an_own_resource(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = _wanted(after, _made(before))
    assert any("goes with the object" in str(note) for note in found.notes), found.notes


@pytest.mark.parametrize(("before", "after"), OWN.values(), ids=OWN.keys())
def test_a_resource_that_is_wanted_by_id_and_by_name_is_a_problem(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    both = {field: [*before[field], *after[field]] for field in before}
    found = _wanted(both, _made(before))
    assert isinstance(found, RefusedSpec)
    assert "by its name; remove one of the two" in str(found.problems[0])


def test_a_new_name_is_a_new_resource() -> None:
    """A load balancer cannot be renamed, and a namesake may be somebody else's, which the spec means to use."""
    after = _names({BALANCER: [{"name": "other"}]}, _made({}))
    assert "load-balancer/0" not in after
    assert after["load-balancer/other:public"] == "other"


IN_THEIRS = {
    "rules of a group": (
        {GROUPS: [{"name": "web", "rules": [RULE]}]},
        "security-group/web",
        "vpcSecurityGroups[0].rules",
    ),
    "listeners of a load balancer": (
        {BALANCER: [{"name": "out", "additionalListeners": [{"port": 80}]}]},
        "load-balancer/out:public",
        "loadBalancers[0].additionalListeners",
    ),
}


@pytest.mark.parametrize(("spec", "key", "field"), IN_THEIRS.values(), ids=IN_THEIRS.keys())
@pytest.mark.parametrize("phase", [RecordState.REUSED, RecordState.OWNED], ids=lambda phase: phase.name.lower())
def test_a_person_is_told_what_is_not_added_to_a_resource_that_was_there(
    spec: dict[str, Any], key: str, field: str, phase: RecordState
) -> None:
    """By its name as by its id: Ready would say that its rules and listeners are as in the spec."""
    notes = [note.field for note in _wanted(spec, _journal(key, phase=phase)).notes]
    assert (f"spec.{field}" in notes) == (phase is RecordState.REUSED)


GROWN = {
    "load balancers": ({}, {BALANCER: [{}, {"additionalListeners": [{"port": 22623}]}]}),
    "subnets": ({}, {SUBNETS: [*({"zone": zone} for zone in ZONES), {"zone": ZONES[0]}]}),
}


@pytest.mark.parametrize(("before", "after"), GROWN.values(), ids=GROWN.keys())
def test_an_entry_more_changes_no_roles_in_the_passes_that_follow(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Otherwise its listener goes to the load balancer that was there, and the endpoint to the new one."""
    first = _wanted(after, _made(before))
    both = _journal(*_names(before), *_names(after, _made(before)))
    again = _wanted(after, both)
    assert isinstance(first, WantedGraph) and isinstance(again, WantedGraph)
    assert list(again.graph.nodes) == list(first.graph.nodes)
    assert _names(before, both) | _names(before) == _names(before, both), "and back: the first ones are meant"


def test_a_chosen_name_that_is_another_entrys_default_name_stays_its_own() -> None:
    spec = {BALANCER: [{"name": "c1-loadbalancer-1"}, {"public": False}]}
    names = _names(spec)
    assert len({name for key, name in names.items() if key.startswith("load-balancer/")}) == 2
    assert _names(spec, _made(spec)) == names


def test_a_rule_may_name_an_own_group_that_is_given_by_its_id() -> None:
    remote = {"remoteType": "sg", "securityGroupName": "frontend"}
    rule = {"action": "allow", "direction": "inbound", "source": {"protocol": "all", "remotes": [remote]}}
    groups = [{"id": "id-web", "name": "frontend"}, {"name": "app", "rules": [rule]}]
    assert "security-group/web" in _names({GROUPS: groups}, _journal("security-group/web"))


def test_an_own_private_load_balancer_that_is_given_by_its_id_is_not_the_endpoint() -> None:
    """The entry says nothing of it, and the default is public."""
    before = {BALANCER: [{"name": "in", "public": False}, {"name": "out"}]}
    found = _wanted({BALANCER: [{"id": "id-in-private"}, {"name": "out"}]}, _made(before))
    assert isinstance(found, WantedGraph)
    assert found.endpoint == NodeKey("load-balancer", "out:public")


def test_the_only_bare_name_is_the_public_one_beside_others() -> None:
    spec = {BALANCER: [{}, {"name": "in", "public": False}]}
    assert _names(spec, _journal("load-balancer/out", "load-balancer/in:private"))["load-balancer/out"] == "out"
