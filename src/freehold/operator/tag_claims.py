"""Which objects have put a user's tag on a resource that is not theirs, from the journals of all that are stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from freehold.kube import errors as kube
from freehold.kube.client import ObjectList
from freehold.kube.resources import Json, Resource
from freehold.lifecycle.errors import Unavailable
from freehold.lifecycle.journal import CorruptJournal, Journal
from freehold.lifecycle.ownership import Owner
from freehold.reconcilers import identity


class Lister(Protocol):
    """All that is needed of a client."""

    async def list(self, resource: Resource, namespace: str = "") -> ObjectList: ...


class StoredClaims:
    """Reads every object each time (inventory.TagClaims): asked only when a tag is shared, or about to come off."""

    def __init__(self, client: Lister, resources: Sequence[Resource], namespace: str = "") -> None:
        self._client = client
        self._resources = resources
        self._namespace = namespace

    async def of_others(self, owner: Owner, target: str) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for resource in self._resources:
            try:
                listing = await self._client.list(resource, self._namespace)
            except kube.NotFound:  # the kind is not installed
                continue
            except kube.KubeError as problem:
                raise Unavailable(
                    f"whether another object wants its tags on {target} cannot be told: {problem}"
                ) from problem
            found |= claimed(listing.items, owner, target)
        return found


def claimed(objects: Iterable[Json], owner: Owner, target: str) -> frozenset[str]:
    """The tags on ``target`` that an object other than ``owner``'s put there or has there as its own."""
    found: frozenset[str] = frozenset()
    for raw in objects:
        journal = _journal(raw)
        if journal is None or journal.owner.uuid == owner.uuid or "deletionTimestamp" in raw["metadata"]:
            continue
        if target in journal.attached:
            found |= frozenset(journal.attached[target].tags)
        if any(entry.target == target and not entry.carried for entry in journal.ours.values()):
            found |= journal.tags
    return found


def _journal(raw: Json) -> Journal | None:
    try:
        return identity.recorded(raw)
    except CorruptJournal:  # its own condition says so; it wants nothing until a person has looked
        return None
