"""Detail of one object: its resources as a graph, with id, age, proof, drift, and what waits for what. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from freehold.api import names
from freehold.api.conditions import find_condition
from freehold.api.vendor_ids import vendor_id
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.engine.resources import NodeKey
from freehold.kube.resources import Json, Resource
from freehold.page.history import Bar, History, Operation, RepairNote, resource_key
from freehold.page.rows import ReadTime, build_row_of_stored, same_time
from freehold.page.stored_object import MOST_RESOURCES, as_mapping, cut_name, cut_text, read_stored
from freehold.view.journal_view import describe_proof, find_requirements, match_lines, read_journal
from freehold.view.object_view import Line, read_seconds, view

MOST_CONDITIONS: Final = 50
_UNREADABLE: Final = "the journal of this object cannot be read, so nothing is said of proofs and of what requires what"


def build_detail(
    resource: Resource,
    raw: Json,
    history: History | None,
    ring: KeyRing | None,
    now: float,
    *,
    repairs: Sequence[RepairNote] = (),
    read_time: ReadTime = same_time,
) -> Json:
    """Build the detail of a stored object. ``history`` is what this process has seen of it, None for nothing.

    ``ring`` is the operator's, None where it has none: then no record is checked. ``repairs`` are what was changed from
    outside and brought back, as far as this process remembers. ``now`` is domain time.
    """
    stored = read_stored(resource, raw)
    row, seen = build_row_of_stored(stored, now, read_time), view(stored)
    journal = read_journal(stored)
    lines = seen.lines[:MOST_RESOURCES]
    keys = choose_keys(lines)
    requires = find_edges(journal, lines, keys)
    return {
        "row": row.to_json(),
        "conditions": [_condition(each) for each in stored["status"]["conditions"][:MOST_CONDITIONS]],
        "owner": _find_owner(stored, journal),
        "account": cut_name(_find_account(stored, journal)),
        "endpoint": cut_name(seen.endpoint),
        "resources": _build_resources(lines, keys, requires, _find_proofs(journal, lines, ring), repairs),
        "history": _tell_history(history or _guess_history(stored, lines, keys, row.created), requires),
        "notes": [cut_text(each) for each in _find_notes(stored, seen.notes, len(seen.lines), journal)],
    }


def choose_keys(lines: Sequence[Line]) -> list[str]:
    """Choose the keys of resources within their object: kind and name, with the id where two have one name."""
    chosen: dict[str, None] = {}
    for index, line in enumerate(lines):
        key = resource_key(line.kind, line.name)
        if key in chosen:
            key = f"{key}~{cut_name(vendor_id(line.id)) or index}"
        if key in chosen:
            key = f"{key}~{index}"
        chosen[key] = None
    return list(chosen)


def find_edges(journal: Journal | None, lines: Sequence[Line], keys: Sequence[str]) -> dict[str, list[str]]:
    """Find what each resource requires, by key: as on record; of what has no record yet, what it waits for.

    What something that it requires requires too is left out: it can be seen without.
    """
    recorded = {} if journal is None else find_requirements(journal, lines)
    waits = _find_waits(lines, keys)
    edges = {
        key: [keys[each] for each in recorded[index] if each != index] if index in recorded else waits.get(key, [])
        for index, key in enumerate(keys)
    }
    return _leave_out_indirect(edges)


def _leave_out_indirect(edges: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Leave out the edges that lead over others; all stay where they go round in a circle."""
    try:
        order = list(TopologicalSorter(edges).static_order())
    except CycleError:
        return dict(edges)
    bits = {key: 1 << number for number, key in enumerate(order)}
    beyond: dict[str, int] = {}
    direct: dict[str, int] = {}
    for key in order:
        direct[key] = _join_bits(bits[each] for each in edges[key])
        beyond[key] = _join_bits(beyond[each] | direct[each] for each in edges[key])
    return {key: [each for each in those if not bits[each] & beyond[key]] for key, those in edges.items()}


def _join_bits(several: Iterable[int]) -> int:
    joined = 0
    for each in several:
        joined |= each
    return joined


def _find_waits(lines: Sequence[Line], keys: Sequence[str]) -> dict[str, list[str]]:
    titles = {f"{line.kind} {line.name}": key for line, key in zip(lines, keys, strict=True)}
    return {
        key: [titles[each] for each in dict.fromkeys(line.waits_for) if each in titles]
        for line, key in zip(lines, keys, strict=True)
        if line.waits_for
    }


