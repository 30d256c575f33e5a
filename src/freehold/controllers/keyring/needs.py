"""Keys that stored objects need, and the one case in which a new ring may be made."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from freehold.controllers.keyring.stored_form import (
    ChangedRing,
    MissingRing,
    RecordName,
    RingDocument,
    RingStore,
    StoredRing,
    UnreachableRing,
    join_digests,
)
from freehold.engine.journal import CorruptJournal, Journal
from freehold.engine.keys import fingerprint
from freehold.kube import errors as kube
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.providers.objects import identity

_SHOWN = 5
_DIGEST = re.compile(r"[a-z2-7]{10}")
"""The form of the digests of keys.digest_of."""
_LONGEST = 40
"""The most characters of a text that is no digest."""


@dataclass(frozen=True)
class KeyNeed:
    """The keys that one object needs. ``damaged``: its journal cannot be read, so they are not known.

    ``records`` are its records of resources by the digest of the key that signed them. ``kind`` is empty for an object
    without a journal.
    """

    object: Key
    uuid: str = ""
    digests: frozenset[str] = frozenset()
    damaged: bool = False
    records: Mapping[str, frozenset[RecordName]] = field(default_factory=dict)
    kind: str = ""


Needs = Callable[[], Awaitable[Sequence[KeyNeed]]]


def need_of(raw: Json) -> KeyNeed:
    """Read the need from the journal of the object, else from its status."""
    key = key_of(raw)
    try:
        journal = identity.read_record(raw)
    except CorruptJournal:
        return KeyNeed(key, damaged=True)
    if journal is None:
        return KeyNeed(key)
    return KeyNeed(key, journal.owner.uuid, journal.keys, records=_collect_records(journal), kind=raw["kind"])


def _collect_records(journal: Journal) -> dict[str, frozenset[RecordName]]:
    found: dict[str, frozenset[RecordName]] = {}
    for node, entry in journal.entries.items():
        if entry.key and entry.id:
            digest = fingerprint(journal.owner, str(node), entry.id, entry.incarnation)
            record = RecordName(str(node), entry.id, digest)
            found[entry.key] = found.get(entry.key, frozenset()) | {record}
    return found


async def read_needs(
    client: KubeClient, resources: Iterable[Resource], namespace: str = "", label_selector: str = ""
) -> list[KeyNeed]:
    """Read the needs of every stored object of these kinds; a kind may not be installed. Raises KubeError."""
    found: list[KeyNeed] = []
    for resource in resources:
        try:
            listing = await client.list(resource, namespace, label_selector=label_selector)
        except kube.ObjectNotFound:
            continue
        for raw in listing.items:
            found.append(need_of({"apiVersion": resource.api_version, "kind": resource.kind, **raw}))
    return found


async def open_ring(store: RingStore, needed: Needs, now: float) -> StoredRing:
    """Read the ring; make a new one if there is none and no object names a key. Raises RingError.

    If two operators start at once, the first writer wins, and both read its ring.
    """
    found = await store.read()
    if found.document is not None:
        return found
    try:
        document = build_first_ring(store.where, await needed(), now)
    except kube.KubeError as problem:
        raise UnreachableRing(
            f"there is no key ring in {store.where}, and whether objects name a key cannot be told: {problem}"
        ) from problem
    with contextlib.suppress(ChangedRing):  # what the other one wrote is read below
        await store.write(document, found.version)
    found = await store.read()
    if found.document is None:
        raise UnreachableRing(f"the key ring in {store.where} went again while it was being made")
    return found


def build_first_ring(where: str, needed: Sequence[KeyNeed], now: float) -> RingDocument:
    """Build a new ring. Raises MissingRing if an object names a key, or cannot be read and so may name one."""
    damaged = [each for each in needed if each.damaged]
    naming = [each for each in needed if each.digests]
    if naming:
        named = frozenset[str]().union(*(each.digests for each in naming))
        digests, known = join_digests(map(_quote_digest, named)), sorted(filter(_DIGEST.fullmatch, named))
        lost = f" (lost for ever: freehold keys accept {known[0]})" if known else ""
        raise MissingRing(
            f"there is no key ring in {where}, and {join_objects(naming)} {_pick_verb(naming)} key {digests}: nothing "
            f"is served until the ring is back; put it back from a backup, or: freehold keys add FILE{lost}"
        )
    if damaged:
        raise MissingRing(
            f"there is no key ring in {where}, and the journal of {join_objects(damaged)} cannot be read: it may name "
            f"a key of one; put ring or journal back from a backup, or: freehold keys add FILE"
        )
    return RingDocument.create(now)


def _quote_digest(digest: str) -> str:
    """Quote and escape a text that is no digest: anybody may have written it, and it must not get into a command."""
    return digest if _DIGEST.fullmatch(digest) else ascii(digest[:_LONGEST])


def join_objects(needed: Sequence[KeyNeed]) -> str:
    """Join the names of some of the objects for a sentence."""
    shown = ", ".join(str(each.object) for each in needed[:_SHOWN])
    return shown + (f" and {len(needed) - _SHOWN} more" if len(needed) > _SHOWN else "")


def _pick_verb(needed: Sequence[KeyNeed]) -> str:
    return "names" if len(needed) == 1 else "name"
