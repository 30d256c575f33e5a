"""The tables of ``freehold get``: of our kinds by what their status means, of others as the server prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.cli.output.highlights import attention
from freehold.cli.output.hints import hint
from freehold.cli.output.terminal import columns, fold_text, shorten_names
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import EVENTS, Json, Key, Resource
from freehold.view.object_view import view

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
    namespace: bool = False
    kind: bool = False
    usual: str = "default"


@dataclass(frozen=True)
class Rows:
    """Heads and rows of equal length."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()


def cluster_table(objects: Sequence[Json], style: TableStyle) -> Rows:
    """Objects of kinds that Freehold serves."""
    heads = [*(["KIND"] if style.kind else []), "NAME", "PHASE", "READY", "ENDPOINT", "NOTE"]
    return Rows(_add_namespace(style, "NAMESPACE", heads), tuple(_row_of_ours(each, style) for each in objects))


def _row_of_ours(obj: Json, style: TableStyle) -> tuple[str, ...]:
    seen = view(obj)
    note = next(iter(attention(seen)), "")
    if len(seen.blocked) > 1:
        more = hint("tree", seen.name, namespace=seen.namespace, usual=style.usual)
        note += f" (and {len(seen.blocked) - 1} more: {more})"
    cells = [*([seen.kind] if style.kind else []), seen.name, seen.phase.value, seen.ready_count, seen.endpoint, note]
    return _add_namespace(style, seen.namespace, cells)


def _add_namespace(style: TableStyle, namespace: str, cells: Sequence[str]) -> tuple[str, ...]:
    return (namespace, *cells) if style.namespace else tuple(cells)


async def server_table(
    client: ObjectClient, resource: Resource, where: str, style: TableStyle, *, name: str = "", selector: str = ""
) -> Rows:
    """Objects of another kind, in the columns that the server has for it. Events come oldest first."""
    path = resource.build_object_path(Key(where, name)) if name else resource.build_collection_path(where)
    query = {"includeObject": "Object" if resource == EVENTS else "Metadata", "labelSelector": selector}
    answer = await client.request("GET", path, query=query, accept=AS_TABLE)
    if answer.get("kind") != "Table":  # a server of an extension may print nothing
        found = [answer] if name else answer.get("items") or []
        return Rows(
            _add_namespace(style, "NAMESPACE", ["NAME"]), tuple(_add_namespace(style, *_names(each)) for each in found)
        )
    definitions = answer.get("columnDefinitions") or []
    shown = [at for at, each in enumerate(definitions) if not each.get("priority")]
    heads = [str(definitions[at]["name"]).upper() for at in shown]
    rows = answer.get("rows") or []
    if resource == EVENTS:
        rows = sorted(rows, key=lambda row: _when(row.get("object") or {}))
    return Rows(
        _add_namespace(style, "NAMESPACE", heads),
        tuple(
            _add_namespace(style, _names(row["object"])[0], [_cell(row["cells"][at]) for at in shown]) for row in rows
        ),
    )


def _names(obj: Json) -> tuple[str, list[str]]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace") or ""), [str(metadata.get("name") or "")]


def _when(event: Json) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def _cell(value: Any) -> str:
    return "<none>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def join_tables(tables: Sequence[Rows]) -> Rows:
    """One table of several with the same heads."""
    return Rows(tables[0].heads, tuple(row for table in tables for row in table.rows))


def format_table(table: Rows, room: int) -> list[str]:
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
    folds = (_add_remark(line[:-1], row[-1], room, beside=beside_them) for line, row in rows)
    named = f"{head[:-1]}{table.heads[-1]}" if beside_them else head[:-1].rstrip()
    return [named, *(each for fold in folds for each in fold)]


def with_ids(heads: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[str]:
    """Aligned lines of rows that end with an id and a sentence. With little ``room`` the id stands in the sentence."""
    whole = Rows(tuple(heads), tuple(map(tuple, rows)))
    if any(row[-2] for row in rows) and fits(whole, room):
        return format_table(whole, room)
    sentences = (f"{row[-1]} ({row[-2]})" if row[-2] else row[-1] for row in rows)
    short = tuple((*row[:-2], each) for row, each in zip(rows, sentences, strict=True))
    return format_table(Rows((*heads[:-2], heads[-1]), short), room)


def fits(table: Rows, room: int) -> bool:
    """Return whether the sentences of the last column stand beside their rows."""
    widest = max(map(len, columns([(*row[:-1], "|") for row in (table.heads, *table.rows)])))
    least = _least_room(row[-1] for row in table.rows)
    return room - widest >= least or max(map(len, columns([table.heads, *table.rows]))) <= room


def _least_room(remarks: Iterable[str]) -> int:
    """Return the room that a column of sentences needs: an id that is broken cannot be copied."""
    return max(_LEAST_REMARK, *(len(word) for each in remarks for word in shorten_names(each).split()), 0)


def _add_remark(cells: str, remark: str, room: int, *, beside: bool) -> list[str]:
    """Add its sentence to a row: beside it in a column of its own, or below it."""
    if not beside:
        return [cells.rstrip(), *fold_text(remark, "    ", room)]
    return fold_text(remark, " " * len(cells), room, first=cells) or [cells.rstrip()]