def _build_resources(
    lines: Sequence[Line],
    keys: Sequence[str],
    requires: Mapping[str, Sequence[str]],
    proofs: Mapping[int, str],
    repairs: Sequence[RepairNote],
) -> list[Json]:
    waits = _find_waits(lines, keys)
    return [
        {
            "key": key,
            "kind": cut_name(line.kind),
            "name": cut_name(line.name),
            "id": cut_name(line.id),
            "state": cut_name(line.state),
            "reason": cut_name(line.reason),
            "message": cut_text(line.note if line.state == "Ready" else line.message),
            "ownership": cut_name(line.ownership) or "unknown",
            "proof": proofs.get(index, ""),
            "since": line.since or None,
            "waits_for": waits.get(key, []),
            "requires": requires[key],
            "drift": [_drift(each) for each in repairs if each.key == key],
        }
        for index, (line, key) in enumerate(zip(lines, keys, strict=True))
    ]


def _drift(note: RepairNote) -> Json:
    repair = note.repair
    return {
        "field": cut_name(repair.field),
        "before": cut_name(repair.before),
        "after": cut_name(repair.after),
        "at": note.at,
    }


def _find_proofs(journal: Journal | None, lines: Sequence[Line], ring: KeyRing | None) -> dict[int, str]:
    """Find by line what the ownership of its resource rests on."""
    if journal is None:
        return {}
    found = match_lines(journal, lines)
    return {
        index: describe_proof(NodeKey.parse(node), journal.entries[NodeKey.parse(node)], journal, ring)
        for node, index in found.items()
    }


def _condition(condition: Mapping[str, Any]) -> Json:
    return {
        "type": cut_name(condition.get("type")),
        "status": cut_name(condition.get("status")),
        "reason": cut_name(condition.get("reason")),
        "message": cut_text(condition.get("message")),
        "since": read_seconds(condition.get("lastTransitionTime")) or None,
    }


def _find_owner(stored: Json, journal: Journal | None) -> str:
    said = journal.owner.uuid if journal else as_mapping(stored["status"]["identity"]).get("uuid")
    return cut_name(said)


def _find_account(stored: Json, journal: Journal | None) -> object:
    held = journal.account if journal else ""
    return held or as_mapping(stored["status"]["identity"]).get("account")


def _find_notes(stored: Json, notes: Sequence[str], lines: int, journal: Journal | None) -> list[str]:
    found = list(notes[:MOST_CONDITIONS])
    if journal is None and names.JOURNAL_ANNOTATION in stored["metadata"]["annotations"]:
        found.append(_UNREADABLE)
    if lines > MOST_RESOURCES:
        found.append(f"{lines - MOST_RESOURCES} more resources are not shown")
    return found


def _guess_history(stored: Json, lines: Sequence[Line], keys: Sequence[str], created: float | None) -> History | None:
    """Tell of an operation that this process has not seen what the status says: when each resource got where it is."""
    times = [line.since for line in lines if line.since]
    if not times:
        return None
    deleting = find_condition(stored["status"]["conditions"], names.DELETING) if _is_deleting(stored) else None
    begun = read_seconds((deleting or {}).get("lastTransitionTime")) or created or min(times)
    begun = min(begun, *times) if not _is_deleting(stored) else begun
    history = History(Operation.DELETE if _is_deleting(stored) else Operation.CREATE, begun, complete=False)
    over = ("Gone", "Kept", "NotCreated", "Unknown") if _is_deleting(stored) else ("Ready", "Surplus")
    for line, key in zip(lines, keys, strict=True):
        ended = line.since if line.state in over and line.since else None
        history.bars[key] = Bar(cut_name(line.kind), cut_name(line.name), begun, None, ended and max(ended, begun))
    ends = [bar.ended for bar in history.bars.values()]
    history.ended = max((each for each in ends if each), default=None) if all(ends) else None
    return history


def _is_deleting(stored: Json) -> bool:
    return "deletionTimestamp" in stored["metadata"]


def _tell_history(history: History | None, requires: Mapping[str, Sequence[str]]) -> Json | None:
    return history.to_json(requires) if history else None
