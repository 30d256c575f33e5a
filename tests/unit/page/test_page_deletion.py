"""The deletion of an object, before it is asked for: its order is the engine's; what stays and what is open is told."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.api.feature_gates import FeatureGate
from freehold.engine.deletion_order import next_delete_wave
from freehold.engine.journal import Entry, Journal, RecordState, loads
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.kube.resources import Json
from freehold.page.deletion import build_deletion, find_waves
from harness.page_world import RING, SETTINGS, PageWorld, Watched

OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSCluster", "default", "demo")


def journal_of(watched: Watched) -> Journal:
    return loads(watched.raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])


def changed(watched: Watched, change: Callable[[Json], Any], **annotations: str) -> Json:
    """Build the plan of the object with another journal, or with more annotations."""
    raw = copy.deepcopy(watched.raw)
    raw["metadata"]["annotations"] |= annotations
    journal = json.loads(raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION])
    change(journal)
    raw["metadata"]["annotations"][names.JOURNAL_ANNOTATION] = json.dumps(journal)
    return build_deletion(watched.resource, raw, RING, SETTINGS)


def nothing(journal: Json) -> None:
    """Change nothing."""


def items(plan: Json) -> dict[str, Json]:
    return {item["key"]: item for item in (*(each for wave in plan["waves"] for each in wave), *plan["stays"])}


@pytest.mark.parametrize("name", ["ready", "creating", "blocked", "deleting", "powervs", "control-plane"])
def test_order_is_that_of_the_engine(page_world: PageWorld, name: str) -> None:
    watched = page_world.watched[name]
    journal = journal_of(watched)
    harness: Any = watched.harness
    registry = harness.account.build_deps("", RING, "").registry
    left, expected = set(journal.claimed), []
    while left:
        wave = next_delete_wave(left, journal.entries, registry)
        expected.append(set(wave))
        left -= wave
    assert [set(wave) for wave in find_waves(journal)] == expected


def test_each_resource_of_a_ready_cluster_is_deleted(page_world: PageWorld) -> None:
    plan = page_world.watched["ready"].deletion()
    assert {item["action"] for item in items(plan).values()} == {"delete"}
    assert sum(map(len, plan["waves"])) == 25
    assert plan["stays"] == []
    assert [item["kind"] for item in plan["waves"][-1]] == ["vpc"]


def test_given_resource_stays(page_world: PageWorld) -> None:
    plan = page_world.watched["machine"].deletion()
    assert [[item["kind"] for item in wave] for wave in plan["waves"]] == [["instance"]]

    def give(journal: Json) -> None:
        for entry in journal["nodes"].values():
            entry["p"] = RecordState.GIVEN.value

    plan = changed(page_world.watched["machine"], give)
    assert plan["waves"] == []
    assert [(item["action"], item["why"]) for item in plan["stays"]] == [("leave", "given, not made here")]


def test_record_that_is_not_signed_is_open(page_world: PageWorld) -> None:
    def forge(journal: Json) -> None:
        journal["nodes"]["vpc/main"]["id"] = "vpc-of-somebody-else"

    watched = page_world.watched["ready"]
    assert "vpc/main" in {str(key) for key in journal_of(watched).entries}
    plan = changed(watched, forge)
    forged = next(item for item in items(plan).values() if item["id"] == "vpc-of-somebody-else")
    assert forged["action"] == "unknown"
    assert "NOT signed" in forged["why"]
    (shown,) = plan["stays"]
    assert shown["kind"] == "vpc" and shown["action"] == "unknown", "what the status shows is on no record now"


def test_create_whose_outcome_is_open_is_looked_for(page_world: PageWorld) -> None:
    def open_create(journal: Json) -> None:
        journal["nodes"]["vpc/main"] = {"p": RecordState.INTENDED.value, "r": {}}

    plan = changed(page_world.watched["ready"], open_create)
    opened = next(item for item in items(plan).values() if item["key"] == "vpc/main")
    assert (opened["action"], opened["id"]) == ("unknown", "")


def test_kept_resource_is_said_to_stay(page_world: PageWorld) -> None:
    watched = page_world.watched["deleting"]
    raw = copy.deepcopy(watched.raw)
    vpc = next(row for row in raw["status"]["resources"] if row["kind"] == "vpc")
    vpc |= {"state": "Kept", "reason": "MarkLost", "message": "its mark is lost"}
    plan = build_deletion(watched.resource, raw, RING, SETTINGS)
    assert [(item["kind"], item["action"], item["why"]) for item in plan["stays"]] == [
        ("vpc", "keep", "its mark is lost")
    ]
    assert "vpc" not in {item["kind"] for wave in plan["waves"] for item in wave}


def test_journal_that_cannot_be_read_is_told(page_world: PageWorld) -> None:
    plan = changed(page_world.watched["ready"], lambda journal: journal.pop("owner"))
    assert plan["waves"] == []
    assert plan["notes"] == ["its journal cannot be read: a delete does nothing before a person has put it back"]


def test_copied_journal_deletes_nothing(page_world: PageWorld) -> None:
    watched = page_world.watched["ready"]
    raw = copy.deepcopy(watched.raw)
    raw["metadata"] |= {"name": "copy", "uid": "another"}
    plan = build_deletion(watched.resource, raw, RING, SETTINGS)
    assert plan["waves"] == []
    assert {each["action"] for each in plan["stays"]} == {"leave"}
    assert "copy of that of AWSCluster default/prod" in plan["notes"][0]


def test_object_that_something_else_manages_loses_nothing(page_world: PageWorld) -> None:
    plan = changed(page_world.watched["ready"], nothing, **{names.MANAGED_BY_ANNOTATION: "capa"})
    assert plan["waves"] == []
    assert {each["action"] for each in plan["stays"]} == {"leave"}
    assert "something else manages it" in plan["notes"][0]
    plan = changed(page_world.watched["ready"], nothing, **{names.MANAGED_BY_ANNOTATION: names.MANAGED_BY_FREEHOLD})
    assert plan["waves"]


def test_pause_is_told(page_world: PageWorld) -> None:
    plan = changed(page_world.watched["ready"], nothing, **{names.PAUSED_ANNOTATION: ""})
    assert plan["notes"][0] == "it is paused: a delete waits until the pause is lifted"
    assert plan["waves"], "what it would take is shown all the same"


def test_object_that_was_never_served_has_nothing(page_world: PageWorld) -> None:
    plan = page_world.watched["keyless"].deletion()
    assert (plan["waves"], plan["stays"]) == ([], [])
    assert "no journal" in plan["notes"][0]


def test_no_cloud_is_asked_and_the_plan_says_so(page_world: PageWorld) -> None:
    plan = page_world.watched["ready"].deletion()
    assert "no cloud was asked" in plan["notes"][0]
    assert plan["plan_command"] == "freehold plan --down AWSCluster/prod -n default"


def test_machines_of_the_cluster_go_first(page_world: PageWorld) -> None:
    watched = page_world.watched["ready"]

    def machine(name: str, namespace: str = "default", kind: str = "AWSMachine", cluster: str = "prod") -> Json:
        labels = {names.CLUSTER_NAME_LABEL: cluster}
        return {"kind": kind, "metadata": {"name": name, "namespace": namespace, "labels": labels}}

    strangers = [
        machine("x", "elsewhere"),
        machine("x", kind="Pod"),
        machine("x", cluster="other"),
        {},
        {"kind": "AWSMachine"},
    ]
    plan = build_deletion(
        watched.resource, watched.raw, RING, SETTINGS, others=[machine("b"), machine("a"), *strangers]
    )
    assert plan["notes"][0] == (
        "its delete waits until the machines of its cluster are gone: AWSMachine a, AWSMachine b"
    )
    many = [machine(f"m{number:03d}") for number in range(1_000)]
    plan = build_deletion(watched.resource, watched.raw, RING, SETTINGS, others=many)
    assert plan["notes"][0].endswith("AWSMachine m009 and 990 more")


# --- collection ------------------------------------------------------------------------------------


def test_collection_is_told_from_the_object(page_world: PageWorld) -> None:
    ready = page_world.watched["ready"]
    told = ready.deletion()["collection"]
    assert told["collects"] is True
    assert told["tasks"] == ["load-balancer", "target-group", "security-group", "network-interface"]
    assert told["command"] == "freehold gc plan prod -n default"
    out = changed(ready, nothing, **{names.EXTERNAL_RESOURCE_GC_ANNOTATION: "false"})["collection"]
    assert (out["collects"], out["tasks"]) == (False, [])
    wrong = changed(ready, nothing, **{names.EXTERNAL_RESOURCE_GC_ANNOTATION: "perhaps"})["collection"]
    assert wrong["collects"] is False and "neither true nor false" in wrong["why"]


def test_operator_without_collection_collects_nothing(page_world: PageWorld) -> None:
    settings = replace(SETTINGS, gates=SETTINGS.gates - {FeatureGate.EXTERNAL_RESOURCE_GC})
    ready = page_world.watched["ready"]
    assert build_deletion(ready.resource, ready.raw, RING, settings)["collection"]["collects"] is False


def test_kind_without_collection_says_so(page_world: PageWorld) -> None:
    told = page_world.watched["powervs"].deletion()["collection"]
    assert (told["collects"], told["command"]) == (None, "")
    assert told["why"] == "nothing is collected with an object of this kind"


# --- what anybody can write into a journal ---------------------------------------------------------


def journal(**requires: tuple[str, ...] | None) -> Journal:
    entries = {
        NodeKey("k", name): Entry(RecordState.OWNED, id=name, requires=those and tuple(f"k/{each}" for each in those))
        for name, those in requires.items()
    }
    return Journal(OWNER, entries)


def names_of(waves: list[list[NodeKey]]) -> list[list[str]]:
    return [sorted(key.logical for key in wave) for wave in waves]


def test_circle_of_requirements_comes_last() -> None:
    assert names_of(find_waves(journal(a=("b",), b=("a",), c=("a",), d=()))) == [["c", "d"], ["a", "b"]]


def test_what_has_no_order_on_record_comes_last() -> None:
    assert names_of(find_waves(journal(a=(), b=("a",), c=None))) == [["b"], ["a"], ["c"]]


def test_order_leads_through_what_is_not_ours() -> None:
    found = journal(a=(), b=("a",), c=("b",))
    given = replace(found.entries[NodeKey("k", "b")], state=RecordState.GIVEN)
    assert names_of(find_waves(found.put(NodeKey("k", "b"), given))) == [["c"], ["a"]]


def test_long_chain_is_ordered_at_once() -> None:
    """It is linear: with the engine's own function, wave by wave, this would take minutes."""
    chain = journal(**{f"n{number}": (f"n{number + 1}",) for number in range(3_000)}, n3000=())
    assert len(find_waves(chain)) == 3_001
