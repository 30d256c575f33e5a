"""Rows of ``status.resources``: one for each resource, for people; ``tree`` and the live progress read them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from freehold.api import names
from freehold.api.vendor_ids import vendor_id
from freehold.engine.collection import ALL
from freehold.engine.collection import KIND as COLLECTED
from freehold.engine.context import STRANGER
from freehold.engine.graph import Graph
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.outcomes import Blocked, Kept, Outcome, Ready, Reason, Surplus, Waiting
from freehold.engine.resources import NodeKey, Observed

Row = dict[str, Any]

NOT_A_RESOURCE = "finalizer"
"""The engine's pseudo-kind for what the finalizer waits for; it has no row."""


def observed_of(outcome: Outcome | None) -> Observed | None:
    """Return the observed resource of an outcome; None if it has none."""
    return outcome.observed if isinstance(outcome, Ready | Waiting | Blocked | Surplus) else None


def find_known_id(entry: Entry | None, outcome: Outcome | None) -> str:
    """Find the id of the node's resource: recorded, or seen. A blocked one that is only seen is somebody else's."""
    if entry and entry.id:
        return vendor_id(entry.id)
    observed = observed_of(outcome)
    return vendor_id(observed.id) if observed and not isinstance(outcome, Blocked) else ""


def classify_ownership(entry: Entry | None, outcome: Outcome | None) -> str:
    """Classify the ownership by the journal, which follows the marks (docs/explanation/ownership.md)."""
    if entry and entry.state.is_claimed:
        return "shared" if entry.shared else "managed"
    if isinstance(outcome, Kept) or (entry and entry.state in (RecordState.GIVEN, RecordState.REUSED)):
        return "unmanaged"
    return "unknown"


def build_rows(
    before: Sequence[Mapping[str, Any]],
    graph: Graph | None,
    journal: Journal | None,
    outcomes: Mapping[NodeKey, Outcome],
    now: str,
    *,
    deleting: bool,
    deleted: Collection[str] = (),
    collected: str = "",
) -> list[Row]:
    """Build the rows: wanted nodes in the order of the graph, then other resources.

    In a delete, a row without an outcome stays (:func:`_close_row`), so that the last status shows all resources.
    ``now`` is in wire form; ``since`` changes only with ``state``. ``deleted``: ids of resources that have gone.
    ``collected``, the summary of the collection, becomes a row.
    """
    nodes = graph.nodes if graph else {}
    keys = [*(key for key in nodes if not deleting or key in outcomes)]
    keys += sorted(key for key in outcomes.keys() - nodes.keys() if key.kind != NOT_A_RESOURCE)
    found = [_build_row(key, before, graph, journal, outcomes.get(key)) for key in keys]
    if collected:
        found.append({"kind": COLLECTED, "name": ALL, "state": "Gone", "message": collected})
    if deleting:
        named = {(row["kind"], row["name"]) for row in found}
        kept = {(row["kind"], vendor_id(row["name"])) for row in found if row["state"] == "Kept"}  # named by its id
        rest = (
            row
            for row in before
            if (row.get("kind"), row.get("name")) not in named
            and (row.get("kind"), row.get("id")) not in kept
            and (row.get("kind") != COLLECTED or row.get("state") in _AT_REST)
        )
        gone = frozenset(map(vendor_id, deleted))
        found = _sort_as_before(before, [*found, *(_close_row(row, gone) for row in rest)])
    namesakes: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    for was in before:
        namesakes.setdefault((was.get("kind"), was.get("name")), []).append(was)
    return [
        _add_since(row, _find_previous_row(row, namesakes.get((row["kind"], row["name"]), ())), now) for row in found
    ]


