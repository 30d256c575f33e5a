"""The calls of a pass, plans that change nothing, and what a delete reports when it cannot continue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine import journal as journals
from freehold.engine.clock import ManualClock
from freehold.engine.dry_run import dry_run_deps
from freehold.engine.dry_run_overlay import Overlay
from freehold.engine.engine import ensure
from freehold.engine.graph import Graph
from freehold.engine.interface import PassResult
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.outcomes import Blocked, Kept, Ready, Reason, Waiting
from freehold.engine.port import Effect, ReadOnlyPort
from freehold.engine.resources import NodeKey, Part
from freehold.engine.state import Existence
from harness.stepping import run_blocking
from lab import faults
from lab.families import Case, run
from lab.faults import Script
from lab.life import Life
from lab.outage import outage
from lab.world import TRAITS, MemoryWorld, node, standard


class _Unsaved:
    async def save(self, journal: Journal) -> None:
        """A dry run's object is a copy."""


def _dry_pass(life: Life, graph: Graph) -> PassResult:
    overlay = Overlay(ManualClock(life.world.clock.now(), life.world.clock.monotonic()))
    deps = dry_run_deps(life.world.deps(ReadOnlyPort(life.port)), overlay)
    return run_blocking(ensure(deps, graph, life.journal, _Unsaved(), life.state.dry_run_copy()))


def _planned(life: Life) -> set[str]:
    return {str(key) for key in _dry_pass(life, life.world.graph()).creating}


def test_a_plan_writes_nothing_and_names_what_would_be_created_now() -> None:
    life = Life(MemoryWorld())
    assert _planned(life) == {"net/main", "site/home", "ticket/seat", "hub/core"}
    assert life.port.writes == 0
    assert not life.world.living()
    assert len(life.stored.versions) == 1


def test_a_plan_in_the_middle_of_a_create_writes_nothing_either() -> None:
    """An open intent with a token is resolved by a create: a plan must not send it."""
    world = MemoryWorld(nodes=[node("ticket/seat"), node("site/home")])
    life = Life(world, Script({3: faults.late_crash(10)}))
    life.once()
    assert life.journal.open
    before, writes = life.stored.text, life.port.writes
    _planned(life)
    assert life.port.writes == writes
    assert life.stored.text == before


def test_a_plan_does_not_affect_the_next_pass() -> None:
    """Its reads must not count as seen, created or waited for."""
    planned, fresh = Life(MemoryWorld()), Life(MemoryWorld())
    _planned(planned)
    assert planned.state == fresh.state
    assert all(isinstance(outcome, Ready) for outcome in planned.create().values())


def test_a_plan_of_another_spec_does_not_delay_the_real_one() -> None:
    """That spec gives an id that does not exist: otherwise the next pass would wait, and report that id."""
    life = Life(MemoryWorld(nodes=[node("hub/core")]))
    done = _dry_pass(life, Graph([node("hub/core", given="hub-404")]))
    assert isinstance(done.outcomes[NodeKey("hub", "core")], Blocked)
    life.once()
    assert [thing.role for thing in life.world.living()] == ["hub/core"]


def test_an_idle_pass_asks_the_shared_index_and_nothing_else() -> None:
    life = Life(MemoryWorld())
    life.create()
    begun = len(life.port.calls)
    life.once()
    assert [call.operation for call in life.port.calls[begun:]] in ([], ["search_all"])


def test_a_pass_is_idle_again_after_something_was_pruned() -> None:
    """The attempt count of a pruned node stays recorded, and is no reason for further reads."""
    world = MemoryWorld()
    life = Life(world)
    life.create()
    world.edit(drop="disk/data")
    life.state.invalidate()
    life.create()
    assert not [thing for thing in world.living() if thing.kind == "disk"]
    begun = len(life.port.calls)
    life.once()
    assert [call.operation for call in life.port.calls[begun:]] in ([], ["search_all"])


def test_a_pruned_node_that_is_wanted_again_is_created_again() -> None:
    """With a new token: the cloud would answer the old one with the resource that is gone."""
    world = MemoryWorld()
    life = Life(world)
    life.create()
    before = list(world.nodes)
    world.edit(drop="disk/data")
    life.state.invalidate()
    life.create()
    world.nodes = before
    life.state.invalidate()
    assert isinstance(life.create()["disk/data"], Ready)
    assert len([thing for thing in world.living() if thing.kind == "disk"]) == 1


def test_a_deep_pass_reads_each_kind_once() -> None:
    life = Life(MemoryWorld())
    life.create()
    life.state.invalidate()
    begun = len(life.port.calls)
    life.once()
    calls = life.port.calls[begun:]
    assert all(call.effect is Effect.READ for call in calls)
    assert len(calls) <= len(standard()) + 2


