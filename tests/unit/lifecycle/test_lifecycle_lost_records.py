"""The journal is lost or edited, and somebody copied a birth mark: ours goes, and what is not ours stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.lifecycle import errors
from freehold.lifecycle.context import PassContext
from freehold.lifecycle.graph import Graph
from freehold.lifecycle.kinds import NodeKey
from lab.life import Handle, Life
from lab.outage import outage
from lab.world import MemoryWorld, node

LINKED = [node("net/main", size=1), node("hub/core"), node("link/a", "hub/core", "net/main")]


@pytest.mark.parametrize(
    ("restarted", "wanted"),
    [(False, True), (True, True), (False, False)],
    ids=["one process", "a new process after each pass", "the spec is lost, too"],
)
def test_a_copy_of_the_birth_mark_of_what_a_mark_recovered_is_not_ours(restarted: bool, wanted: bool) -> None:
    """A connection keeps its nonce in its name, where anybody can read it: the copy is seen alone once ours is gone."""
    world = MemoryWorld(nodes=LINKED, given_hub=True)
    life = Life(world)
    life.create()
    link = world.ours("link")
    theirs = world.cloud.create("link", "theirs", {"hub": link.parent}, creator="stranger")
    theirs.names = [(theirs.names[0][0], "y-" + link.names[0][1])]
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    world.nodes = world.nodes if wanted else []
    if restarted:
        life.deleting = True
        for _ in range(20):
            if not life.released:
                life.once()
                life.restart()
                world.clock.advance(100.0)
    life.delete()
    assert life.released
    assert world.tampered() == []
    assert [thing.id for thing in world.living() if thing.ours] == []
    assert theirs.id in [thing.id for thing in world.living()]


def test_a_forged_id_that_does_not_exist_spends_no_birth_mark_of_ours() -> None:
    """Our own resource is not marked yet: nothing but its nonce tells that it is ours."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    with outage(life, "attach", errors.Unavailable("503")):
        life.once()
        life.once()
    key = NodeKey("site", "home")
    forged = replace(life.journal.entries[key], id="site-404", target="crn:site:site-404", signature="forged")
    life.rewrite(life.journal.put(key, forged))
    life.restart()
    life.delete()
    assert life.released
    assert world.living() == []


def test_a_gateway_is_searched_although_our_only_mark_on_it_is_off() -> None:
    """Journal and spec are lost: one connection was marked, the other one is in the same gateway and was not."""
    world = MemoryWorld(nodes=[node("hub/core"), node("link/a", "hub/core")], given_hub=True)
    life = Life(world)
    life.create()
    world.nodes = [*world.nodes, node("link/b", "hub/core")]
    life.invalidate()
    with outage(life, "attach", errors.Unavailable("503")):
        for _ in range(5):
            life.once()
            world.clock.advance(5.0)
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    world.nodes = []
    assert len([thing for thing in world.living() if thing.ours]) == 2
    life.delete()
    assert life.released
    assert [thing.id for thing in world.living() if thing.ours] == []


def test_the_birth_mark_of_what_is_on_record_is_spent_under_whatever_name() -> None:
    """A delete that is held up looks for more of ours: what has the birth mark of a recorded resource is a copy."""
    world = MemoryWorld(nodes=LINKED, given_hub=True)
    life = Life(world)
    life.create()
    word = world.ours("link").names[0][1].rpartition("-")[2]
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    world.nodes = []
    fresh = PassContext(life.deps, Graph([]), life.journal, Handle(life.stored), life.state)
    assert word in fresh.any_nonce("link")
    life.deleting = True
    life.once()
    assert "link" in {key.kind for key in life.journal.ours if life.state.node(key).last_seen}
    ctx = PassContext(life.deps, Graph([]), life.journal, Handle(life.stored), life.state)
    assert word not in ctx.any_nonce("link")
