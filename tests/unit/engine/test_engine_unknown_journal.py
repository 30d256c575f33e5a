"""An older journal that somebody restored, a missing key, and marks that are read before a create."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine.graph import Node
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Blocked, Ready, Reason, Waiting
from freehold.engine.port import Effect
from lab import faults
from lab.cloud import ReadLags
from lab.faults import Script
from lab.life import Life
from lab.outage import outage
from lab.world import RING, SETTLE, MemoryWorld, node

NODES = [node("site/home"), node("hub/core")]


def _ours(world: MemoryWorld) -> list[str]:
    return sorted(thing.role for thing in world.living() if thing.ours)


def test_a_journal_restored_while_its_process_runs_creates_nothing_twice() -> None:
    """By GitOps, kubectl replace or a restore. Creates that the older journal does not contain may not show yet."""
    world = MemoryWorld(ReadLags(15, 15, 20, False), nodes=NODES)
    life = Life(world)
    world.clock.advance(
        10 * SETTLE
    )  # the process has known the object for long: that does not settle the restored journal
    life.once()
    assert _ours(world) == ["hub/core", "site/home"]
    life.roll_back(10)
    outcomes = life.create()
    assert all(isinstance(outcome, Ready) for outcome in outcomes.values())
    assert _ours(world) == ["hub/core", "site/home"]
    life.delete()
    assert not _ours(world)


def test_our_own_write_whose_reply_was_lost_is_recognised() -> None:
    """Otherwise each lost reply of the API server would cost a settle time."""
    world = MemoryWorld(nodes=NODES)
    golden = Life(MemoryWorld(nodes=NODES))
    golden.create()
    stores = [i for i, call in enumerate(golden.port.calls) if call.effect is Effect.STORE]
    life = Life(world, script=Script({stores[1]: faults.LOST}))
    begun = world.clock.monotonic()
    while not all(isinstance(o, Ready) for o in (life.last.outcomes.values() if life.last else [None])):
        done = life.once()
        world.clock.advance(max(done.after if done else 1.0, 0.1))
    assert life.state.identity_is_new
    assert world.clock.monotonic() - begun < SETTLE + 60.0
    assert _ours(world) == ["hub/core", "site/home"]


@pytest.mark.parametrize("deleting", (False, True), ids=("wanted", "deleted"))
def test_without_the_key_nothing_is_read_or_changed(deleting: bool) -> None:
    world = MemoryWorld(nodes=NODES)
    life = Life(world)
    life.create()
    record = life.record
    world.ring = KeyRing.single(b"the key of somebody else, 32 bytes")
    life.restart()
    life.deleting = deleting
    calls = len(life.port.calls)
    for _ in range(5):
        done = life.once()
        assert done is not None and not done.released
        world.clock.advance(300.0)
    assert len(life.port.calls) == calls and life.record == record
    (outcome,) = done.outcomes.values()
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.KEY_MISSING
    assert RING.writing in outcome.message and "freehold keys add" in outcome.message
    world.ring = RING
    life.restart()
    life.delete()
    assert life.last is not None and life.last.released and not _ours(world)


def test_marks_are_read_before_anything_is_created_again() -> None:
    """The journal was lost and a person renamed the resource: neither name nor nonce finds it."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    hub = world.ours("hub")
    assert hub is not None
    world.cloud.rename(hub.id, "renamed-by-a-person", by="stranger")
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    assert isinstance(life.create()["hub/core"], Ready)
    assert _ours(world) == ["hub/core"]


def _surplus() -> tuple[MemoryWorld, Life, list[Node]]:
    nodes = [node("net/main", size=1), node("disk/data", "net/main"), node("disk/more", "net/main")]
    world = MemoryWorld(nodes=nodes)
    life = Life(world)
    life.create()
    return world, life, nodes


def test_surplus_is_not_pruned_without_a_proof_in_the_same_pass() -> None:
    """It belongs to another owner by now: the record alone deletes nothing."""
    world, life, nodes = _surplus()
    disk = world.ours("disk")
    assert disk is not None
    role = disk.role
    world.steal("disk")
    world.nodes = [wanted for wanted in nodes if str(wanted.key) != role]
    life.invalidate()
    life.create()
    assert len([thing for thing in world.living() if thing.kind == "disk"]) == 2
    assert not world.tampered()


def test_an_index_outage_at_the_end_keeps_the_finalizer() -> None:
    world = MemoryWorld(nodes=NODES)
    life = Life(world)
    life.create()
    life.deleting = True
    while _ours(world):
        life.once()
        world.clock.advance(5.0)
    with outage(life, "search", errors.Unavailable("the index is down")):
        for _ in range(10):
            done = life.once()
            assert done is None or not done.released
            world.clock.advance(60.0)
    life.delete()
    assert life.last is not None and life.last.released


def test_marks_that_could_not_be_read_do_not_count_as_read() -> None:
    """The search fails until nothing can be under way any more: without its answer the hub is made a second time."""
    world = MemoryWorld(nodes=NODES)
    life = Life(world)
    life.create()
    life.rewrite(replace(life.journal, entries={}))
    world.edit(rename="hub/core")  # so that only its marks show which one it is
    life.restart()
    with outage(life, "search", errors.Unavailable("503")):
        for _ in range(3):
            life.once()
            world.clock.advance(SETTLE)
        life.once()
    life.create()
    assert _ours(world) == ["hub/core", "site/home"]


def test_what_was_found_by_its_marks_is_looked_at_soon() -> None:
    """Nothing wakes the object for what its own pass recorded: with no time to return it waited five minutes."""
    world = MemoryWorld(nodes=NODES)
    life = Life(world)
    life.create()
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    done = life.once()
    assert done is not None
    assert {str(key) for key in done.journal.entries} == {"hub/core", "site/home"}
    assert done.after <= 30.0
    assert not [
        o.message for o in done.outcomes.values() if isinstance(o, Waiting) and o.message.strip() == "waits for"
    ]
