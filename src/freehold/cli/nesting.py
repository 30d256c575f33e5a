"""Which resource is in which, for people: a subnet in its VPC, a connection in its gateway. Pure.

No kind is named here: the edges of the journal tell, and of what has no record yet the sentence that says what it
waits for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.api.vendor_ids import vendor_id
from freehold.cli.view import Line
from freehold.engine.journal import CorruptJournal, Journal, loads
from freehold.engine.reasons import Reason

_WAITS = "waits for "


@dataclass(frozen=True)
class _Edges:
    """Of one line the indexes of those that it requires, and of the one that carries its mark."""

    required: tuple[int, ...] = ()
    carrier: int | None = None


def parents(obj: Mapping[str, Any], lines: Sequence[Line]) -> list[int | None]:
    """For each line the index of the one that it is in; None for what is directly below the object.

    That is the innermost one which all that it requires is in, or most of it, as of a NAT gateway that has an address
    too; what is between two that have nothing in common, as a connection is, belongs to the one that carries its mark.
    """
    edges = _edges(obj, lines)
    paths: dict[int, tuple[int, ...]] = {}
    for index in range(len(lines)):
        _path(index, edges, paths, ())
    found = [paths[index][-2] if len(paths[index]) > 1 else None for index in range(len(lines))]
    return [parent if _leads_out(index, found) else None for index, parent in enumerate(found)]


def _leads_out(index: int, found: Sequence[int | None]) -> bool:
    """Whether its way up ends at the object. In a journal that was forged it may go round in a circle."""
    step = found[index]
    for _ in found:
        if step is None:
            return True
        step = found[step]
    return False


def _path(
    index: int, edges: Sequence[_Edges], paths: dict[int, tuple[int, ...]], above: tuple[int, ...]
) -> tuple[int, ...]:
    """From the outermost one that the line is in to itself; cut off where it would go round in a circle."""
    if index in above:
        return (index,)
    if index not in paths:
        carrier = edges[index].carrier
        found = [_path(each, edges, paths, (*above, index)) for each in edges[index].required]
        common = _common(found) or _common(_most(found))
        if not common and carrier is not None:
            common = _path(carrier, edges, paths, (*above, index))
        paths[index] = (*(each for each in common if each != index), index)
    return paths[index]


def _most(paths: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Those that begin alike, where they are more than all others together."""
    for path in paths:
        alike = [each for each in paths if each[:1] == path[:1]]
        if 2 * len(alike) > len(paths):
            return alike
    return []


def _common(paths: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """How all of them begin."""
    shared: list[int] = []
    for step in zip(*paths, strict=False):
        if len(set(step)) > 1:
            break
        shared.append(step[0])
    return tuple(shared)


def _edges(obj: Mapping[str, Any], lines: Sequence[Line]) -> list[_Edges]:
    recorded = _recorded(obj, lines)
    return [recorded.get(index) or _waiting(line, lines) for index, line in enumerate(lines)]


def _recorded(obj: Mapping[str, Any], lines: Sequence[Line]) -> dict[int, _Edges]:
    """What the journal knows of the lines that it has a record of."""
    journal = _journal(obj)
    if journal is None:
        return {}
    by_id = {(line.kind, line.id): index for index, line in enumerate(lines) if line.id}
    shown = {
        str(key): by_id[key.kind, ident]
        for key, entry in journal.entries.items()
        if (key.kind, ident := vendor_id(entry.id)) in by_id
    }
    carriers = {e.target: shown[str(k)] for k, e in journal.entries.items() if not e.carried and str(k) in shown}
    return {
        shown[str(key)]: _Edges(
            tuple(shown[each] for each in entry.requires if each in shown),
            carriers.get(entry.target) if entry.carried else None,
        )
        for key, entry in journal.entries.items()
        if str(key) in shown and entry.requires is not None
    }


def _journal(obj: Mapping[str, Any]) -> Journal | None:
    text = (obj["metadata"].get("annotations") or {}).get(JOURNAL_ANNOTATION)
    try:
        return loads(text) if text else None
    except CorruptJournal:  # the operator says so in a condition, which is shown too
        return None


def _waiting(line: Line, lines: Sequence[Line]) -> _Edges:
    """What the status says that it waits for."""
    if line.reason != Reason.REQUIREMENT.value or not line.message.startswith(_WAITS):
        return _Edges()
    named = line.message.removeprefix(_WAITS).split(", ")
    return _Edges(tuple(index for index, each in enumerate(lines) if f"{each.kind} {each.name}" in named))
