"""A node is Ready only if the newest read shows it: after a failed or adverse read it stays not Ready."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Outcome, Ready, Reason, Waiting
from freehold.engine.port import Call
from freehold.engine.resources import NodeKey
from lab.faults import Answer
from lab.life import Life
from lab.outage import outage
from lab.world import SETTLE, MemoryWorld, node

HUB, NET = NodeKey("hub", "core"), NodeKey("net", "main")


def _next(life: Life, key: NodeKey) -> Outcome:
    """Run the next pass at the time that the last one asked for."""
    assert life.last is not None
    life.world.clock.advance(max(life.last.after, 0.001))
    done = life.once()
    assert done is not None
    return done.outcomes[key]


def _look_deeply(life: Life) -> None:
    life.world.clock.advance(max(life.state.deep_at - life.world.clock.monotonic(), 0.001))
    assert life.once() is not None


@pytest.mark.parametrize("claim", ("claim_uuid", "claim_owner"))
def test_a_resource_claimed_by_another_owner_stays_blocked_until_the_claim_is_gone(claim: str) -> None:
    """Once, the pass after the one that saw the claim called it Ready and changed it to our spec."""
    world = MemoryWorld(nodes=[node("net/main", size=1)])
    life = Life(world)
    life.create()
    net = next(r for r in world.cloud.living() if r.kind == "net")
    before = net.tagged(world.cloud.now())
    getattr(world, claim)("net")
    net.attributes["size"] = 7  # as its new owner wants it
    _look_deeply(life)
    for _ in range(8):
        outcome = _next(life, NET)
        assert isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED
    assert net.attributes["size"] == 7
    assert not world.tampered()
    world.cloud.detach(net.target, net.tagged(world.cloud.now()) - before)
    net.creator = "freehold"
    assert isinstance(life.create()[str(NET)], Ready)
    assert net.attributes["size"] == 1


def test_a_refused_read_does_not_reuse_the_last_good_one() -> None:
    world = MemoryWorld(nodes=[node("hub/core"), node("site/home")])
    life = Life(world)
    life.create()
    refused = errors.Denied("no permission to read hubs")
    with outage(life, "list_hub", refused), outage(life, "list_all_hub", refused):
        _look_deeply(life)
        for _ in range(3):
            outcome = _next(life, HUB)
            assert isinstance(outcome, Blocked) and outcome.reason is Reason.DENIED
    assert isinstance(_next(life, HUB), Ready)


def _hide(life: Life, id_: str) -> None:
    """The credentials lose the right to see it: lists omit it, and a read by id is refused."""

    async def hide(answer: Answer, call: Call) -> Any:
        if call.operation == "list_hub" and call.subject == id_:
            raise errors.Denied(f"no permission to read {id_}")
        reply = await answer(call)
        lists = call.operation in ("list_hub", "list_all_hub", "find_hub")
        return [(seen, at) for seen, at in reply if seen.id != id_] if lists else reply

    life.port.interceptors.append(hide)


def test_a_resource_missing_in_a_list_is_read_by_id_before_it_counts_as_gone() -> None:
    """It exists, but the credentials may not see it any more: otherwise a second one would be created."""
    world = MemoryWorld(nodes=[node("hub/core"), node("hub/side")])
    life = Life(world)
    life.create()
    before = {thing.id for thing in world.living()}
    _hide(life, life.journal.entries[HUB].id)
    begun = world.clock.monotonic()
    _look_deeply(life)
    while world.clock.monotonic() - begun < 20 * SETTLE:
        outcome = _next(life, HUB)
        assert isinstance(outcome, Blocked) and outcome.reason is Reason.DENIED
    assert {thing.id for thing in world.living()} == before


@pytest.mark.parametrize("operation", ("search", "tags_of"))
def test_new_user_tags_are_attached_although_the_first_read_failed(operation: str) -> None:
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    life.user_tags = frozenset({"user:team=blue"})
    life.state.invalidate()
    with outage(life, operation, errors.Unavailable("503"), times=1):
        life.once()
    for _ in range(20):
        if isinstance(_next(life, HUB), Ready):
            break
    hub = world.ours("hub")
    assert hub is not None
    assert life.user_tags <= hub.tagged(world.cloud.now())


def test_a_resource_recorded_by_an_earlier_process_gets_no_tags_before_its_tags_are_read() -> None:
    """It may belong to another owner by now: our tag beside theirs would be a claim."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    with outage(life, "attach", errors.Unavailable("503")):
        life.once()
    assert life.journal.entries[HUB].state is RecordState.RECORDED
    life.restart()
    world.claim_owner("hub")
    with outage(life, "tags_of", errors.Unavailable("503")):
        begun = len(life.port.calls)
        life.once()
        for _ in range(5):
            assert isinstance(_next(life, HUB), Waiting)
    assert "attach" not in [call.operation for call in life.port.calls[begun:]]
    outcome = _next(life, HUB)
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED
    assert "attach" not in [call.operation for call in life.port.calls[begun:]]


