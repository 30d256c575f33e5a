"""What the metadata controller changes, from which value to which: a wrapper of its taggers, for audit and metrics.

A call that tags 200 resources alike says nothing of what was there before; what the pass has read does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from freehold.engine.errors import CloudError
from freehold.operator.metadata.places import TagAccounts, TagPlace
from freehold.operator.metadata.wrapped import WrappedAccounts, WrappedPlace
from freehold.providers.access.audit import Changes
from freehold.tagging.batches import Batch
from freehold.tagging.classifiers import Query
from freehold.tagging.resources import Resource, Tags


class ChangeWatch(Protocol):
    """Told of each call that changes tags. ``subject`` is the object that it is sent for."""

    def sending(self, subject: str, changes: Changes) -> None: ...

    def answered(self, subject: str, batch: Batch, changes: Changes, errors: Mapping[str, CloudError]) -> None:
        """The call succeeded, but for the resources in ``errors``."""
        ...


class ChangeAudit(Protocol):
    """Where the lines go (audit.FileAudit)."""

    def changes(self, subject: str, changes: Changes) -> None: ...

    def refused(self, subject: str, resource: str, error: CloudError) -> None: ...


class AuditedChanges:
    """A line before each call, and one after it for each resource that the service refused within it."""

    def __init__(self, audit: ChangeAudit) -> None:
        self._audit = audit

    def sending(self, subject: str, changes: Changes) -> None:
        self._audit.changes(subject, changes)

    def answered(self, subject: str, batch: Batch, changes: Changes, errors: Mapping[str, CloudError]) -> None:
        for resource, error in errors.items():
            self._audit.refused(subject, resource, error)


class WatchedPlace(WrappedPlace):
    """A place (places.TagPlace) for one object and one pass."""

    def __init__(self, inner: TagPlace, subject: str, watches: Sequence[ChangeWatch]) -> None:
        super().__init__(inner)
        self._subject = subject
        self._watches = watches
        self._seen: dict[str, Tags] = {}

    async def find(self, query: Query) -> Sequence[Resource]:
        found = await self._inner.find(query)
        self._seen |= {each.id: each.tags for each in found}
        return found

    async def read(self, ids: Collection[str]) -> Mapping[str, Resource | CloudError]:
        found = await self._inner.read(ids)
        self._seen |= {ident: each.tags for ident, each in found.items() if isinstance(each, Resource)}
        return found

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        changes = changes_of(batch, self._seen)
        for watch in self._watches:
            watch.sending(self._subject, changes)
        errors = await self._inner.send(batch)
        for watch in self._watches:
            watch.answered(self._subject, batch, changes, errors)
        return errors


def changes_of(batch: Batch, seen: Mapping[str, Tags]) -> Changes:
    """``seen``: the tags of each resource as they were read."""
    removes = batch.verb.removes
    return {
        target: {key: (_value(seen.get(target, {}).get(key)), None if removes else value) for key, value in batch.tags}
        for target in batch.targets
    }


def _value(found: frozenset[str] | None) -> str | None:
    """Of a cloud with several values for a key all of them."""
    return None if found is None else ", ".join(sorted(found))


def watched(inner: TagAccounts, watches: Sequence[ChangeWatch]) -> TagAccounts:
    """The places of ``inner``, watched."""
    return WrappedAccounts(inner, lambda place, subject: WatchedPlace(place, subject, watches))
