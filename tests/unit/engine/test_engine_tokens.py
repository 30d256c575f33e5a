"""Client tokens: what a repeat under one may make a second time, and what it found is not made again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from freehold.engine import journal as journals
from freehold.engine.journal import MOST_ATTEMPTS, Entry, RecordState
from freehold.engine.outcomes import Blocked, Ready, Reason
from freehold.engine.resources import NodeKey
from lab import faults
from lab.cloud import ReadLags, Resource
from lab.faults import Fault, Script
from lab.life import Life
from lab.machines import DAY, MachineWorld
from lab.world import MemoryWorld, node

MACHINE = NodeKey("machine", "node")
DISK = NodeKey("disk", "data")


def _machines(world: MemoryWorld) -> list[Resource]:
    return [r for r in world.cloud.living() if r.kind == "machine"]


def _cut_off(world: MachineWorld, fault: Fault = faults.AFTER) -> Life:
    """The process has died at the create of the machine; its successor has not begun."""
    golden = Life(MachineWorld(nodes=world.nodes))
    golden.create()
    number = next(i for i, call in enumerate(golden.port.calls) if call.operation == "create_machine")
    life = Life(world, Script({number: fault}))
    while not life.crashes:
        done = life.once()
        world.clock.advance(max(done.after, 0.001) if done else 0.001)
    return life


def _hide(world: MachineWorld) -> None:
    """Somebody takes the marks off what the create made, and renames it: nothing but the token finds it."""
    (made,) = _machines(world)
    world.cloud.detach(made.target, made.tagged(world.cloud.now()))
    made.names.append((world.cloud.now(), "renamed"))


def _resized(world: MachineWorld) -> None:
    """Another size in the spec: a request under the same token that the cloud refuses."""
    world.nodes = [
        replace(n, request=partial(lambda asked, known: {**asked(known), "size": 2}, n.request))
        if n.key == MACHINE
        else n
        for n in world.nodes
    ]


def test_a_create_that_was_cut_off_is_repeated_with_the_tags_that_it_was_sent_with() -> None:
    """The spec has other tags now, and a token binds the tags of its request: another set would be refused."""
    world = MachineWorld()
    life = _cut_off(world)
    _hide(world)
    life.user_tags = frozenset({"user:team=blue"})
    assert isinstance(life.create()["machine/node"], Ready)
    (made,) = _machines(world)
    assert life.journal.entries[MACHINE].id == made.id
    users = {tag for tag in made.tagged(world.cloud.now()) if tag.startswith("user:")}
    assert users == {"user:team=blue"}, "what it was born with is taken off afterwards"


def test_a_create_that_was_cut_off_is_found_by_its_token_when_the_object_is_deleted() -> None:
    """A delete wants no user tags at all."""
    world = MachineWorld()
    life = _cut_off(world)
    _hide(world)
    life.delete()
    assert life.released
    assert not world.living()


def test_the_tags_of_a_create_leave_the_record_with_its_intent() -> None:
    life = Life(MachineWorld())
    life.create()
    assert life.journal.entries[MACHINE].tags is None


def test_what_a_token_made_with_another_request_is_found_by_its_birth_mark() -> None:
    """The journal was restored, the spec edited, and the list did not show what exists when it was sent again."""
    world = MachineWorld(ReadLags(list_lag=20.0))
    life = _cut_off(world)
    life.roll_back()
    _resized(world)
    life.state.identity_is_new = True  # it does not wait for the settle time, so the list is still behind
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Ready)
    (made,) = _machines(world)
    assert life.journal.entries[MACHINE].id == made.id
    assert not life.journal.entries[MACHINE].had_effect


def test_what_a_token_made_and_nothing_shows_is_never_made_again() -> None:
    """A day later the token has expired and protects nothing any more; the record knows that it had an effect."""
    world = MachineWorld()
    life = _cut_off(world)
    _hide(world)
    life.roll_back()
    _resized(world)
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.PRESUMED_ONLY
    assert life.journal.entries[MACHINE].had_effect
    world.clock.advance(2 * DAY)
    life.restart()
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.PRESUMED_ONLY
    assert len(_machines(world)) == 1


def test_that_a_token_has_made_something_is_on_record_at_once() -> None:
    """The process dies with the answer, and is down until the token has expired."""
    world = MachineWorld()
    life = _cut_off(world)
    _hide(world)
    life.roll_back()
    _resized(world)
    while MACHINE not in life.journal.open:
        done = life.once()
        world.clock.advance(max(done.after, 0.001) if done else 0.001)
    world.clock.advance(2 * DAY)
    life.restart()
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.PRESUMED_ONLY
    assert len(_machines(world)) == 1


def _expires(life: Life) -> None:
    life.world.clock.advance(DAY + 1)


def _clock_goes_back(life: Life) -> None:
    """By a year: how old the token is, nobody knows."""
    entry = life.journal.entries[MACHINE]
    life.rewrite(life.journal.put(MACHINE, replace(entry, opened=entry.opened + 365 * DAY)))
    life.world.clock.advance(DAY + 1)


@pytest.mark.parametrize("happens", (_expires, _clock_goes_back))
def test_a_token_that_protects_no_more_is_not_sent_again(happens: Callable[[Life], None]) -> None:
    """It would make a second machine. The first one lost its tags, so a person is told of its name."""
    world = MachineWorld()
    life = _cut_off(world)
    world.strip("machine")
    happens(life)
    outcome = life.create()["machine/node"]
    (made,) = _machines(world)
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NAME_TAKEN
    assert made.id in outcome.message


def test_an_expired_token_is_not_needed_where_a_birth_mark_finds_what_it_made() -> None:
    world = MachineWorld()
    life = _cut_off(world)
    _expires(life)
    assert isinstance(life.create()["machine/node"], Ready)
    assert len(_machines(world)) == 1


def test_a_refused_create_spends_its_token() -> None:
    """The cloud bound it to the refused request: under the same token it would be refused for a day."""
    world = MachineWorld()
    world.cloud.full.add("machine")
    life = Life(world)
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.QUOTA
    world.cloud.full.clear()
    life.invalidate()
    assert isinstance(life.create()["machine/node"], Ready)


def _refused_unrecorded(kind: str, world: MemoryWorld) -> Life:
    """The cloud refuses the create, for it is full, and the process dies with the answer; it is not full after that."""
    golden = Life(replace(world))
    golden.create()
    number = next(i for i, call in enumerate(golden.port.calls) if call.operation == f"create_{kind}")
    world.cloud.full.add(kind)
    life = Life(world, Script({number + 1: faults.BEFORE}))
    while not life.crashes:
        done = life.once()
        world.clock.advance(max(done.after, 0.001) if done else 0.001)
    world.cloud.full.clear()
    return life


def test_a_refusal_that_no_record_holds_spends_its_token_too() -> None:
    """The next process asks under the same token, and hears the first answer for as long as the token lives."""
    life = _refused_unrecorded("machine", MachineWorld())
    assert life.journal.entries[MACHINE].state is RecordState.INTENDED
    assert isinstance(life.create()["machine/node"], Ready)
    assert life.journal.entries[MACHINE].attempt == 2


def test_a_refusal_that_no_record_holds_does_not_keep_the_object_from_being_deleted() -> None:
    life = _refused_unrecorded("machine", MachineWorld())
    life.delete()
    assert life.released


def test_without_a_birth_mark_a_refused_repeat_is_no_answer_about_the_first_request() -> None:
    """Nothing but the token would find what that made: its intent stays open."""
    world = MemoryWorld(nodes=[node("net/main", size=1), node("disk/data", "net/main")])
    life = _refused_unrecorded("disk", world)
    world.cloud.full.add("disk")
    outcome = life.create()["disk/data"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.QUOTA
    assert life.journal.entries[DISK].state is RecordState.INTENDED
    world.cloud.full.clear()
    life.invalidate()
    assert isinstance(life.create()["disk/data"], Ready)


@pytest.mark.parametrize("fault", (faults.THROTTLED, faults.UNAVAILABLE), ids=str)
def test_a_create_that_the_cloud_did_not_take_up_spends_nothing(fault: Fault) -> None:
    """An outage of a day would else use up what a journal may count."""
    golden = Life(MachineWorld())
    golden.create()
    number = next(i for i, call in enumerate(golden.port.calls) if call.operation == "create_machine")
    life = Life(MachineWorld(), Script({number: fault}))
    life.create()
    assert life.journal.entries[MACHINE].attempt == 1


def test_without_a_birth_mark_a_refused_create_keeps_its_token() -> None:
    """Nothing else would show what it made, should the journal be restored to before the refusal."""
    world = MemoryWorld(nodes=[node("net/main", size=1), node("disk/data", "net/main")])
    world.cloud.full.add("disk")
    life = Life(world)
    life.create()
    assert life.journal.entries[DISK].attempt == 1


def test_refusals_never_make_a_journal_unreadable() -> None:
    """They repeat for as long as nobody raises the quota."""
    entry = Entry(RecordState.INTENDED, attempt=1)
    for _ in range(2 * MOST_ATTEMPTS):
        entry = journals.after_refusal(entry, token_spent=True)
    assert entry.attempt < MOST_ATTEMPTS


def test_what_a_forgotten_attempt_made_is_not_made_again() -> None:
    """Restored to an open create from before several refusals: the token of that create has made nothing yet."""
    world = MachineWorld()
    world.cloud.full.add("machine")
    life = Life(world)
    life.create()
    for _ in range(6):
        life.invalidate()
        life.once()
    opened = next(text for text in life.stored.versions if MACHINE in journals.loads(text).open)
    world.cloud.full.clear()
    made_by = life.journal.entries[MACHINE].attempt
    assert made_by > 5
    token, nonce = (make(life.keys.writing, MACHINE, made_by) for make in (life.keys.token, life.keys.nonce))
    codec = world.codec
    tags = codec.owner(life.owner) | {codec.node(MACHINE, nonce)}
    net = world.ours("net")
    assert net is not None
    made = world.cloud.create(
        "machine", "c1-node", {"role": "machine/node", "net": net.id}, creator="freehold", token=token, tags=tags
    )
    life.stored.versions.append(opened)
    life.stored.touch()
    life.restart()
    outcome = life.create()["machine/node"]
    assert isinstance(outcome, Blocked) and made.id in outcome.message
    assert [r.id for r in _machines(world)] == [made.id]
