"""Drift: only proven resources are changed to the spec, and only the parts that this object added are removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from freehold.engine import errors
from freehold.engine.context import PassContext
from freehold.engine.journal import RecordState
from freehold.engine.kinds import Kind
from freehold.engine.outcomes import Blocked, Category, Ready, Reason
from freehold.engine.phases import drift
from freehold.engine.port import Call, Port
from freehold.engine.resources import NodeKey, Part
from harness.stepping import run_blocking
from lab.cloud import Resource
from lab.faults import Answer, Crash
from lab.life import Handle, Life
from lab.outage import once_after, outage
from lab.world import MemoryWorld, node

NET, WALL = NodeKey("net", "main"), NodeKey("wall", "edge")
OURS, STAYS = Part("note", "ours"), Part("note", "stays", retain=True)
"""Parts of a sort that others may add, too."""


def _wants(life: Life, world: MemoryWorld, *parts: Part) -> None:
    """Edit the spec: the wall has these parts."""
    world.nodes = [node("net/main"), node("wall/edge", "net/main", parts=parts)]
    life.invalidate()


def _walled(*parts: Part) -> tuple[MemoryWorld, Life, Resource]:
    world = MemoryWorld(nodes=[])
    life = Life(world)
    _wants(life, world, *parts)
    life.create()
    wall = world.ours("wall")
    assert wall is not None
    return world, life, wall


@dataclass
class TwoSwitches(MemoryWorld):
    """A net has two attributes that can be changed."""

    def kinds(self, port: Port) -> tuple[Kind, ...]:
        found = super().kinds(port)
        return tuple(
            replace(kind, attributes=replace(kind.attributes, mutable=kind.attributes.mutable | {"zone"}))
            if kind.name == "net"
            else kind
            for kind in found
        )


def _pass(life: Life) -> dict[str, object]:
    done = life.once()
    assert done is not None
    return {str(key): outcome for key, outcome in done.outcomes.items()}


@contextmanager
def _refused_if(life: Life, operation: str, wrong: Callable[[], bool]) -> Iterator[None]:
    """The cloud refuses ``operation`` in some states."""

    async def refuse(answer: Answer, call: Call) -> Any:
        if call.operation == operation and wrong():
            raise errors.Invalid("not in this state")
        return await answer(call)

    life.port.interceptors.append(refuse)
    try:
        yield
    finally:
        life.port.interceptors.remove(refuse)


def _dies_after(life: Life, operation: str) -> None:
    """The process is killed once the cloud has answered ``operation``."""

    def die() -> None:
        raise Crash(operation)

    once_after(life, operation, die)


def test_a_part_that_the_spec_drops_is_removed_unless_it_is_retained() -> None:
    """What depends on a retained part is unknown: somebody's machines may need it by now."""
    world, life, wall = _walled(OURS, STAYS)
    assert set(wall.parts) == {("note", "ours"), ("note", "stays")}
    _wants(life, world)
    life.create()
    assert set(wall.parts) == {("note", "stays")}


def test_a_resource_whose_change_is_refused_gets_its_parts() -> None:
    """Somebody else has the name of the VPC: no reason to leave the port of the API server closed in it. When the parts
    are there, the object is written no more: only the change is tried again."""
    world, life, wall = _walled()
    world.nodes = [node("net/main"), node("wall/edge", "net/main", parts=[OURS], notes="other")]
    life.invalidate()
    with outage(life, "update_wall", errors.NameTaken("other is not unique")):
        outcome = life.create()["wall/edge"]
        assert isinstance(outcome, Blocked) and outcome.reason is Reason.NAME_TAKEN
        assert set(wall.parts) == {("note", "ours")}
        assert life.watch() == []


def test_a_resource_whose_change_is_refused_loses_what_nobody_wants_in_it() -> None:
    """A rule that the spec drops must not stay open because of a name."""
    world, life, wall = _walled(OURS)
    world.nodes = [node("net/main"), node("wall/edge", "net/main", notes="other")]
    life.invalidate()
    with outage(life, "update_wall", errors.NameTaken("other is not unique")):
        assert isinstance(_pass(life)["wall/edge"], Blocked)
    assert set(wall.parts) == set()


