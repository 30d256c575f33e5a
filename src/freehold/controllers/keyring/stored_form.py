"""The stored form of the key ring: one versioned JSON text, and the changes that can be made to it. Pure.

Where the text is kept is behind :class:`RingStore`: a Secret of the operator's namespace, or a file on a laptop.
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
"""An operator that could not read its ring for so long serves nothing: another key may write by now."""
RETIRE_SECONDS = 300.0
"""So long after a new key was made the one before it may still be written with: by an operator that has not read the
ring since, for :data:`STALE_SECONDS` at most, and by a pass that it began before that."""


class RingError(Exception):
    """The key ring cannot be used; the message says which one, why, and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnreadableRing(RingError):
    """It is there and cannot be read, or nobody may read it: nothing is served until a person has acted."""


class UnreachableRing(RingError):
    """The place where it is kept does not answer just now; what was read before still holds."""


class MissingRing(RingError):
    """There is none, and objects name keys of one: a new ring could prove nothing of theirs."""


class ChangedRing(RingError):
    """Somebody else wrote it meanwhile: read it again."""


@dataclass(frozen=True)
class StoredKey:
    """One key. ``created`` is epoch seconds."""

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
    """A person gave a key up for lost: when (epoch seconds), who, and for what.

    ``records`` are those that the person accepted, by the object's uuid. An object without any is served, too.
    """

    time: float
    who: str
    records: Mapping[str, frozenset[RecordName]] = field(default_factory=dict)

    def and_before(self, before: Acceptance | None) -> Acceptance:
        """Also what an earlier acceptance of the same key covers."""
        known = before.records if before else {}
        return replace(self, records={**known, **{u: r | known.get(u, frozenset()) for u, r in self.records.items()}})


@dataclass(frozen=True)
class RingDocument:
    """All that is stored of a ring. ``writing`` is empty in an export of single objects' keys, which is no ring."""

    writing: str
    keys: Mapping[str, StoredKey]
    handed_on: Mapping[tuple[str, str], bytes] = field(default_factory=dict, repr=False)
    accepted: Mapping[str, Acceptance] = field(default_factory=dict)

    @classmethod
    def fresh(cls, now: float) -> RingDocument:
        """A ring of one new key."""
        return cls("", {}).with_new_key(now)

    def ring(self) -> KeyRing:
        """For the engine. Raises ValueError for what is no ring."""
        keys = {digest: stored.key for digest, stored in self.keys.items()}
        accepted = {
            (digest, uuid): frozenset(record.digest for record in records)
            for digest, loss in self.accepted.items()
            for uuid, records in loss.records.items()
        }
        return KeyRing(self.writing, keys, dict(self.handed_on), accepted)

    def with_new_key(self, now: float) -> RingDocument:
        """One more key, which writes from now on; the others can still be read."""
        key = os.urandom(LEAST_BYTES)
        return replace(self, writing=digest_of(key), keys={**self.keys, digest_of(key): StoredKey(key, now)})

    def with_keys_of(self, other: RingDocument) -> RingDocument:
        """Also readable: the keys of another document. The writing key stays; a lost key that is back is not lost."""
        keys = {**other.keys, **self.keys}
        handed_on = {**other.handed_on, **self.handed_on}
        back = keys.keys() | {digest for digest, _ in handed_on}
        accepted = {digest: said for digest, said in self.accepted.items() if digest not in back}
        return replace(self, keys=keys, handed_on=handed_on, accepted=accepted)

    def accepting(self, digest: str, acceptance: Acceptance) -> RingDocument:
        """Note that ``digest`` is lost for ever."""
        return replace(self, accepted={**self.accepted, digest: acceptance.and_before(self.accepted.get(digest))})

    def may_be_written_with(self, digest: str, now: float) -> float:
        """Seconds for which an operator that has not read the ring again may still write with this key; 0: none."""
        newest = self.keys.get(self.writing)
        if digest not in self.keys or newest is None:
            return 0.0
        return max(0.0, newest.created + RETIRE_SECONDS - now)

    def without(self, digest: str) -> RingDocument:
        """Without this key, what was derived from it, and what a person has said of its loss."""
        keys = {each: stored for each, stored in self.keys.items() if each != digest}
        handed_on = {pair: key for pair, key in self.handed_on.items() if pair[0] != digest}
        accepted = {each: loss for each, loss in self.accepted.items() if each != digest}
        return replace(self, keys=keys, handed_on=handed_on, accepted=accepted)

    def of_object(self, uuid: str) -> RingDocument:
        """What another operator needs for this one object, and nothing that helps it with any other."""
        derived = {(digest, each): key for (digest, each), key in self.handed_on.items() if each == uuid}
        derived |= {(digest, uuid): derive(stored.key, uuid) for digest, stored in self.keys.items()}
        return RingDocument("", {}, derived)


