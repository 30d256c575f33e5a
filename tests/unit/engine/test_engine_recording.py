"""A created resource is recorded, whatever else fails, and an open intent does not stay open for ever."""

from __future__ import annotations

import pytest

from freehold.engine import errors
from freehold.engine import journal as journals
from freehold.engine.clock import ManualClock
from freehold.engine.graph import Node
from freehold.engine.inventory import Inventory
from freehold.engine.journal import Entry, RecordState, StaleObject
from freehold.engine.outcomes import Blocked, Ready, Reason
from freehold.engine.resources import NodeKey
from harness.stepping import run_blocking
from lab import faults
from lab.catalogue_clocks import Wall
from lab.drivers import MemoryTagger
from lab.faults import Script
from lab.life import Life
from lab.outage import once_after, outage
from lab.world import MemoryWorld, node

NET, RECORD, WEB = NodeKey("net", "main"), NodeKey("record", "www"), NodeKey("balancer", "web")
NODES = [node("net/main"), node("record/www", "net/main"), node("balancer/web", "net/main")]


def _record_by_hand(life: Life, key: NodeKey, entry: Entry) -> None:
    life.stored.versions.append(journals.dumps(life.journal.put(key, entry)))
    life.stored.touch()


def test_a_resource_created_while_the_object_changed_is_recorded() -> None:
    """This process has the reply. A resource of this kind has no witness but its name, so a later read shows less."""
    world = MemoryWorld(nodes=NODES)
    life = Life(world)
    once_after(life, "create_record", life.stored.touch)
    assert all(isinstance(outcome, Ready) for outcome in life.create().values())
    assert len(world.living()) == len(NODES)


def test_an_api_server_outage_after_a_create_loses_nothing() -> None:
    world = MemoryWorld(nodes=NODES)
    life = Life(world)
    down = outage(life, "save_journal", errors.Unavailable("no API server"))
    once_after(life, "create_record", down.__enter__)
    while RECORD.kind not in {thing.kind for thing in world.living()}:
        life.once()
        world.clock.advance(max(life.last.after, 0.001) if life.last else 1.0)
    for _ in range(60):
        assert life.once() is None
        world.clock.advance(10.0)
    assert life.journal.entries[RECORD].state is RecordState.INTENDED
    made = len(world.living())
    down.__exit__(None, None, None)
    assert all(isinstance(outcome, Ready) for outcome in life.create().values())
    assert made == len(world.living()) == len(NODES)


def test_a_defect_in_one_driver_does_not_lose_resources_of_the_others() -> None:
    world = MemoryWorld(nodes=NODES)
    life = Life(world)
    with outage(life, "create_balancer", TypeError("a defect"), times=1), pytest.raises(TypeError):
        life.create()
    assert life.journal.entries[RECORD].state is RecordState.RECORDED
    assert life.journal.entries[WEB].state is RecordState.INTENDED
    assert all(isinstance(outcome, Ready) for outcome in life.create().values())
    assert len(world.living()) == len(NODES)


@pytest.mark.parametrize("deleting", (False, True), ids=("creating", "deleting"))
def test_an_open_intent_in_a_place_that_is_gone_is_closed(deleting: bool) -> None:
    """The place answers Not Found: that must not keep the finalizer for ever."""
    world = MemoryWorld(nodes=[node("site/home"), node("hub/core")])
    life = Life(world)
    life.create()
    world.edit(drop="hub/core")
    hub = NodeKey("hub", "lost")
    _record_by_hand(
        life, hub, Entry(RecordState.INTENDED, request={"name": "lost"}, opened=world.clock.now(), key=life.journal.key)
    )
    life.restart()
    life.deleting = deleting
    with outage(life, "find_hub", errors.NotFound("its workspace does not exist")):
        for _ in range(30):
            done = life.once()
            assert done is not None
            world.clock.advance(max(done.after, 0.001))
            if not life.journal.open:
                break
    assert not life.journal.open


