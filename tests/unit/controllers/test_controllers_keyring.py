"""The stored form of the key ring: what is read back, what is refused, and that no key is shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from freehold.controllers.keyring.stored_form import (
    RETIRE_SECONDS,
    STALE_SECONDS,
    Acceptance,
    RecordName,
    RingDocument,
    UnreadableRing,
    dumps,
    loads,
    parse_ring,
)
from freehold.engine.keys import LEAST_BYTES, derive, digest_of

NOW = 1_800_000_000.0
A, B, C = (RecordName(f"vpc/{name}", f"vpc-{name}", name * 64) for name in "abc")
CANARY = b"canary-canary-canary-canary-0001"


def test_a_ring_is_read_back_as_it_was_written() -> None:
    made = RingDocument.create(NOW).add_new_key(NOW + 1)
    made = made.accept_loss("lostlostlo", Acceptance(NOW, "ada", {"uuid-1": frozenset({A, B})}))
    other = RingDocument.create(NOW).derive_for_object("uuid-1")
    made = made.add_keys_of(other)
    assert loads(dumps(made), "here") == made
    assert made.build_ring().accepted == {("lostlostlo", "uuid-1"): {"a" * 64, "b" * 64}}


def test_a_second_acceptance_of_a_key_adds_to_the_first() -> None:
    """An object that is restored from a backup is accepted later, and the earlier ones stay accepted."""
    first = Acceptance(NOW, "ada", {"uuid-1": frozenset({A}), "uuid-2": frozenset({B})})
    both = RingDocument.create(NOW).accept_loss("lostlostlo", first)
    both = both.accept_loss("lostlostlo", Acceptance(NOW, "bob", {"uuid-1": frozenset({C}), "uuid-3": frozenset()}))
    assert both.accepted["lostlostlo"].records == {"uuid-1": {A, C}, "uuid-2": {B}, "uuid-3": frozenset()}


@pytest.mark.parametrize("listed", [True, [], ["uuid-1"], "uuid-1"], ids=str)
def test_a_ring_of_an_earlier_version_is_read_and_its_list_of_older_objects_is_not(listed: object) -> None:
    """Records without a key counted for the objects of that list; they count for no object now."""
    ring = damaged(lambda c: c.update(unkeyed=listed))
    assert loads(ring, "here") == loads(damaged(lambda _: None), "here")
    assert "unkeyed" not in dumps(loads(ring, "here"))


def test_an_operator_may_write_with_an_old_key_for_a_while_after_a_new_one_was_made() -> None:
    """It could not read the ring since, and does not know the new key yet."""
    first = RingDocument.create(NOW)
    second = first.add_new_key(NOW + 1000.0)
    assert second.find_write_seconds(first.writing, NOW + 1001.0) == RETIRE_SECONDS - 1.0
    assert second.find_write_seconds(first.writing, NOW + 1000.0 + RETIRE_SECONDS) == 0.0
    assert second.find_write_seconds("handed-on", NOW + 1001.0) == 0.0, "only a key of the ring's own writes"
    assert RETIRE_SECONDS >= STALE_SECONDS + 120.0, "an operator stops first, and ends the passes that it began"


def test_a_new_key_writes_and_the_old_one_can_still_be_read() -> None:
    """Rotation must not make any record unreadable."""
    first = RingDocument.create(NOW)
    second = first.add_new_key(NOW)
    assert second.writing != first.writing
    assert second.build_ring().readable(first.writing, "any")
    assert loads(dumps(second), "here").writing == second.writing


def test_adding_a_key_keeps_the_writing_key_and_ends_the_acceptance_of_its_loss() -> None:
    mine, theirs = RingDocument.create(NOW), RingDocument.create(NOW)
    mine = mine.accept_loss(theirs.writing, Acceptance(NOW, "ada"))
    both = mine.add_keys_of(theirs)
    assert both.writing == mine.writing
    assert both.keys.keys() == {mine.writing, theirs.writing}
    assert both.accepted == {}


def test_the_exported_key_of_an_object_works_for_no_other_object() -> None:
    """The cluster that receives one object must not be able to sign for the others."""
    mine = RingDocument.create(NOW)
    export = mine.derive_for_object("uuid-1")
    assert export.keys == {}
    assert export.handed_on == {(mine.writing, "uuid-1"): derive(mine.keys[mine.writing].key, "uuid-1")}
    assert base64.b64encode(mine.keys[mine.writing].key).decode() not in dumps(export)
    assert parse_ring(json.loads(dumps(export)), "here") == export
    with pytest.raises(UnreadableRing, match="no key ring"):
        loads(dumps(export), "here")


def damaged(change: Callable[[dict[str, Any]], object]) -> str:
    key = base64.b64encode(CANARY).decode()
    content: dict[str, Any] = {
        "version": 1,
        "writing": digest_of(CANARY),
        "keys": {digest_of(CANARY): {"key": key, "created": "2026-11-21T00:00:00Z"}},
    }
    change(content)
    return json.dumps(content)


def only(content: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = content["keys"][digest_of(CANARY)]
    return row


def shortened(content: dict[str, Any]) -> None:
    """A key that fits its digest, and is short enough to be guessed."""
    short = CANARY[:31]
    row = {**only(content), "key": base64.b64encode(short).decode()}
    content |= {"writing": digest_of(short), "keys": {digest_of(short): row}}


DAMAGED = {
    "empty": "",
    "cut off": damaged(lambda _: None)[:-20],
    "a list": "[]",
    "no version": damaged(lambda c: c.pop("version")),
    "a newer version": damaged(lambda c: c.update(version=2)),
    "no keys": damaged(lambda c: c.update(keys={})),
    "another writing key": damaged(lambda c: c.update(writing="abcdefghij")),
    "no writing key": damaged(lambda c: c.pop("writing")),
    "a key under the digest of another": damaged(lambda c: c["keys"].update(abcdefghij=only(c))),
    "not base64": damaged(lambda c: only(c).update(key="canary-canary-!")),
    "too short a key": damaged(shortened),
    "a key that is not a string": damaged(lambda c: only(c).update(key=[CANARY.decode()])),
    "no time": damaged(lambda c: only(c).pop("created")),
    "a damaged acceptance": damaged(lambda c: c.update(accepted={"abc": "yes"})),
    "an acceptance that is not a list": damaged(
        lambda c: c.update(accepted={"abc": {"time": "2026-11-21T00:00:00Z", "who": "ada", "records": {"u": "x"}}})
    ),
    "an acceptance of records without ids": damaged(
        lambda c: c.update(accepted={"abc": {"time": "2026-11-21T00:00:00Z", "who": "ada", "records": {"u": ["x"]}}})
    ),
    "a damaged exported key": damaged(lambda c: c.update(handedOn=[{"digest": "abc", "key": "canary-canary"}])),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED.keys())
def test_the_error_about_a_damaged_ring_names_its_place_and_quotes_nothing(text: str) -> None:
    """A partly read ring would prove only some of the objects; keys must not get into a log."""
    with pytest.raises(UnreadableRing, match=r"Secret ns/keys") as refusal:
        loads(text, "Secret ns/keys")
    shown = f"{refusal.value} {refusal.value!r} {refusal.value.__cause__!r}"
    assert "canary" not in shown
    assert base64.b64encode(CANARY).decode()[:20] not in shown


def test_no_text_form_of_a_ring_shows_a_key() -> None:
    """A repr gets into logs and tracebacks."""
    document = parse_ring(json.loads(damaged(lambda _: None)), "here").add_keys_of(
        RingDocument.create(NOW).derive_for_object("u")
    )
    for shown in (repr(document), str(document), repr(document.build_ring()), repr(document.keys)):
        assert "canary" not in shown
        assert "key=b" not in shown


@pytest.mark.parametrize("length", [0, 1, LEAST_BYTES - 1])
def test_a_key_that_is_too_short_is_no_key(length: int) -> None:
    """With an empty one anybody could sign."""
    short = b"k" * length
    row = {"key": base64.b64encode(short).decode(), "created": "2026-01-01T00:00:00Z"}
    ring = {"version": 1, "writing": digest_of(short), "keys": {digest_of(short): row}}
    with pytest.raises(UnreadableRing, match="damaged"):
        loads(json.dumps(ring), "the test")