def dumps(document: RingDocument) -> str:
    """The text that is stored and exported."""
    content: dict[str, Any] = {"version": VERSION}
    if document.writing:
        content |= {
            "writing": document.writing,
            "keys": {
                digest: {"key": _text(stored.key), "created": _stamp(stored.created)}
                for digest, stored in sorted(document.keys.items())
            },
        }
    if document.handed_on or not document.writing:
        content["handedOn"] = [
            {"digest": digest, "uuid": uuid, "key": _text(key)}
            for (digest, uuid), key in sorted(document.handed_on.items())
        ]
    if document.accepted:
        content["accepted"] = {
            digest: {
                "time": _stamp(said.time),
                "who": said.who,
                "records": {uuid: list(map(asdict, sorted(r))) for uuid, r in sorted(said.records.items())},
            }
            for digest, said in sorted(document.accepted.items())
        }
    return json.dumps(content, indent=2) + "\n"


def loads(text: str, where: str) -> RingDocument:
    """A ring. Raises UnreadableRing, which names ``where`` and never a key."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableRing(f"the key ring in {where} is not JSON; put it back from a backup") from None
    found = parsed(content, where)
    if not found.writing:
        raise UnreadableRing(f"{where} holds keys of single objects and no key ring; put the ring back from a backup")
    return found


def parsed(content: object, where: str) -> RingDocument:
    """A ring, or the keys of single objects, from decoded JSON. Raises UnreadableRing."""
    if not isinstance(content, dict) or "version" not in content:
        raise UnreadableRing(f"{where} is not a key ring: it has no version")
    if content["version"] != VERSION:
        raise UnreadableRing(
            f"the key ring in {where} has version {str(content['version'])[:20]!r}, which this version of Freehold "
            f"cannot read (it reads {VERSION}); run the newer version"
        )
    try:
        keys = {digest: _stored(row) for digest, row in content.get("keys", {}).items()}
        rows = content.get("handedOn", ())
        handed_on = {(_text_of(row["digest"]), _text_of(row["uuid"])): _key(row["key"]) for row in rows}
        accepted = {
            digest: Acceptance(_seconds(row["time"]), _text_of(row["who"]), _records(row.get("records", {})))
            for digest, row in content.get("accepted", {}).items()
        }
        writing = content.get("writing", "")
        if not isinstance(writing, str):
            raise TypeError
    except (KeyError, TypeError, ValueError, AttributeError):
        # Not even the error's own text is shown: it may quote what it could not read.
        raise UnreadableRing(
            f"the key ring in {where} is damaged: an entry cannot be read; put it back from a backup"
        ) from None
    _check(writing, keys, where)
    return RingDocument(writing, keys, handed_on, accepted)


def _check(writing: str, keys: Mapping[str, StoredKey], where: str) -> None:
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


def _stored(row: Mapping[str, Any]) -> StoredKey:
    return StoredKey(_key(row["key"]), _seconds(row["created"]))


def _key(text: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError from None
    if len(key) < LEAST_BYTES:
        raise ValueError
    return key


def _records(value: Mapping[str, Any]) -> dict[str, frozenset[RecordName]]:
    return {_text_of(uuid): frozenset(map(_record, rows)) for uuid, rows in value.items()}


def _record(row: Mapping[str, object]) -> RecordName:
    return RecordName(*(_text_of(row[name]) for name in ("node", "id", "digest")))


def _texts_of(value: object) -> frozenset[str]:
    if not isinstance(value, list):
        raise TypeError
    return frozenset(_text_of(each) for each in value)


def _text_of(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


@dataclass(frozen=True)
class StoredRing:
    """What a place holds: a ring or none, and the version to write on (empty: the place itself is not there)."""

    document: RingDocument | None
    version: str = ""


class RingStore(Protocol):
    """A place that holds one ring. ``where`` names it in messages."""

    @property
    def where(self) -> str: ...

    async def read(self) -> StoredRing:
        """What is there. Raises UnreadableRing, UnreachableRing."""
        ...

    async def write(self, document: RingDocument, version: str) -> None:
        """Compare and set: create where ``version`` is empty. Raises ChangedRing, UnreadableRing, UnreachableRing."""
        ...


def added(before: RingDocument | None, after: RingDocument) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """The digests of keys, and the (digest, uuid) of objects' keys, that ``after`` has and ``before`` has not."""
    if before is None:
        return frozenset(after.keys), frozenset(after.handed_on)
    return frozenset(after.keys.keys() - before.keys.keys()), frozenset(after.handed_on.keys() - before.handed_on)


def listed(digests: Iterable[str]) -> str:
    """Digests in a sentence."""
    return ", ".join(sorted(digests))
