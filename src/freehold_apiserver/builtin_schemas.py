"""Schemas of the built-in kinds: for ``kubectl explain``, and to detect misspelt fields.

Only kinds that people write by hand have a schema. Events are stored unchecked.
Those of installations are in :mod:`freehold_apiserver.workload_schemas`.
"""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}


def _object(description: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "description": description, "properties": properties}


def _map(description: str, value: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "description": description, "additionalProperties": value or _TEXT}


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


def _number(description: str) -> dict[str, Any]:
    return {"type": "integer", "description": description, "format": "int32"}


_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

NAMESPACE = _object(
    "Namespace provides a scope for names.",
    spec=_object(
        "Set by the server.", finalizers={"type": "array", "items": _TEXT, "description": "Block its deletion."}
    ),
    status=_object(
        "Set by the server.",
        phase=_text("Active, or Terminating while its content is deleted."),
        conditions={"type": "array", "items": _ANYTHING, "description": "What blocks its deletion."},
    ),
)

CONFIG_MAP = _object(
    "ConfigMap holds configuration data for pods and other clients.",
    data=_map("Text, by key."),
    binaryData=_map("Bytes in base64, by key.", {"type": "string", "format": "byte"}),
    immutable=_flag("If true, data cannot be changed; the object can only be deleted."),
)

SECRET = _object(
    "Secret holds confidential data. The embedded API server stores it unencrypted.",
    type=_text("Type of the data; Opaque by default. Cannot be changed."),
    data=_map("Bytes in base64, by key.", {"type": "string", "format": "byte"}),
    stringData=_map("Text, by key: merged into data on write, never returned."),
    immutable=_flag("If true, data cannot be changed; the object can only be deleted."),
)

LEASE = _object(
    "Lease is a claim that its holder renews, for leader election.",
    spec=_object(
        "The claim.",
        holderIdentity=_text("Identity of the holder."),
        leaseDurationSeconds=_number("How long others must wait after the last renewal."),
        acquireTime=_text("When it was acquired.", format="date-time"),
        renewTime=_text("When it was last renewed.", format="date-time"),
        leaseTransitions=_number("How often the holder changed."),
        preferredHolder=_text("Who should hold it next."),
        strategy=_text("How the holder is chosen."),
    ),
)

EVENT = {**_ANYTHING, "description": "Event is a report of something that happened to an object."}
