"""A report of a key ring: which keys, who needs them, what is missing. Pure; shows no key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from freehold.cli.output.hints import hint
from freehold.cli.output.terminal import duration
from freehold.controllers.keyring.needs import KeyNeed, join_objects
from freehold.controllers.keyring.stored_form import RecordName, RingDocument, join_digests


class KeyState(Enum):
    """The state of a key in this ring."""

    WRITING = "writing"
    READABLE = "readable"
    HANDED_ON = "handed on"
    LOST = "lost, accepted"
    MISSING = "MISSING"


@dataclass(frozen=True)
class Row:
    """One key by its digest. ``created`` is epoch seconds, None where nobody knows."""

    digest: str
    state: KeyState
    created: float | None
    needed_by: tuple[KeyNeed, ...]


@dataclass(frozen=True)
class KeysReport:
    """A ring and its objects. ``damaged``: nobody can tell their needs."""

    where: str
    rows: tuple[Row, ...]
    damaged: tuple[KeyNeed, ...]


HEADS = ("KEY", "STATE", "AGE", "OBJECTS")


def missing(document: RingDocument | None, need: KeyNeed) -> frozenset[str]:
    """Return the keys that this object names and nobody here has; those that were given up for lost do not count."""
    if document is None:
        return need.digests
    return frozenset(document.build_ring().missing(need.digests, need.uuid))


def is_unaccepted(document: RingDocument, digest: str, need: KeyNeed) -> bool:
    """Return whether it names this key, which nobody here has, in a record whose loss nobody has accepted yet."""
    ring = document.build_ring()
    if digest not in need.digests or ring.readable(digest, need.uuid):
        return False
    return (digest, need.uuid) not in ring.accepted or bool(unaccepted_records(document, digest, need))


def unaccepted_records(document: RingDocument, digest: str, need: KeyNeed) -> frozenset[RecordName]:
    """Return the records that name this key and that nobody has accepted yet."""
    covered = document.build_ring().accepted.get((digest, need.uuid), frozenset())
    return frozenset(each for each in need.records.get(digest, ()) if each.digest not in covered)


def lacking(document: RingDocument | None, needed: Sequence[KeyNeed]) -> list[KeyNeed]:
    """Return the objects that wait for a key."""
    return [need for need in needed if missing(document, need)]


def report(where: str, document: RingDocument | None, needed: Sequence[KeyNeed]) -> KeysReport:
    """Report all that ``freehold keys list`` shows."""
    damaged = tuple(need for need in needed if need.damaged)
    return KeysReport(where, tuple(_rows(document, needed)), damaged)


def _rows(document: RingDocument | None, needed: Sequence[KeyNeed]) -> Iterator[Row]:
    lost: dict[str, list[KeyNeed]] = {}
    for need in needed:
        for digest in missing(document, need):
            lost.setdefault(digest, []).append(need)
    if document is not None:
        yield from _held_rows(document, needed)
    for digest, waiting in sorted(lost.items()):
        yield Row(digest, KeyState.MISSING, None, tuple(waiting))


def _held_rows(document: RingDocument, needed: Sequence[KeyNeed]) -> Iterator[Row]:
    def naming(digest: str) -> tuple[KeyNeed, ...]:
        return tuple(need for need in needed if digest in need.digests)

    newest_first = sorted(document.keys.items(), key=lambda item: (item[0] != document.writing, -item[1].created))
    for digest, stored in newest_first:
        state = KeyState.WRITING if digest == document.writing else KeyState.READABLE
        yield Row(digest, state, stored.created, naming(digest))
    for digest in sorted({digest for digest, _ in document.handed_on} - document.keys.keys()):
        served = tuple(need for need in naming(digest) if (digest, need.uuid) in document.handed_on)
        yield Row(digest, KeyState.HANDED_ON, None, served)
    for digest in sorted(document.accepted.keys() - document.keys.keys()):
        yield Row(digest, KeyState.LOST, None, naming(digest))


def cells(row: Row, now: float) -> tuple[str, ...]:
    """Return a row of the table."""
    age = duration(now - row.created) if row.created is not None else "-"
    return row.digest, row.state.value, age, str(len(row.needed_by))


def remarks(found: KeysReport) -> Iterator[str]:
    """Yield what somebody has to do, or should know."""
    for row in found.rows:
        if row.state is KeyState.MISSING:
            yield (
                f"key {row.digest} is missing: nothing is done for {join_objects(row.needed_by)} until it is here: "
                f"{hint('keys add', 'FILE')} (lost for ever: {hint('keys accept', row.digest)})"
            )
    if found.damaged:
        yield f"the journal of {join_objects(found.damaged)} cannot be read: which keys they need cannot be told"


def document(found: KeysReport) -> Mapping[str, Any]:
    """Return the report for programs."""
    return {
        "where": found.where,
        "keys": [
            {
                "digest": row.digest,
                "state": row.state.name.lower(),
                "created": row.created,
                "objects": [str(need.object) for need in row.needed_by],
            }
            for row in found.rows
        ],
        "damaged": [str(need.object) for need in found.damaged],
    }


def additions(
    keys: Collection[str], handed_on: Collection[tuple[str, str]], writing: str, first: bool, where: str
) -> Iterator[str]:
    """Say what was added; ``first``: there was no ring before."""
    if first:
        yield f"there was no key ring in {where}: made, and key {writing} writes"
    if keys:
        yield f"added to {where}: key{'s' if len(keys) > 1 else ''} {join_digests(keys)}"
    if handed_on:
        count = len({uuid for _, uuid in handed_on})
        yield f"added to {where}: the keys of {count} single object{'s' if count > 1 else ''}"
    if not first:
        yield f"key {writing} writes, as before"


def describe_mended(before: Sequence[KeyNeed], after: Sequence[KeyNeed]) -> str:
    """Say how many objects a change of the ring brought back."""
    waiting = {need.object for need in after}
    back = [need for need in before if need.object not in waiting]
    said = f"{_count(back)} can be served again: {join_objects(back)}" if back else "no object was waiting for them"
    return said + (f"; still without a key: {join_objects(after)}" if after else "")


def acceptance(document: RingDocument, digest: str, concerned: Sequence[KeyNeed]) -> Iterator[str]:
    """Yield the plan of giving a key up."""
    names = "names" if len(concerned) == 1 else "name"
    yield f"{_count(concerned)} {names} key {digest}, which would be given up for lost: {join_objects(concerned)}"
    yield (
        "  without the key nothing tells records and marks of ours from those of somebody who may edit the object and "
        "tag resources: look at each resource. What you accept is the object's own, and is deleted with it"
    )
    for need in concerned:
        others = missing(document, need) - {digest}
        if others:
            yield f"  {need.object} misses key {join_digests(others)} too, and waits for it"


def _count(needed: Sequence[KeyNeed]) -> str:
    return f"{len(needed)} object{'' if len(needed) == 1 else 's'}"
