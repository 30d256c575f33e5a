"""What must never be lost: identity, open intents, ids, requested deletes (ADR 2).

One compact JSON annotation on the object, written by compare-and-set, a whole wave in one patch,
before that wave's creates. Status is a cache; this is the record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache
from math import isfinite
from types import MappingProxyType
from typing import Any, Protocol

from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed, Request
from freehold.engine.value_texts import parse_json

FORMAT = 2
MOST_VANISHED = 2
"""How often what was made may vanish before it could be marked; after that a person decides."""


class RecordState(Enum):
    """How far a node has come: the state of its record.

    The letters are the stored form.
    """

    INTENDED = "i"  # a create may have been sent; no id known
    RECORDED = "r"  # id known; its marks have not been read back
    OWNED = "o"  # a read proved it and showed every tag that we want; the request is kept no longer
    GIVEN = "g"  # named by id in the spec
    VACANT = "v"  # attempts so far came to nothing; the next one has its number here
    REUSED = "u"  # found by the name that the spec gives explicitly
    THEIRS = "t"  # was on record as ours, and has only another owner's marks now
    GIVEN_UP = "a"  # was ours, until a person gave it up: its marks are off, and it is not taken back

    @cached_property
    def is_claimed(self) -> bool:
        """On record as ours, or being created. That says nothing about proof: anybody may edit an annotation."""
        return self in (RecordState.INTENDED, RecordState.RECORDED, RecordState.OWNED)

    @property
    def counts(self) -> bool:
        """The object uses something, or is about to: ours, or somebody else's that it was given."""
        return self.is_claimed or self in (RecordState.GIVEN, RecordState.REUSED)


@dataclass(frozen=True, slots=True)
class Entry:
    """One node's record. The fields stand by the state in which they matter.

    ``freehold tree NAME`` prints what each record says and what proves it, ``freehold get NAME -o json`` the annotation
    as it is stored.
    """

    state: RecordState

    # What the record is of: RECORDED, OWNED; not ours: GIVEN, REUSED, THEIRS, GIVEN_UP
    id: str = ""
    """The engine's id of the resource (:class:`resources.Observed`)."""
    target: str = ""
    """What its mark is attached to: the resource itself, or its carrier."""
    carried: bool = False
    """The target is a carrier."""

    # Creates, in every state
    attempt: int = 1
    """Counts the creates of this node for ever: nonce and token derive from it."""
    fails: int = 0
    """Counts the attempts in a row that came to nothing."""
    request: Request | None = None
    """The exact create request while the intent is open; after that what of it is ``create_only``."""

    # An open create: INTENDED
    opened: float = 0.0
    """When the intent was opened, by the wall clock: what is older cannot come from it (:mod:`birth_marks`)."""
    by: str = ""
    """The cloud identity that the create was sent with."""
    tags: tuple[str, ...] | None = None
    """The tags beside the marks that it was sent with, if a client token binds them; else None."""
    had_effect: bool = False
    """The cloud said that its client token has made something."""
    candidates: tuple[str, ...] = ()
    """The ids of what it may have made, of which a person was asked (:mod:`phases.lost_tags`). ``signature`` is theirs
    until the create has an id."""

    # What proves it: INTENDED, RECORDED, OWNED
    key: str = ""
    """The digest of the ring's key that nonce, token, seal and signature are made with; empty if it is none of ours."""
    signature: str = ""
    """What only the operator can write for this id (:meth:`keys.ObjectKeys.signature`): a user who may edit the
    object's annotations can write an id here."""
    incarnation: str = ""
    """Tells the resource from a later one with its id, if the id is a name (:attr:`kinds.NameRules.id_returns`)."""
    read_back: bool = False
    """Its marks were read back before it was to be marked again, so that a delete does not attach them (ADR 7)."""

    # What is in the resource, on it and around it: RECORDED, OWNED
    parts: tuple[str, ...] = ()
    """The parts that the spec wanted in it, so that one which it wants no more is told from what others put there; if
    the node is ``shared``, those that were put in (:attr:`graph.Node.first_parts`)."""
    node_tags: tuple[str, ...] = ()
    """The node's own tags (:attr:`graph.Node.tags`) that may be on it, as ``Journal.tags`` are the user's; of what has
    gone those that were."""
    shared: bool = False
    """The in-cluster provider manages it, also when the spec wants it no more."""
    requires: tuple[str, ...] | None = None
    """The nodes that must outlive it (:mod:`deletion_order`); None if they are not known."""

    # A delete, and what it leaves: OWNED, VACANT
    deleting: float = 0.0
    """When the delete was requested, by the wall clock; 0 if not (:meth:`context.PassContext.may_be_another`)."""
    earlier: tuple[str, ...] = ()
    """Carried ids that are gone: kept until their marks are off the carrier, which may be somebody else's."""
    gone: str = ""
    """The id of what was there, has gone and is not made again (:attr:`kinds.CreateRules.never_recreate`)."""

    @property
    def had_marks(self) -> bool:
        """Return whether a read has shown its marks since it was put on record."""
        return self.state is RecordState.OWNED or self.read_back

    def to_mark_again(self) -> Entry:
        """Return the record with its marks to be attached, and read back, once more."""
        return replace(self, state=RecordState.RECORDED, read_back=self.had_marks)


