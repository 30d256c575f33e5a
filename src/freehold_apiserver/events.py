"""Events: one collection, served as core/v1 and as events.k8s.io/v1, which names some fields differently.

Conversion and validation: kubernetes ``pkg/apis/events/v1/conversion.go`` and
``pkg/apis/core/validation/events.go``; columns: ``pkg/printers/internalversion/printers.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from freehold_apiserver import builtin_schemas as schemas
from freehold_apiserver.errors import FieldError
from freehold_apiserver.plain import PlainStrategy
from freehold_apiserver.resources import Resource, StoredAs
from freehold_apiserver.store import Json
from freehold_apiserver.tables import Column, at

GROUP = "events.k8s.io"
_CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""Field of events.k8s.io/v1 -> field of core/v1, where they differ."""
_NEW_NAMES = {core: new for new, core in _CORE_NAMES.items()}
_LIMITS = (("reportingInstance", 128), ("action", 128), ("reason", 128), ("message", 1024))
_UNSET_IN_NEW = ("firstTimestamp", "lastTimestamp", "count", "source")
_NAMESPACES_OF_CLUSTER_EVENTS = ("default", "kube-system")


def to_core(obj: Json) -> Json:
    return {_CORE_NAMES.get(name, name): value for name, value in obj.items()}


def from_core(obj: Json) -> Json:
    return {_NEW_NAMES.get(name, name): value for name, value in obj.items()}


class EventStrategy(PlainStrategy):
    """``strict`` is for events.k8s.io/v1, whose new events have a time, a type and a reporter."""

    def __init__(self, *, strict: bool) -> None:
        super().__init__(schemas.EVENT)
        self._strict = strict

    def validate(self, obj: Json, old: Json | None) -> Sequence[FieldError]:
        found = [*super().validate(obj, old), *_namespace_errors(obj)]
        if obj.get("eventTime"):
            found += _reporter_errors(obj)
        if self._strict and old is None:
            found += _strict_errors(obj)
        return found


def _namespace_errors(obj: Json) -> list[FieldError]:
    """Find the namespace of an event: that of its object; ``default`` for cluster-scoped objects."""
    namespace, about = obj["metadata"].get("namespace", ""), (obj.get("involvedObject") or {}).get("namespace", "")
    if about:
        matches = bool(obj.get("eventTime")) or about == namespace
    else:
        matches = namespace in (_NAMESPACES_OF_CLUSTER_EVENTS if obj.get("eventTime") else ("default",))
    if matches:
        return []
    return [FieldError.invalid("involvedObject.namespace", about, "does not match event.namespace")]


def _reporter_errors(obj: Json) -> list[FieldError]:
    required = (("reportingController", "reportingComponent"), ("reportingInstance",) * 2, ("action",) * 2,
                ("reason",) * 2)  # fmt: skip
    found = [FieldError.required(shown) for shown, name in required if not obj.get(name)]
    return found + [
        FieldError.invalid(name, "", f"can have at most {limit} characters")
        for name, limit in _LIMITS
        if len(obj.get(name) or "") > limit
    ]


def _strict_errors(obj: Json) -> list[FieldError]:
    found = [] if obj.get("eventTime") else [FieldError.required("eventTime")]
    if obj.get("type") not in ("Normal", "Warning"):
        found.append(FieldError.invalid("type", "", f"has invalid value: {obj.get('type') or ''}"))
    found += [FieldError.invalid(name, "", "needs to be unset") for name in _UNSET_IN_NEW if obj.get(name)]
    series = obj.get("series")
    if series and series.get("count", 0) < 2:
        found.append(FieldError.invalid("series.count", "", "should be at least 2"))
    if series and not series.get("lastObservedTime"):
        found.append(FieldError.required("series.lastObservedTime"))
    return found


def _object(obj: Json) -> str:
    about = obj.get("involvedObject") or {}
    kind = str(about.get("kind", "")).lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _first_seen(obj: Json) -> str | None:
    return obj.get("firstTimestamp") or obj.get("eventTime")


def _last_seen(obj: Json) -> str | None:
    series = obj.get("series")
    if series:
        return str(series["lastObservedTime"]) if series.get("lastObservedTime") else None
    return obj.get("lastTimestamp") or _first_seen(obj)


def _count(obj: Json) -> int:
    return int((obj.get("series") or obj).get("count") or 1)


def _source(obj: Json) -> str:
    source = obj.get("source") or {}
    parts = (
        source.get("component") or obj.get("reportingComponent"),
        source.get("host") or obj.get("reportingInstance"),
    )
    return ", ".join(part for part in parts if part)


_COLUMNS = (
    Column("Last Seen", "date", _last_seen),
    Column("Type", "string", at(".type")),
    Column("Reason", "string", at(".reason")),
    Column("Object", "string", _object),
    Column("Subobject", "string", at(".involvedObject.fieldPath"), priority=1),
    Column("Source", "string", _source, priority=1),
    Column("Message", "string", lambda obj: str(obj.get("message") or "").strip()),
    Column("First Seen", "date", _first_seen, priority=1),
    Column("Count", "integer", _count, priority=1),
    Column("Name", "string", at(".metadata.name"), "name", priority=1),
)

EVENT_RESOURCES = (
    Resource("", "v1", "Event", "events", True, "v1", EventStrategy(strict=False), singular="event",
             list_kind="EventList", short_names=("ev",), columns=_COLUMNS, schema=schemas.EVENT),
    Resource(GROUP, "v1", "Event", "events", True, "v1", EventStrategy(strict=True), singular="event",
             list_kind="EventList", short_names=("ev",), columns=_COLUMNS, schema=schemas.EVENT,
             stored_as=StoredAs("", "events", to_core, from_core)),
)  # fmt: skip
"""The resources of events, at both groups."""
