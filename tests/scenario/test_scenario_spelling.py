"""The same cluster in another spelling is the same cluster: no create, no write, no surplus, and an empty plan.

Defaults written out, names taken out, lists in another order, an own resource named by its id, tags in other
letters where IBM Cloud does not tell them apart, fields in another order; after a creation and at any moment of it.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.plans import Snapshot, planned, promised
from harness.powervs import Harness, example
from harness.resources import existing, omitted
from harness.traits import Trait, kind_of, made, traits

ZONES = ("us-south-1", "us-south-2", "us-south-3")
NAME = example()["metadata"]["name"]
Spec = dict[str, Any]
Respell = Callable[[Harness, Spec], None]

ENTRY_ZONES = st.sampled_from((None, *ZONES))


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Valid specs in which anything may be named, listed or left out."""
    spec: Spec = {"tags": [{"key": "Team", "value": "Red"}]}
    if draw(st.booleans()):
        named = draw(st.lists(st.sampled_from(("", "alpha", "beta")), min_size=1, max_size=3))
        names = [name for index, name in enumerate(named) if not name or name not in named[:index]]
        entries = [{"name": name, "zone": draw(ENTRY_ZONES)} for name in names]
        spec["vpcSubnets"] = [{field: value for field, value in entry.items() if value} for entry in entries]
    if draw(st.booleans()):
        publics = draw(st.sampled_from(([True], [True, False], [False, True])))
        named = draw(st.sampled_from(("", "lb-")))
        spec["loadBalancers"] = [
            {"public": public, **({"name": f"{named}{index}"} if named else {})} for index, public in enumerate(publics)
        ]
    if draw(st.booleans()):
        rule = {
            "action": "allow",
            "direction": "inbound",
            "source": {"protocol": "all", "remotes": [{"remoteType": "any"}]},
        }
        spec["vpcSecurityGroups"] = [{"name": "web", "rules": [rule]}]
    if draw(st.booleans()):
        spec["vpc"] = {"name": "shared-net", "region": "us-south"}
    return spec


# --- other spellings --------------------------------------------------------------------------------


def _defaults_written(harness: Harness, spec: Spec) -> None:
    spec["vpc"].setdefault("name", f"{NAME}-vpc")
    spec.setdefault("transitGateway", {"name": f"{NAME}-transitgateway"})
    spec.setdefault("serviceInstance", {"name": f"{NAME}-serviceInstance"})
    spec.setdefault("loadBalancers", [{"name": f"{NAME}-loadbalancer", "public": True}])
    spec.setdefault("vpcSubnets", [{"name": f"{NAME}-vpcsubnet-{zone}", "zone": zone} for zone in ZONES])
    for index, entry in enumerate(spec["vpcSubnets"]):
        entry.setdefault("name", f"{NAME}-vpcsubnet-{index}")
    for index, entry in enumerate(spec["loadBalancers"]):
        entry.setdefault("name", f"{NAME}-loadbalancer-{index}")


def _tags_in_other_letters(harness: Harness, spec: Spec) -> None:
    spec["tags"] = [{"key": tag["key"].upper(), "value": tag["value"].lower()} for tag in spec["tags"]]


def _fields_in_another_order(harness: Harness, spec: Spec) -> None:
    turned = dict(reversed(list(spec.items())))
    spec.clear()
    spec.update(turned)


def _lists_turned(harness: Harness, spec: Spec) -> None:
    for field in ("vpcSubnets", "vpcSecurityGroups", "loadBalancers"):
        spec[field] = spec.get(field, [])[::-1]


def _names_taken_out(harness: Harness, spec: Spec) -> None:
    for field in ("vpcSubnets", "loadBalancers"):
        for entry in spec.get(field, []):
            entry.pop("name", None)


def _own_ids(harness: Harness, spec: Spec) -> None:
    """Of all that is there by now, and can be given by its id."""
    ours = {(kind_of(record), record["name"]): record["id"] for record in made(harness)}
    alone = {kind: ident for (kind, _), ident in ours.items()}
    for field, kind in (
        ("vpcSubnets", "vpc-subnet"),
        ("vpcSecurityGroups", "security-group"),
        ("loadBalancers", "load-balancer"),
    ):
        spec[field] = [
            {"id": ours[kind, entry["name"]], **({"public": entry["public"]} if "public" in entry else {})}
            if (kind, entry.get("name")) in ours
            else entry
            for entry in spec.get(field, [])
        ]
    if "vpc" in alone:
        spec["vpc"] = {"id": alone["vpc"], "region": "us-south"}
    if "workspace" in alone:
        spec["serviceInstance"] = {"id": alone["workspace"]}
    if "transit-gateway" in alone:
        spec["transitGateway"] = {"id": alone["transit-gateway"]}


