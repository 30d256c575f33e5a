"""Schemas of the built-in kinds: for ``kubectl explain``, and so that a misspelt field is noticed.

Only what people write by hand is described. Events and service accounts keep whatever they are given.
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
        "Set by the server.", finalizers={"type": "array", "items": _TEXT, "description": "Keep it from going."}
    ),
    status=_object(
        "Set by the server.",
        phase=_text("Active, or Terminating while what is in it goes."),
        conditions={"type": "array", "items": _ANYTHING, "description": "What keeps it from going."},
    ),
)

CONFIG_MAP = _object(
    "ConfigMap holds configuration data for others to read.",
    data=_map("Text, by key."),
    binaryData=_map("Bytes in base64, by key.", {"type": "string", "format": "byte"}),
    immutable=_flag("If true, data cannot be changed; the object can only be deleted."),
)

SECRET = _object(
    "Secret holds data that only some may read. The embedded API server keeps it unencrypted.",
    type=_text("What the data is for; Opaque when not said. Cannot be changed."),
    data=_map("Bytes in base64, by key.", {"type": "string", "format": "byte"}),
    stringData=_map("Text, by key: folded into data when written, never shown."),
    immutable=_flag("If true, data cannot be changed; the object can only be deleted."),
)

LEASE = _object(
    "Lease is a claim that somebody renews, for leader election.",
    spec=_object(
        "The claim.",
        holderIdentity=_text("Who holds it."),
        leaseDurationSeconds=_number("How long others must wait after the last renewal."),
        acquireTime=_text("When it was acquired.", format="date-time"),
        renewTime=_text("When it was last renewed.", format="date-time"),
        leaseTransitions=_number("How often the holder changed."),
        preferredHolder=_text("Who should hold it next."),
        strategy=_text("How the holder is chosen."),
    ),
)

EVENT = {**_ANYTHING, "description": "Event is a report of something that happened to an object."}

SERVICE_ACCOUNT = {**_ANYTHING, "description": "ServiceAccount is an identity for processes. Kept, not acted on."}