def test_a_given_id_that_is_gone_is_reported_as_not_found_until_it_is_back() -> None:
    """It is not reported as waiting: only a person can do something about it."""
    world = MemoryWorld(nodes=[node("hub/core")], given_hub=True)
    life = Life(world)
    life.create()
    theirs = next(r for r in world.cloud.living() if r.kind == "hub")
    theirs.gone_at = world.cloud.now()
    _look_deeply(life)
    for _ in range(4):
        outcome = _next(life, HUB)
        assert isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_FOUND
    theirs.gone_at = None
    assert isinstance(_next(life, HUB), Ready)


def test_a_resource_that_is_changing_is_read_again_when_the_change_may_be_over() -> None:
    """Once, a load balancer in ``update_pending`` at a deep pass was called unready until the next deep pass."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    hub = world.ours("hub")
    assert hub is not None
    hub.ready_at = world.cloud.now() + life.state.deep_at - world.clock.monotonic() + 30.0
    _look_deeply(life)
    assert life.last is not None
    waiting = life.last.outcomes[HUB]
    assert isinstance(waiting, Waiting) and waiting.after <= 60.0
    begun = world.clock.monotonic()
    while not isinstance(_next(life, HUB), Ready):
        assert world.clock.monotonic() - begun < 120.0


def test_a_resource_that_cannot_be_marked_yet_is_observed_until_it_can() -> None:
    """Once, a DHCP server without its network yet waited ten minutes for a mark that could not be attached."""
    world = MemoryWorld(nodes=[node("hub/core")])
    taggable = world.cloud.traits["hub"]
    world.cloud.traits["hub"] = replace(taggable, taggable=False)
    life = Life(world)
    life.once()
    for _ in range(10):
        assert not isinstance(_next(life, HUB), Ready)
    world.cloud.traits["hub"] = taggable
    begun = world.clock.monotonic()
    while not isinstance(_next(life, HUB), Ready):
        assert world.clock.monotonic() - begun < 100.0


def test_a_resource_with_a_new_tag_target_is_not_ready_before_its_marks_are_attached() -> None:
    """A DHCP server lost its network and got a new one, which has no marks of ours."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    hub, taggable = world.cloud.get(life.journal.entries[HUB].id), world.cloud.traits["hub"]
    marks = hub.tagged(world.cloud.now())
    world.cloud.traits["hub"] = replace(taggable, taggable=False)
    world.strip("hub")
    hub.ready_at = world.cloud.now() + life.state.deep_at - world.clock.monotonic() + 30.0
    _look_deeply(life)
    world.cloud.traits["hub"] = taggable
    begun = world.clock.monotonic()
    while not isinstance(_next(life, HUB), Ready):
        assert world.clock.monotonic() - begun < 200.0
    assert hub.tagged(world.cloud.now()) == marks


def test_unread_tags_of_a_resource_that_is_gone_do_not_delay_the_marks_of_its_successor() -> None:
    """Otherwise the successor would stay unmarked until tags can be read again."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    (gone,) = world.living()
    with outage(life, "search", errors.Unavailable("503")):
        _look_deeply(life)
        world.strike("hub")
        begun = world.clock.monotonic()
        while not (hub := world.ours("hub")) or not hub.tagged(world.cloud.now()):
            _next(life, HUB)
            assert world.clock.monotonic() - begun < 900.0
    assert hub.id != gone.id
    assert isinstance(life.create()[str(HUB)], Ready)


def test_marks_that_are_missing_in_the_index_are_attached_again_before_the_next_deep_pass() -> None:
    """A resource that is unmarked for ten minutes counts as a stranger's if the object is restored in that time."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.create()
    (hub,) = world.cloud.living()
    marks = hub.tagged(world.cloud.now())
    _look_deeply(life)
    world.strip("hub")
    begun = world.clock.monotonic()
    while hub.tagged(world.cloud.now()) != marks:
        _next(life, HUB)
        assert world.clock.monotonic() - begun < 200.0


def test_while_the_index_is_down_this_is_reported_and_no_tags_are_read_one_by_one() -> None:
    """Every object would read the tags of each of its resources at once: thousands of calls."""
    world = MemoryWorld(nodes=[node("hub/core"), node("site/home")])
    life = Life(world)
    life.create()
    begun = len(life.port.calls)
    down = errors.Unavailable("503 of the index")
    with outage(life, "search", down), outage(life, "search_all", down):
        _look_deeply(life)
        assert life.last is not None
        outcome = life.last.outcomes[HUB]
        assert isinstance(outcome, Waiting) and "503 of the index" in outcome.message
    assert "tags_of" not in [call.operation for call in life.port.calls[begun:]]
    assert isinstance(_next(life, HUB), Ready)