def _own_network(harness: Harness, spec: Spec) -> None:
    _own_ids(harness, spec)
    for record in made(harness):
        if kind_of(record) == "dhcp-server":
            spec["network"] = {"id": record["id"]}


def _own_server(harness: Harness, spec: Spec) -> None:
    for record in made(harness):
        if kind_of(record) == "dhcp-server":
            spec["dhcpServer"] = {"id": record["dhcp"]}


SPELLINGS: dict[str, Respell] = {
    "defaults written": _defaults_written,
    "tags in other letters": _tags_in_other_letters,
    "fields in another order": _fields_in_another_order,
    "lists in another order": _lists_turned,
    "names taken out": _names_taken_out,
    "own resources by their ids": _own_ids,
    "own network by its id": _own_network,
    "own DHCP server by its id": _own_server,
}

ELSE_NAMED = ("lists in another order", "names taken out")
"""What is not there yet gets the name and the zone that it has in the spelling of now."""


def _cluster(spec: Spec) -> Harness:
    return Harness(example(**{**omitted(), **copy.deepcopy(spec)}))


def _respelled(harness: Harness, respell: Respell) -> None:
    spec = copy.deepcopy(harness.object.raw["spec"])
    respell(harness, spec)
    harness.object.raw["spec"] = {}
    harness.object.patch({"spec": spec})


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(spec=specs())
@settings(max_examples=settings.default.max_examples // 16)
def test_another_spelling_of_a_ready_cluster_changes_nothing(spelling: str, spec: Spec) -> None:
    harness = _cluster(spec)
    harness.up()
    harness.settle()
    _respelled(harness, SPELLINGS[spelling])
    before = Snapshot(harness)
    assert not promised(planned(harness)), "the plan lists changes"
    harness.for_a_while(1500.0)
    assert harness.ready(), harness.conditions()
    assert Snapshot(harness) == before
    assert "no longer wants" not in str(harness.status()["resources"])
    harness.down()
    assert existing(harness) == []


_NONCE = re.compile(r"-f(?:[a-z2-7]{12}|[a-z2-7]{7})(?=[-_]|$)")


def _without_nonces(harness: Harness) -> Counter[Trait]:
    """What is named by its id before it was renamed keeps its name with the nonce: the spec wants no other name then.

    That is seen wherever another resource refers to it.
    """
    found: Counter[Trait] = Counter()
    for trait, times in traits(harness).items():
        found[Trait(*(_NONCE.sub("", text) for text in trait))] += times
    return found


def _kinds(harness: Harness) -> Counter[str]:
    return Counter(kind_of(record) for record in made(harness))


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(spec=specs(), passes=st.integers(1, 14))
@settings(max_examples=settings.default.max_examples // 16)
def test_another_spelling_in_the_middle_of_a_creation_ends_in_the_same_cluster(
    spelling: str, spec: Spec, passes: int
) -> None:
    undisturbed, harness = _cluster(spec), _cluster(spec)
    undisturbed.up()
    for _ in range(passes):
        if not harness.ready():
            harness.settle(1)
    _respelled(harness, SPELLINGS[spelling])
    harness.up()
    if spelling in ELSE_NAMED:
        assert _kinds(harness) == _kinds(undisturbed)
    elif spelling.startswith("own "):
        assert _without_nonces(harness) == _without_nonces(undisturbed)
    else:
        assert traits(harness) == traits(undisturbed)
    assert "no longer wants" not in str(harness.status()["resources"])
    harness.down()
    assert existing(harness) == []


def test_an_own_vpc_that_is_named_by_its_id_before_its_rule_was_there_gets_the_rule() -> None:
    """Without it the cluster is Ready, and nobody reaches the API server."""
    harness = _cluster({})
    harness.settle(1)
    _respelled(harness, _own_ids)
    harness.up()
    harness.settle()
    rules = [trait.value for trait in traits(harness) if (trait.kind, trait.field) == ("vpc", "rule")]
    assert any("6443" in rule for rule in rules)