def _find_previous_row(row: Row, namesakes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Find the row's previous version. Ids distinguish a wanted and a surplus resource with the same name."""
    return next((was for was in namesakes if was.get("id") == row.get("id")), next(iter(namesakes), None))


def _build_row(
    key: NodeKey,
    before: Sequence[Mapping[str, Any]],
    graph: Graph | None,
    journal: Journal | None,
    outcome: Outcome | None,
) -> Row:
    entry = journal.get(key) if journal else None
    observed = observed_of(outcome)
    ident = find_known_id(entry, outcome)
    state, reason, message = _describe_outcome(outcome)
    row: Row = {"kind": key.kind, "name": _choose_name(key, before, graph, observed, ident)}
    optional: Row = {"id": ident, "state": state, "ownership": classify_ownership(entry, outcome), "reason": reason}
    optional |= {"message": message, "waitsFor": _waits_for(graph, outcome)}
    return row | {name: value for name, value in optional.items() if value}


def _waits_for(graph: Graph | None, outcome: Outcome | None) -> list[str]:
    """Return kind and name of each resource that must be ready first."""
    if graph is None or not isinstance(outcome, Waiting):
        return []
    return [f"{key.kind} {graph.title(key)}" for key in outcome.waits_for if key in graph.nodes]


def _choose_name(
    key: NodeKey,
    before: Sequence[Mapping[str, Any]],
    graph: Graph | None,
    observed: Observed | None,
    ident: str,
) -> str:
    """Choose the wanted name; a resource that is not wanted any more keeps the name of its previous row."""
    if graph and key in graph.nodes:
        return graph.title(key)
    same = (row for row in before if ident and row.get("kind") == key.kind and row.get("id") == ident)
    shown = next(same, {}).get("name")
    if key.kind == STRANGER:
        return _shorten_target(key.logical)
    return str(shown or (observed and observed.name) or key.logical)


def _shorten_target(target: str) -> str:
    """Shorten a CRN (``…:<type>:<id>``) or an ARN (``…:<type>/<id>``) to type and id."""
    return target.split(":", 5)[-1] if target.startswith("arn:") else ":".join(target.split(":")[-2:])


def _describe_outcome(outcome: Outcome | None) -> tuple[str, str, str]:
    """Return state, reason and message of an outcome."""
    match outcome:
        case Ready(reason=reason, note=note):
            return "Ready", reason.value if reason else "", note
        case Waiting(reason=Reason.DELETING, message=message):
            return "Deleting", Reason.DELETING.value, message
        case Waiting(reason=reason, message=message):
            return "Waiting", reason.value, message
        case Blocked(reason=reason, message=message):
            return "Blocked", reason.value, message
        case Surplus(message=message):
            return "Surplus", "", message
        case Kept(reason=reason, message=message):
            return "Kept", reason.value, message
    return "Waiting", Reason.REQUIREMENT.value, ""


_AT_REST = frozenset({"Kept", "Gone", "Unknown", "NotCreated"})
_SEEN_IN_A_DELETE = frozenset({"Waiting", "Deleting", "Blocked"})


def _close_row(row: Mapping[str, Any], gone: Collection[str]) -> Row:
    """Return the last row of a resource for which the delete has no outcome.

    ``Gone`` is only for an owned resource that this delete saw: it leaves the journal once a read of its id shows
    that it does not exist. A resource that the delete never had on record may exist: ``Unknown``.
    """
    if row.get("state") in _AT_REST:
        return dict(row)
    found = {name: row[name] for name in ("kind", "name", "id", "ownership") if name in row}
    if not row.get("id"):
        return found | {"state": "NotCreated"}
    seen = row["id"] in gone or row.get("state") in _SEEN_IN_A_DELETE
    if row.get("ownership") in names.OURS and seen:
        return found | {"state": "Gone"}
    why = "it is on no record of this object, so nobody looked for it. freehold orphans shows what has its marks"
    if row.get("ownership") not in names.OURS:
        why = f"left alone: {row.get('message') or 'nothing shows that this object made it'}"
    return found | {"state": "Unknown", "message": why}


def _sort_as_before(before: Sequence[Mapping[str, Any]], found: Sequence[Row]) -> list[Row]:
    order = {(row.get("kind"), row.get("name")): index for index, row in enumerate(before)}
    return sorted(found, key=lambda row: order.get((row["kind"], row["name"]), len(order)))


def _add_since(row: Row, before: Mapping[str, Any] | None, now: str) -> Row:
    same = before is not None and before.get("state") == row.get("state")
    return row | {"since": (before or {}).get("since") or now if same else now}


MOST_NAMED = 3


def describe_blockers(outcomes: Mapping[NodeKey, Outcome]) -> Iterator[str]:
    """Describe what blocks progress, and which owned resources a delete keeps, one sentence each, in a stable order.

    If many wait for the same, only the first are named.
    """
    groups: dict[str, list[NodeKey]] = {}
    for key, outcome in sorted(outcomes.items()):
        if isinstance(outcome, Waiting | Blocked) or is_kept_of_ours(outcome):
            groups.setdefault(outcome.message or outcome.reason.value, []).append(key)
    for message, keys in groups.items():
        shown = ", ".join(map(str, keys[:MOST_NAMED]))
        more = len(keys) - MOST_NAMED
        yield f"{shown} and {more} more: {message}" if more > 0 else f"{shown}: {message}"


def is_kept_of_ours(outcome: Outcome) -> TypeGuard[Kept]:
    """Return whether a delete keeps a resource that was created for the object (ADR 7)."""
    return isinstance(outcome, Kept) and outcome.reason in (Reason.MARK_LOST, Reason.SERVES_KEPT)
