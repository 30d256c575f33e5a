"""The stored form of the key ring: one versioned JSON text, and the changes to it. Pure.

:class:`RingStore` is the place of the text: a Secret of the operator's namespace, or a file on a laptop.
Errors name the place and what is wrong there, never a key.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from freehold.engine.keys import LEAST_BYTES, KeyRing, derive, digest_of

VERSION = 1

STALE_SECONDS = 120.0
"""Seconds after which an operator that could not read its ring serves nothing: another key may write by now."""
RETIRE_SECONDS = 300.0
"""Seconds for which the key before a new one may still be written with: by an operator that has not read the
ring since, for :data:`STALE_SECONDS` at most, and by a pass that it began before that."""


class RingError(Exception):
    """The key ring cannot be used; the message says which one, why, and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnreadableRing(RingError):
    """A ring that is damaged, or that the operator may not read: nothing is served until a person has acted."""


class UnreachableRing(RingError):
    """The place of the ring does not answer now; what was read before still holds."""


class MissingRing(RingError):
    """There is no ring, and objects name keys of one: a new ring would prove nothing of theirs."""


class ChangedRing(RingError):
    """Somebody else has written the ring meanwhile: read it again."""


@dataclass(frozen=True)
class StoredKey:
    """A key of the ring. ``created`` is epoch seconds."""

    key: bytes = field(repr=False)
    created: float


@dataclass(frozen=True, order=True)
class RecordName:
    """One record of an object: its node, the engine id of the resource, and its digest (``keys.fingerprint``)."""

    node: str
    id: str
    digest: str


@dataclass(frozen=True)
class Acceptance:
    """A person's statement that a key is lost: when (epoch seconds), by whom, and for which records.

    ``records`` are those that the person accepted, by the object's uuid. An object without any is served, too.
    """

    time: float
    who: str
    records: Mapping[str, frozenset[RecordName]] = field(default_factory=dict)

    def merge_earlier(self, before: Acceptance | None) -> Acceptance:
        """Add what an earlier acceptance of the same key covers."""
        known = before.records if before else {}
        return replace(self, records={**known, **{u: r | known.get(u, frozenset()) for u, r in self.records.items()}})


@dataclass(frozen=True)
class RingDocument:
    """The content of a stored ring. ``writing`` is empty in an export of single objects' keys, which is no ring."""

    writing: str
    keys: Mapping[str, StoredKey]
    handed_on: Mapping[tuple[str, str], bytes] = field(default_factory=dict, repr=False)
    accepted: Mapping[str, Acceptance] = field(default_factory=dict)

    @classmethod
    def create(cls, now: float) -> RingDocument:
        """Create a ring with one new key."""
        return cls("", {}).add_new_key(now)

    def build_ring(self) -> KeyRing:
        """Build the engine's ring. Raises ValueError if the document is an export."""
        keys = {digest: stored.key for digest, stored in self.keys.items()}
        accepted = {
            (digest, uuid): frozenset(record.digest for record in records)
            for digest, loss in self.accepted.items()
            for uuid, records in loss.records.items()
        }
        return KeyRing(self.writing, keys, dict(self.handed_on), accepted)

    def add_new_key(self, now: float) -> RingDocument:
        """Add a new key, which writes from now on; the others still verify."""
        key = os.urandom(LEAST_BYTES)
        return replace(self, writing=digest_of(key), keys={**self.keys, digest_of(key): StoredKey(key, now)})

    def add_keys_of(self, other: RingDocument) -> RingDocument:
        """Add the keys of another document; the writing key stays. An added key does not count as lost any more."""
        keys = {**other.keys, **self.keys}
        handed_on = {**other.handed_on, **self.handed_on}
        back = keys.keys() | {digest for digest, _ in handed_on}
        accepted = {digest: said for digest, said in self.accepted.items() if digest not in back}
        return replace(self, keys=keys, handed_on=handed_on, accepted=accepted)

    def accept_loss(self, digest: str, acceptance: Acceptance) -> RingDocument:
        """Accept that the key ``digest`` is lost for ever."""
        return replace(self, accepted={**self.accepted, digest: acceptance.merge_earlier(self.accepted.get(digest))})

    def find_write_seconds(self, digest: str, now: float) -> float:
        """Return the seconds for which an operator with an older ring may still write with this key."""
        newest = self.keys.get(self.writing)
        if digest not in self.keys or newest is None:
            return 0.0
        return max(0.0, newest.created + RETIRE_SECONDS - now)

    def remove_key(self, digest: str) -> RingDocument:
        """Remove a key, the keys that were derived from it, and the acceptance of its loss."""
        keys = {each: stored for each, stored in self.keys.items() if each != digest}
        handed_on = {pair: key for pair, key in self.handed_on.items() if pair[0] != digest}
        accepted = {each: loss for each, loss in self.accepted.items() if each != digest}
        return replace(self, keys=keys, handed_on=handed_on, accepted=accepted)

    def derive_for_object(self, uuid: str) -> RingDocument:
        """Derive the keys that another operator needs for this one object, and that are of no use for any other."""
        derived = {(digest, each): key for (digest, each), key in self.handed_on.items() if each == uuid}
        derived |= {(digest, uuid): derive(stored.key, uuid) for digest, stored in self.keys.items()}
        return RingDocument("", {}, derived)


