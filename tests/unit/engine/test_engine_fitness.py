"""What must be inside resources of others: without it they stand in for nothing, and nothing is made behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine.outcomes import Blocked, Ready, Reason
from freehold.engine.resources import NodeKey, Part
from lab.cloud import Resource
from lab.life import Life
from lab.outage import outage
from lab.world import MemoryWorld, node

WALL, HUB = NodeKey("wall", "edge"), NodeKey("hub", "core")
OPEN = ("allow", "80")


def closed(parts: frozenset[Part]) -> str:
    return "" if any(str(part) == "allow 80" for part in parts) else "does not allow 80: add it"


def world_with(*, open_: bool, own: bool = False) -> tuple[MemoryWorld, Resource]:
    """Somebody's wall, given by its id; with ``own`` our hub is to be behind it."""
    world = MemoryWorld(nodes=[])
    net = world.cloud.create("net", "their-net", {}, creator="stranger")
    wall = world.cloud.create("wall", "their-wall", {"net": net.id}, creator="stranger")
    if open_:
        wall.parts[OPEN] = "stranger"
    world.clock.advance(3600.0)
    given = node("wall/edge", given=wall.id)
    behind = replace(node("hub/core", "wall/edge"), traffic_via=(WALL, closed))
    world.nodes = [given, behind] if own else [replace(given, missing_inside=closed)]
    return world, wall


def look(life: Life) -> None:
    life.state.deep_at = float("-inf")
    life.once()


def ours(world: MemoryWorld) -> list[str]:
    return [resource.kind for resource in world.cloud.living() if resource.creator != "stranger"]


def blocked(life: Life, key: NodeKey) -> Blocked:
    assert life.last is not None
    found = life.last.outcomes[key]
    assert isinstance(found, Blocked)
    return found


def test_a_given_resource_that_lacks_something_is_unfit_until_somebody_adds_it() -> None:
    world, wall = world_with(open_=False)
    life = Life(world)
    life.once()
    refusal = blocked(life, WALL)
    assert (refusal.reason, "does not allow 80: add it" in refusal.message) == (Reason.UNFIT, True)
    wall.parts[OPEN] = "stranger"
    look(life)
    assert life.last is not None
    assert isinstance(life.last.outcomes[WALL], Ready)


def test_nothing_is_created_behind_a_resource_of_others_that_lets_nothing_through() -> None:
    world, wall = world_with(open_=False, own=True)
    life = Life(world)
    for _ in range(4):
        life.once()
        world.clock.advance(60.0)
    assert blocked(life, HUB).reason is Reason.UNFIT
    assert ours(world) == []
    wall.parts[OPEN] = "stranger"
    life.create()
    assert ours(world) == ["hub"]


@pytest.mark.parametrize("own", [False, True], ids=["given", "behind it"])
@pytest.mark.parametrize("restart", [False, True], ids=["the same process", "a new process"])
def test_what_is_taken_out_later_is_missed_by_a_look_at_shared_lists(own: bool, restart: bool) -> None:
    """The object is at rest, and a look confirms by lists: it must not confirm this."""
    world, wall = world_with(open_=True, own=own)
    life = Life(world)
    life.create()
    wall.parts.clear()
    if restart:
        life.restart()
    look(life)
    assert blocked(life, HUB if own else WALL).reason is Reason.UNFIT


def test_a_look_inside_that_fails_is_not_taken_for_an_answer() -> None:
    """Nothing is created while nobody knows; the error says why, and the next answer counts."""
    world, _ = world_with(open_=True, own=True)
    life = Life(world)
    with outage(life, "parts_wall", errors.Denied("no permission to read walls")):
        for _ in range(4):
            life.once()
            world.clock.advance(60.0)
        assert blocked(life, HUB).reason is Reason.DENIED
        assert ours(world) == []
    life.create()
    assert ours(world) == ["hub"]


def test_nobody_looks_into_what_is_ours() -> None:
    """Parts of ours are brought to the spec; a demand on it would block what is about to be mended."""
    world = MemoryWorld(nodes=[])
    world.nodes = [
        node("net/main"),
        replace(node("wall/edge", "net/main"), missing_inside=closed),
        replace(node("hub/core", "wall/edge"), traffic_via=(WALL, closed)),
    ]
    life = Life(world)
    life.create()
    assert sorted(ours(world)) == ["hub", "net", "wall"]
