"""Values derived from a key of the ring: nobody without the key can compute them, and each fits one purpose only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from freehold.engine import decisions
from freehold.engine.decisions import Decision, Verdict
from freehold.engine.keys import KeyRing, ObjectKeys, derive, digest_of, fingerprint
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey

ONE, TWO = b"one key of thirty-two bytes at all", b"another key of thirty-two bytes, so"
RING = KeyRing(digest_of(TWO), {digest_of(ONE): ONE, digest_of(TWO): TWO})
US = Owner("11111111-aaaa", "C", "prod", "c1")
KEY = NodeKey("disk", "data")
OLD, NEW = digest_of(ONE), digest_of(TWO)
DECISION = Decision(Verdict.MINE, str(KEY), "crn:1", 1, "ada", 0.0)


def keys(owner: Owner = US, ring: KeyRing = RING) -> ObjectKeys:
    return ring.derive_keys(owner)


def everything(of: ObjectKeys, digest: str, key: NodeKey = KEY, attempt: int = 1, target: str = "crn:1") -> set[str]:
    return {
        of.nonce(digest, key, attempt),
        of.token(digest, key, attempt),
        of.seal(digest, key, target),
        of.signature(digest, key.kind, target),
        of.carried_seal(digest, key.kind, key.logical, target),
        of.tags_signature(digest, target, [key.logical]),
        of.secret_digest(digest, key, target, b"value"),
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


def test_a_nonce_is_recognised_without_knowing_node_and_attempt_by_its_kind_alone() -> None:
    word = keys().nonce(OLD, NodeKey("disk", "forgotten"), 7)
    assert keys().recognises("disk", word)
    assert not keys().recognises("site", word)
    assert not keys(replace(US, uuid="22222222-bbbb")).recognises("disk", word)
    assert not keys().recognises("disk", word[:-1] + ("a" if word[-1] != "a" else "b"))


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
    accepted = frozenset({fingerprint(US, "disk/a", "id-1")})
    ring = replace(KeyRing.single(ONE), accepted={(NEW, US.uuid): accepted, (NEW, "2222"): frozenset()})
    assert ring.forgives(NEW, US.uuid, fingerprint(US, "disk/a", "id-1"))
    for another in (("disk/a", "id-2"), ("disk/b", "id-1"), ("disk/a", "id-1", "made later")):
        assert not ring.forgives(NEW, US.uuid, fingerprint(US, *another))
    assert not ring.forgives(NEW, "2222", fingerprint(replace(US, uuid="2222"), "disk/a", "id-1"))
    assert not ring.forgives(OLD, US.uuid, fingerprint(US, "disk/a", "id-1"))


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


BOTH_NODES, BOTH_TARGETS = (KEY, NodeKey("disk", "b")), ("crn:1", "crn:2")
DERIVED: dict[str, tuple[int, Callable[[ObjectKeys], list[str]]]] = {
    "tags on what is given": (
        6, lambda of: [of.tags_signature(NEW, crn, tags) for crn in BOTH_TARGETS for tags in ("a", "b", ("a", "b"))],
    ),
    "a record whose id returns": (
        6, lambda of: [of.signature(NEW, "disk", ident, born) for ident in ("1", "2") for born in ("", "x", "y")],
    ),
    "the digest of a secret": (
        8,
        lambda of: [
            of.secret_digest(NEW, key, place, value)
            for key in BOTH_NODES for place in ("/a", "/b") for value in (b"v", b"w")
        ],
    ),
    "a token": (4, lambda of: [of.token(NEW, key, attempt) for key in BOTH_NODES for attempt in (1, 2)]),
    "a nonce": (4, lambda of: [of.nonce(NEW, key, attempt) for key in BOTH_NODES for attempt in (1, 2)]),
    "an accepted record": (
        20,
        lambda _: [
            fingerprint(replace(US, **other), n, i)
            for other in ({}, {"uuid": "v"}, {"kind": "v"}, {"namespace": "v"}, {"name": "v"})
            for n in ("a/1", "a/2") for i in ("1", "2")
        ],
    ),
    "a decision": (
        7,
        lambda of: [
            decisions.sign_decision(replace(DECISION, **other), of).signature
            for other in (
                {}, {"verdict": Verdict.PRUNE}, {"node": "disk/b"}, {"id": "crn:2"}, {"attempt": 2}, {"by": "bob"},
                {"at": 1.0},
            )
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DERIVED)
def test_each_part_of_what_is_signed_counts(case: str) -> None:
    """Two of each: what was made for the one must not fit the other, under one key and for one object."""
    count, derived = DERIVED[case]
    assert len(set(derived(keys()))) == len(derived(keys())) == count


def test_a_record_of_tags_that_was_copied_to_another_resource_is_not_signed() -> None:
    signature = keys().tags_signature(NEW, "crn:1", ["team:red"])
    assert keys().are_signed(NEW, signature, "crn:1", ["team:red"])
    assert not keys().are_signed(NEW, signature, "crn:2", ["team:red"])


def test_a_key_that_was_derived_for_one_object_does_not_work_for_others() -> None:
    ring = replace(KeyRing.single(ONE), handed_on={(NEW, US.uuid): derive(TWO, US.uuid)})
    assert NEW in ring.derive_keys(US).readable
    assert NEW not in ring.derive_keys(replace(US, uuid="22222222-bbbb")).readable


@pytest.mark.parametrize("digest", ["", "k3k3k3k3k3"], ids=["no key", "a key that the ring lacks"])
def test_nothing_counts_that_names_no_key_of_the_ring(digest: str) -> None:
    """Records, decisions and tags on what is given, whatever their signature is: anybody can write them."""
    decision = Decision(Verdict.MINE, str(KEY), "crn:1", 1, "ada", 0.0, NEW)
    signature = decisions.sign_decision(decision, keys()).signature
    for said in ("", keys().signature(NEW, "disk", "id-1"), keys().tags_signature(NEW, "crn:1", ["a"]), signature):
        assert not keys().vouches(digest, said, "disk", "id-1")
        assert not keys().are_signed(digest, said, "crn:1", ["a"])
        assert not decisions.is_signed(replace(decision, key=digest, signature=said), keys())


FOREIGN = ("ж" * 16, "\ud800" * 16)
"""Text that is no ASCII, and text that is no text at all: JSON and tags can carry both."""


@pytest.mark.parametrize("said", FOREIGN, ids=["no ASCII", "no character"])
def test_what_somebody_wrote_in_other_letters_counts_as_no_signature(said: str) -> None:
    """Whoever may tag a resource, or edit one object, must not stop the passes of every other one."""
    decision = Decision(Verdict.MINE, str(KEY), "crn:1", 1, "ada", 0.0, NEW, said)
    assert not decisions.is_signed(decision, keys())
    assert not keys().are_signed(NEW, said, "crn:1", ["team:red"])
    assert not keys().recognises("disk", "f" + said[:12])