def dumps(document: RingDocument) -> str:
    """Write a document as the text that is stored and exported."""
    content: dict[str, Any] = {"version": VERSION}
    if document.writing:
        content |= {
            "writing": document.writing,
            "keys": {
                digest: {"key": _format_key(stored.key), "created": _format_time(stored.created)}
                for digest, stored in sorted(document.keys.items())
            },
        }
    if document.handed_on or not document.writing:
        content["handedOn"] = [
            {"digest": digest, "uuid": uuid, "key": _format_key(key)}
            for (digest, uuid), key in sorted(document.handed_on.items())
        ]
    if document.accepted:
        content["accepted"] = {
            digest: {
                "time": _format_time(said.time),
                "who": said.who,
                "records": {uuid: list(map(asdict, sorted(r))) for uuid, r in sorted(said.records.items())},
            }
            for digest, said in sorted(document.accepted.items())
        }
    return json.dumps(content, indent=2) + "\n"


def loads(text: str, where: str) -> RingDocument:
    """Read a ring. Raises UnreadableRing, which names ``where`` and never a key."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableRing(f"the key ring in {where} is not JSON; put it back from a backup") from None
    found = parse_ring(content, where)
    if not found.writing:
        raise UnreadableRing(f"{where} holds keys of single objects and no key ring; put the ring back from a backup")
    return found


def parse_ring(content: object, where: str) -> RingDocument:
    """Parse a ring, or an export of single objects' keys, from decoded JSON. Raises UnreadableRing."""
    if not isinstance(content, dict) or "version" not in content:
        raise UnreadableRing(f"{where} is not a key ring: it has no version")
    if content["version"] != VERSION:
        raise UnreadableRing(
            f"the key ring in {where} has version {str(content['version'])[:20]!r}, which this version of Freehold "
            f"cannot read (it reads {VERSION}); run the newer version"
        )
    try:
        keys = {digest: _parse_stored_key(row) for digest, row in content.get("keys", {}).items()}
        rows = content.get("handedOn", ())
        handed_on = {(_parse_text(row["digest"]), _parse_text(row["uuid"])): _parse_key(row["key"]) for row in rows}
        accepted = {
            digest: Acceptance(
                _parse_time(row["time"]), _parse_text(row["who"]), _parse_records(row.get("records", {}))
            )
            for digest, row in content.get("accepted", {}).items()
        }
        writing = content.get("writing", "")
        if not isinstance(writing, str):
            raise TypeError
    except (KeyError, TypeError, ValueError, AttributeError):
        # The error's own text is not shown, because it may quote a key.
        raise UnreadableRing(
            f"the key ring in {where} is damaged: an entry cannot be read; put it back from a backup"
        ) from None
    _check_digests(writing, keys, where)
    return RingDocument(writing, keys, handed_on, accepted)


def _check_digests(writing: str, keys: Mapping[str, StoredKey], where: str) -> None:
    for digest, stored in keys.items():
        if digest != digest_of(stored.key):
            raise UnreadableRing(
                f"the key ring in {where} is damaged: the key under {digest[:20]!r} is another one; "
                "put it back from a backup"
            )
    if keys and writing not in keys:
        raise UnreadableRing(f"the key ring in {where} is damaged: its writing key is not in it")
    if writing and not keys:
        raise UnreadableRing(f"the key ring in {where} is damaged: it has no keys")


def _parse_stored_key(row: Mapping[str, Any]) -> StoredKey:
    return StoredKey(_parse_key(row["key"]), _parse_time(row["created"]))


def _parse_key(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError from None
    if len(key) < LEAST_BYTES:
        raise ValueError
    return key


def _parse_records(value: Mapping[str, Any]) -> dict[str, frozenset[RecordName]]:
    return {_parse_text(uuid): frozenset(map(_parse_record, rows)) for uuid, rows in value.items()}


def _parse_record(row: Mapping[str, object]) -> RecordName:
    return RecordName(*(_parse_text(row[name]) for name in ("node", "id", "digest")))


def _parse_text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _format_key(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _parse_time(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


@dataclass(frozen=True)
class StoredRing:
    """The content of a place: a ring or None, and its version for a write, empty if there is no place yet."""

    document: RingDocument | None
    version: str = ""


class RingStore(Protocol):
    """A place of one ring. ``where`` names it in messages."""

    @property
    def where(self) -> str: ...

    async def read(self) -> StoredRing:
        """Read the place. Raises UnreadableRing, UnreachableRing."""
        ...

    async def write(self, document: RingDocument, version: str) -> None:
        """Write if the place is at ``version``, empty for a new one. Raises ChangedRing and other RingErrors."""
        ...


def find_added(before: RingDocument | None, after: RingDocument) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """Find what ``after`` has and ``before`` lacks: digests of keys, and (digest, uuid) of objects' keys."""
    if before is None:
        return frozenset(after.keys), frozenset(after.handed_on)
    return frozenset(after.keys.keys() - before.keys.keys()), frozenset(after.handed_on.keys() - before.handed_on)


def join_digests(digests: Iterable[str]) -> str:
    """Join digests for a sentence."""
    return ", ".join(sorted(digests))
