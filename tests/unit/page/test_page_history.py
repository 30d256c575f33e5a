"""Histories: what happened to an object last, as bars over time, from the statuses that were seen; and bounded."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.engine.outcomes import Repair
from freehold.kube.resources import Json
from freehold.page.history import MOST_BARS_OF_ONE, MOST_REPAIRS_OF_ONE, Histories, History, Operation
from harness.page_world import PageWorld, stamp

KEY = "AWSCluster/default/demo"
T = 1_700_000_000.0


def row(name: str, state: str, since: float, reason: str = "", waits: tuple[str, ...] = ()) -> Json:
    return {
        "kind": "k",
        "name": name,
        "state": state,
        "reason": reason,
        "since": stamp(T + since),
        "waitsFor": [*waits],
    }


def obj(*rows: Json, deleting: bool = False, generation: int = 1, provisioned: bool = False) -> Json:
    metadata: Json = {"name": "demo", "namespace": "default", "generation": generation}
    if deleting:
        metadata["deletionTimestamp"] = stamp(T)
    status: Json = {"resources": list(rows)} if rows else {}
    return {"metadata": metadata, "status": status | ({"initialization": {"provisioned": True}} if provisioned else {})}


class Watch:
    """The histories, told of one stored version after another."""

    def __init__(self) -> None:
        self.histories = Histories()
        self.last: Json | None = None

    def see(self, at: float, new: Json | None) -> None:
        self.histories.note(KEY, self.last, new, T + at)
        self.last = new

    @property
    def found(self) -> History:
        found = self.histories.find(KEY)
        assert found is not None
        return found

    def times(self) -> dict[str, tuple[Any, ...]]:
        """Begin, end of the wait, end; counted from T."""
        shown = self.found.to_json({})["bars"]
        return {
            bar["name"]: tuple(
                None if at is None else at - T for at in (bar["begun"], bar["waited_until"], bar["ended"])
            )
            for bar in shown
        }


def critical(history: History, **requires: list[str]) -> list[str]:
    edges = {f"k/{name}": [f"k/{each}" for each in those] for name, those in requires.items()}
    return [bar["name"] for bar in history.to_json(edges)["bars"] if bar["critical"]]


def created() -> Watch:
    """An object that was created before the eyes of the watch: b had to wait for a."""
    watch = Watch()
    watch.see(0, obj())
    watch.see(1, obj(row("a", "Waiting", 1, "Creating"), row("b", "Waiting", 1, "WaitingForRequirement", ("k a",))))
    watch.see(5, obj(row("a", "Ready", 5), row("b", "Waiting", 1, "Creating")))
    watch.see(9, obj(row("a", "Ready", 5), row("b", "Ready", 9)))
    return watch


def test_create_has_a_bar_for_each_resource() -> None:
    watch = created()
    assert (watch.found.operation, watch.found.complete) == (Operation.CREATE, True)
    assert (watch.found.begun, watch.found.ended) == (T, T + 9)
    assert watch.times() == {"a": (0, 1, 5), "b": (0, 5, 9)}


def test_critical_path_leads_back_over_what_each_waited_for() -> None:
    assert critical(created().found) == ["a", "b"]


def test_critical_path_follows_the_journal_to_what_ended_last() -> None:
    watch = Watch()
    watch.see(0, obj())
    begun = [row(name, "Waiting", 0, "Creating") for name in "abcd"]
    watch.see(0, obj(*begun))
    watch.see(9, obj(row("a", "Ready", 2), row("b", "Ready", 4), row("c", "Ready", 9), row("d", "Ready", 3)))
    assert critical(watch.found, c=["a", "b"]) == ["b", "c"]


def test_what_is_at_work_is_on_the_critical_path_before_what_has_ended() -> None:
    watch = Watch()
    watch.see(0, obj())
    watch.see(4, obj(row("a", "Ready", 4), row("b", "Waiting", 0, "Creating")))
    assert critical(watch.found) == ["b"]


def test_circle_in_the_edges_ends() -> None:
    assert critical(created().found, a=["b"], b=["a"]) == ["a", "b"]


def test_delete_begins_anew_and_its_path_is_the_other_way_round() -> None:
    watch = created()
    watch.see(20, obj(row("a", "Ready", 5), row("b", "Ready", 9), deleting=True))
    assert watch.times() == {"a": (20, None, None), "b": (20, None, None)}
    dependents = row("a", "Waiting", 21, "WaitingForDependents")
    watch.see(21, obj(dependents, row("b", "Deleting", 21, "Deleting"), deleting=True))
    watch.see(30, obj(row("a", "Deleting", 30, "Deleting"), row("b", "Gone", 30), deleting=True))
    watch.see(40, obj(row("a", "Gone", 40), row("b", "Gone", 30), deleting=True))
    assert (watch.found.operation, watch.found.begun, watch.found.complete) == (Operation.DELETE, T + 20, True)
    assert watch.times() == {"a": (20, 30, 40), "b": (20, 21, 30)}
    assert critical(watch.found, b=["a"]) == ["a", "b"]


def test_kept_resource_has_an_end() -> None:
    watch = created()
    watch.see(20, obj(row("a", "Kept", 22), row("b", "Deleting", 22, "Deleting"), deleting=True))
    watch.see(23, obj(row("a", "Kept", 22), row("b", "Gone", 23), deleting=True))
    assert watch.times() == {"a": (20, 20, 22), "b": (20, 20, 23)}


def test_repair_has_a_bar_of_what_was_touched() -> None:
    watch = created()
    watch.see(50, obj(row("a", "Ready", 5), row("b", "Waiting", 50, "Creating")))
    watch.see(60, obj(row("a", "Ready", 5), row("b", "Ready", 60)))
    assert (watch.found.operation, watch.found.begun, watch.found.ended) == (Operation.REPAIR, T + 50, T + 60)
    assert watch.times() == {"b": (50, 50, 60)}


def test_change_of_the_spec_is_an_update() -> None:
    watch = created()
    watch.see(50, obj(row("a", "Ready", 5), row("b", "Ready", 9), row("c", "Waiting", 50, "Creating"), generation=2))
    assert watch.found.operation is Operation.UPDATE
    assert list(watch.times()) == ["c"]


def test_object_that_was_half_made_before_the_process_began_is_incomplete() -> None:
    watch = Watch()
    watch.see(100, obj(row("a", "Ready", 5), row("b", "Waiting", 6, "Creating")))
    assert (watch.found.operation, watch.found.complete) == (Operation.CREATE, False)


def test_object_in_deletion_when_the_process_began_is_incomplete() -> None:
    watch = Watch()
    watch.see(100, obj(row("a", "Deleting", 5), deleting=True))
    assert (watch.found.operation, watch.found.complete) == (Operation.DELETE, False)


def test_trouble_of_an_object_that_was_whole_before_the_process_began_is_a_repair() -> None:
    watch = Watch()
    watch.see(100, obj(row("a", "Waiting", 90, "Creating"), provisioned=True))
    assert (watch.found.operation, watch.found.complete) == (Operation.REPAIR, False)


def test_object_at_rest_has_no_history() -> None:
    watch = Watch()
    watch.see(0, obj(row("a", "Ready", 0)))
    assert watch.histories.find(KEY) is None


def test_object_without_resources_has_no_history() -> None:
    watch = Watch()
    watch.see(0, obj())
    watch.see(1, obj(provisioned=True))
    assert watch.histories.find(KEY) is None


def test_object_that_is_gone_is_forgotten() -> None:
    watch = created()
    watch.see(50, None)
    assert (watch.histories.find(KEY), watch.histories.size, len(watch.histories)) == (None, 0, 0)


def test_status_without_news_of_resources_changes_nothing() -> None:
    watch = created()
    before = watch.found.to_json({})
    watch.see(99, {**obj(row("a", "Ready", 5), row("b", "Ready", 9)), "spec": {"x": 1}})
    assert watch.found.to_json({}) == before


# --- repairs that no status shows ------------------------------------------------------------------

CHANGED = Repair("name", "theirs", "ours")


def test_change_that_was_brought_back_in_one_pass_is_a_repair() -> None:
    watch = created()
    watch.histories.note_repairs(KEY, {("k", "a"): [CHANGED]}, T + 50)
    assert (watch.found.operation, watch.found.begun) == (Operation.REPAIR, T + 50)
    (noted,) = watch.histories.find_repairs(KEY)
    assert (noted.at, noted.key, noted.repair) == (T + 50, "k/a", CHANGED)


def test_repair_in_a_create_leaves_its_history() -> None:
    watch = Watch()
    watch.see(0, obj())
    watch.see(0, obj(row("a", "Waiting", 0, "Creating")))
    watch.histories.note_repairs(KEY, {("k", "a"): [CHANGED]}, T + 1)
    assert watch.found.operation is Operation.CREATE
    assert len(watch.histories.find_repairs(KEY)) == 1


def test_only_the_last_repairs_are_remembered() -> None:
    histories = Histories()
    for number in range(100):
        histories.note_repairs(KEY, {("k", "a"): [Repair("name", str(number), "ours")]}, T)
    shown = histories.find_repairs(KEY)
    assert [each.repair.before for each in shown] == [str(number) for number in range(100 - MOST_REPAIRS_OF_ONE, 100)]


# --- bounds ----------------------------------------------------------------------------------------


def test_what_changed_least_recently_is_forgotten_first() -> None:
    histories = Histories(most_kept=100)
    for number in range(1000):
        histories.note(f"k/n/{number}", None, obj(*[row(str(each), "Waiting", 0, "Creating") for each in range(9)]), T)
        assert histories.size <= 100
    assert len(histories) == 10
    assert histories.find("k/n/999") and not histories.find("k/n/0")


def test_one_object_has_a_bounded_number_of_bars() -> None:
    histories = Histories()
    rows = [row(str(number), "Waiting", 0, "Creating") for number in range(5_000)]
    histories.note(KEY, None, obj(*rows), T)
    found = histories.find(KEY)
    assert found is not None and len(found.bars) == MOST_BARS_OF_ONE


# --- real objects ----------------------------------------------------------------------------------


def test_create_of_a_real_cluster_waits_for_its_slowest_gateway(page_world: PageWorld) -> None:
    history = page_world.watched["ready"].detail()["history"]
    assert (history["operation"], history["complete"], len(history["bars"])) == ("create", True, 25)
    assert [bar["kind"] for bar in history["bars"] if bar["critical"]] == ["vpc", "subnet", "nat-gateway"]
    assert all(bar["begun"] <= bar["waited_until"] <= bar["ended"] <= history["ended"] for bar in history["bars"])


@pytest.mark.parametrize("name", ["deleting", "stuck"])
def test_delete_of_a_real_cluster_is_shown_while_it_goes_on(page_world: PageWorld, name: str) -> None:
    history = page_world.watched[name].detail()["history"]
    assert (history["operation"], history["ended"]) == ("delete", None)
    assert {bar["ended"] is None for bar in history["bars"]} == {True, False}


def test_path_of_a_delete_leads_over_records_that_have_gone(page_world: PageWorld) -> None:
    """What is gone is on no record any more; the edges are those from when the delete began."""
    history = page_world.watched["stuck"].histories.find("AWSCluster/team-b/legacy")
    assert history is not None
    shown = history.to_json({})["bars"]
    assert [bar["kind"] for bar in shown if bar["critical"]] == ["subnet", "route-table"]