def test_a_change_that_is_refused_is_not_taken_as_made() -> None:
    """Not Ready, also in a pass that only looks, until the cloud has taken it."""
    world, life, wall = _walled()
    world.nodes = [node("net/main"), node("wall/edge", "net/main", notes="other")]
    life.invalidate()
    with outage(life, "update_wall", errors.Invalid("not in this state")):
        for _ in range(3):
            outcome = life.create()["wall/edge"]
            assert isinstance(outcome, Blocked) and outcome.reason is Reason.INVALID
            assert life.state.node(WALL).observed.attributes.get("notes") != "other"
            world.clock.advance(300.0)
    assert isinstance(life.create()["wall/edge"], Ready)
    assert wall.attributes["notes"] == "other"


def test_a_change_of_which_the_cloud_took_one_half_is_not_taken_as_made() -> None:
    """It takes one attribute a call. Which ones it took is read; the next pass sends the rest alone."""
    world = TwoSwitches(nodes=[node("net/main", size=1, zone="a")])
    life = Life(world)
    life.create()
    net = world.ours("net")
    assert net is not None
    world.nodes = [node("net/main", size=2, zone="b")]
    life.invalidate()
    with _refused_if(life, "update_net", lambda: net.attributes["size"] == 2):
        assert isinstance(_pass(life)["net/main"], Blocked)
        assert (net.attributes["size"], net.attributes["zone"]) == (2, "a")
    before = len(life.port.calls)
    assert isinstance(_pass(life)["net/main"], Ready)
    assert net.attributes["zone"] == "b"
    assert [call.operation for call in life.port.calls[before:]].count("update_net") == 1


def test_what_an_attribute_needs_is_put_in_before_it_is_changed() -> None:
    """A subnet gives addresses of its block, and EC2 refuses that while it has none."""
    world, life, wall = _walled()
    world.nodes = [node("net/main"), node("wall/edge", "net/main", parts=[OURS], notes="on")]
    life.invalidate()
    with _refused_if(life, "update_wall", lambda: not wall.parts):
        assert isinstance(_pass(life)["wall/edge"], Ready)
    assert (set(wall.parts), wall.attributes["notes"]) == ({("note", "ours")}, "on")


def test_a_part_is_taken_out_after_the_attribute_that_needs_it() -> None:
    """The other way, EC2 would give addresses of a block that is going."""
    world, life, wall = _walled(OURS)
    world.nodes = [node("net/main"), node("wall/edge", "net/main", notes="off")]
    life.invalidate()
    with _refused_if(life, "update_wall", lambda: not wall.parts):
        assert isinstance(_pass(life)["wall/edge"], Ready)
    assert (set(wall.parts), wall.attributes["notes"]) == (set(), "off")


def test_a_resource_whose_part_is_refused_gets_its_attributes() -> None:
    """A limit on rules is no reason to leave its name as it is."""
    world, life, wall = _walled()
    world.nodes = [node("net/main"), node("wall/edge", "net/main", parts=[OURS], notes="other")]
    life.invalidate()
    with outage(life, "add_part_wall", errors.Quota("no more rules")):
        outcome = life.create()["wall/edge"]
        assert isinstance(outcome, Blocked) and outcome.reason is Reason.QUOTA
        assert wall.attributes["notes"] == "other"


def test_a_dropped_part_is_removed_although_the_process_that_added_it_died() -> None:
    """It is recorded before it is added: otherwise it would count as somebody else's part, and stay."""
    world, life, wall = _walled()
    _wants(life, world, OURS)
    _dies_after(life, "add_part_wall")
    assert life.once() is None and life.crashes == 1
    assert set(wall.parts) == {("note", "ours")}
    _wants(life, world)
    life.create()
    assert set(wall.parts) == set()


def test_an_unproven_resource_is_not_changed_even_if_its_outcome_is_ready() -> None:
    """Its mark was not read back. The drift step checks this itself and does not rely on earlier steps."""
    world = MemoryWorld(nodes=[node("net/main", size=1)])
    life = Life(world)
    life.create()
    world.nodes = [node("net/main", size=2)]
    net = world.ours("net")
    assert net is not None
    for phase, size in ((RecordState.RECORDED, 1), (RecordState.OWNED, 2)):
        journal = life.journal.put(NET, replace(life.journal.entries[NET], state=phase))
        ctx = PassContext(life.deps, life.graph, journal, Handle(life.stored), life.state)
        ctx.ready_nodes[NET] = life.state.node(NET).observed
        ctx.outcomes[NET] = Ready(life.state.node(NET).observed, Category.MANAGED)
        run_blocking(drift.apply_spec(ctx))
        assert net.attributes["size"] == size