def test_parts_are_changed_to_the_spec_only_where_all_of_their_sort_are_ours() -> None:
    world = MemoryWorld(nodes=[node("net/main"), node("wall/edge", "net/main", parts=(Part("allow", "80"),))])
    life = Life(world)
    life.create()
    wall = next(r for r in world.cloud.living() if r.kind == "wall")
    wall.parts["allow", "22"] = "stranger"  # the kind declares that all of this sort are ours
    wall.parts["note", "x"] = "stranger"
    del wall.parts["allow", "80"]
    life.state.invalidate()
    life.create()
    assert set(wall.parts) == {("allow", "80"), ("note", "x")}


def test_a_mutable_attribute_follows_the_spec_and_an_immutable_one_is_reported() -> None:
    world = MemoryWorld(nodes=[node("net/main", size=1), node("disk/d", "net/main", shape="a")])
    life = Life(world)
    life.create()
    world.nodes = [node("net/main", size=2), node("disk/d", "net/main", shape="b")]
    life.state.invalidate()
    outcomes = life.create()
    assert next(r for r in world.cloud.living() if r.kind == "net").attributes["size"] == 2
    disk = outcomes["disk/d"]
    assert isinstance(disk, Ready)
    assert disk.reason is Reason.DRIFTED
    assert "'a'" in disk.note and "'b'" in disk.note


def test_a_kind_that_this_version_does_not_know_blocks_a_delete_and_is_named() -> None:
    life = Life(MemoryWorld(nodes=[node("site/home")]))
    life.create()
    future = life.journal.put(NodeKey("teleporter", "t"), Entry(RecordState.OWNED, "t-1", "crn:t-1"))
    life.stored.versions.append(journals.dumps(future))
    outcomes = life.delete()
    blocked = outcomes["teleporter/t"]
    assert isinstance(blocked, Blocked)
    assert blocked.reason is Reason.UNKNOWN_KIND
    assert life.last is not None and not life.last.released


def test_a_resource_claimed_by_another_owner_is_kept_and_reported() -> None:
    life = Life(MemoryWorld(nodes=[node("site/home")]))
    life.create()
    life.world.steal("site")  # type: ignore[attr-defined]  # the in-memory world
    life.delete()
    assert life.last is not None
    kept = life.last.outcomes[NodeKey("site", "home")]
    assert isinstance(kept, Kept | Blocked)
    assert [thing.kind for thing in life.world.living()] == ["site"]


def test_a_strangers_resource_in_ours_holds_the_delete_and_is_named_until_it_is_gone() -> None:
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    world.move_in("site")
    held = life.delete()["site/home"]
    assert isinstance(held, Waiting)
    assert held.reason is Reason.IN_USE
    assert "their-machine" in held.message
    guest = next(r for r in world.cloud.living() if r.kind == "guest")
    world.cloud.vanish(guest.id)
    life.delete()
    assert life.last is not None and life.last.released
    assert not world.living()


def test_a_resource_that_keeps_vanishing_is_not_created_for_ever() -> None:
    """Two attempts, then a person is asked: find out who deletes it."""
    world = MemoryWorld(nodes=[node("balancer/web", "net/main"), node("net/main")])
    life = Life(world)
    for _ in range(60):
        life.once()
        world.strike("balancer")
        assert life.last is not None
        world.clock.advance(max(1.0, min(life.last.after, 60.0)))
    outcome = life.last.outcomes[NodeKey("balancer", "web")]
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.VANISHING
    assert sum(1 for r in world.cloud.log if r.kind == "balancer") == 2


@pytest.mark.parametrize("gap", (10.0, 5000.0), ids=("within the token's life", "after it"))
def test_a_token_is_not_sent_again_when_the_cloud_has_forgotten_it(gap: float) -> None:
    """An expired token would make a second resource: the one with the name is presumed ours, and a person decides."""
    traits = {**TRAITS, "disk": replace(TRAITS["disk"], token_life=1000.0)}
    world = MemoryWorld(nodes=[node("net/main"), node("disk/d", "net/main")], traits=traits)
    probe = Life(MemoryWorld(nodes=[node("net/main"), node("disk/d", "net/main")]))
    probe.create()
    number = next(i for i, call in enumerate(probe.port.calls) if call.operation == "create_disk")
    life = Life(world, Script({number: faults.AFTER}), restart_after=gap)
    outcome = life.create()["disk/d"]
    assert sum(1 for r in world.cloud.log if r.kind == "disk") == 1
    assert isinstance(outcome, Ready) if gap < 1000 else isinstance(outcome, Blocked)


