"""Garbage collection by ownerReferences: background, foreground and orphan.

Semantics: https://kubernetes.io/docs/concepts/architecture/garbage-collection/ . The index of owners
is derived from the stored objects, so it need not survive a restart.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from freehold_apiserver.errors import ApiError, Notes
from freehold_apiserver.objects import FOREGROUND, ORPHAN, Objects
from freehold_apiserver.patches import MERGE
from freehold_apiserver.resources import Registry, Resource
from freehold_apiserver.store import Change, Json, Key, Store, Stored, key_of
from freehold_apiserver.write_options import DeleteOptions, WriteOptions

_LOG = logging.getLogger(__name__)
Place = tuple[str, Key]
"""A collection and a key in it."""


@contextlib.contextmanager
def refusals_logged(what: str) -> Iterator[None]:
    """Log why background work on one object was refused (a webhook, another write); it is tried again later."""
    try:
        yield
    except ApiError as problem:
        if problem.code != 404:
            _LOG.warning("background work on %s was refused: %s", what, problem.message)


class GarbageCollector:
    """Tracks owners and dependants. :meth:`collect` deletes or orphans the dependants that are due."""

    def __init__(self, store: Store, objects: Objects, registry: Registry) -> None:
        self._store = store
        self._objects = objects
        self._registry = registry
        self._live: set[str] = set()
        self._dependants: dict[str, set[Place]] = {}
        self._suspects: set[Place] = set()
        self._by_policy: set[Place] = set()
        for collection in store.collections():
            for stored in store.scan(collection):
                self._note((collection, key_of(stored)), stored.obj)

    def follow(self, collection: str, change: Change) -> None:
        """Update the index after a change of the store."""
        place, meta = (collection, change.key), change.new.obj["metadata"]
        if change.old is not None:
            for reference in change.old.obj["metadata"].get("ownerReferences") or ():
                self._dependants.get(reference["uid"], set()).discard(place)
        if change.type == "DELETED":
            self._live.discard(meta["uid"])
            self._suspects |= self._dependants.pop(meta["uid"], set())
        else:
            self._note(place, change.new.obj)

    @property
    def due(self) -> bool:
        """Whether :meth:`collect` has work to do."""
        return bool(self._suspects or self._by_policy)

    def _note(self, place: Place, obj: Json) -> None:
        meta = obj["metadata"]
        self._live.add(meta["uid"])
        for reference in meta.get("ownerReferences") or ():
            self._dependants.setdefault(reference["uid"], set()).add(place)
            if reference["uid"] not in self._live:
                self._suspects.add(place)
        if meta.get("deletionTimestamp") and {FOREGROUND, ORPHAN} & set(meta.get("finalizers") or ()):
            self._by_policy.add(place)

    async def collect(self) -> None:
        """One pass: dependants whose owners are all gone, and owners that wait for their dependants."""
        suspects, self._suspects = self._suspects, set()
        for place in suspects:
            found = self._found(place)
            if found and not any(self._may_live(each) for each in _references(found[1]) or [_NO_OWNER]):
                await self._delete(*found)
        for place in tuple(self._by_policy):
            found = self._found(place)
            if found is None or not await self._apply_policy(*found):
                self._by_policy.discard(place)

    def _found(self, place: Place) -> tuple[Resource, Stored] | None:
        stored = self._store.get(*place)
        resource = self._registry.of_collection(place[0])
        return (resource, stored) if resource and stored else None

    def _may_live(self, reference: Json) -> bool:
        """Return True also for an owner of a kind that is not served here: whether it exists is unknown."""
        group, _, _ = reference["apiVersion"].rpartition("/")
        return reference["uid"] in self._live or self._registry.of_kind(group, reference["kind"]) is None

    async def _delete(self, resource: Resource, stored: Stored, propagation: str = "Background") -> None:
        if not stored.obj["metadata"].get("deletionTimestamp"):
            uid = stored.obj["metadata"]["uid"]
            options = DeleteOptions(uid=uid, propagation=propagation)
            with refusals_logged(f"{resource.plural} {key_of(stored)}"):
                await self._objects.delete(resource, key_of(stored), options, Notes())

    async def _apply_policy(self, resource: Resource, owner: Stored) -> bool:
        """Orphan the dependants, or delete them first; returns whether the owner still waits."""
        meta = owner.obj["metadata"]
        finalizers = meta.get("finalizers") or []
        dependants = [found for place in self._dependants.get(meta["uid"], ()) if (found := self._found(place))]
        if ORPHAN in finalizers:
            for each in dependants:
                await self._disown(*each, meta["uid"])
        elif FOREGROUND in finalizers:
            blocking = False
            for each in dependants:
                await self._delete(*each, propagation="Foreground")
                still = self._store.get(each[0].collection, key_of(each[1]))
                blocking |= still is not None and _blocks(still, meta["uid"])
            if blocking:
                return True
        left = [each for each in finalizers if each not in (ORPHAN, FOREGROUND)]
        if left != finalizers:
            await self._patch(resource, owner, {"finalizers": left})
        return False

    async def _disown(self, resource: Resource, dependant: Stored, uid: str) -> None:
        left = [each for each in _references(dependant) if each["uid"] != uid]
        await self._patch(resource, dependant, {"ownerReferences": left})

    async def _patch(self, resource: Resource, stored: Stored, metadata: Json) -> None:
        """Change metadata of an object that is as it was found. A patch, as the object may be of an older version."""
        body = {"metadata": {**metadata, "resourceVersion": stored.obj["metadata"]["resourceVersion"]}}
        with refusals_logged(f"{resource.plural} {key_of(stored)}"):
            await self._objects.patch(
                resource, key_of(stored), body, MERGE, WriteOptions(), Notes(), custom=resource.custom
            )  # fmt: skip


_NO_OWNER: Json = {"apiVersion": "", "kind": "", "uid": ""}
"""Placeholder for an object without owners: it is no dependant and is never collected."""


def _references(stored: Stored) -> list[Json]:
    return stored.obj["metadata"].get("ownerReferences") or []


def _blocks(dependant: Stored, uid: str) -> bool:
    return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in _references(dependant))
