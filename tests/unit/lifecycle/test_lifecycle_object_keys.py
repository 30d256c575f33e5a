"""Values derived from a key of the ring: nobody without the key can compute them, and each fits one purpose only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freehold.lifecycle import decisions, ownership
from freehold.lifecycle.decisions import Decision, Verdict
from freehold.lifecycle.keys import UNKEYED, KeyRing, ObjectKeys, derive, digest_of, fingerprint
from freehold.lifecycle.ownership import Owner
from freehold.lifecycle.resources import NodeKey

ONE, TWO = b"one key of thirty-two bytes at all", b"another key of thirty-two bytes, so"
RING = KeyRing(digest_of(TWO), {digest_of(ONE): ONE, digest_of(TWO): TWO})
US = Owner("11111111-aaaa", "C", "prod", "c1")
KEY = NodeKey("disk", "data")
OLD, NEW = digest_of(ONE), digest_of(TWO)


def keys(owner: Owner = US, ring: KeyRing = RING) -> ObjectKeys:
    return ring.of(owner, unkeyed=False)


def everything(of: ObjectKeys, digest: str, key: NodeKey = KEY, attempt: int = 1, target: str = "crn:1") -> set[str]:
    return {
        of.nonce(digest, key, attempt),
        of.token(digest, key, attempt),
        of.seal(digest, key, target),
        of.signature(digest, key.kind, target),
        of.carried_seal(digest, key.kind, key.logical, target),
    }


OTHERS = {
    "another key": (keys(), OLD, KEY, 1, "crn:1"),
    "another uuid": (keys(replace(US, uuid="22222222-bbbb")), NEW, KEY, 1, "crn:1"),
    "an identity copied into an object of another name": (keys(replace(US, name="c2")), NEW, KEY, 1, "crn:1"),
    "an identity copied into another namespace": (keys(replace(US, namespace="dev")), NEW, KEY, 1, "crn:1"),
    "an identity copied into another kind": (keys(replace(US, kind="D")), NEW, KEY, 1, "crn:1"),
    "another node, attempt and target": (keys(), NEW, NodeKey("site", "home"), 2, "crn:2"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_derived_values_do_not_fit_for(case: str) -> None:
    assert everything(keys(), NEW).isdisjoint(everything(*OTHERS[case]))


def test_an_outsider_who_knows_uuid_and_rules_can_compute_no_value() -> None:
    public = {ownership.nonce(US, KEY, 1), ownership.token(US, KEY, 1), ownership.seal(US, KEY, "crn:1")}
    assert everything(keys(), NEW).isdisjoint(public)


def test_a_nonce_is_recognised_without_knowing_node_and_attempt_by_its_kind_alone() -> None:
    word = keys().nonce(OLD, NodeKey("disk", "forgotten"), 7)
    assert keys().recognises("disk", word)
    assert not keys().recognises("site", word)
    assert not keys(replace(US, uuid="22222222-bbbb")).recognises("disk", word)
    assert not keys().recognises("disk", word[:-1] + ("a" if word[-1] != "a" else "b"))
    assert not keys().recognises("disk", ownership.nonce(US, KEY, 1))


def test_a_nonce_is_legal_in_every_name() -> None:
    """It begins with a letter and has only lower-case letters and digits."""
    word = keys().nonce(NEW, KEY, 1)
    assert len(word) == 13
    assert word[0].isalpha() and word.isalnum() and word == word.lower()


def test_the_derived_key_of_one_object_gives_the_values_of_the_ring_and_none_for_others() -> None:
    handed_on = KeyRing.single(b"the key of the operator it moved to")
    handed_on = replace(handed_on, handed_on={(NEW, US.uuid): derive(TWO, US.uuid)})
    assert everything(keys(ring=handed_on), NEW) == everything(keys(), NEW)
    assert handed_on.readable(NEW, US.uuid) and not handed_on.readable(NEW, "22222222-bbbb")


def test_missing_keys_are_named_and_an_accepted_loss_is_not_missing() -> None:
    ring = KeyRing.single(ONE)
    assert ring.missing([OLD, NEW], US.uuid) == (NEW,)
    lost = replace(ring, accepted={(NEW, US.uuid): frozenset()})
    assert lost.missing([OLD, NEW], US.uuid) == ()
    assert lost.missing([OLD, NEW], "22222222-bbbb") == (NEW,), "it was accepted for the other object"


def test_an_accepted_loss_covers_the_records_of_that_moment() -> None:
    """Anybody may have written a later record that names the lost key: node, id, object and key must be the same."""
    accepted = frozenset({fingerprint(US.uuid, "disk/a", "id-1")})
    ring = replace(KeyRing.single(ONE), accepted={(NEW, US.uuid): accepted, (NEW, "2222"): frozenset()})
    assert ring.forgives(NEW, US.uuid, fingerprint(US.uuid, "disk/a", "id-1"))
    for another in (("disk/a", "id-2"), ("disk/b", "id-1"), ("disk/a", "id-1", "made later")):
        assert not ring.forgives(NEW, US.uuid, fingerprint(US.uuid, *another))
    assert not ring.forgives(NEW, "2222", fingerprint("2222", "disk/a", "id-1"))
    assert not ring.forgives(OLD, US.uuid, fingerprint(US.uuid, "disk/a", "id-1"))


@pytest.mark.parametrize(
    ("ring", "needs", "counts"),
    (([US.uuid], True, True), (["2222"], True, False), ([US.uuid], False, False)),
    ids=("an old object", "not there before the ring", "a renewed object"),
)
def test_public_seals_count_only_for_an_object_that_has_not_been_renewed(
    ring: list[str], needs: bool, counts: bool
) -> None:
    of = KeyRing.single(ONE, unkeyed=ring).of(US, unkeyed=needs, legacy_secret=b"of the credentials")
    assert (UNKEYED in of.readable) is counts
    if not counts:
        assert of.signature(UNKEYED, "disk", "id-1") == ""


def test_a_logged_key_ring_shows_no_key() -> None:
    for text in (repr(RING), repr(keys())):
        assert "thirty-two" not in text and repr(derive(TWO, US.uuid)) not in text


def test_a_ring_without_its_writing_key_is_refused() -> None:
    with pytest.raises(ValueError, match=NEW):
        KeyRing(NEW, {OLD: ONE})


def test_each_part_of_what_is_sealed_counts() -> None:
    """A seal without one of them would fit a stranger's resource, too."""
    of = keys()
    assert derive(ONE, US.uuid) != derive(ONE, "22222222-bbbb")
    seals = {
        of.carried_seal(NEW, kind, ident, carrier)
        for kind in ("link", "wire")
        for ident in ("l1", "l2")
        for carrier in ("crn:hub-1", "crn:hub-2")
    }
    assert len(seals) == 8
    assert len({of.seal(NEW, key, crn) for key in (KEY, NodeKey("disk", "b")) for crn in ("crn:1", "crn:2")}) == 4
    assert len({of.signature(NEW, kind, ident) for kind in ("disk", "net") for ident in ("1", "2")}) == 4


def test_a_key_that_was_derived_for_one_object_does_not_work_for_others() -> None:
    ring = replace(KeyRing.single(ONE), handed_on={(NEW, US.uuid): derive(TWO, US.uuid)})
    assert NEW in ring.of(US, unkeyed=False).readable
    assert NEW not in ring.of(replace(US, uuid="22222222-bbbb"), unkeyed=False).readable


FOREIGN = ("ж" * 16, "\ud800" * 16)
"""Text that is no ASCII, and text that is no text at all: JSON and tags can carry both."""


@pytest.mark.parametrize("said", FOREIGN, ids=["no ASCII", "no character"])
def test_what_somebody_wrote_in_other_letters_counts_as_no_signature(said: str) -> None:
    """Whoever may tag a resource, or edit one object, must not stop the passes of every other one."""
    decision = Decision(Verdict.MINE, str(KEY), "crn:1", 1, "ada", 0.0, NEW, said)
    assert not decisions.is_signed(decision, keys())
    assert not keys().are_signed(NEW, said, "crn:1", ["team:red"])
    assert not keys().recognises("disk", "f" + said[:12])
