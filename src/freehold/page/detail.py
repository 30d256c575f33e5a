"""Detail of one object: its resources as a graph, with id, age, proof, drift, and what waits for what. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from freehold.api import names
from freehold.api.conditions import find_condition
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.engine.resources import NodeKey
from freehold.kube.resources import Json, Resource
from freehold.page.edges import choose_keys, find_edges, find_waits
from freehold.page.history import Bar, History, Operation, RepairNote
from freehold.page.rows import ReadTime, build_row_of_stored, same_time
from freehold.page.stored_object import MOST_RESOURCES, as_mapping, cut_name, cut_text, read_stored
from freehold.providers.objects.identity import is_own
from freehold.view.journal_view import describe_proof, match_lines, name_owner, read_journal
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
    requires = _add_gone(find_edges(journal, lines, keys), history)
    return {
        "row": row.to_json(),
        "conditions": [_condition(each) for each in stored["status"]["conditions"][:MOST_CONDITIONS]],
        "owner": _find_owner(stored, journal),
        "account": cut_name(_find_account(stored, journal)),
        "endpoint": cut_name(seen.endpoint),
        "resources": _build_resources(lines, keys, requires, _find_proofs(stored, journal, lines, ring), repairs),
        "history": _tell_history(history or _guess_history(stored, lines, keys, row.created), requires),
        "notes": [cut_text(each) for each in _find_notes(stored, seen.notes, len(seen.lines), journal)],
    }


def _add_gone(requires: Mapping[str, list[str]], history: History | None) -> dict[str, list[str]]:
    """Add what resources required before a delete took their records off the journal."""
    before = history.edges if history else {}
    return {key: those or [each for each in before.get(key, ()) if each in requires] for key, those in requires.items()}


def _build_resources(
    lines: Sequence[Line],
    keys: Sequence[str],
    requires: Mapping[str, Sequence[str]],
    proofs: Mapping[int, str],
    repairs: Sequence[RepairNote],
) -> list[Json]:
    waits = find_waits(lines, keys)
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


def _find_proofs(stored: Json, journal: Journal | None, lines: Sequence[Line], ring: KeyRing | None) -> dict[int, str]:
    """Find by line what the ownership of its resource rests on."""
    if journal is None:
        return {}
    found = match_lines(journal, lines)
    if not is_own(stored, journal):
        return dict.fromkeys(found.values(), f"none: its record is of {name_owner(journal)}")
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
    if journal is not None and not is_own(stored, journal):
        found.append(f"its journal is a copy of that of {name_owner(journal)}, and proves nothing of this object")
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
