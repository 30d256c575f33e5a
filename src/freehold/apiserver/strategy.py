"""What differs between kinds when an object is written: the registry strategies of an API server.

:mod:`freehold.apiserver.objects` runs the one pipeline; a strategy fills in defaults, decides what a
write to the object or to a subresource may touch, and says what is wrong with the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from freehold.apiserver.errors import FieldError
from freehold.apiserver.store import Json


@dataclass(frozen=True)
class Findings:
    """What reading an object against its schema brought to light."""

    unknown_fields: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Strategy(Protocol):
    """Per-kind behaviour. ``obj`` arguments belong to the caller's request and may be changed in place."""

    unconditional_update: bool
    """Whether PUT without a resourceVersion is allowed."""

    def decode(self, obj: Json) -> Findings:
        """Prune what the schema does not know, fill in defaults; report what was unknown."""

    def prepare_create(self, obj: Json) -> None:
        """Set what the server owns on a new object; drop what a creator may not set."""

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Put back from ``old`` what this write may not touch; bump the generation when it is due."""

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        """Everything wrong with ``obj`` (``old`` is None on create)."""

    def prepare_delete(self, obj: Json) -> None:
        """Note on the object that its deletion has begun."""

    def holds(self, obj: Json) -> bool:
        """Whether something other than ``metadata.finalizers`` keeps the object from going."""


def take_only(obj: Json, old: Json, field_name: str) -> None:
    """Make ``obj`` equal to ``old`` but for one top-level field: a write to a subresource."""
    kept = obj.get(field_name)
    api_version, kind = obj["apiVersion"], obj["kind"]
    obj.clear()
    obj.update(old, apiVersion=api_version, kind=kind, metadata=dict(old["metadata"]))
    obj.pop(field_name, None)
    if kept is not None:
        obj[field_name] = kept


def put_back(obj: Json, old: Json, field_name: str) -> None:
    """Undo whatever the request did to one top-level field."""
    obj.pop(field_name, None)
    if field_name in old:
        obj[field_name] = old[field_name]


def content(obj: Json, *but: str) -> Json:
    """What the generation counts: everything but metadata, apiVersion, kind and ``but``."""
    return {key: value for key, value in obj.items() if key not in ("metadata", "apiVersion", "kind", *but)}
