"""The resources of an object as a tree: each below the one that it is in, with ownership and its proof. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.cli.output.highlights import attention
from freehold.cli.output.terminal import (
    Painter,
    columns,
    cut_middle,
    duration,
    escape_text,
    fold_text,
    plain,
    shorten_names,
)
from freehold.view.object_view import Line, View

_HEADS = ("NAME", "STATE", "FOR", "OWNERSHIP", "ID", "PROOF")
_LAYOUTS = (len(_HEADS), _HEADS.index("PROOF"), _HEADS.index("OWNERSHIP"))
"""How many columns stand in a row; the others stand below it, where the terminal is too narrow for all."""

_LEAST_NAME = 30
"""Characters of a name that are shown however narrow the terminal is."""

COLOURS = {
    "Ready": "green",
    "Progressing": "yellow",
    "Waiting": "yellow",
    "Blocked": "red",
    "Paused": "red",
    "Surplus": "yellow",
    "Unknown": "yellow",
    "Deleting": "magenta",
    "Kept": "cyan",
}


def remarks(seen: View, *, simulated: bool) -> Iterator[str]:
    """Yield what stands below the tree."""
    if seen.endpoint:
        yield f"endpoint: {seen.endpoint}"
    yield from (each for each in attention(seen, rows_shown=True))
    yield from (f"note: {each}" for each in seen.notes)
    if simulated and seen.lines:
        yield "times are simulated"


@dataclass(frozen=True)
class _Branch:
    """A resource in the tree. ``stem`` is drawn before its name, ``below`` before what stands under it."""

    line: Line
    stem: str
    below: str


def _branches(lines: Sequence[Line], inside: Sequence[int | None], within: int | None, stem: str) -> Iterator[_Branch]:
    children = [index for index, parent in enumerate(inside) if parent == within]
    for index in children:
        last = index == children[-1]
        below = stem + ("  " if last else "│ ")
        has_children = index in inside
        yield _Branch(lines[index], stem + ("└─" if last else "├─"), below + ("│ " if has_children else "  "))
        yield from _branches(lines, inside, index, below)


def tree_lines(
    view: View,
    proofs: Mapping[str, str],
    inside: Sequence[int | None],
    now: float,
    room: int = sys.maxsize,
    paint: Painter = plain,
) -> list[str]:
    """Draw the object, and below it each resource with its ownership, what proves that, id, and what keeps it.

    ``proofs`` is by id; ``inside`` is of :func:`parents`; ``now`` in epoch seconds of domain time. Where ``room``
    (characters) is not enough for a table, a resource takes several lines, and names of the cloud are shortened.
    """
    head = f"{view.kind}/{view.name}"
    if not view.lines:
        return [escape_text(f"{head}   {view.phase.value}   no resource has been reported yet")]
    branches = list(_branches(view.lines, inside, None, ""))
    rows = [(head, view.phase.value, "", "", "", ""), *(_row(each, proofs, now) for each in branches)]
    for shown in _LAYOUTS:
        heads, *drawn = columns([row[:shown] for row in (_HEADS, *rows)], "  ")
        if max(map(len, (heads, *drawn))) <= room:
            break
        rows = [tuple(map(shorten_names, row)) for row in rows]
    else:
        rest = max(map(len, columns([("", *row[1:shown]) for row in (_HEADS, *rows)], "  ")))
        rows = [(cut_middle(row[0], max(room - rest, _LEAST_NAME)), *row[1:]) for row in rows]
        heads, *drawn = columns([row[:shown] for row in (_HEADS, *rows)], "  ")
    lines = [heads, _paint_row(drawn[0], rows[0], paint)]
    for branch, row, text in zip(branches, rows[1:], drawn[1:], strict=True):
        lines.append(_paint_row(text, row, paint))
        below = (f"{branch.below}{each}" for each in _cells_below(row, shown) if each)
        lines += [escape_text(cut_middle(each, max(room, _LEAST_NAME))) for each in below]
        if branch.line.note:
            lines += fold_text(branch.line.note, escape_text(branch.below), room)
    return lines


def _row(branch: _Branch, proofs: Mapping[str, str], now: float) -> tuple[str, ...]:
    line = branch.line
    since = duration(now - line.since) if line.since else ""
    proof = proofs.get(line.id, "") if line.id else ""
    name = f"{branch.stem}{line.kind}/{line.name}"
    return name, line.state, since, line.ownership or "unknown", line.id, proof


def _cells_below(row: Sequence[str], shown: int) -> Sequence[str]:
    """Return the cells that have no column; that nothing is known of what is not there is not worth a line."""
    if shown > _HEADS.index("OWNERSHIP"):
        return row[shown:]
    ownership, ident, proof = row[shown:]
    return ": ".join(filter(None, (ownership, proof))) if ident or proof else "", ident


def _paint_row(text: str, row: Sequence[str], paint: Painter) -> str:
    """Colour the state in a drawn row: the first word after the name."""
    name, state = escape_text(row[0]), escape_text(row[1])
    colour = COLOURS.get(row[1])
    return name + text[len(name) :].replace(state, paint(state, colour), 1) if colour else text


def document(seen: View, proven: Mapping[str, str], inside: Sequence[int | None]) -> dict[str, Any]:
    """Return a view for programs."""
    return {
        "kind": seen.kind,
        "namespace": seen.namespace,
        "name": seen.name,
        "phase": seen.phase.value,
        "endpoint": seen.endpoint,
        "blocked": list(seen.blocked),
        "notes": list(seen.notes),
        "resources": [
            {
                "kind": line.kind, "name": line.name, "id": line.id, "state": line.state,
                "ownership": line.ownership, "proof": proven.get(line.id, "") if line.id else "",
                "reason": line.reason, "message": line.message,
                "inside": _title(seen.lines[within]) if within is not None else "",
            }
            for line, within in zip(seen.lines, inside, strict=True)
        ],
    }  # fmt: skip


def _title(line: Line) -> str:
    return f"{line.kind}/{line.name}"
