"""The record of an object, kept against others: what somebody takes off is put back, and what goes with it is told."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

from freehold.api import names
from freehold.api.served import ServedName
from freehold.controllers import mending
from freehold.controllers.events import Severity
from freehold.controllers.object_memory import ObjectMemory, Remembered
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.kube.field_managers import other_writers
from freehold.kube.resources import Json
from freehold.providers.objects import identity

_LOG = logging.getLogger(__name__)


class ObjectHandle(Protocol):
    """One object in one pass; production's is in controllers.objects, tests keep theirs in a dict."""

    @property
    def raw(self) -> Json: ...

    async def save(self, journal: Journal) -> None: ...

    async def newest(self) -> Json:
        """The object as it is stored now; the pass goes on with ``raw``. Raises StaleObject where it is gone."""
        ...

    async def apply(self, patch: Mapping[str, Any]) -> None: ...

    async def patch_status(self, status: Mapping[str, Any]) -> None: ...


class Rings(Protocol):
    """The operator's key ring, as it is now."""

    @property
    def ring(self) -> KeyRing:
        """Raises RingError while there is none."""
        ...

    def missed(self) -> None:
        """An object names a key that the ring lacks."""
        ...


class Recorder(Protocol):
    """Where events go."""

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None: ...


class RecordGuard:
    """Keeps the journals of the objects of one kind (docs/adr/0021-two-field-managers.md)."""

    def __init__(self, served: ServedName, memory: ObjectMemory, rings: Rings, recorder: Recorder) -> None:
        self._served = served
        self._memory = memory
        self._rings = rings
        self._recorder = recorder

    async def put_back(self, document: ObjectHandle) -> bool:
        """Put back what of ours was taken off the object, and say who wrote it since. Return whether anything was."""
        known = self._memory.find(document.raw)
        record = known.record if known else ""
        found = mending.mending(document.raw, self._served.finalizer, self._rings.ring, record)
        if found is None:
            return False
        if not found.is_remembered:
            self._memory.forget(document.raw)  # creates of the lost journal may be under way: nothing shortens a wait
        await document.apply(found.patch)
        message = mending.told(found, known.writers if known else None, other_writers(document.raw["metadata"]))
        self._recorder.record(document.raw, Severity.WARNING, "RecordPutBack", message)
        return True

    def remember(self, raw: Json) -> None:
        """Keep the journal for the case that somebody takes it off; one that does not count is not put back."""
        metadata = raw["metadata"]
        known = self._memory.find(raw)
        text = (metadata.get("annotations") or {}).get(names.JOURNAL_ANNOTATION)
        if known is None or text is None:
            return
        if text != known.record:
            found = identity.identify(raw, self._served.finalizer, self._rings.ring)
            if not isinstance(found, identity.Identified):
                return
            known.record = text
        if "managedFields" in metadata:
            known.writers = other_writers(metadata)

    def report_left_behind(self, last: Json, known: Remembered) -> None:
        """Tell of the resources of an object that went while its finalizer was off."""
        left = mending.left_behind(last, known.record)
        if not left:
            return
        for each in left:
            known.cloud.left(subject_of(last), each, "its object was deleted while its finalizer was off")
        message = mending.orphaned(left)
        _LOG.warning("%s: %s", subject_of(last), message)
        self._recorder.record(last, Severity.WARNING, "ResourcesLeftBehind", message)


def subject_of(raw: Json) -> str:
    """Return the name of an object in the log and in the audit: kind, namespace, name."""
    metadata = raw["metadata"]
    return f"{raw['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
