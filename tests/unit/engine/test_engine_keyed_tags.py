"""Tags that are a map and know case: nothing is made twice, and no value of another's is overwritten or taken off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from freehold.engine.errors import NotFound, Unavailable
from freehold.engine.graph import Node
from freehold.engine.keyed_codec import KeyedCodec
from freehold.engine.keys import KeyRing, digest_of, fingerprint
from freehold.engine.outcomes import Blocked, Category, Kept, Outcome, Ready, Reason, Waiting
from freehold.engine.port import Call
from freehold.engine.resources import NodeKey
from lab import faults
from lab.cloud import ReadLags
from lab.faults import Script
from lab.life import Life
from lab.neighbour import OTHER
from lab.outage import once_after, outage
from lab.world import RING, MemoryWorld, node

CODEC = KeyedCodec()
NEW = b"another key of 32 bytes, made up"
BOTH = KeyRing(digest_of(NEW), {**RING.keys, digest_of(NEW): NEW})
NET = NodeKey("net", "Main")
RED = frozenset({CODEC.user("team", "red")})


def _world(*wanted: str) -> MemoryWorld:
    return MemoryWorld(nodes=[node(key) for key in wanted], codec=CODEC)


@pytest.mark.parametrize("logical", ("Main", "MAIN-eu-west-1a", "M" * 300))
def test_a_create_that_was_cut_off_is_found_by_a_birth_mark_with_capitals(logical: str) -> None:
    world = _world(f"net/{logical}")
    life = Life(world, Script({_first(world, "create_net"): faults.AFTER}), user_tags=RED)
    assert isinstance(life.create()[f"net/{logical}"], Ready)
    assert life.crashes == 1
    assert len([r for r in world.cloud.log if r.kind == "net"]) == 1


@pytest.mark.parametrize("fault", [faults.LOST, faults.BROKEN], ids=str)
def test_an_attach_whose_reply_was_lost_is_read_back(fault: faults.Fault) -> None:
    """The next look at the tags shows that nothing is missing: nothing is attached any more, and still it counts."""
    world = _world("net/Main", "site/Home")
    attach = [i for i, call in enumerate(_calls(world)) if call.operation == "attach"][-1]
    assert all(isinstance(one, Ready) for one in Life(world, Script({attach: fault}), user_tags=RED).create().values())


def _calls(world: MemoryWorld) -> Sequence[Call]:
    undisturbed = Life(MemoryWorld(nodes=world.nodes, codec=CODEC), user_tags=RED)
    undisturbed.create()
    return undisturbed.port.calls


def _first(world: MemoryWorld, operation: str) -> int:
    return next(i for i, call in enumerate(_calls(world)) if call.operation == operation)


def _at_rest(*wanted: str, more: Sequence[Node] = (), **how: Any) -> Life:
    life = Life(MemoryWorld(nodes=[*map(node, wanted), *more], codec=CODEC, **how), user_tags=RED)
    life.create()
    return life


def _tags(life: Life, kind: str = "disk") -> frozenset[str]:
    return life.world.cloud.get(_id(life, kind)).tagged(life.world.cloud.now())


def _id(life: Life, kind: str) -> str:
    return next(entry.id.rpartition("/")[2] for key, entry in life.journal.entries.items() if key.kind == kind)


def _write(life: Life, tag: str, kind: str = "disk") -> None:
    """Somebody writes a value, and a read interval passes."""
    life.world.cloud.attach(life.world.cloud.get(_id(life, kind)).target, frozenset({tag}), by="stranger")
    life.world.clock.advance(3600.0)


def _settled(life: Life) -> Mapping[str, Outcome]:
    life.invalidate()
    return life.create()


DISK = "disk/Data"
SEAL = "freehold.dev/seal"


def test_anothers_value_under_a_key_of_the_users_is_told_and_stays() -> None:
    life = _at_rest("net/Main", DISK)
    _write(life, "team=blue")
    outcome = _settled(life)[DISK]
    assert isinstance(outcome, Ready) and outcome.reason is Reason.TAG_TAKEN
    assert "team=blue" in outcome.note and "team=red" in outcome.note
    assert "team=blue" in _tags(life) and not life.world.tampered()
    assert life.watch() == []
    life.delete()
    assert life.released and not life.world.living()


def test_it_is_told_until_the_key_is_free_and_then_the_tag_is_attached() -> None:
    life = _at_rest("net/Main", DISK)
    _write(life, "team=blue")
    _settled(life)
    life.start(minted=False)
    assert isinstance(told := life.create()[DISK], Ready) and told.reason is Reason.TAG_TAKEN, "after a restart, too"
    life.world.cloud.detach(life.world.cloud.get(_id(life, "disk")).target, frozenset({"team=blue"}))
    life.world.clock.advance(700.0)
    assert life.create()[DISK] == Ready(life.state.node(NodeKey.parse(DISK)).observed, Category.MANAGED)
    assert "team=red" in _tags(life)


def test_anothers_value_in_place_of_the_seal_blocks_and_does_not_hold_the_delete() -> None:
    """The record proves with the other marks, until it is lost; so nothing is changed before a person has looked."""
    life = _at_rest("net/Main", DISK)
    _write(life, f"{SEAL}=a-copied-one")
    outcome = _settled(life)[DISK]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.TAG_TAKEN and f"its tag {SEAL}" in outcome.message
    assert f"{SEAL}=a-copied-one" in _tags(life) and not life.world.tampered()
    life.world.cloud.detach(life.world.cloud.get(_id(life, "disk")).target, frozenset({f"{SEAL}="}))
    assert isinstance(_settled(life)[DISK], Ready)
    _write(life, f"{SEAL}=a-copied-one")
    life.delete()
    assert life.released and not life.world.living()


def test_what_has_lost_its_marks_and_has_anothers_value_in_place_of_the_seal_is_kept() -> None:
    """Nothing but the record says that it is ours; a person who says so is told what is in place of the seal."""
    life = _at_rest("net/Main", DISK)
    life.world.cloud.detach(life.world.cloud.get(_id(life, "disk")).target, _tags(life))
    _write(life, f"{SEAL}=a-copied-one")
    kept = life.delete()[DISK]
    assert isinstance(kept, Kept) and kept.reason is Reason.MARK_LOST and life.released
    assert f"{SEAL}=a-copied-one" in _tags(life)


def test_nothing_is_created_on_what_has_another_value_in_place_of_its_seal() -> None:
    """Whether it is still ours is for a person to say first."""
    life = _at_rest("net/Main")
    _write(life, f"{SEAL}=a-copied-one", "net")
    life.world.nodes = [node("net/Main"), node(DISK, "net/Main")]
    outcomes = _settled(life)
    assert isinstance(net := outcomes["net/Main"], Blocked) and net.reason is Reason.TAG_TAKEN
    assert isinstance(outcomes[DISK], Waiting)
    assert {each.kind for each in life.world.living()} == {"net"}


@pytest.mark.parametrize("mark", ("freehold.dev/owner-uuid=another", "freehold.dev/owner=prod/c2"))
def test_another_owner_in_place_of_ours_is_a_dispute(mark: str) -> None:
    life = _at_rest("net/Main", DISK)
    _write(life, mark)
    outcome = _settled(life)[DISK]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED
    life.delete()
    assert not life.released and mark in _tags(life)
    assert not life.world.tampered()


def test_a_value_that_the_spec_changes_is_replaced_and_the_old_one_is_not_ours_any_more() -> None:
    life = _at_rest("net/Main", DISK)
    life.user_tags = frozenset({"team=blue"})
    assert isinstance(_settled(life)[DISK], Ready)
    life.world.clock.advance(700.0)
    life.create()
    assert "team=blue" in _tags(life) and "team=blue" in _tags(life, "net")
    assert life.journal.tags == life.user_tags
    _write(life, "team=red")
    assert isinstance(outcome := _settled(life)[DISK], Ready) and outcome.reason is Reason.TAG_TAKEN


@pytest.mark.parametrize("lag", (0.0, 3.0))
def test_a_value_is_not_taken_off_with_the_one_that_it_replaced(lag: float) -> None:
    """A read that lags still shows the old value, and a detach goes by key."""
    life = _at_rest("net/Main", DISK, read_lags=ReadLags(lag, lag, lag))
    life.user_tags = frozenset({"team=blue"})
    _settled(life)
    assert not any(call.operation == "detach" for call in life.port.calls)
    assert "team=blue" in _tags(life)


def test_a_dropped_tag_is_taken_off_only_where_its_value_is_ours() -> None:
    life = _at_rest("net/Main", DISK)
    _write(life, "team=blue")
    life.user_tags = frozenset()
    _settled(life)
    assert "team=blue" in _tags(life) and not any(tag.startswith("team=") for tag in _tags(life, "net"))
    assert not life.world.tampered()


def test_no_mark_is_one_of_the_users_tags() -> None:
    """Whoever may edit the object can write it among them, to have the proof of others taken off what is ours."""
    life = _at_rest("hub/core")
    theirs = CODEC.spell_carrier_mark(OTHER, "link", "link-009", "abcd2345")
    _write(life, theirs, "hub")
    life.rewrite(replace(life.journal, tags=life.journal.tags | {theirs}))
    _settled(life)
    assert theirs in _tags(life, "hub") and theirs not in life.journal.tags


def test_a_seal_of_an_older_key_is_renewed_in_one_value() -> None:
    life = _at_rest("net/Main", DISK, "hub/core", more=[node("link/a", "hub/core", "net/Main")])
    before = {tag for kind in ("net", "disk", "hub") for tag in _tags(life, kind) if tag.startswith(SEAL)}
    life.world.ring = BOTH
    life.start(minted=False)
    for _ in range(6):
        assert all(isinstance(outcome, Ready) for outcome in _settled(life).values())
        life.world.clock.advance(700.0)
    assert {entry.key for entry in life.journal.claimed.values()} == {life.world.ring.writing}
    after = {tag for kind in ("net", "disk", "hub") for tag in _tags(life, kind) if tag.startswith(SEAL)}
    assert len(after) == 3 and before.isdisjoint(after) and all(" " not in tag for tag in after)
    life.delete()
    assert life.released and not life.world.tampered()


def _given(**how: Any) -> Life:
    life = Life(MemoryWorld(nodes=[node("net/Main")], codec=CODEC, given_hub=True, **how), user_tags=RED)
    life.create()
    return life


def test_on_what_is_given_anothers_value_is_told_and_stays_for_good() -> None:
    life = Life(MemoryWorld(nodes=[node("net/Main")], codec=CODEC, given_hub=True), user_tags=RED)
    hub = next(r for r in life.world.cloud.log if r.kind == "hub")
    life.world.cloud.attach(hub.target, frozenset({"team=blue"}), by="stranger")
    life.world.clock.advance(60.0)
    outcome = life.create()["hub/core"]
    assert isinstance(outcome, Ready) and outcome.reason is Reason.TAG_TAKEN and "team=blue" in outcome.note
    assert not life.journal.attached
    assert life.watch() == []
    life.delete()
    assert life.released and "team=blue" in hub.tagged(life.world.cloud.now()) and not life.world.tampered()


def test_on_what_is_given_a_value_that_replaced_ours_stays() -> None:
    life = _given()
    _write(life, "team=blue", "hub")
    life.delete()
    hub = next(r for r in life.world.cloud.log if r.kind == "hub")
    assert life.released and "team=blue" in hub.tagged(life.world.cloud.now()) and not life.world.tampered()


def test_on_what_is_given_a_changed_value_is_replaced_and_goes_with_the_object() -> None:
    life = _given()
    life.user_tags = frozenset({"team=green"})
    _settled(life)
    hub = next(r for r in life.world.cloud.log if r.kind == "hub")
    assert "team=green" in hub.tagged(life.world.cloud.now())
    life.delete()
    assert life.released and hub.tagged(life.world.cloud.now()) == hub.theirs


def test_what_is_not_wanted_any_more_is_no_conflict_any_more() -> None:
    life = _given()
    _write(life, "team=blue", "hub")
    assert isinstance(told := _settled(life)["hub/core"], Ready) and told.reason is Reason.TAG_TAKEN
    life.user_tags = frozenset()
    assert isinstance(quiet := _settled(life)["hub/core"], Ready) and quiet.reason is None


def test_anothers_value_in_place_of_a_carriers_mark_blocks_what_is_carried_and_a_delete_keeps_it() -> None:
    """Only our record says that it is ours then."""
    link = node("link/a", "hub/core", "net/Main")
    life = Life(MemoryWorld(nodes=[node("net/Main"), link], codec=CODEC, given_hub=True), user_tags=RED)
    life.create()
    carried = next(entry.id for key, entry in life.journal.entries.items() if key.kind == "link")
    theirs = f"freehold.dev/carried.link.{carried}=another-uuid"
    _write(life, theirs, "hub")
    outcome = _settled(life)["link/a"]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.TAG_TAKEN and theirs in outcome.message
    kept = life.delete()["link/a"]
    assert isinstance(kept, Kept) and kept.reason is Reason.MARK_LOST and life.released
    assert theirs in _tags(life, "hub") and not life.world.tampered()


def test_a_new_resource_that_the_tag_service_does_not_know_yet_is_marked_soon() -> None:
    """Not after the five minutes of what a person must mend."""
    life = Life(_world("disk/Data"), user_tags=RED)
    began = life.world.clock.monotonic()
    with outage(life, "tags_of", NotFound("not known yet"), times=2):
        while life.world.clock.monotonic() < began + 60.0:
            done = life.once()
            life.world.clock.advance(done.after if done else 1.0)
    assert _tags(life) >= RED


def test_anothers_value_in_place_of_a_seal_that_was_never_there_blocks() -> None:
    life = Life(_world("disk/Data"), user_tags=RED)
    tag = frozenset({f"{SEAL}=a-copied-one"})

    def write() -> None:
        disk = next(r for r in life.world.cloud.log)
        life.world.cloud.attach(disk.target, tag, by="stranger")

    once_after(life, "create_disk", write)
    outcome = life.create()[DISK]
    assert isinstance(outcome, Blocked) and outcome.reason is Reason.TAG_TAKEN
    assert _tags(life) == tag and life.watch() == []
    life.world.cloud.detach(life.world.cloud.log[0].target, tag)
    assert isinstance(_settled(life)[DISK], Ready)


def test_a_changed_value_follows_although_the_first_attach_failed() -> None:
    """Until the new value is there the old one is ours, and no value of another's."""
    life = _at_rest("net/Main", DISK)
    life.user_tags = frozenset({"team=blue"})
    life.invalidate()
    with outage(life, "attach", Unavailable("503"), times=1):
        life.once()
    life.start(minted=False)
    assert isinstance(outcome := life.create()[DISK], Ready) and outcome.reason is None
    assert "team=blue" in _tags(life) and "team=blue" in _tags(life, "net")


