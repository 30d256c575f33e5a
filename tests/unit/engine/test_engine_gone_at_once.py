"""Kinds that are gone when their delete is answered, what others leave behind, and places that are new and empty."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest

from freehold.engine import errors
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Kept, Reason, Waiting
from freehold.engine.port import Effect
from freehold.engine.resources import NodeKey
from lab.at_once import LINGERS, AtOnceNetwork
from lab.cloud import ReadLags
from lab.life import Life
from lab.network import NAT, VPC
from lab.outage import once_after, outage
from lab.world import SETTLE, node


def _operations(life: Life, since: int = 0) -> Counter[str]:
    return Counter(call.operation for call in life.port.calls[since:] if call.effect is not Effect.STORE)


def _up(world: AtOnceNetwork) -> Life:
    life = Life(world)
    life.create()
    world.clock.advance(300.0)  # nothing of the create settles any more
    return life


def test_what_goes_at_once_frees_what_it_held_in_the_same_pass() -> None:
    """Groups, table, gate and VPC need no pass each, and no look to see that they have gone."""
    world = AtOnceNetwork(
        nodes=[node("vpc/main"), replace(node("gate/door", "vpc/main")), node("group/one", "vpc/main")]
    )
    life = _up(world)
    before = len(life.port.calls)
    life.deleting = True
    done = life.once()
    assert done is not None
    assert done.released
    assert world.living() == []
    assert _operations(life, before)["list_group"] == 1  # the proof, and no look afterwards


def test_what_a_resource_leaves_behind_holds_what_it_was_in_and_nothing_else() -> None:
    """Until it has gone no delete is sent that it would refuse; what it does not hold goes meanwhile."""
    world = AtOnceNetwork()
    life = _up(world)
    before = len(life.port.calls)
    life.delete()
    assert world.living() == []
    sent = [call for call in life.port.calls[before:] if call.operation == "delete_vpc"]
    nat = next(r for r in world.cloud.log if r.kind == "nat")
    vpc = next(r for r in world.cloud.log if r.kind == "vpc")
    assert nat.gone_at is not None
    assert vpc.gone_at is not None
    assert vpc.gone_at >= nat.gone_at + LINGERS
    assert len(sent) == 1


def test_a_new_process_waits_for_what_is_left_behind_too() -> None:
    world = AtOnceNetwork()
    life = _up(world)
    life.deleting = True
    while not (entry := life.journal.get(NAT)) or not entry.deleting:
        done = life.once()
        world.clock.advance(done.after if done else 1.0)
    life.restart()
    life.delete()
    nat = next(r for r in world.cloud.log if r.kind == "nat")
    vpc = next(r for r in world.cloud.log if r.kind == "vpc")
    assert nat.gone_at is not None
    assert vpc.gone_at is not None
    assert vpc.gone_at >= nat.gone_at + LINGERS


def test_what_is_left_behind_is_named_and_what_cannot_be_read_counts_as_there() -> None:
    world = AtOnceNetwork()
    life = _up(world)
    life.deleting = True
    told = ""
    with outage(life, "list_interfaces", errors.Unavailable("503"), times=2):
        for _ in range(60):
            done = life.once()
            outcome = done.outcomes.get(NAT) if done else None
            told += outcome.message if isinstance(outcome, Waiting) else ""
            if done and done.released:
                break
            world.clock.advance(done.after if done else 1.0)
    assert "what remains of it: eni-" in told
    assert world.living() == []


@dataclass
class _Slow(AtOnceNetwork):
    """A cloud that takes the delete of a group, and deletes it half a minute later."""

    def __post_init__(self) -> None:
        self.traits["group"] = replace(self.traits["group"], delete_time=30.0)
        super().__post_init__()


def test_what_was_deleted_and_is_still_there_keeps_the_finalizer() -> None:
    """The index still shows it, and it still has its tags: it is asked for itself, and waited for."""
    life = _up(_Slow(nodes=[node("group/one")]))
    life.delete()
    assert life.world.living() == []


def test_what_was_deleted_and_has_no_tags_is_not_asked_one_kind_after_the_other() -> None:
    """One question for all of them."""
    world = AtOnceNetwork(nodes=[node("vpc/main"), node("gate/door", "vpc/main"), node("group/one", "vpc/main")])
    world.cloud.read_lags = ReadLags(tag_lag=20.0)
    life = _up(world)
    before = len(life.port.calls)
    life.delete()
    calls = _operations(life, before)
    assert calls["tags_of_each"] == 1
    assert (calls["list_vpc"], calls["list_gate"], calls["list_group"]) == (1, 1, 1)


def test_what_lost_its_tags_without_our_delete_is_asked_for_itself() -> None:
    """No tags are no proof that it has gone, unless the cloud took our request to delete it.

    A restored journal does not know the gate, and the index shows it only when the delete has begun.
    """
    world = AtOnceNetwork(nodes=[node("gate/door")])
    world.cloud.read_lags = ReadLags(tag_lag=SETTLE - 10.0)
    life = Life(world)
    while not any(entry.state is RecordState.OWNED for entry in life.journal.claimed.values()):
        life.once()
        world.clock.advance(1.0)
    life.roll_back(100)
    life.restart()
    life.deleting = True
    begun, stripped = world.clock.monotonic(), False
    while not life.released:
        if world.clock.monotonic() - begun > SETTLE - 5.0 and not stripped:
            world.strip("gate")
            stripped = True
        done = life.once()
        world.clock.advance(min(done.after, 2.0) if done else 1.0)
    assert stripped and life.last is not None
    kept = {outcome.reason for outcome in life.last.outcomes.values() if isinstance(outcome, Kept)}
    assert kept == {Reason.MARK_LOST}, "it had them, so it is kept and named"


# -- new places -------------------------------------------------------------------------------------------------------


def test_in_a_place_of_our_own_that_is_new_no_name_is_looked_for() -> None:
    life = Life(AtOnceNetwork(nodes=[node("vpc/main"), node("group/one", "vpc/main")]))
    life.create()
    assert _operations(life)["find_group"] == 0


@pytest.mark.parametrize("given", [True, False], ids=["given", "of another process"])
def test_in_any_other_place_it_is(given: bool) -> None:
    """What an earlier process made in it is found by that, and a stranger's of the name in a given one."""
    world = AtOnceNetwork(nodes=[node("vpc/main"), node("group/one", "vpc/main")])
    if given:
        world.nodes = [
            node("vpc/main", given=_theirs(world)),
            world.nodes[1],
        ]
    life = Life(world)
    if not given:
        life.start(minted=False)
    life.create()
    assert _operations(life)["find_group"] >= 1


