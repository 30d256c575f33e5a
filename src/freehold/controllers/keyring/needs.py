"""What the stored objects need of a key ring, and the one case in which a ring may be made."""

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
    listed,
)
from freehold.engine.journal import CorruptJournal, Journal
from freehold.engine.keys import fingerprint
from freehold.kube import errors as kube
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.providers.objects import identity

_SHOWN = 5
_DIGEST = re.compile(r"[a-z2-7]{10}")
"""As keys.digest_of makes them."""
_LONGEST = 40
"""Characters of a text that is no digest."""


@dataclass(frozen=True)
class Need:
    """One object's. ``damaged``: nobody can tell what it needs.

    ``records`` are its records of resources by the digest of the key that they name. ``kind`` is empty for what has
    no journal.
    """

    object: Key
    uuid: str = ""
    digests: frozenset[str] = frozenset()
    damaged: bool = False
    records: Mapping[str, frozenset[RecordName]] = field(default_factory=dict)
    kind: str = ""


Needs = Callable[[], Awaitable[Sequence[Need]]]


def need_of(raw: Json) -> Need:
    """From the journal that the object carries, else from its status."""
    key = key_of(raw)
    try:
        journal = identity.recorded(raw)
    except CorruptJournal:
        return Need(key, damaged=True)
    if journal is None:
        return Need(key)
    return Need(key, journal.owner.uuid, journal.keys, records=_records(journal), kind=raw["kind"])


def _records(journal: Journal) -> dict[str, frozenset[RecordName]]:
    found: dict[str, frozenset[RecordName]] = {}
    for node, entry in journal.entries.items():
        if entry.key and entry.id:
            digest = fingerprint(journal.owner, str(node), entry.id, entry.incarnation)
            record = RecordName(str(node), entry.id, digest)
            found[entry.key] = found.get(entry.key, frozenset()) | {record}
    return found


async def needs(client: KubeClient, resources: Iterable[Resource], namespace: str = "") -> list[Need]:
    """Of every stored object of these kinds; a kind that is not installed has none. Raises KubeError."""
    found: list[Need] = []
    for resource in resources:
        try:
            listing = await client.list(resource, namespace)
        except kube.NotFound:
            continue
        for raw in listing.items:
            found.append(need_of({"apiVersion": resource.api_version, "kind": resource.kind, **raw}))
    return found


async def opened_ring(store: RingStore, needed: Needs, now: float) -> StoredRing:
    """The ring that is there; a new one where none is and no object needs one. Raises RingError.

    Of two operators that begin at once the first to write decides, and both read what it wrote.
    """
    found = await store.read()
    if found.document is not None:
        return found
    try:
        document = first_ring(store.where, await needed(), now)
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


def first_ring(where: str, needed: Sequence[Need], now: float) -> RingDocument:
    """A new ring. Raises MissingRing where an object names a key, or cannot be read: it may name one."""
    damaged = [each for each in needed if each.damaged]
    naming = [each for each in needed if each.digests]
    if naming:
        named = frozenset[str]().union(*(each.digests for each in naming))
        digests, known = listed(map(_shown, named)), sorted(filter(_DIGEST.fullmatch, named))
        lost = f" (lost for ever: freehold keys accept {known[0]})" if known else ""
        raise MissingRing(
            f"there is no key ring in {where}, and {objects(naming)} {_names(naming)} key {digests}: nothing is "
            f"served until the ring is back; put it back from a backup, or: freehold keys add FILE{lost}"
        )
    if damaged:
        raise MissingRing(
            f"there is no key ring in {where}, and the journal of {objects(damaged)} cannot be read: it may name a key "
            f"of one; put ring or journal back from a backup, or: freehold keys add FILE"
        )
    return RingDocument.fresh(now)


def _shown(digest: str) -> str:
    """What names no key is anybody's text: quoted, escaped, and not to be copied into a command."""
    return digest if _DIGEST.fullmatch(digest) else ascii(digest[:_LONGEST])


def objects(needed: Sequence[Need]) -> str:
    """Some of them by name, for a sentence."""
    shown = ", ".join(str(each.object) for each in needed[:_SHOWN])
    return shown + (f" and {len(needed) - _SHOWN} more" if len(needed) > _SHOWN else "")


def _names(needed: Sequence[Need]) -> str:
    return "names" if len(needed) == 1 else "name"
