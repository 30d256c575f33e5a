"""Pruning: what the spec drops is deleted if its kind allows it, and the delete is observed until the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine.journal import RecordState
from freehold.engine.kinds import Dedupe, Kind, Registry, Tagging
from freehold.engine.outcomes import Blocked, Kept, Ready, Reason, Surplus, Waiting
from freehold.engine.resources import NodeKey, Observed, Request
from lab.cloud import ReadLags
from lab.drivers import MemoryDriver
from lab.life import Life
from lab.outage import outage
from lab.world import SETTLE, MemoryWorld, node

DISK = NodeKey("disk", "data")
NODES = [node("net/main"), node("disk/data", "net/main")]


def _pruned(world: MemoryWorld) -> Life:
    """Create, then drop the disk from the spec."""
    life = Life(world)
    life.create()
    world.nodes = NODES[:1]
    life.state.invalidate()
    return life


def _pass(life: Life) -> None:
    """Run one pass, and advance the clock to the next."""
    done = life.once()
    assert done is not None
    life.world.clock.advance(max(done.after, 0.001))


@pytest.mark.parametrize("lag", (0.0, 30.0), ids=("reads are current", "reads lag"))
def test_a_requested_delete_is_observed_until_the_end(lag: float) -> None:
    """Once, with all wanted nodes Ready, the later passes read nothing for ten minutes."""
    world = MemoryWorld(nodes=NODES, read_lags=ReadLags(read_lag=lag))
    life = _pruned(world)
    begun = world.clock.monotonic()
    while life.journal.entries[DISK].state is not RecordState.VACANT:
        _pass(life)
        assert world.clock.monotonic() - begun < 200.0
        assert life.last is not None
        outcome = life.last.outcomes.get(DISK)
        assert outcome is None or (isinstance(outcome, Waiting) and outcome.reason is Reason.DELETING)
    assert not [thing for thing in world.living() if thing.kind == "disk"]
    life.create()
    begun_idle = len(life.port.calls)
    life.once()
    assert {call.operation for call in life.port.calls[begun_idle:]} <= {"search_all"}


def test_the_reason_that_a_dropped_disk_cannot_be_deleted_is_reported_and_the_delete_repeated() -> None:
    life = _pruned(MemoryWorld(nodes=NODES))
    with outage(life, "delete_disk", errors.InUse("disk is attached", blocker="vm-7")):
        for _ in range(10):
            _pass(life)
            assert life.last is not None
            outcome = life.last.outcomes[DISK]
            assert isinstance(outcome, Waiting) and outcome.reason is Reason.IN_USE
            assert "vm-7" in outcome.message
    for _ in range(5):
        _pass(life)
    assert life.journal.entries[DISK].state is RecordState.VACANT


def test_a_stranger_with_a_copy_of_our_uuid_is_left_alone_and_stops_no_pruning() -> None:
    """Otherwise anybody who may tag something in the account could block this object."""
    world = MemoryWorld(nodes=[*NODES, node("hub/core")])
    life = Life(world)
    life.create()
    stranger = world.cloud.create("hub", "theirs", {}, creator="stranger")
    world.cloud.attach(stranger.target, frozenset({"owner:prod.c2", f"uuid:{life.journal.owner.uuid}"}), by="stranger")
    world.nodes = [NODES[0], node("hub/core")]
    life.state.invalidate()
    for _ in range(30):
        _pass(life)
    assert not [thing for thing in world.living() if thing.kind == "disk"]
    assert stranger.id in [thing.id for thing in world.living()] and not world.tampered()
    assert life.last is not None and "prod.c2" in life.hear(life.last)


def test_a_resource_wanted_again_is_not_ready_while_its_delete_does_not_show_yet() -> None:
    """A lagging read shows it as it was; ten minutes later it would be gone."""
    world = MemoryWorld(nodes=NODES, read_lags=ReadLags(read_lag=6.0))
    life = _pruned(world)
    life.once()
    assert life.state.node(DISK).delete_sent is not None
    world.nodes = NODES  # at once, so that the next read shows the state before the delete
    life.state.invalidate()
    life.once()
    assert life.last is not None
    outcome = life.last.outcomes[DISK]
    assert isinstance(outcome, Waiting) and outcome.reason is Reason.DELETING
    begun, notes = world.clock.monotonic(), list[str]()
    while True:
        done = life.once()
        assert done is not None
        notes += done.notes
        if isinstance(done.outcomes[DISK], Ready):
            break
        assert world.clock.monotonic() - begun < 300.0
        world.clock.advance(max(done.after, 0.001))
    held = life.journal.entries[DISK]
    assert held.id in [thing.id for thing in world.living()]
    assert notes == []


def test_a_delete_reports_what_it_waits_for_and_not_an_old_error_of_its_create() -> None:
    world = MemoryWorld(nodes=[node("hub/core"), node("site/home")])
    life = Life(world)
    with outage(life, "create_hub", errors.Quota("limit of hubs reached"), times=1):
        life.create()
    life.deleting = True
    for _ in range(40):
        done = life.once()
        assert done is not None
        assert not [outcome for outcome in done.outcomes.values() if isinstance(outcome, Blocked)]
        world.clock.advance(min(max(done.after, 0.001), 2.0))
        if done.released:
            return
    raise AssertionError("not released")


def test_the_reason_that_a_delete_waits_is_reported_in_each_pass() -> None:
    world = MemoryWorld(nodes=[node("hub/core"), node("site/home")])
    life = Life(world)
    life.create()
    life.deleting = True
    with outage(life, "delete_hub", errors.InUse("hub has links", blocker="link-9")):
        for _ in range(20):
            done = life.once()
            assert done is not None
            outcome = done.outcomes[NodeKey("hub", "core")]
            assert isinstance(outcome, Waiting) and outcome.reason is Reason.IN_USE, outcome
            world.clock.advance(1.0)


def test_a_resource_that_cannot_be_marked_is_not_pruned_and_the_reason_is_reported() -> None:
    """A person must learn of the missing permission; a message about marks that are being attached is no help."""
    world = MemoryWorld(nodes=NODES)
    life = Life(world)
    denied = errors.Denied("no permission to attach tags")
    with outage(life, "attach", denied):
        while DISK not in life.journal.entries or life.journal.entries[DISK].state is not RecordState.RECORDED:
            _pass(life)
        world.nodes = NODES[:1]
        life.state.invalidate()
        for _ in range(6):
            _pass(life)
            assert life.last is not None
            outcome = life.last.outcomes[DISK]
            assert isinstance(outcome, Blocked) and denied.message in outcome.message
    life.create()
    assert [thing.kind for thing in world.living()] == ["net"]


def test_a_container_with_something_of_ours_in_it_is_not_pruned() -> None:
    """Deleting the container would destroy its contents, which must stay as long as the object."""
    world = MemoryWorld(nodes=[node("hub/core"), node("site/home"), node("guest/x", "site/home")])
    life = Life(world)
    guests = MemoryDriver(world.cloud, life.port, "guest", nonce="nested")
    guest = Kind("guest", Tagging.AFTER, Dedupe.NONCE, guests, requires=("site",), settle=SETTLE)
    registry = life.deps.registry
    kinds = [replace(kind, deletion=replace(kind.deletion, prunable=kind.name == "site")) for kind in registry.values()]
    life.deps = replace(life.deps, registry=Registry([*kinds, guest]))
    life.create()
    world.nodes = [node("hub/core")]
    life.state.invalidate()
    outcomes = life.create()
    assert {thing.role for thing in world.living()} == {"hub/core", "site/home", "guest/x"}
    assert isinstance(outcomes["site/home"], Surplus)
    life.delete()
    assert life.released
    assert world.living() == []


def test_what_surplus_holds_is_not_created_and_the_message_says_what_frees_it() -> None:
    """The cloud would refuse the create for as long as the surplus is there."""
    world = MemoryWorld(nodes=[node("net/old", size=7)])
    life = Life(world)
    life.create()
    kinds = [
        replace(kind, creation=replace(kind.creation, conflict_reason=_same_size))
        for kind in life.deps.registry.values()
    ]
    life.deps = replace(life.deps, registry=Registry(kinds))
    world.nodes = [node("net/new", size=7)]
    life.invalidate()
    outcome = life.create()["net/new"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.IN_USE
    assert "size 7 is held by net/old" in outcome.message and "freehold prune" in outcome.message
    assert [each.kind for each in world.living()] == ["net"]


def _same_size(wanted: Request, other: Observed) -> str:
    return f"size {wanted['size']}" if wanted.get("size") == other.attributes.get("size") else ""


def test_what_has_lost_its_marks_while_its_object_lives_is_marked_again_and_pruned() -> None:
    """Only a delete of the object keeps it."""
    life = _pruned(MemoryWorld(nodes=NODES))
    with outage(life, "delete_disk", errors.InUse("disk is attached", blocker="vm-7")):
        _pass(life)
        life.world.meddle("strip", "disk")
        for _ in range(6):
            _pass(life)
            assert life.last is not None and not isinstance(life.last.outcomes[DISK], Kept)
    for _ in range(12):
        _pass(life)
    assert life.journal.entries[DISK].state is RecordState.VACANT
