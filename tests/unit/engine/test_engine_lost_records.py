"""The journal is lost or edited, and somebody copied a nonce: our resource is deleted, and a stranger's is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from freehold.engine import errors
from freehold.engine.journal import Entry, RecordState
from freehold.engine.resources import NodeKey
from lab.cloud import ReadLags
from lab.life import OWNER, Life
from lab.outage import outage
from lab.spelling import PlainCodec
from lab.world import MemoryWorld, node


def recorded(life: Life, bare: str) -> bool:
    return bare in {entry.id.rpartition("/")[2] for entry in life.journal.entries.values()}


def run_until(life: Life, wanted: Callable[[], bool]) -> None:
    for _ in range(60):
        if wanted():
            return
        life.once()
        life.world.clock.advance(10.0)
    raise AssertionError(f"not within 60 passes: {life.last}")


LINKED = [node("net/main", size=1), node("hub/core"), node("link/a", "hub/core", "net/main")]


@pytest.mark.parametrize("marked", [False, True], ids=["a copied name", "with a carrier's mark, too"])
@pytest.mark.parametrize("restarted", [False, True], ids=["one process", "new processes"])
@pytest.mark.parametrize("wanted", [True, False], ids=["the spec wants it", "the spec is lost, too"])
def test_with_a_lost_journal_two_resources_with_one_nonce_need_a_person(
    marked: bool, restarted: bool, wanted: bool
) -> None:
    """The name of a connection contains its nonce, where anybody can read it, and its mark on the carrier has no seal.

    Neither may be deleted, and ours must not be forgotten: the delete waits, and its message names both.
    """
    world = MemoryWorld(nodes=LINKED, given_hub=True)
    life = Life(world)
    life.create()
    ours = world.ours("link")
    theirs = world.cloud.create("link", "theirs", {"hub": ours.parent}, creator="stranger")
    theirs.names = [(theirs.names[0][0], "y-" + ours.names[0][1])]
    if marked:
        carrier = next(entry.target for entry in life.journal.entries.values() if entry.carried)
        world.forge(carrier, frozenset({PlainCodec().spell_carrier_mark(OWNER, "link", theirs.id)}))
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    world.nodes = world.nodes if wanted else []
    life.deleting = True
    for number in range(30):
        life.once()
        world.clock.advance(100.0)
        if restarted and number < 8:
            life.restart()
    assert not life.released
    assert world.tampered() == []
    assert {ours.id, theirs.id} <= {thing.id for thing in world.living()}
    assert life.last is not None
    said = " ".join(getattr(outcome, "message", "") for outcome in life.last.outcomes.values())
    assert ours.id in said and theirs.id in said
    world.remove(theirs.id)
    life.delete()
    assert life.released
    assert [thing.id for thing in world.living() if thing.ours] == []


def test_a_forged_id_that_does_not_exist_does_not_use_up_our_nonce() -> None:
    """Our resource is not marked yet: only its nonce shows that it is ours."""
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


def two_links(world: MemoryWorld) -> Life:
    """Links a and b are in a given gateway: a is marked on it, b is not."""
    life = Life(world)
    life.create()
    world.nodes = [*world.nodes, node("link/b", "hub/core")]
    life.invalidate()
    with outage(life, "attach", errors.Unavailable("503")):
        for _ in range(5):
            life.once()
            world.clock.advance(5.0)
    return life


def test_a_gateway_is_searched_although_our_only_mark_was_detached() -> None:
    """Journal and spec are lost; the network is deleted after the link."""
    world = MemoryWorld(nodes=LINKED, given_hub=True)
    life = two_links(world)
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    world.nodes = []
    life.deleting = True
    life.delete()
    assert life.released
    assert [thing.id for thing in world.living() if thing.ours] == []


@pytest.mark.parametrize("failures", [0, 1])
@pytest.mark.parametrize("retired", [False, True])
def test_a_gateway_is_searched_whichever_step_detached_our_mark(retired: bool, failures: int) -> None:
    """Somebody deleted the marked link: the final check detaches its mark, and its own search may fail once."""
    world = MemoryWorld(nodes=[*LINKED[1:2], node("link/a", "hub/core")], given_hub=True)
    life = two_links(world)
    link = life.journal.entries[NodeKey("link", "a")]
    world.cloud.vanish(link.id.rpartition("/")[2])
    world.clock.advance(100.0)
    gone = Entry(RecordState.VACANT, target=link.target, carried=True, attempt=2, earlier=(link.id,))
    life.rewrite(replace(life.journal, entries={NodeKey("link", "a"): gone} if retired else {}))
    life.restart()
    world.nodes = []
    life.deleting = True
    world.clock.advance(1.0)
    with outage(life, "find_link", errors.Unavailable("503"), times=failures):
        for _ in range(30):
            if not life.released:
                done = life.once()
                world.clock.advance(max(done.after if done else 1.0, 0.01))
    assert life.released
    assert [thing.id for thing in world.living() if thing.ours] == []


@pytest.mark.parametrize("restarted", [False, True], ids=["one process", "a new one once ours is gone"])
@pytest.mark.parametrize("wanted", [True, False], ids=["the spec wants it", "the spec is lost, too"])
def test_a_copy_made_after_ours_was_found_is_left_alone(restarted: bool, wanted: bool) -> None:
    """The journal was lost and our nonce found our resource again: from then on the nonce identifies nothing."""
    world = MemoryWorld(nodes=LINKED, given_hub=True)
    life = Life(world)
    life.create()
    ours = world.ours("link")
    life.rewrite(replace(life.journal, entries={}))
    life.restart()
    world.nodes = world.nodes if wanted else []
    life.deleting = True
    run_until(life, lambda: recorded(life, ours.id))
    theirs = world.cloud.create("link", "theirs", {"hub": ours.parent}, creator="stranger")
    theirs.names = [(theirs.names[0][0], "y-" + ours.names[0][1])]
    if restarted:
        run_until(life, lambda: not recorded(life, ours.id))
        life.restart()
    life.delete()
    assert life.released
    assert world.tampered() == []
    assert [thing.id for thing in world.living() if thing.ours] == []
    assert theirs.id in [thing.id for thing in world.living()]


def test_the_pass_that_finds_a_resource_without_a_node_creates_nothing() -> None:
    """What is wanted depends on the record: the next pass may want just that, under the name that it has."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    life.rewrite(replace(life.journal, entries={}))
    world.nodes = [node("site/house")]
    life.restart()
    world.clock.advance(3600.0)  # no create of an earlier process can be under way
    for _ in range(5):
        begun = len(life.port.calls)
        life.once()
        if NodeKey("site", "home") in life.journal.entries:
            break
        world.clock.advance(100.0)
    assert "create_site" not in [call.operation for call in life.port.calls[begun:]]
    assert NodeKey("site", "house") not in life.journal.entries


def test_one_read_that_lags_does_not_hide_what_is_ours() -> None:
    """Its record was lost. The index shows the resource, and the first read of it is from before its creation."""
    world = MemoryWorld(nodes=[node("net/main", size=1), node("site/home")])
    life = Life(world)
    life.create()
    ours, net = world.ours("site"), NodeKey("net", "main")
    life.rewrite(replace(life.journal, entries={net: life.journal.entries[net]}))
    world.nodes = [node("net/main", size=1)]
    world.cloud.read_lags = ReadLags(read_lag=10_000.0)
    run_until(life, lambda: ours.id in life.state.missed)
    world.cloud.read_lags = ReadLags()
    world.clock.advance(700.0)
    run_until(life, lambda: recorded(life, ours.id))
