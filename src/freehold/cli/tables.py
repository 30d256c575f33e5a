"""The tables of ``freehold get``: of our kinds by what their status means, of others as the server prints them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from freehold.cli import hints
from freehold.cli.attention import attention
from freehold.cli.terminal import columns, duration, folded, shortened
from freehold.cli.view import view
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import EVENTS, Json, Key, Resource

AS_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
"""https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables"""

_REMARKS = ("NOTE", "MESSAGE", "WHY", "PROOF", "EVIDENCE", "ID", "TAGS")
"""Heads of last columns that hold a sentence, or what else may stand below its row."""

_LEAST_REMARK = 40
"""Characters in a line below which a sentence is hard to read in a column."""


@dataclass(frozen=True)
class TableStyle:
    """``room``: what fits a line. ``namespace`` and ``kind``: with that column.

    ``usual``: the namespace that needs no ``-n``.
    """

    room: int
    wide: bool = False
    namespace: bool = False
    kind: bool = False
    usual: str = "default"


@dataclass(frozen=True)
class Rows:
    """Heads and rows of equal length."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()


def of_ours(objects: Sequence[Json], style: TableStyle) -> Rows:
    """Objects of kinds that Freehold serves."""
    heads = [
        *(["KIND"] if style.kind else []),
        "NAME",
        "PHASE",
        "READY",
        *(("AGE", "REASON") if style.wide else ()),
        "ENDPOINT",
        "NOTE",
    ]
    return Rows(_placed(style, "NAMESPACE", heads), tuple(_row_of_ours(each, style) for each in objects))


def _row_of_ours(obj: Json, style: TableStyle) -> tuple[str, ...]:
    seen = view(obj)
    note = next(iter(attention(seen)), "")
    if len(seen.blocked) > 1:
        more = hints.command("tree", seen.name, namespace=seen.namespace, usual=style.usual)
        note += f" (and {len(seen.blocked) - 1} more: {more})"
    more_cells = (_age(obj), seen.reason) if style.wide else ()
    cells = [
        *([seen.kind] if style.kind else []),
        seen.name,
        seen.phase.value,
        seen.ready_count,
        *more_cells,
        seen.endpoint,
        note,
    ]
    return _placed(style, seen.namespace, cells)


def _age(obj: Json) -> str:
    created = obj["metadata"].get("creationTimestamp")
    return duration(time.time() - datetime.fromisoformat(created).timestamp()) if created else ""


def _placed(style: TableStyle, namespace: str, cells: Sequence[str]) -> tuple[str, ...]:
    return (namespace, *cells) if style.namespace else tuple(cells)


async def of_server(
    client: ObjectClient, resource: Resource, where: str, style: TableStyle, *, name: str = "", selector: str = ""
) -> Rows:
    """Objects of another kind, in the columns that the server has for it. Events come oldest first."""
    path = resource.object_path(Key(where, name)) if name else resource.collection_path(where)
    query = {"includeObject": "Object" if resource == EVENTS else "Metadata", "labelSelector": selector}
    answer = await client.request("GET", path, query=query, accept=AS_TABLE)
    if answer.get("kind") != "Table":  # a server of an extension may print nothing
        found = [answer] if name else answer.get("items") or []
        return Rows(_placed(style, "NAMESPACE", ["NAME"]), tuple(_placed(style, *_names(each)) for each in found))
    definitions = answer.get("columnDefinitions") or []
    shown = [at for at, each in enumerate(definitions) if style.wide or not each.get("priority")]
    heads = [str(definitions[at]["name"]).upper() for at in shown]
    rows = answer.get("rows") or []
    if resource == EVENTS:
        rows = sorted(rows, key=lambda row: _when(row.get("object") or {}))
    return Rows(
        _placed(style, "NAMESPACE", heads),
        tuple(_placed(style, _names(row["object"])[0], [_cell(row["cells"][at]) for at in shown]) for row in rows),
    )


def _names(obj: Json) -> tuple[str, list[str]]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace") or ""), [str(metadata.get("name") or "")]


