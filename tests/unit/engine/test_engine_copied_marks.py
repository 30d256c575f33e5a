"""Copied marks and names prove nothing: anybody who may tag the carrier can write a mark without a seal, and anybody
who may create resources can copy a name. Who may edit one object must not affect the marks of another."""

from __future__ import annotations

import pytest

from freehold.engine import engine
from freehold.engine import journal as journals
from freehold.engine.graph import Graph
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.engine.state import ObjectState
from harness.stepping import run_blocking
from lab.life import OWNER, Handle, Life, Stored
from lab.spelling import PlainCodec
from lab.world import MemoryWorld, node

LINKED = [node("net/main", size=1), node("hub/core"), node("link/a", "hub/core", "net/main")]


def carriers_marks(world: MemoryWorld) -> set[str]:
    hub = next(r for r in world.cloud.living() if r.kind == "hub")
    return {tag for tag in hub.tagged(world.clock.now()) if tag.startswith("carried:")}


@pytest.mark.parametrize("marked", [False, True], ids=["a copied name", "with a carrier's mark, too"])
def test_a_copied_name_with_a_mark_on_the_carrier_does_not_resolve_an_intent(marked: bool) -> None:
    """Ours was created and not recorded. Otherwise the copy would be owned and deleted, and ours forgotten."""
    world = MemoryWorld(nodes=LINKED, given_hub=True)
    life = Life(world)
    while world.ours("link") is None:
        done = life.once()
        world.clock.advance(max(done.after if done else 1.0, 0.01))
    ours = world.ours("link")
    while NodeKey("link", "a") not in journals.loads(life.stored.versions[-1]).open:
        life.stored.versions.pop()
    life.stored.touch()
    hub = next(r for r in world.cloud.living() if r.kind == "hub")
    world.cloud.detach(hub.target, frozenset(carriers_marks(world)))
    life.restart()
    theirs = world.cloud.create("link", "y-" + ours.names[0][1], {"hub": ours.parent}, creator="stranger")
    if marked:
        world.forge(hub.target, frozenset({PlainCodec().spell_carrier_mark(OWNER, "link", theirs.id)}))
    for _ in range(30):
        done = life.once()
        world.clock.advance(max(done.after if done else 1.0, 0.01))
    entry = life.journal.entries[NodeKey("link", "a")]
    assert (entry.state, entry.id) == (RecordState.INTENDED, "")
    life.deleting = True
    for _ in range(30):
        done = life.once()
        world.clock.advance(max(done.after if done else 1.0, 0.01))
    assert not life.released
    assert {ours.id, theirs.id} <= {thing.id for thing in world.living()}
    assert world.tampered() == []


def test_a_forged_journal_of_another_object_does_not_detach_our_marks() -> None:
    """It contains our uuid, and the id of our connection under a gateway that does not exist."""
    world = MemoryWorld(nodes=LINKED, given_hub=True)
    life = Life(world)
    life.create()
    link, hub = world.ours("link"), next(r for r in world.cloud.living() if r.kind == "hub")
    before = carriers_marks(world)
    assert before
    evil = Owner(OWNER.uuid, OWNER.kind, "evil", "e")
    forged = Entry(RecordState.VACANT, target=hub.target, carried=True, earlier=(f"hub-999/{link.id}",))
    stored = Stored([journals.dumps(Journal(evil, {NodeKey("link", "q"): forged}, key=world.ring.writing))])
    state = ObjectState(first_seen=world.clock.monotonic())
    run_blocking(engine.ensure(life.deps, Graph([]), journals.loads(stored.text), Handle(stored), state))
    assert carriers_marks(world) == before


def test_where_a_mark_has_the_whole_id_a_copy_on_another_carrier_is_told_and_left() -> None:
    """It names the carrier that it was written on, so what is on another one was never written by us."""
    codec = KeyedCodec()
    world = MemoryWorld(nodes=LINKED, codec=codec)
    life = Life(world)
    life.create()
    link = world.ours("link")
    theirs = world.cloud.create("hub", "their-hub", {}, creator="stranger")
    world.forge(
        theirs.target, frozenset({codec.spell_carrier_mark(OWNER, "link", f"{link.parent}/{link.id}", "a-seal")})
    )
    copied = theirs.tagged(world.clock.now())
    assert copied
    life.delete()
    assert life.released
    assert theirs.tagged(world.clock.now()) == copied
    assert f"names link {link.parent}/{link.id}, which cannot be in it" in life.hear(life.last)