def test_a_dropped_tag_goes_although_a_changed_one_cannot_follow_everywhere() -> None:
    life = _at_rest("net/Main", DISK)
    _write(life, "freehold.dev/owner=prod/c2")
    life.user_tags = frozenset({"team=red", "env=test"})
    _settled(life)
    assert "env=test" in _tags(life, "net")
    life.user_tags = frozenset({"team=blue"})
    _settled(life)
    assert {"team=blue"} == {tag for tag in _tags(life, "net") if not CODEC.is_mark(tag)}
    assert "team=red" in life.journal.tags, "it may still be on the resource that another owner claims"


def _lost(life: Life) -> KeyRing:
    """A ring without the key of the journal, whose loss a person accepted for the records that there are."""
    owner, entries = life.owner, life.journal.entries
    records = frozenset(fingerprint(owner, str(key), entry.id, entry.incarnation) for key, entry in entries.items())
    return KeyRing(digest_of(NEW), {digest_of(NEW): NEW}, accepted={(RING.writing, owner.uuid): records})


@pytest.mark.parametrize("dies", [False, True], ids=["in one process", "after a crash"])
def test_a_seal_of_a_key_whose_loss_was_accepted_is_replaced(dies: bool) -> None:
    """Nothing can check it any more. It must not look like another's value: a person has decided already."""
    life = _at_rest("disk/Data", "net/Main", "hub/Core", more=[node("link/A", "hub/Core", "net/Main")])
    life.world.ring = _lost(life)
    life.start(minted=False)
    if dies:
        with outage(life, "attach", Unavailable("503")):
            life.once()
        life.start(minted=False)
    outcomes = life.create()
    assert all(isinstance(each, Ready) for each in outcomes.values())
    assert not [each for each in outcomes.values() if isinstance(each, Ready) and each.reason is Reason.TAG_TAKEN]
    assert {entry.key for entry in life.journal.entries.values()} == {digest_of(NEW)}
    assert not any(entry.node_tags for entry in life.journal.entries.values())
    assert life.watch() == []