@dataclass(frozen=True)
class AttachedTags:
    """The tags that we put on a resource that is not ours (:mod:`phases.given_tags`), signed with ``key``."""

    tags: tuple[str, ...] = ()
    signature: str = ""
    key: str = ""


@dataclass(frozen=True)
class Journal:
    """Everything that one object remembers. Immutable: each change is a new value to be saved.

    ``account`` is the cloud account that the ids are of; empty until one is known. With the credentials of
    another account nothing of it can be seen, and nothing of that means gone. ``tags`` are the user's that may
    be on what is ours: written before they are attached, and until they have been detached. ``key`` is the digest
    of the ring's key that the identity was minted or last renewed under; empty where somebody else wrote the journal.
    ``attached`` are the tags that we put on resources that are not ours, by target. ``collects``: it was minted with
    garbage collection on, so that an absent annotation opts in (ADR 18). ``place``: for an object whose account is that
    of the object which it is part of, the fields of that one's spec that say so (ADR 25). ``defaults``: the generation
    of the defaults that it was minted with, which stay its own when a later version has others (ADR 17). ``untouched``:
    our signature that no pass has begun for this UID; the first one empties it.
    """

    owner: Owner
    entries: Mapping[NodeKey, Entry] = field(default_factory=lambda: MappingProxyType({}))
    account: str = ""
    tags: frozenset[str] = frozenset()
    key: str = ""
    attached: Mapping[str, AttachedTags] = field(default_factory=lambda: MappingProxyType({}))
    untouched: str = ""
    collects: bool = False
    place: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    defaults: int = 0

    def get(self, key: NodeKey) -> Entry | None:
        return self.entries.get(key)

    def put(self, key: NodeKey, entry: Entry) -> Journal:
        return replace(self, entries={**self.entries, key: entry})

    def drop(self, key: NodeKey) -> Journal:
        return replace(self, entries={k: e for k, e in self.entries.items() if k != key})

    def with_tags(self, tags: frozenset[str]) -> Journal:
        return self if tags == self.tags else replace(self, tags=tags)

    @cached_property
    def open(self) -> dict[NodeKey, Entry]:
        """Intents whose outcome is not known yet."""
        return {k: e for k, e in self.entries.items() if e.state is RecordState.INTENDED}

    @cached_property
    def claimed(self) -> dict[NodeKey, Entry]:
        """What is on record as ours (:attr:`RecordState.is_claimed`)."""
        return {k: e for k, e in self.entries.items() if e.state.is_claimed}

    @property
    def begun(self) -> bool:
        """Whether a pass has found or requested anything, so that the object does more than wait to begin."""
        return any(entry.state.counts for entry in self.entries.values())

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing but an identity: no pass has saved anything."""
        return not (self.entries or self.account or self.tags or self.attached)

    @property
    def keys(self) -> frozenset[str]:
        """The digests of all keys of the ring that this object needs."""
        return frozenset({self.key, *(entry.key for entry in self.entries.values())} - {""})


def end_attempt(entry: Entry, *, fails: int) -> Entry:
    """End the attempt of a record. A carried id is kept until the mark that names it is off the carrier."""
    earlier = (*entry.earlier, entry.id) if entry.carried and entry.id else entry.earlier
    target = entry.target if entry.carried else ""
    return Entry(
        RecordState.VACANT, target=target, carried=bool(target), attempt=entry.attempt + 1, fails=fails, earlier=earlier
    )


def let_go(entry: Entry) -> Entry:
    """Return the record of a node without a resource. Its attempts stay counted: their birth marks are spent.

    Its own tags stay on record: they have the name by which others know the object, and what has it in the cloud.
    """
    attempt = entry.attempt + 1 if entry.state.is_claimed else max(entry.attempt, 1)
    carrier = entry.target if entry.carried or entry.earlier else ""  # more of ours may be in it
    vacant = Entry(RecordState.VACANT, target=carrier, carried=bool(carrier), attempt=attempt, earlier=entry.earlier)
    return replace(vacant, node_tags=entry.node_tags)


def after_refusal(entry: Entry, *, token_spent: bool) -> Entry:
    """Return the record after a refused create: nothing was made; its attempt goes on, or ends with its token."""
    attempt = entry.attempt + 1 if token_spent and entry.attempt < MOST_REFUSED else entry.attempt
    closed = replace(
        entry, state=RecordState.VACANT, request=None, opened=0.0, key="", by="", tags=None, had_effect=False
    )
    return replace(closed, attempt=attempt)


def record_unmanaged(entry: Entry | None, phase: RecordState, observed: Observed) -> Entry:
    """Record what is not ours, GIVEN or REUSED, over what was tried before."""
    seen = Entry(phase, observed.id, observed.target, observed.carried, attempt=0)
    return replace(seen, attempt=entry.attempt, earlier=entry.earlier) if entry else seen


def close_refused(journal: Journal, key: NodeKey) -> Journal:
    """Close an open create of which a person states that it had no effect. Raises KeyError when none is open."""
    entry = journal.open[key]
    return journal.put(key, end_attempt(entry, fails=entry.fails))


class StaleObject(Exception):
    """The object changed since it was read: drop this pass and start from the newer one."""


class Store(Protocol):
    """Where the journal lives: an annotation in production, a dict in tests."""

    async def save(self, journal: Journal) -> None:
        """Write by compare-and-set; raises StaleObject."""
        ...


class CorruptJournal(Exception):
    """The annotation cannot be read: nothing may be created or deleted until a person has looked."""


_SHORT = {
    "id": "id",
    "target": "t",
    "carried": "c",
    "attempt": "a",
    "fails": "f",
    "opened": "o",
    "deleting": "d",
    "request": "r",
    "earlier": "e",
    "signature": "s",
    "parts": "l",
    "key": "k",
    "by": "b",
    "requires": "q",
    "node_tags": "w",
    "shared": "x",
    "tags": "g",
    "had_effect": "h",
    "gone": "n",
    "incarnation": "i",
    "candidates": "m",
    "read_back": "v",
}
_EMPTY = Entry(RecordState.INTENDED)


def dumps(journal: Journal) -> str:
    """Write compact text with sorted keys, so that equal journals are equal texts and cause no write."""
    owner = journal.owner
    entries: dict[str, Any] = {}
    for key, entry in journal.entries.items():
        row: dict[str, Any] = {"p": entry.state.value}
        for name, short in _SHORT.items():
            value = getattr(entry, name)
            if value != getattr(_EMPTY, name):
                row[short] = value
        entries[str(key)] = row
    said = [owner.uuid, owner.kind, owner.namespace, owner.name, *([owner.within] if owner.within else [])]
    document: dict[str, Any] = {"v": FORMAT, "owner": said, "nodes": entries}
    if journal.account:
        document["account"] = journal.account
    if journal.tags:
        document["tags"] = sorted(journal.tags)
    if journal.key:
        document["key"] = journal.key
    if journal.attached:
        document["attached"] = {target: [list(a.tags), a.signature, a.key] for target, a in journal.attached.items()}
    if journal.untouched:
        document["untouched"] = journal.untouched
    if journal.collects:
        document["gc"] = True
    if journal.place:
        document["place"] = dict(journal.place)
    if journal.defaults:
        document["defaults"] = journal.defaults
    return json.dumps(document, separators=(",", ":"), sort_keys=True)


@lru_cache(maxsize=64)  # a pass reads the same text several times, and most passes leave it as it was
def loads(text: str) -> Journal:
    """Parse the annotation. Raises CorruptJournal; unknown formats are refused, never guessed at."""
    try:
        document = parse_json(text)
        if document["v"] != FORMAT:
            raise CorruptJournal(f"journal format {document['v']} is not the one that this version reads ({FORMAT})")
        owner = Owner(*map(_text_field, document["owner"]))
        entries = {NodeKey.parse(key): _entry(row) for key, row in document["nodes"].items()}
        account = str(document.get("account", ""))
        tags = frozenset(map(str, document.get("tags", ())))
        key = _digest(document.get("key", ""))
        attached = {
            _text_field(target): _load_attached_tags(row) for target, row in document.get("attached", {}).items()
        }
        untouched = _text_field(document.get("untouched", ""))
        collects = _truth(document.get("gc", False))
        place = _place(document.get("place", {}))
        defaults = _generation(document.get("defaults", 0))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptJournal(f"the journal annotation cannot be read ({type(error).__name__})") from error
    return Journal(owner, entries, account, tags, key, attached, untouched, collects, place, defaults)


_DIGEST = re.compile("[a-z2-7]{10}|")
MOST_ATTEMPTS = 10_000
MOST_REFUSED = MOST_ATTEMPTS // 2
"""Refusals repeat every few minutes for as long as nobody acts. From here on the token is kept, so that the journal
stays readable."""


def _entry(row: Mapping[str, Any]) -> Entry:
    """Parse one record. Raises ValueError for what we never write: a user with edit rights can write anything here."""
    values = {name: row[short] for name, short in _SHORT.items() if short in row}
    for name in ("earlier", "parts", "requires", "node_tags", "tags", "candidates"):
        if name in values:
            values[name] = tuple(map(_text_field, values[name]))
    entry = Entry(state=RecordState(row["p"]), **values)
    for text in (entry.id, entry.target, entry.signature, entry.by, entry.gone, entry.incarnation):
        _text_field(text)
    _digest(entry.key)
    times = (entry.opened, entry.deleting)
    if not all(isinstance(time, int | float) and not isinstance(time, bool) and isfinite(time) for time in times):
        raise ValueError("a time that is no number")
    if not all(isinstance(said, bool) for said in (entry.carried, entry.shared, entry.had_effect, entry.read_back)):
        raise ValueError("no truth value")
    if not isinstance(entry.request, dict | None):
        raise ValueError("a field of another type")
    if not all(isinstance(n, int) and 0 <= n <= MOST_ATTEMPTS for n in (entry.attempt, entry.fails)):
        raise ValueError("a number of attempts that nobody makes")
    return entry


def _load_attached_tags(row: Any) -> AttachedTags:
    tags, signature, key = row
    return AttachedTags(tuple(map(_text_field, tags)), _text_field(signature), _digest(key))


def _text_field(text: object) -> str:
    if not isinstance(text, str):
        raise ValueError("no text where one is needed")
    return text


def _place(fields: Any) -> dict[str, Any]:
    """Check the fields of a place: texts, and objects of texts (a reference)."""
    return {
        _text_field(name): {_text_field(k): _text_field(v) for k, v in said.items()}
        if isinstance(said, dict)
        else _text_field(said)
        for name, said in fields.items()
    }


def _generation(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("no number of a generation")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("no truth value")
    return value


def _digest(text: object) -> str:
    """Check the digest of a key, which goes into messages and commands."""
    if not _DIGEST.fullmatch(_text_field(text)):
        raise ValueError("no digest of a key")
    return str(text)
