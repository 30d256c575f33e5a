"""The differences between kinds on writes: the registry strategies of an API server.

:mod:`freehold_apiserver.objects` runs the common pipeline; a strategy fills in defaults, restricts what a
write to the object or to a subresource may change, and validates the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from freehold_apiserver.errors import FieldError
from freehold_apiserver.store import Json


@dataclass(frozen=True)
class Findings:
    """The findings of decoding an object by its schema."""

    unknown_fields: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Strategy(Protocol):
    """Per-kind behaviour. ``obj`` arguments belong to the caller's request and may be changed in place."""

    unconditional_update: bool
    """Whether PUT without a resourceVersion is allowed."""

    def decode(self, obj: Json) -> Findings:
        """Prune and report unknown fields, and fill in defaults."""

    def prepare_create(self, obj: Json) -> None:
        """Set the server's fields on a new object; drop the fields that a client may not set on create."""

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Restore from ``old`` the fields that this write may not change; increment the generation if needed."""

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        """All errors in ``obj`` (``old`` is None on create)."""

    def prepare_delete(self, obj: Json) -> None:
        """Record on the object that its deletion has begun."""

    def blocks_deletion(self, obj: Json) -> bool:
        """Whether something other than ``metadata.finalizers`` blocks the deletion."""


def take_only(obj: Json, old: Json, field_name: str) -> None:
    """Make ``obj`` equal to ``old`` except one top-level field: a write to a subresource."""
    kept = obj.get(field_name)
    api_version, kind = obj["apiVersion"], obj["kind"]
    obj.clear()
    obj.update(old, apiVersion=api_version, kind=kind, metadata=dict(old["metadata"]))
    obj.pop(field_name, None)
    if kept is not None:
        obj[field_name] = kept


def put_back(obj: Json, old: Json, field_name: str) -> None:
    """Restore one top-level field from ``old``."""
    obj.pop(field_name, None)
    if field_name in old:
        obj[field_name] = old[field_name]


def content(obj: Json, *but: str) -> Json:
    """Return the part of an object that the generation covers: all but metadata, apiVersion, kind and ``but``."""
    return {key: value for key, value in obj.items() if key not in ("metadata", "apiVersion", "kind", *but)}
