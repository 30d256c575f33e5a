"""What the metadata controller changes, from which value to which, for the audit log: a wrapper of its taggers.

A call that tags 200 resources alike says nothing of what was there before. So a line goes before it, with the values
that this pass has read; and one after it for each resource that the service refused within a call that succeeded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from freehold.clouds.aws.tags import Tags
from freehold.lifecycle.errors import CloudError
from freehold.operator.audit import Changes
from freehold.operator.tag_places import Region, TagAccounts, Tagger, TagPlace, TagsByArn
from freehold.reconcilers.metadata.demand import Place, Refused
from freehold.tagging.batches import Batch, Verb
from freehold.tagging.classifiers import Query

_REMOVING = (Verb.DELETE_TAGS, Verb.UNTAG_RESOURCES, Verb.DETACH)


class ChangeAudit(Protocol):
    """Where the lines go (audit.FileAudit)."""

    def changes(self, subject: str, changes: Changes) -> None: ...

    def refused(self, subject: str, resource: str, error: CloudError) -> None: ...


class AuditedTagger:
    """A tagger for one object and one pass."""

    def __init__(self, inner: Tagger, subject: str, audit: ChangeAudit) -> None:
        self._inner = inner
        self._subject = subject
        self._audit = audit
        self._seen: dict[str, Mapping[str, Any]] = {}

    async def find(self, query: Query) -> TagsByArn:
        found = await self._inner.find(query)
        self._seen |= found
        return found

    async def read(self, arns: Collection[str]) -> Mapping[str, Tags | CloudError]:
        found = await self._inner.read(arns)
        self._seen |= {arn: tags for arn, tags in found.items() if not isinstance(tags, CloudError)}
        return found

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        self._audit.changes(self._subject, changes_of(batch, self._seen))
        errors = await self._inner.send(batch)
        for resource, error in errors.items():
            self._audit.refused(self._subject, resource, error)
        return errors


def changes_of(batch: Batch, seen: Mapping[str, Mapping[str, Any]]) -> Changes:
    """``seen``: the tags of each resource as they were read."""
    removing = batch.verb in _REMOVING
    return {
        target: {key: (_value(seen.get(target, {}).get(key)), None if removing else value) for key, value in batch.tags}
        for target in batch.targets
    }


def _value(found: Any) -> str | None:
    """Of a cloud with several values for a key all of them."""
    return found if found is None or isinstance(found, str) else ", ".join(sorted(found))


class AuditedTagAccounts:
    """The places of ``inner``, with taggers that are audited."""

    def __init__(self, inner: TagAccounts, audit: ChangeAudit) -> None:
        self._inner = inner
        self._audit = audit

    async def at(self, place: Place, namespace: str, subject: str) -> Sequence[TagPlace | Region] | Refused:
        found = await self._inner.at(place, namespace, subject)
        if isinstance(found, Refused):
            return found
        return [
            each
            if isinstance(each, Region)
            else TagPlace(each.account, each.region, AuditedTagger(each.tagger, subject, self._audit))
            for each in found
        ]
