"""Resolving the intent of an interrupted create: a mistake makes a second resource, or takes a stranger's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.engine import decisions, errors
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Blocked, Ready, Reason
from freehold.engine.resources import NodeKey, Request
from lab.life import Life
from lab.outage import outage
from lab.world import SETTLE, MemoryWorld, node

SITE, TICKET, WALL = NodeKey("site", "home"), NodeKey("ticket", "seat"), NodeKey("wall", "edge")


def _open(life: Life, key: NodeKey, request: Request) -> None:
    """Record a create that is sent now, and whose reply never comes."""
    entry = Entry(RecordState.INTENDED, opened=life.world.clock.now(), request=request, key=life.keys.writing)
    life.rewrite(life.journal.put(key, entry))


def _born(life: Life, key: NodeKey, name: str) -> str:
    """The name with the nonce of the first create of ``key``."""
    return f"{name}-{life.keys.nonce(life.keys.writing, key, 1)}"


def _passes(life: Life, seconds: float) -> None:
    """Run passes for that time, at most ten seconds apart."""
    clock = life.world.clock
    begun = clock.monotonic()
    while clock.monotonic() - begun < seconds:
        done = life.once()
        clock.advance(min(max(done.after, 0.001), 10.0) if done is not None else 5.0)


def test_two_resources_with_one_nonce_need_a_person() -> None:
    """One of the two is a copy: names are public, and the list does not tell which one was first."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    name = _born(life, SITE, "c1-home")
    made = world.cloud.create("site", name, {"role": "site/home"}, creator="freehold")
    copy = world.cloud.create("site", name, {}, creator="stranger")
    _open(life, SITE, {"name": "c1-home", "role": "site/home"})
    outcome = life.create()["site/home"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.AMBIGUOUS
    assert made.id in outcome.message and copy.id in outcome.message
    assert life.journal.entries[SITE].state is RecordState.INTENDED
    assert not world.tampered() and not copy.tagged(world.cloud.now())


def test_a_name_that_our_own_create_may_have_taken_is_not_reported_as_a_strangers() -> None:
    """The cloud forgot the token too early. A delete of the object must not leave the resource behind."""
    world = MemoryWorld(nodes=[node("net/main", size=1)])
    life = Life(world)
    life.create()
    net = world.ours("net")
    assert net is not None
    world.nodes = [*world.nodes, node("wall/edge", "net/main")]
    made = world.cloud.create("wall", "c1-edge", {"net": net.id, "role": "wall/edge"}, creator="freehold")
    _open(life, WALL, {"name": "c1-edge", "role": "wall/edge", "net": net.id})
    outcome = life.create()["wall/edge"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.PRESUMED_ONLY
    assert made.id in outcome.message
    life.delete()
    assert life.last is not None and not life.last.released
    assert made.id in life.hear(life.last)


def test_a_denied_replay_does_not_close_the_intent() -> None:
    """The first request made a ticket before the permission was revoked: a closed intent would lead to a second one."""
    world = MemoryWorld(nodes=[node("ticket/seat")])
    life = Life(world)
    request = {"name": "c1-seat", "role": "ticket/seat"}
    token = life.keys.token(life.keys.writing, TICKET, 1)
    made = world.cloud.create("ticket", "c1-seat", request, creator="freehold", token=token)
    _open(life, TICKET, request)
    with outage(life, "create_ticket", errors.Denied("no permission to create tickets")):
        _passes(life, 10 * SETTLE)
        assert life.last is not None
        outcome = life.last.outcomes[TICKET]
        assert isinstance(outcome, Blocked) and outcome.reason is Reason.DENIED
    assert isinstance(life.create()["ticket/seat"], Ready)
    assert [thing.id for thing in world.living()] == [made.id]


def test_a_list_that_fails_for_long_does_not_close_the_intent() -> None:
    """A settle time of failed reads is not a settle time in which reads showed nothing."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    made = world.cloud.create("site", _born(life, SITE, "c1-home"), {"role": "site/home"}, creator="freehold")
    _open(life, SITE, {"name": "c1-home", "role": "site/home"})
    with outage(life, "find_site", errors.Unavailable("503")):
        _passes(life, 3 * SETTLE)
    assert isinstance(life.create()["site/home"], Ready)
    assert [thing.id for thing in world.living()] == [made.id]


def test_unreadable_marks_leave_the_intent_open() -> None:
    """Ours was renamed when it was marked, and a stranger's resource has the name that ours was created with."""
    world = MemoryWorld(nodes=[node("site/home")])
    life = Life(world)
    life.create()
    ours = world.ours("site")
    assert ours is not None
    copy = world.cloud.create("site", _born(life, SITE, "c1-home"), {}, creator="stranger")
    earlier = replace(life.journal.entries[SITE], state=RecordState.INTENDED, id="", target="", signature="")
    life.rewrite(life.journal.put(SITE, replace(earlier, request={"name": "c1-home", "role": "site/home"})))
    life.restart()
    with outage(life, "search", errors.Unavailable("the index is down"), times=1):
        life.once()
    assert life.journal.entries[SITE].id != copy.id
    assert isinstance(life.create()["site/home"], Ready)
    assert life.journal.entries[SITE].id == ours.id
    assert not world.tampered() and not copy.tagged(world.cloud.now())


@pytest.mark.parametrize("deleting", [False, True], ids=["wanted", "deleted"])
@pytest.mark.parametrize("wanted", [SITE, TICKET], ids=["by its nonce", "by its token"])
def test_an_open_create_without_a_key_is_neither_sent_nor_believed(wanted: NodeKey, deleting: bool) -> None:
    """Whoever may edit the object can write one: its request may be any, and it has no nonce or token of ours."""
    world = MemoryWorld(nodes=[node(str(wanted))])
    life = Life(world)
    request = {"name": "theirs", "role": str(wanted)}
    theirs = world.cloud.create(wanted.kind, "theirs", request, creator="stranger")
    life.rewrite(life.journal.put(wanted, Entry(RecordState.INTENDED, opened=world.clock.now(), request=request)))
    life.deleting = deleting
    _passes(life, 10 * SETTLE)
    assert life.last is not None and not life.last.released
    outcome = life.last.outcomes[wanted]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.AMBIGUOUS
    assert "names no key" in outcome.message and f"freehold resolve c1 -n prod {wanted}" in outcome.message
    assert [thing.id for thing in world.living()] == [theirs.id] and not theirs.tagged(world.cloud.now())
    decision = Decision(Verdict.NOT_MINE, str(wanted), "", 1, "ada", world.clock.now())
    life.decide(decisions.sign_decision(decision, life.keys))
    if not deleting:
        assert isinstance(life.create()[str(wanted)], Ready)
    life.delete()
    assert life.last.released
    assert [thing.id for thing in world.living()] == [theirs.id] and not theirs.tagged(world.cloud.now())