def test_a_name_that_somebody_took_in_it_meanwhile_is_refused_and_told() -> None:
    """The cloud refuses the create; the next look names what has the name."""
    world = AtOnceNetwork(nodes=[node("vpc/main"), node("group/one", "vpc/main")])
    life = Life(world)
    once_after(life, "create_vpc", lambda: _stranger_takes(world, "group"))
    done = None
    for _ in range(6):
        done = life.once()
        world.clock.advance(max(done.after, 1.0) if done else 1.0)
    assert done is not None
    outcome = done.outcomes[NodeKey("group", "one")]
    assert isinstance(outcome, Blocked)
    assert outcome.reason is Reason.NAME_TAKEN
    assert [r.creator for r in world.cloud.living() if r.kind == "group"] == ["stranger"]


def _stranger_takes(world: AtOnceNetwork, kind: str) -> None:
    vpc = next(r for r in world.cloud.log if r.kind == "vpc")
    world.cloud.create(kind, "c1-one", {"name": "c1-one", "vpc": vpc.id}, creator="stranger")


def _theirs(world: AtOnceNetwork) -> str:
    return world.cloud.create("vpc", "theirs", {"name": "theirs"}, creator="stranger").id


# -- marks, asked of the resources ------------------------------------------------------------------------------------


def test_a_wave_is_read_back_in_one_call_and_no_index_is_asked() -> None:
    life = Life(AtOnceNetwork())
    life.create()
    asked = _operations(life)
    assert asked["search"] == 0
    assert 1 <= asked["tags_of_each"] <= 4
    assert all(entry.state is RecordState.OWNED for entry in life.journal.claimed.values())


def test_a_mark_that_the_resource_does_not_show_yet_is_asked_for_again() -> None:
    """An attach that was answered proves nothing: the group counts as ours when a read has shown its seal."""
    world = AtOnceNetwork(nodes=[node("vpc/main")])
    life = Life(world)
    with outage(life, "tags_of_each", errors.Unavailable("503"), times=3):
        for _ in range(4):
            done = life.once()
            assert life.journal.entries[VPC].state is not RecordState.OWNED
            world.clock.advance(done.after if done else 1.0)
    life.create()
    assert life.journal.entries[VPC].state is RecordState.OWNED