def test_an_object_without_resources_is_released_at_once() -> None:
    life = Life(MemoryWorld(nodes=[]))
    assert not Graph([]).nodes
    life.delete()
    assert life.last is not None and life.last.released


def test_a_refused_delete_backs_off() -> None:
    """A stranger's resource in ours is no reason to request the delete four times a minute for ever."""
    world = MemoryWorld(nodes=[node("net/main")])
    life = Life(world)
    life.create()
    ours = world.ours("net")
    assert ours is not None
    world.cloud.create("disk", "theirs", {"net": ours.id}, creator="stranger")
    begun = world.clock.monotonic()
    life.delete()
    seconds = world.clock.monotonic() - begun
    sent = sum(1 for call in life.port.calls if call.operation == "delete_net")
    assert sent < seconds / 30


def test_two_faults_in_a_row_at_the_same_create() -> None:
    """The recovery from a lost reply is interrupted, too."""
    for gap in range(1, 8):
        script = Script({5: faults.LOST, 5 + gap: faults.AFTER})
        assert not run(Case("twice", MemoryWorld, lambda _, s=script: s)).faults  # type: ignore[misc]  # mypy infers no lambda defaults


@pytest.mark.parametrize("passes", range(1, 16))
def test_an_object_is_not_ready_again_before_the_new_user_tags_are_attached(passes: int) -> None:
    """The edit comes so soon after the marks that the index may lag: the missing tags must not count as lag."""
    world = MemoryWorld()
    life = Life(world)
    for _ in range(passes):
        done = life.once()
        assert done is not None
        world.clock.advance(max(done.after, 0.001))
    life.user_tags = frozenset({"user:team=blue"})
    life.state.invalidate()
    for _ in range(100):
        done = life.once()
        assert done is not None
        if all(isinstance(outcome, Ready) for outcome in done.outcomes.values()):
            break
        world.clock.advance(max(done.after, 0.001))
    cloud, tags = world.cloud, life.user_tags
    taggable = [thing for thing in world.living() if TRAITS[thing.kind].taggable]
    assert [thing.role for thing in taggable if not tags <= cloud.get(thing.id).tagged(cloud.now())] == []


def test_an_index_that_does_not_answer_leaves_an_object_at_rest_ready() -> None:
    """The index only gives a hint: without it nothing is known to be wrong. The deep pass reads the resources."""
    world = MemoryWorld()
    life = Life(world)
    life.create()
    with outage(life, "search_all", errors.Unavailable("503")):
        world.clock.advance(120.0)
        done = life.once()
    assert done is not None
    assert all(isinstance(outcome, Ready) for outcome in done.outcomes.values())
    assert done.after <= 120.0


def test_an_edit_that_adds_a_requirement_is_recorded_for_the_delete() -> None:
    """The delete goes by what is on record: the spec may be gone by then."""
    world = MemoryWorld(nodes=[node("net/main"), node("net/second"), node("disk/data", "net/main")])
    life = Life(world)
    life.create()
    world.nodes = [node("net/main"), node("net/second"), node("disk/data", "net/main", "net/second")]
    life.touch()
    life.settle()
    assert set(life.journal.entries[NodeKey("disk", "data")].requires or ()) == {"net/main", "net/second"}


def test_what_is_wanted_again_after_its_delete_is_a_new_resource_to_this_process() -> None:
    """What was remembered of the old one says that its delete is under way."""
    world = MemoryWorld(nodes=[node("net/main"), node("disk/data", "net/main")])
    life = Life(world)
    life.create()
    wanted, world.nodes = world.nodes, world.nodes[:1]
    life.touch()
    life.settle()
    assert world.ours("disk") is None
    world.nodes = wanted
    life.touch()
    life.once()
    assert world.ours("disk") is not None
    assert life.state.node(NodeKey("disk", "data")).existence is Existence.PRESENT


def test_marks_are_read_once_more_after_the_settle_time_and_not_in_each_pass() -> None:
    """A process that did not mint the identity reads them before it creates; while something is blocked, no more."""
    world = MemoryWorld(nodes=[node("net/main"), node("net/second")])
    world.namesake("net")
    life = Life(world)
    for _ in range(3):
        life.once()
        world.clock.advance(10.0)
    life.restart()
    begun = len(life.port.calls)
    for _ in range(40):
        life.once()
        world.clock.advance(60.0)
    searches = [call.operation for call in life.port.calls[begun:]].count("search")
    assert searches <= 12, searches