def _when(event: Json) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def _cell(value: Any) -> str:
    return "<none>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def joined(tables: Sequence[Rows]) -> Rows:
    """One table of several with the same heads."""
    return Rows(tables[0].heads, tuple(row for table in tables for row in table.rows))


def printed(table: Rows, room: int) -> list[str]:
    """Aligned lines. A last column of sentences is left out where it is empty, and folded where it is long."""
    if table.heads[-1] not in _REMARKS:
        return columns([table.heads, *table.rows])
    if not any(row[-1] for row in table.rows):
        return columns([table.heads[:-1], *(row[:-1] for row in table.rows)])
    beside = columns([table.heads, *table.rows])
    if max(map(len, beside)) <= room:
        return beside
    head, *lines = columns([(*table.heads[:-1], "|"), *((*row[:-1], "|") for row in table.rows)])
    beside_them = room - len(head) >= _least_room(row[-1] for row in table.rows)
    rows = zip(lines, table.rows, strict=True)
    folds = (_with_remark(line[:-1], row[-1], room, beside=beside_them) for line, row in rows)
    named = f"{head[:-1]}{table.heads[-1]}" if beside_them else head[:-1].rstrip()
    return [named, *(each for fold in folds for each in fold)]


def with_ids(heads: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[str]:
    """Aligned lines of rows that end with an id and a sentence. With little ``room`` the id stands in the sentence."""
    whole = Rows(tuple(heads), tuple(map(tuple, rows)))
    if any(row[-2] for row in rows) and fits(whole, room):
        return printed(whole, room)
    sentences = (f"{row[-1]} ({row[-2]})" if row[-2] else row[-1] for row in rows)
    short = tuple((*row[:-2], each) for row, each in zip(rows, sentences, strict=True))
    return printed(Rows((*heads[:-2], heads[-1]), short), room)


def fits(table: Rows, room: int) -> bool:
    """Whether the sentences of the last column stand beside their rows."""
    widest = max(map(len, columns([(*row[:-1], "|") for row in (table.heads, *table.rows)])))
    least = _least_room(row[-1] for row in table.rows)
    return room - widest >= least or max(map(len, columns([table.heads, *table.rows]))) <= room


def _least_room(remarks: Iterable[str]) -> int:
    """What a column of sentences needs: an id that is broken cannot be copied."""
    return max(_LEAST_REMARK, *(len(word) for each in remarks for word in shortened(each).split()), 0)


def _with_remark(cells: str, remark: str, room: int, *, beside: bool) -> list[str]:
    """A row and its sentence: beside it in a column of its own, or below it."""
    if not beside:
        return [cells.rstrip(), *folded(remark, "    ", room)]
    return folded(remark, " " * len(cells), room, first=cells) or [cells.rstrip()]


class GrowingTable:
    """A table that grows at its end. Where a later row needs more room, the heads are printed again above it."""

    def __init__(self, heads: tuple[str, ...], room: int) -> None:
        self._heads = heads
        self._room = room
        self._widest: tuple[str, ...] = heads
        self._begun = False

    @property
    def width(self) -> int:
        """How many columns it has."""
        return len(self._heads)

    def reserve(self, row: Sequence[str]) -> None:
        """Leave room for this row."""
        self._widest = tuple(max(cells, key=len) for cells in zip(self._widest, row, strict=True))

    def lines(self, row: tuple[str, ...]) -> list[str]:
        """The row as lines, below the heads where they are due."""
        remark = self._heads[-1] in _REMARKS
        before = self._widest
        self.reserve((*row[:-1], "") if remark else row)
        heads = [] if self._begun and self._widest == before else [self._line(self._heads)]
        self._begun = True
        whole = self._line(row)
        if not remark or len(whole) <= self._room:
            return [*heads, whole]
        cells = self._line((*row[:-1], "|"))[:-1]
        beside = self._room - len(cells) >= _least_room(row[-1:])
        return [*heads, *_with_remark(cells, row[-1], self._room, beside=beside)]

    def _line(self, row: tuple[str, ...]) -> str:
        return columns([self._widest, row])[-1]
