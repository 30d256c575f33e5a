"""The fence: a create or attach is sent only soon after a write of the object, so not by a process that lost it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine.clock import ManualClock
from freehold.engine.errors import Unavailable
from freehold.engine.journal import Journal, StaleObject
from freehold.engine.port import Call, Effect, FencedPort, InlinePort
from freehold.engine.resources import NodeKey
from harness.stepping import run_blocking
from lab.life import OWNER, Life
from lab.world import FENCE, MemoryWorld, node


class Wire:
    """Counts what was sent."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.port = FencedPort(InlinePort(), self.clock, fence=30.0)
        self.sent: list[str] = []

    def call(self, operation: str, effect: Effect, *, fenced: bool = False) -> Call:
        return Call("cloud", operation, effect, lambda: self.sent.append(operation), fenced=fenced)

    def store(self) -> None:
        run_blocking(self.port.send(self.call("save", Effect.STORE)))

    def create(self) -> None:
        run_blocking(self.port.send(self.call("create", Effect.WRITE, fenced=True)))


def test_nothing_is_created_before_the_object_was_written() -> None:
    wire = Wire()
    with pytest.raises(Unavailable, match="decided anew"):
        wire.create()
    assert wire.sent == []


def test_a_create_is_sent_within_the_fence_and_not_after_it() -> None:
    wire = Wire()
    wire.store()
    wire.clock.advance(30.0)
    wire.create()
    wire.clock.advance(0.5)
    with pytest.raises(Unavailable):
        wire.create()
    assert wire.sent == ["save", "create"]


def test_the_fence_counts_from_when_the_write_was_sent() -> None:
    """The reply may be late: another process may have written the object meanwhile."""
    wire = Wire()

    def slow() -> None:
        wire.clock.advance(31.0)

    run_blocking(wire.port.send(Call("store", "save", Effect.STORE, slow)))
    with pytest.raises(Unavailable):
        wire.create()


def test_a_failed_write_allows_no_create() -> None:
    wire = Wire()

    def refused() -> None:
        raise StaleObject("the object changed")

    with pytest.raises(StaleObject):
        run_blocking(wire.port.send(Call("store", "save", Effect.STORE, refused)))
    with pytest.raises(Unavailable):
        wire.create()


def test_reads_and_deletes_are_not_fenced() -> None:
    """A delete needs the proof of marks, so it is right whichever process sends it."""
    wire = Wire()
    run_blocking(wire.port.send(wire.call("get", Effect.READ)))
    run_blocking(wire.port.send(wire.call("delete", Effect.WRITE)))
    assert wire.sent == ["get", "delete"]


def test_a_queued_create_has_a_deadline() -> None:
    seen: list[float] = []

    class Queue(InlinePort):
        async def send(self, call: Call) -> object:
            seen.append(call.not_after)
            return await super().send(call)

    clock = ManualClock()
    port = FencedPort(Queue(), clock, fence=30.0)
    clock.advance(100.0)
    run_blocking(port.send(Call("store", "save", Effect.STORE, lambda: None)))
    run_blocking(port.send(Call("cloud", "create", Effect.WRITE, lambda: None, fenced=True)))
    assert seen[1] == 130.0


def test_a_long_pass_writes_the_object_again_before_it_attaches() -> None:
    """The resource was recorded long ago, and another process may own the object by now."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    site = world.ours("site")
    assert site is not None
    world.cloud.detach(site.target, site.tagged(world.cloud.now()))
    life.invalidate()
    for _ in range(6):
        life.once()
        world.clock.advance(FENCE * 3)
    attaches = [i for i, call in enumerate(life.port.calls) if call.operation == "attach"]
    for number in attaches:
        before = [call.operation for call in life.port.calls[:number]]
        assert before[-1] == "save_journal"
    assert len(attaches) >= 2


def test_what_a_create_answered_is_kept_until_it_is_on_record() -> None:
    """Its save failed and another process closed the intent: only this reply still tells that the resource exists."""
    world = MemoryWorld(nodes=[node("ticket/seat")])  # neither mark nor nonce could find it again
    life = Life(world)
    key = NodeKey("ticket", "seat")
    done = False

    def close_the_intent() -> None:
        nonlocal done
        if not done:
            done = True
            entry = life.journal.entries[key]
            life.rewrite(life.journal.put(key, replace(entry, attempt=2)))

    numbers = [i for i, call in enumerate(_golden(world).port.calls) if call.operation == "save_journal"]
    life.port.script = replace(life.port.script, acts={numbers[1]: close_the_intent})
    life.create()
    made = [thing for thing in world.living() if thing.ours]
    recorded = {entry.id for entry in life.journal.entries.values()}
    assert {thing.id for thing in made} <= recorded
    life.delete()
    assert life.last is not None and life.last.released
    assert not [thing for thing in world.living() if thing.ours]


def _golden(world: MemoryWorld) -> Life:
    other = Life(MemoryWorld(nodes=list(world.nodes)))
    other.create()
    return other


def test_only_the_journal_that_was_last_read_or_written_is_recognised() -> None:
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    assert life.state.recognises(life.journal)
    assert not life.state.recognises(Journal(OWNER, key=life.journal.key)), "an older version of our own"
