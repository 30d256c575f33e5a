"""Drift: only proven resources are changed to the spec, and only the parts that this object added are removed."""

from __future__ import annotations

from dataclasses import replace

from freehold.lifecycle import errors
from freehold.lifecycle.context import PassContext
from freehold.lifecycle.journal import Phase
from freehold.lifecycle.outcomes import Blocked, Category, Ready, Reason
from freehold.lifecycle.phases import drift
from freehold.lifecycle.port import step
from freehold.lifecycle.resources import NodeKey, Part
from lab.cloud import Resource
from lab.faults import Crash
from lab.life import Handle, Life
from lab.outage import once_after, outage
from lab.world import MemoryWorld, node

NET = NodeKey("net", "main")
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
    for phase, size in ((Phase.RECORDED, 1), (Phase.OWNED, 2)):
        journal = life.journal.put(NET, replace(life.journal.entries[NET], phase=phase))
        ctx = PassContext(life.deps, life.graph, journal, Handle(life.stored), life.state)
        ctx.ready_nodes[NET] = life.state.node(NET).observed
        ctx.outcomes[NET] = Ready(life.state.node(NET).observed, Category.MANAGED)
        step(drift.to_spec(ctx))
        assert net.attributes["size"] == size
