"""Tables: the format that ``kubectl get`` requests (``Accept: …;as=Table``).

Cells follow k8s.io/apiextensions-apiserver ``pkg/registry/customresource/tableconvertor``; ages are
rendered by the server, as there, so they are relative to the time of the response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from freehold_apiserver.jsonpath import compile_path
from freehold_apiserver.store import Json

META = "meta.k8s.io/v1"


@dataclass(frozen=True)
class Column:
    """A column of ``kubectl get``: read from the object, shown by default at priority 0."""

    name: str
    type: str
    read: Callable[[Json], Any]
    format: str = ""
    description: str = ""
    priority: int = 0

    def definition(self) -> Json:
        return {
            "name": self.name,
            "type": self.type if self.type in ("integer", "number", "boolean", "date") else "string",
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def at(path: str) -> Callable[[Json], Any]:
    """Compile a reader of the first value at a JSONPath; it gives None for none. Raises ValueError on a bad path."""
    find = compile_path(path)
    return lambda obj: next(iter(find(obj)), None)


NAME = Column("Name", "string", at(".metadata.name"), "name", "Name must be unique within a namespace.")
AGE = Column("Age", "date", at(".metadata.creationTimestamp"), "", "Time since the object was created.")


def table(
    columns: Iterable[Column],
    objects: Iterable[Json],
    meta: Json,
    row_object: Callable[[Json], Json | None],
    now: datetime,
) -> Json:
    """Build a Table with one row per object. ``row_object`` is what the row contains besides the cells, if anything."""
    columns = tuple(columns)
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": meta,
        "columnDefinitions": [column.definition() for column in columns],
        "rows": [_row(columns, obj, row_object(obj), now) for obj in objects],
    }


def _row(columns: tuple[Column, ...], obj: Json, shown: Json | None, now: datetime) -> Json:
    row: Json = {"cells": [_cell(column, column.read(obj), now) for column in columns]}
    return row if shown is None else {**row, "object": shown}


def partial(obj: Json) -> Json:
    """Reduce the object to its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": obj["metadata"]}


def _cell(column: Column, value: Any, now: datetime) -> Any:
    match column.type:
        case "date":
            return age(value, now)
        case "integer":
            return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return None if value is None else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{key}:{_text(each)}" for key, each in value.items()) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_text(each) for each in value) + "]"
    return str(value)


def age(stamp: Any, now: datetime) -> str:
    """``5m30s`` since an RFC 3339 time, in the units that kubectl uses."""
    try:
        since = datetime.fromisoformat(str(stamp))
    except ValueError:
        return "<unknown>" if stamp is None else "<invalid>"
    seconds = int((now - (since if since.tzinfo else since.replace(tzinfo=UTC))).total_seconds())
    return human_duration(max(seconds, 0))


def human_duration(seconds: int) -> str:
    """k8s.io/apimachinery ``pkg/util/duration``: two units while the second one is significant."""
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    years = days // 365
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _pair(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if years < 2:
        return f"{days}d"
    return _pair(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _pair(major: int, major_unit: str, minor: int, minor_unit: str) -> str:
    return f"{major}{major_unit}{minor}{minor_unit}" if minor else f"{major}{major_unit}"
