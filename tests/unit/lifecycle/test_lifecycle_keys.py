"""One resource is on record under one name; what was tried under a name stays counted when the name changes hands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.lifecycle import errors
from freehold.lifecycle import journal as journals
from freehold.lifecycle.graph import Node
from freehold.lifecycle.journal import Entry, Phase
from freehold.lifecycle.kinds import NodeKey, Registry
from freehold.lifecycle.outcomes import Blocked, Outcome, Ready, Reason, Surplus
from lab.cloud import Resource
from lab.life import Life
from lab.outage import outage
from lab.world import MemoryWorld, node

DISK, LINK = NodeKey("disk", "data"), NodeKey("link", "a")


def _wants(life: Life, world: MemoryWorld, *nodes: Node) -> dict[str, Outcome]:
    """The spec is edited, and what comes of it."""
    world.nodes = list(nodes)
    life.state.invalidate()
    return life.create()


def _ids(life: Life) -> list[str]:
    return sorted(entry.id for entry in life.journal.entries.values() if entry.id)


@pytest.mark.parametrize("passes", (1, 2, 30), ids=("provisioning", "unnamed", "ready"))
def test_what_is_wanted_again_after_another_was_given_is_no_longer_surplus(passes: int) -> None:
    """Nor is a second one made, although what it is called and its spent birth mark do not tell it."""
    world = MemoryWorld(nodes=[node("hub/core")])
    theirs = world.cloud.create("hub", "theirs", {}, creator="stranger")
    life = Life(world)
    for _ in range(passes):
        done = life.once()
        assert done is not None
        world.clock.advance(max(done.after, 0.001))
    ours = world.ours("hub")
    assert ours is not None
    given = _wants(life, world, node("hub/core", given=theirs.id))
    assert isinstance(given[f"hub/core~{ours.id}"], Surplus)
    outcomes = _wants(life, world, node("hub/core"))
    assert isinstance(outcomes["hub/core"], Ready)
    assert _ids(life) == [ours.id]
    assert not [outcome for outcome in outcomes.values() if isinstance(outcome, Surplus)]
    life.delete()
    assert [thing.id for thing in world.living()] == [theirs.id]


def test_a_token_is_not_used_again_after_another_was_given_in_between() -> None:
    """The old one answers with what has been deleted: it would be taken for the new one."""
    net = node("net/main")
    world = MemoryWorld(nodes=[net, node("disk/data", "net/main")])
    theirs = world.cloud.create("disk", "theirs", {}, creator="stranger")
    life = Life(world)
    life.create()
    _wants(life, world, net, node("disk/data", "net/main", given=theirs.id))
    world.nodes = [net, node("disk/data", "net/main")]
    life.state.invalidate()
    begun, notes = len(world.cloud.log), list[str]()
    for _ in range(20):
        done = life.once()
        assert done is not None
        notes += done.notes
        world.clock.advance(max(done.after, 0.001))
    assert not notes
    assert isinstance(done.outcomes[DISK], Ready)
    assert [r.kind for r in world.cloud.log[begun:]] == ["disk"]


def test_what_a_restored_journal_forgot_is_not_pruned_from_under_its_name() -> None:
    """It was found twice, by its mark and by its name; the one that counted as surplus was deleted."""
    world = MemoryWorld(nodes=[node("net/main"), node("disk/data", "net/main")])
    life = Life(world)
    life.create()
    disk = world.ours("disk")
    assert disk is not None
    life.stored.versions.append(journals.dumps(life.journal.put(DISK, Entry(Phase.VACANT))))
    life.stored.touch()
    life.restart()
    outcome = life.create()[str(DISK)]
    assert isinstance(outcome, Ready) and outcome.observed.id == disk.id
    assert [thing.id for thing in world.living() if thing.kind == "disk"] == [disk.id]
    assert life.journal.entries[DISK].id == disk.id
    assert len(_ids(life)) == 2


def test_what_a_carrier_names_and_the_journal_forgot_is_recorded_once() -> None:
    world = MemoryWorld()
    life = Life(world)
    life.create()
    kept = life.journal.drop(LINK)
    life.stored.versions.append(journals.dumps(kept))
    life.stored.touch()
    life.restart()
    outcomes = life.create()
    assert isinstance(outcomes["link/a"], Ready)
    assert not [outcome for outcome in outcomes.values() if isinstance(outcome, Surplus)]
    assert len(set(_ids(life))) == len(_ids(life)) == len(world.living())


def _lose_a_link(life: Life, world: MemoryWorld) -> Resource:
    """Somebody deletes it, and its mark cannot be taken off the gateway of somebody else. Returns the gateway."""
    life.create()
    link = world.ours("link")
    assert link is not None
    world.cloud.vanish(link.id)
    life.state.invalidate()
    return next(r for r in world.cloud.living() if r.kind == "hub")


def _ours_on(world: MemoryWorld, hub: Resource) -> list[str]:
    return [tag for tag in hub.tagged(world.cloud.now()) if tag.startswith("carried:")]


def test_a_mark_that_is_still_on_a_carrier_is_remembered_when_its_successor_goes() -> None:
    world = MemoryWorld(given_hub=True)
    life = Life(world)
    hub = _lose_a_link(life, world)
    with outage(life, "detach", errors.Unavailable("503")):
        for _ in range(40):
            done = life.once()
            assert done is not None
            world.clock.advance(max(done.after, 0.001))
    assert len(_ours_on(world, hub)) == 2
    life.deleting = True
    while life.journal.entries[LINK].phase is not Phase.VACANT:
        with outage(life, "detach", errors.Unavailable("503"), times=1):
            done = life.once()
        assert done is not None
        world.clock.advance(max(done.after, 0.001))
    life.delete()
    assert life.last is not None and life.last.released
    assert _ours_on(world, hub) == []


def test_a_mark_that_may_not_be_taken_off_is_said_to_hold_the_delete() -> None:
    """It waited in silence: nobody knew that a permission on somebody else's gateway was missing."""
    world = MemoryWorld(given_hub=True)
    life = Life(world)
    hub = _lose_a_link(life, world)
    world.edit(drop="link/a")
    with outage(life, "detach", errors.Denied("no editor role on their-hub")):
        life.create()
        life.deleting = True
        for _ in range(40):
            done = life.once()
            assert done is not None and not done.released
            world.clock.advance(max(done.after, 0.001))
        outcome = done.outcomes[LINK]
    assert isinstance(outcome, Blocked) and "no editor role" in outcome.message
    life.delete()
    assert life.last is not None and life.last.released
    assert _ours_on(world, hub) == []


@pytest.mark.parametrize("given", (True, False), ids=("given", "ours"))
def test_what_only_a_carrier_of_ours_can_mark_is_not_created_on_another(given: bool) -> None:
    """A bucket in somebody else's instance: nothing could ever prove that it is ours, so nobody would delete it."""
    nodes = [node("net/main", size=1), node("hub/core"), node("link/a", "hub/core", "net/main")]
    world = MemoryWorld(nodes=nodes, given_hub=given)
    life = Life(world)
    kinds = [replace(kind, carrier_owned=kind.name == "link") for kind in life.deps.registry.values()]
    life.deps = replace(life.deps, registry=Registry(kinds))
    outcome = life.create()["link/a"]
    if given:
        assert isinstance(outcome, Blocked) and outcome.reason is Reason.UNMARKABLE
    else:
        assert isinstance(outcome, Ready)
    assert (world.ours("link") is None) is given
