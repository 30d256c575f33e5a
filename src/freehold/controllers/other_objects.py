"""Claims of other stored objects on a resource that objects may share: their tags on it, and who names it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from freehold.engine.errors import Unavailable
from freehold.engine.journal import AttachedTags, CorruptJournal, Entry, Journal
from freehold.engine.keys import KeyRing
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey
from freehold.engine.value_texts import texts_in
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.providers.objects import identity

TAG_FIELDS = frozenset({"tags", "additionalTags"})
"""The spec fields that hold tags, of all served kinds. A name in a tag is no use of the resource of that name."""


class Lister(Protocol):
    """The part of a client that is used here."""

    async def list(self, resource: Resource, namespace: str = "") -> ObjectList: ...


class OtherStoredObjects:
    """A reader of all objects (inventory.OtherObjects), used only before something shared is removed."""

    def __init__(self, client: Lister, resources: Sequence[Resource], namespace: str = "") -> None:
        self._client = client
        self._resources = resources
        self._namespace = namespace

    async def tags_on(self, owner: Owner, target: str, ring: KeyRing | None = None) -> frozenset[str]:
        return find_claimed_tags(await self.list_stored(), owner, target, ring)

    async def owning(
        self, owner: Owner, kind: str, idents: Collection[str], ring: KeyRing | None = None
    ) -> Mapping[str, tuple[str, ...]]:
        return find_owning_objects(await self.list_stored(), owner, kind, idents, ring)

    async def naming(self, owner: Owner, words: Collection[str]) -> tuple[str, ...]:
        return find_naming_objects(await self.list_stored(), owner, words)

    async def list_stored(self) -> list[Json]:
        """Return all objects of the kinds that are served. Raises Unavailable."""
        found: list[Json] = []
        for resource in self._resources:
            try:
                listing = await self._client.list(resource, self._namespace)
            except kube.ObjectNotFound:  # the kind is not installed
                continue
            except kube.KubeError as problem:
                raise Unavailable(f"whether another object needs it cannot be told: {problem}") from problem
            found += listing.items
        return found


def find_claimed_tags(
    objects: Iterable[Json], owner: Owner, target: str, ring: KeyRing | None = None
) -> frozenset[str]:
    """Find the tags on ``target`` that other owners' objects put there or, without ``ring``, have as their own."""
    found: frozenset[str] = frozenset()
    for raw in objects:
        journal = _read_journal(raw)
        if journal is None or journal.owner.uuid == owner.uuid or "deletionTimestamp" in raw["metadata"]:
            continue
        row = journal.attached.get(target, AttachedTags())
        if ring is None or _is_proven(raw, journal, target, row, ring):
            found |= frozenset(row.tags)
        for entry in journal.claimed.values():
            if ring is None and entry.target == target and not entry.carried:
                found |= journal.tags | set(entry.node_tags)
    return found


def _is_proven(raw: Json, journal: Journal, target: str, row: AttachedTags, ring: KeyRing) -> bool:
    """Return whether the operator signed the row for this very object: a record can be copied from another one."""
    if key_of(raw) != Key(journal.owner.namespace, journal.owner.name):
        return False
    return ring.derive_keys(journal.owner).are_signed(row.key, row.signature, target, row.tags)


def find_owning_objects(
    objects: Iterable[Json], owner: Owner, kind: str, idents: Collection[str], ring: KeyRing | None = None
) -> Mapping[str, tuple[str, ...]]:
    """Find the objects other than ``owner``'s that have these resources on record as theirs, by resource id."""
    found: dict[str, set[str]] = {}
    for raw in objects:
        journal = _read_journal(raw)
        if journal is None or journal.owner.uuid == owner.uuid:
            continue
        for key, entry in journal.claimed.items():
            if key.kind == kind and entry.id in idents and (ring is None or _is_signed(raw, journal, key, entry, ring)):
                found.setdefault(entry.id, set()).add(str(key_of(raw)))
    return {ident: tuple(sorted(names)) for ident, names in found.items()}


def _is_signed(raw: Json, journal: Journal, key: NodeKey, entry: Entry, ring: KeyRing) -> bool:
    if key_of(raw) != Key(journal.owner.namespace, journal.owner.name):
        return False
    keys = ring.derive_keys(journal.owner)
    return keys.vouches(entry.key, entry.signature, key.kind, entry.id, entry.incarnation)


def find_naming_objects(objects: Iterable[Json], owner: Owner, words: Collection[str]) -> tuple[str, ...]:
    """Find the objects that have one of ``words`` as a whole text in their spec, or as an id in another's journal.

    Tags in the spec do not count: a tag ``Name`` with the same text is no use of the resource.
    """
    wanted = {word for word in words if word}
    found = []
    for raw in objects:
        journal = _read_journal(raw)
        own = journal is not None and journal.owner.uuid == owner.uuid
        ids = {entry.id for entry in journal.entries.values()} if journal and not own else set()
        said = {*texts_in(raw.get("spec"), without=TAG_FIELDS), *ids, *(id_.rpartition("/")[2] for id_ in ids)}
        if not wanted.isdisjoint(said):
            found.append(str(key_of(raw)))
    return tuple(sorted(found))


def _read_journal(raw: Json) -> Journal | None:
    try:
        return identity.read_record(raw)
    except CorruptJournal:  # its own condition says so; it claims nothing until a person has repaired it
        return None
