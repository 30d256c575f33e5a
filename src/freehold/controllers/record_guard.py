"""Guard of the journals: one that somebody removed is restored, and resources that lost their object are reported."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

from freehold.api import names
from freehold.api.served import ServedName
from freehold.controllers import mending
from freehold.controllers.events import Severity
from freehold.controllers.object_memory import ObjectMemo, ObjectMemory
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.kube.field_managers import list_other_writers
from freehold.kube.resources import Json
from freehold.providers.objects import identity

_LOG = logging.getLogger(__name__)


class ObjectHandle(Protocol):
    """An object during one pass. The implementation is controllers.objects.ApiObject; tests keep theirs in a dict."""

    @property
    def raw(self) -> Json: ...

    async def save(self, journal: Journal) -> None: ...

    async def read_newest(self) -> Json:
        """Read the object as it is stored now; ``raw`` stays as it is. Raises StaleObject if it is gone."""
        ...

    async def apply(self, patch: Mapping[str, Any]) -> None: ...

    async def patch_status(self, status: Mapping[str, Any]) -> None: ...


class Rings(Protocol):
    """The current key ring of the operator."""

    @property
    def ring(self) -> KeyRing:
        """The ring. Raises RingError while there is none."""
        ...

    def report_missing_key(self) -> None:
        """Report that an object names a key that the ring lacks."""
        ...


class Recorder(Protocol):
    """A recorder of events."""

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None: ...


class RecordGuard:
    """A guard of the journals of one kind's objects (docs/adr/0021-two-field-managers.md)."""

    def __init__(self, served: ServedName, memory: ObjectMemory, rings: Rings, recorder: Recorder) -> None:
        self._served = served
        self._memory = memory
        self._rings = rings
        self._recorder = recorder

    async def put_back(self, document: ObjectHandle) -> bool:
        """Restore a removed finalizer or journal, with an event that says who wrote since. Return whether it did."""
        known = self._memory.find(document.raw)
        record = known.record if known else ""
        found = mending.find_mending(document.raw, self._served.finalizer, self._rings.ring, record)
        if found is None:
            return False
        if not found.is_remembered:
            self._memory.forget(document.raw)  # creates of the lost journal may be under way: nothing shortens a wait
        await document.apply(found.patch)
        message = mending.describe_mending(
            found, known.writers if known else None, list_other_writers(document.raw["metadata"])
        )
        self._recorder.record(document.raw, Severity.WARNING, "RecordPutBack", message)
        return True

    def remember(self, raw: Json) -> None:
        """Remember the journal in case somebody removes it. One that is not the object's own is not remembered."""
        metadata = raw["metadata"]
        known = self._memory.find(raw)
        text = (metadata.get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
        if known is None or text is None:
            return
        if text != known.record:
            found = identity.identify(raw, self._served.finalizer, self._rings.ring)
            if not isinstance(found, identity.KnownIdentity):
                return
            known.record = text
        if "managedFields" in metadata:
            known.writers = list_other_writers(metadata)

    def report_left_behind(self, last: Json, known: ObjectMemo) -> None:
        """Report the resources of an object that was deleted while its finalizer was off."""
        left = mending.find_left_behind(last, known.record)
        if not left:
            return
        for each in left:
            known.cloud.audit_left(subject_of(last), each, "its object was deleted while its finalizer was off")
        message = mending.describe_left_behind(left)
        _LOG.warning("%s: %s", subject_of(last), message)
        self._recorder.record(last, Severity.WARNING, "ResourcesLeftBehind", message)


def subject_of(raw: Json) -> str:
    """Return the name of an object in the log and in the audit: kind, namespace, name."""
    metadata = raw["metadata"]
    return f"{raw['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