@pytest.mark.parametrize("phase", (RecordState.INTENDED, RecordState.GIVEN, RecordState.OWNED))
def test_a_record_of_a_kind_from_a_newer_version_stops_no_pass(phase: RecordState) -> None:
    """A downgrade: owned resources of that kind hold the delete and are named; no pass raises."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    ufo = NodeKey("ufo", "x")
    _record_by_hand(life, ufo, Entry(phase, "" if phase is RecordState.INTENDED else "ufo-1", request={"name": "x"}))
    life.state.invalidate()
    done = life.once()
    assert done is not None and isinstance(done.outcomes[NodeKey("site", "home")], Ready)
    life.delete()
    assert life.last is not None
    assert [thing.role for thing in world.living()] == []
    assert life.last.released is (phase is RecordState.GIVEN)
    if phase.is_claimed:
        outcome = life.last.outcomes[ufo]
        assert isinstance(outcome, Blocked) and outcome.reason is Reason.UNKNOWN_KIND


def test_a_shared_read_ages_although_the_wall_clock_is_set_back() -> None:
    world = MemoryWorld(nodes=[node("net/main")])
    life = Life(world)
    clock = world.clock
    assert isinstance(clock, ManualClock)
    inventory = Inventory(MemoryTagger(world.cloud, life.port, world.codec), clock)
    run_blocking(inventory.read_snapshot(60.0))
    clock.jump(-86_400.0)
    clock.advance(61.0)
    begun = len(life.port.calls)
    run_blocking(inventory.read_snapshot(60.0))
    assert len(life.port.calls) == begun + 1


def _call(nodes: list[Node], operation: str) -> int:
    """The index of that call in an undisturbed create of ``nodes``."""
    life = Life(MemoryWorld(nodes=nodes))
    life.create()
    return next(i for i, call in enumerate(life.port.calls) if call.operation == operation)


@pytest.mark.parametrize("ahead", (-90.0, 90.0), ids=("clock is behind", "clock is ahead"))
def test_an_interrupted_create_is_ours_although_the_two_clocks_differ_a_little(ahead: float) -> None:
    """By the operator's clock the resource may be older than its create: a person would have to resolve each crash."""
    nodes = [node("site/home")]
    world = MemoryWorld(nodes=nodes)
    world.set_clock(Wall(world.clock, ahead))
    life = Life(world, Script({_call(nodes, "create_site"): faults.AFTER}))
    assert isinstance(life.create()["site/home"], Ready)
    assert life.crashes == 1
    assert len(world.living()) == 1


def _open_and_found() -> Life:
    """The reply of a create was lost: the intent is open, and the next pass would find the resource ready."""
    nodes = [node("net/main", size=1)]
    world = MemoryWorld(nodes=nodes)
    life = Life(world, Script({_call(nodes, "create_net"): faults.LOST}))
    assert life.once() is not None
    assert life.journal.entries[NET].state is RecordState.INTENDED
    world.clock.advance(30.0)
    return life


def _ready_soon(life: Life) -> None:
    """Pass until it is Ready, which must be sooner than the next deep pass."""
    begun = life.world.clock.monotonic()
    while True:
        done = life.once()
        if done is not None and isinstance(done.outcomes[NET], Ready):
            break
        life.world.clock.advance(max(done.after, 0.001) if done is not None else 1.0)
        assert life.world.clock.monotonic() - begun < 120.0, done
    assert len(life.world.living()) == 1


@pytest.mark.parametrize("error", (errors.Unavailable("no API server"), StaleObject("changed")))
def test_after_a_failed_save_of_a_found_resource_the_next_pass_comes_soon(error: Exception) -> None:
    """The stored intent is still open: a requeue time computed from the unsaved journal would be ten minutes."""
    life = _open_and_found()
    with outage(life, "save_journal", error, times=1):
        assert life.once() is None
    assert life.journal.entries[NET].state is RecordState.INTENDED
    _ready_soon(life)
