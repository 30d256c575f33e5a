"""Conditions from the outcomes of resources: one for each part of the infrastructure, with a deterministic text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.engine.graph import Graph
from freehold.engine.journal import Journal, RecordState
from freehold.engine.outcomes import Blocked, Kept, Outcome, Ready, Reason, Surplus, Waiting
from freehold.engine.resources import NodeKey

Parts = Mapping[str, tuple[str, ...]]
"""The resource kinds of each condition, in the order in which conditions are shown."""


def select_wanted_parts(parts: Parts, graph: Graph) -> tuple[str, ...]:
    """Select the conditions with resources in this graph."""
    kinds = {key.kind for key in graph.nodes}
    return tuple(part for part, members in parts.items() if not kinds.isdisjoint(members))


def observe_parts(
    parts: Parts, graph: Graph, journal: Journal | None, outcomes: Mapping[NodeKey, Outcome]
) -> Iterator[Observation]:
    """Build the condition of each wanted part, in the order in which they are shown."""
    for part in select_wanted_parts(parts, graph):
        members = [key for key in graph.nodes if key.kind in parts[part]]
        surplus = sorted(k for k in outcomes.keys() - graph.nodes.keys() if k.kind in parts[part])
        yield _observe_part(part, [*members, *surplus], graph, journal, outcomes)


def find_blocking_reason(parts: Parts, outcomes: Mapping[NodeKey, Outcome]) -> str:
    """Find the first reason for which somebody must act, in the order of the parts; empty if nobody must."""
    blocked = {key.kind: o.reason.value for key, o in sorted(outcomes.items(), reverse=True) if isinstance(o, Blocked)}
    return next((blocked[kind] for members in parts.values() for kind in members if kind in blocked), "")


def _observe_part(
    part: str,
    members: Sequence[NodeKey],
    graph: Graph,
    journal: Journal | None,
    outcomes: Mapping[NodeKey, Outcome],
) -> Observation:
    """Build the condition of a part from its worst member: blocked, waiting, not reconciled yet, then remarks."""
    blocked, unknown, waiting, remarks = [], [], [], []
    for key in members:
        node = graph.nodes.get(key)
        name = f"{(node and node.spec_noun) or key.kind} {graph.title(key) if node else key.logical}"
        match outcomes.get(key):
            case Blocked(reason=reason, message=message):
                blocked.append((reason.value, f"{name}: {message}"))
            case Waiting(reason=reason, message=message):
                waiting.append((reason.value, f"{name}: {message or reason.value}"))
            case Ready(reason=Reason() as reason, note=note):
                remarks.append((reason.value, f"{name}: {note or reason.value}"))
            case Ready() if _is_reused(key, journal):
                used = "it existed before, is used as it is, and stays when the cluster is deleted"
                remarks.append((names.REASON_REUSED_BY_NAME, f"{name}: {used}"))
            case Surplus(message=message):
                remarks.append((names.REASON_READY, f"{name}: {message}"))
            case Ready() | Kept():
                pass
            case _:
                unknown.append((names.REASON_READY_UNKNOWN, f"{name}: not reconciled yet"))
    if blocked or waiting:
        return _build_observation(part, "False", [*blocked, *waiting, *unknown])
    if unknown:
        return _build_observation(part, "Unknown", unknown)
    return _build_observation(part, "True", remarks) if remarks else Observation(part, "True", names.REASON_READY)


def _build_observation(part: str, status: str, lines: Sequence[tuple[str, str]]) -> Observation:
    (reason, _), message = lines[0], "; ".join(line for _, line in lines)
    if status == "True":
        return Observation(part, "True", reason, message)
    return Observation(part, "False" if status == "False" else "Unknown", reason, message)


def _is_reused(key: NodeKey, journal: Journal | None) -> bool:
    entry = journal.get(key) if journal else None
    return entry is not None and entry.state is RecordState.REUSED


def observe_parts_in_deletion(parts: Parts, table: Sequence[Mapping[str, Any]]) -> Iterator[Observation]:
    """Build the conditions of parts in a delete: False with resources to delete; others stay as they were."""
    for part, members in parts.items():
        going = [row for row in table if row["kind"] in members and row.get("state") not in ("Kept", "Unknown")]
        if going:
            lines = "; ".join(f"{row['kind']} {row['name']}: {row.get('state', '').lower()}" for row in going)
            yield Observation(part, "False", names.REASON_DELETING, lines)


def observe_deletion(
    outcomes: Mapping[NodeKey, Outcome], lines: Sequence[str], reason: str = names.REASON_DELETING
) -> Observation:
    """Build the condition ``Deleting``; its reason is that of the first blocked resource, else ``reason``."""
    blocked = sorted((key, o.reason.value) for key, o in outcomes.items() if isinstance(o, Blocked))
    reason = blocked[0][1] if blocked else reason
    return Observation(names.DELETING, "True", reason, "; ".join(lines) or "being deleted")
