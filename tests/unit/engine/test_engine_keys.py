"""Node keys: a resource is recorded under one key, and a key keeps its attempt count when its resource changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine import journal as journals
from freehold.engine.graph import Node
from freehold.engine.journal import Entry, RecordState
from freehold.engine.kinds import Registry
from freehold.engine.outcomes import Blocked, Outcome, Ready, Reason, Surplus
from freehold.engine.resources import NodeKey
from lab.cloud import Resource
from lab.life import Life
from lab.outage import outage
from lab.world import MemoryWorld, node

DISK, LINK = NodeKey("disk", "data"), NodeKey("link", "a")


def _wants(life: Life, world: MemoryWorld, *nodes: Node) -> dict[str, Outcome]:
    """Edit the spec, and run passes until it settles."""
    world.nodes = list(nodes)
    life.state.invalidate()
    return life.create()


def _ids(life: Life) -> list[str]:
    return sorted(entry.id for entry in life.journal.entries.values() if entry.id)


@pytest.mark.parametrize("passes", (1, 2, 30), ids=("provisioning", "unnamed", "ready"))
def test_our_resource_is_used_again_after_the_spec_gave_another_id_for_a_time(passes: int) -> None:
    """It is no longer surplus, and no second one is made, although neither its name nor its used nonce identify it."""
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


def test_a_token_is_not_used_again_after_the_spec_gave_another_id_in_between() -> None:
    """The cloud answers the old token with the deleted resource, which would be taken for the new one."""
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


def test_a_wanted_resource_that_a_restored_journal_forgot_is_not_pruned() -> None:
    """Once it was recorded twice, by its mark and by its name, and deleted because one record was surplus."""
    world = MemoryWorld(nodes=[node("net/main"), node("disk/data", "net/main")])
    life = Life(world)
    life.create()
    disk = world.ours("disk")
    assert disk is not None
    life.stored.versions.append(journals.dumps(life.journal.put(DISK, Entry(RecordState.VACANT))))
    life.stored.touch()
    life.restart()
    outcome = life.create()[str(DISK)]
    assert isinstance(outcome, Ready) and outcome.observed.id == disk.id
    assert [thing.id for thing in world.living() if thing.kind == "disk"] == [disk.id]
    assert life.journal.entries[DISK].id == disk.id
    assert len(_ids(life)) == 2


def test_a_forgotten_resource_that_a_carrier_names_is_recorded_once() -> None:
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
    """Somebody deletes the link, and its mark cannot be detached from a given gateway. Returns the gateway."""
    life.create()
    link = world.ours("link")
    assert link is not None
    world.cloud.vanish(link.id)
    life.state.invalidate()
    return next(r for r in world.cloud.living() if r.kind == "hub")


def _ours_on(world: MemoryWorld, hub: Resource) -> list[str]:
    return [tag for tag in hub.tagged(world.cloud.now()) if tag.startswith("carried:")]


def test_a_mark_left_on_a_carrier_is_remembered_when_the_successor_is_deleted() -> None:
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
    while life.journal.entries[LINK].state is not RecordState.VACANT:
        with outage(life, "detach", errors.Unavailable("503"), times=1):
            done = life.once()
        assert done is not None
        world.clock.advance(max(done.after, 0.001))
    life.delete()
    assert life.last is not None and life.last.released
    assert _ours_on(world, hub) == []


def test_a_denied_detach_is_reported_as_the_reason_that_the_delete_waits() -> None:
    """Once the delete waited without a message, and no user learnt of the missing permission on the gateway."""
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
def test_a_resource_that_needs_a_carrier_of_ours_is_not_created_on_another(given: bool) -> None:
    """Nothing could prove that a bucket in somebody else's instance is ours, so it would never be deleted."""
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
