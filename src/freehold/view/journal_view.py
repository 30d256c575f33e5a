"""The journal that an object carries, for people: what proves each resource, and which is in which. Pure.

No kind is named here: the edges of the journal tell, and of what has no record yet the
status says what it waits for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freehold.api.names import JOURNAL_ANNOTATION
from freehold.api.vendor_ids import vendor_id
from freehold.engine.journal import CorruptJournal, Entry, Journal, RecordState, loads
from freehold.engine.keys import KeyRing
from freehold.engine.resources import NodeKey
from freehold.view.object_view import Line


def proofs(obj: Mapping[str, Any], ring: KeyRing | None) -> dict[str, str]:
    """Say by vendor id what the ownership of a resource rests on; empty where no journal can be read.

    ``ring``: the operator's, None where this command cannot read it: an editor of the object may have written
    the records, and only the key tells.
    """
    journal = read_journal(obj)
    if journal is None:
        return {}
    return {
        vendor_id(entry.id): describe_proof(key, entry, journal, ring)
        for key, entry in journal.entries.items()
        if entry.id
    }


def describe_proof(key: NodeKey, entry: Entry, journal: Journal, ring: KeyRing | None) -> str:
    """Say what the ownership of one resource rests on."""
    match entry.state:
        case RecordState.OWNED:
            marks = "mark on its carrier, read back" if entry.carried else "own marks, read back"
            return f"{marks}; {_record(key, entry, journal, ring)}"
        case RecordState.RECORDED:
            return f"marks not read back yet; {_record(key, entry, journal, ring)}"
        case RecordState.INTENDED:
            return "create sent, outcome open"
        case RecordState.GIVEN:
            return "given, not made here"
        case RecordState.THEIRS:
            return "only another owner's marks"
        case RecordState.GIVEN_UP:
            return "given up by a person; no mark"
        case RecordState.REUSED:
            return "found by its name; no mark"
        case RecordState.VACANT:
            return "none: earlier attempts came to nothing"


def _record(key: NodeKey, entry: Entry, journal: Journal, ring: KeyRing | None) -> str:
    """Say whether the operator itself wrote this id into the journal."""
    if not entry.key:
        return "record NOT signed by the operator: it names no key"
    if ring is None:
        return "record not checked: no key ring here"
    keys = ring.derive_keys(journal.owner)
    if entry.key not in keys.derived:
        return f"record not checked: the key ring lacks key {entry.key}"
    signed = keys.vouches(entry.key, entry.signature, key.kind, entry.id, entry.incarnation)
    return "record signed" if signed else "record NOT signed by the operator"


def name_owner(journal: Journal) -> str:
    """Name the object whose journal it is: it can be another one than that which carries a copy of it."""
    owner = journal.owner
    return f"{owner.kind} {owner.namespace}/{owner.name}"


@dataclass(frozen=True)
class _Edges:
    """The indexes of the lines that one requires, and of the one that carries its mark."""

    required: tuple[int, ...] = ()
    carrier: int | None = None


def parents(obj: Mapping[str, Any], lines: Sequence[Line]) -> list[int | None]:
    """Return for each line the index of the one that it is in; None for what is directly below the object.

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
    """Return whether its way up ends at the object. In a journal that was forged it may go round in a circle."""
    step = found[index]
    for _ in found:
        if step is None:
            return True
        step = found[step]
    return False


def _path(
    index: int, edges: Sequence[_Edges], paths: dict[int, tuple[int, ...]], above: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the way from the outermost one around the line to itself; cut it off where it goes round in a circle."""
    if index in above:
        return (index,)
    if index not in paths:
        carrier = edges[index].carrier
        found = [_path(each, edges, paths, (*above, index)) for each in edges[index].required]
        common = _common_way(found) or _common_way(_largest_group(found))
        if not common and carrier is not None:
            common = _path(carrier, edges, paths, (*above, index))
        paths[index] = (*(each for each in common if each != index), index)
    return paths[index]


def _largest_group(paths: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return those that begin alike, where they are more than all others together."""
    for path in paths:
        alike = [each for each in paths if each[:1] == path[:1]]
        if 2 * len(alike) > len(paths):
            return alike
    return []


def _common_way(paths: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return how all of them begin."""
    shared: list[int] = []
    for step in zip(*paths, strict=False):
        if len(set(step)) > 1:
            break
        shared.append(step[0])
    return tuple(shared)


def _edges(obj: Mapping[str, Any], lines: Sequence[Line]) -> list[_Edges]:
    recorded = _recorded_edges(obj, lines)
    return [recorded.get(index) or _waited_for(line, lines) for index, line in enumerate(lines)]


def _recorded_edges(obj: Mapping[str, Any], lines: Sequence[Line]) -> dict[int, _Edges]:
    """Read the edges of the lines that the journal has a record of."""
    journal = read_journal(obj)
    if journal is None:
        return {}
    shown = match_lines(journal, lines)
    carriers = {e.target: shown[str(k)] for k, e in journal.entries.items() if not e.carried and str(k) in shown}
    return {
        shown[str(key)]: _Edges(
            tuple(shown[each] for each in entry.requires if each in shown),
            carriers.get(entry.target) if entry.carried else None,
        )
        for key, entry in journal.entries.items()
        if str(key) in shown and entry.requires is not None
    }


def match_lines(journal: Journal, lines: Sequence[Line]) -> dict[str, int]:
    """Match records with the lines of the same resources: the index of a line by node."""
    by_id = {(line.kind, line.id): index for index, line in enumerate(lines) if line.id}
    return {
        str(key): by_id[key.kind, ident]
        for key, entry in journal.entries.items()
        if (key.kind, ident := vendor_id(entry.id)) in by_id
    }


def find_requirements(journal: Journal, lines: Sequence[Line]) -> dict[int, tuple[int, ...]]:
    """Find by line which other lines it was made on: what must outlive it, as the journal has it on record."""
    shown = match_lines(journal, lines)
    return {
        shown[str(key)]: tuple(shown[each] for each in entry.requires if each in shown)
        for key, entry in journal.entries.items()
        if str(key) in shown and entry.requires is not None
    }


def read_journal(obj: Mapping[str, Any]) -> Journal | None:
    """Read the journal that an object carries; None where it has none, or one that cannot be read."""
    text = (obj["metadata"].get("annotations") or {}).get(JOURNAL_ANNOTATION)
    try:
        return loads(text) if text else None
    except CorruptJournal:  # the operator says so in a condition, which is shown too
        return None


def _waited_for(line: Line, lines: Sequence[Line]) -> _Edges:
    """Return what the status says that it waits for."""
    return _Edges(tuple(index for index, each in enumerate(lines) if f"{each.kind} {each.name}" in line.waits_for))
