"""``status.resources``: one row for each resource, for people; ``tree`` and the live progress read it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from freehold.api import names
from freehold.api.vendor_ids import vendor_id
from freehold.engine.collection import ALL
from freehold.engine.collection import KIND as COLLECTED
from freehold.engine.context import STRANGER
from freehold.engine.graph import Graph
from freehold.engine.journal import Entry, Journal, Phase
from freehold.engine.outcomes import Blocked, Kept, Outcome, Ready, Reason, Surplus, Waiting
from freehold.engine.resources import NodeKey, Observed

Row = dict[str, Any]

NOT_A_RESOURCE = "finalizer"
"""The engine's pseudo-kind for what the finalizer still waits for; it has no row."""


def observed_of(outcome: Outcome | None) -> Observed | None:
    """What the last look saw, where the outcome carries it."""
    return outcome.observed if isinstance(outcome, Ready | Waiting | Blocked | Surplus) else None


def known_id(entry: Entry | None, outcome: Outcome | None) -> str:
    """Of the resource that stands for the node: on record, or seen. What was refused is somebody else's."""
    if entry and entry.id:
        return vendor_id(entry.id)
    observed = observed_of(outcome)
    return vendor_id(observed.id) if observed and not isinstance(outcome, Blocked) else ""


def ownership(entry: Entry | None, outcome: Outcome | None) -> str:
    """Whose it is, by the journal; the marks decide what the journal says (docs/explanation/ownership.md)."""
    if entry and entry.phase.ours:
        return "shared" if entry.shared else "managed"
    if isinstance(outcome, Kept) or (entry and entry.phase in (Phase.GIVEN, Phase.REUSED)):
        return "unmanaged"
    return "unknown"


def rows(
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
    """The table: wanted nodes in the order of the graph, then what else is ours.

    While deleting, a row without an outcome stays, so that the last table tells the whole story: :func:`_left_alone`.
    ``now`` is the wire form; ``since`` moves only with ``state``. ``deleted``: ids of what has gone.
    ``collected`` becomes a row: what of others went with the object.
    """
    nodes = graph.nodes if graph else {}
    keys = [*(key for key in nodes if not deleting or key in outcomes)]
    keys += sorted(key for key in outcomes.keys() - nodes.keys() if key.kind != NOT_A_RESOURCE)
    found = [_row(key, before, graph, journal, outcomes.get(key)) for key in keys]
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
        found = _in_old_order(before, [*found, *(_left_alone(row, gone) for row in rest)])
    return [_since(row, _held(row, before), now) for row in found]


def _held(row: Row, before: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """How it was shown before; two of one name, a wanted one and a surplus one, are told apart by their ids."""
    namesakes = [was for was in before if (was.get("kind"), was.get("name")) == (row["kind"], row["name"])]
    return next((was for was in namesakes if was.get("id") == row.get("id")), next(iter(namesakes), None))


def _row(
    key: NodeKey,
    before: Sequence[Mapping[str, Any]],
    graph: Graph | None,
    journal: Journal | None,
    outcome: Outcome | None,
) -> Row:
    entry = journal.get(key) if journal else None
    observed = observed_of(outcome)
    ident = known_id(entry, outcome)
    state, reason, message = _row_state(outcome)
    row: Row = {"kind": key.kind, "name": _name(key, before, graph, observed, ident)}
    optional: Row = {"id": ident, "state": state, "ownership": ownership(entry, outcome), "reason": reason}
    optional |= {"message": message, "waitsFor": _waits_for(graph, outcome)}
    return row | {name: value for name, value in optional.items() if value}


def _waits_for(graph: Graph | None, outcome: Outcome | None) -> list[str]:
    """Return kind and name of each resource that must be ready first."""
    if graph is None or not isinstance(outcome, Waiting):
        return []
    return [f"{key.kind} {graph.title(key)}" for key in outcome.waits_for if key in graph.nodes]


def _name(
    key: NodeKey,
    before: Sequence[Mapping[str, Any]],
    graph: Graph | None,
    observed: Observed | None,
    ident: str,
) -> str:
    """The wanted name; a resource that nothing wants any more keeps the name that it was shown under."""
    if graph and key in graph.nodes:
        return graph.title(key)
    same = (row for row in before if ident and row.get("kind") == key.kind and row.get("id") == ident)
    shown = next(same, {}).get("name")
    if key.kind == STRANGER:
        return _type_and_id(key.logical)
    return str(shown or (observed and observed.name) or key.logical)


def _type_and_id(target: str) -> str:
    """What tells a CRN (``…:<type>:<id>``) or an ARN (``…:<type>/<id>``) apart from others."""
    return target.split(":", 5)[-1] if target.startswith("arn:") else ":".join(target.split(":")[-2:])


def _row_state(outcome: Outcome | None) -> tuple[str, str, str]:
    """State, reason, message."""
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


def _left_alone(row: Mapping[str, Any], gone: Collection[str]) -> Row:
    """The row of what the delete has no outcome for.

    Gone is only what was ours and this delete saw go, or saw before: it leaves the journal when a read of its id shows
    no more of it. What the delete never had on record may exist, and nobody looked.
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


def _in_old_order(before: Sequence[Mapping[str, Any]], found: Sequence[Row]) -> list[Row]:
    order = {(row.get("kind"), row.get("name")): index for index, row in enumerate(before)}
    return sorted(found, key=lambda row: order.get((row["kind"], row["name"]), len(order)))


def _since(row: Row, before: Mapping[str, Any] | None, now: str) -> Row:
    same = before is not None and before.get("state") == row.get("state")
    return row | {"since": (before or {}).get("since") or now if same else now}


MOST_NAMED = 3


def sentences(outcomes: Mapping[NodeKey, Outcome]) -> Iterator[str]:
    """What blocks progress, and what of ours a delete leaves, one sentence each, in a stable order.

    Of many that wait for the same the first ones are named.
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
    """Whether a delete leaves it although it was made for the object (ADR 7)."""
    return isinstance(outcome, Kept) and outcome.reason in (Reason.MARK_LOST, Reason.SERVES_KEPT)