def test_two_operators_on_one_object_are_told_and_the_key_of_the_other_ends_it() -> None:
    """A backup was restored elsewhere, where the key counts as lost; then somebody follows the message here."""
    life = _at_rest("net/Main", DISK)
    journal = life.journal
    life.world.ring = _lost(life)
    life.start(minted=False)
    life.create()
    life.rewrite(journal)
    life.world.ring = RING
    life.start(minted=False)
    for outcome in life.create().values():
        assert isinstance(outcome, Blocked) and outcome.reason is Reason.TAG_TAKEN
        assert "another operator works on this object too" in outcome.message
        assert "freehold keys add FILE" in outcome.message
    life.world.ring = replace(BOTH, writing=RING.writing)
    life.start(minted=False)
    assert all(isinstance(outcome, Ready) for outcome in life.create().values())
    life.delete()
    assert life.released and not life.world.living()


def test_a_seal_of_a_lost_key_whose_loss_nobody_accepted_for_the_record_is_left() -> None:
    life = _at_rest("disk/Data")
    before = _tags(life)
    ring = _lost(life)
    life.world.ring = replace(ring, accepted={known: frozenset() for known in ring.accepted})
    life.start(minted=False)
    assert isinstance(life.create()["disk/Data"], Blocked)
    assert _tags(life) == before


def test_nothing_is_taken_off_what_has_another_value_in_place_of_our_seal() -> None:
    """Nothing of it is changed until a person has looked; then the tag that the spec dropped goes."""
    role = frozenset({CODEC.user("role", "data")})
    life = _at_rest(more=[node("disk/Data", tags=role)])
    target = life.world.cloud.get(_id(life, "disk")).target
    life.world.cloud.attach(target, frozenset({"freehold.dev/seal=theirs22"}), by="stranger")
    life.world.clock.advance(100.0)
    life.user_tags, life.world.nodes = frozenset(), [node("disk/Data")]
    life.invalidate()
    blocked = life.create()["disk/Data"]
    assert isinstance(blocked, Blocked) and blocked.reason is Reason.TAG_TAKEN
    assert _tags(life) >= RED | role
    life.world.cloud.detach(target, frozenset({"freehold.dev/seal=theirs22"}))
    life.invalidate()
    assert isinstance(life.create()["disk/Data"], Ready)
    assert _tags(life).isdisjoint(RED | role)
