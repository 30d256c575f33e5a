"""What a manifest would do: the same reconcile behind a port that stops at the first write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freehold.lifecycle import engine
from freehold.lifecycle.clock import Clock
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.graph import Graph, Node
from freehold.lifecycle.interface import PassResult
from freehold.lifecycle.journal import Entry, Journal, Phase
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.kinds import NodeKey
from freehold.lifecycle.outcomes import Blocked, Outcome, Ready, Reason, Surplus, Waiting, of_error
from freehold.lifecycle.ownership import Owner
from freehold.lifecycle.state import ObjectState
from freehold.operator.adapters import ADAPTERS
from freehold.operator.app import Settings
from freehold.operator.ibm import IbmAccount
from freehold.operator.reconciler import CloudAccount
from freehold.reconcilers import gate, identity
from freehold.reconcilers.adapter import Adapter, Refused, Undecided


@dataclass(frozen=True)
class PlanRow:
    """One resource. ``action``: create, reuse, keep, wait or refuse; ``reason`` says why, for a person."""

    kind: str
    logical: str
    name: str
    action: str
    reason: str
    id: str = ""


@dataclass(frozen=True)
class Plan:
    """Of one object (``namespace/name``). ``problems`` are sentences with a field path that stop everything.

    ``unanswered`` is what the cloud could not be asked: nothing is wrong with the manifest, as far as is known.
    """

    object: str
    rows: tuple[PlanRow, ...] = ()
    problems: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _NoStore:
    """The port stops before a journal is saved; nothing may get here."""

    async def save(self, journal: Journal) -> None:
        raise AssertionError("a plan must not write")


async def plan(
    raw: Mapping[str, Any], settings: Settings, ring: KeyRing, stored: Mapping[str, Any] | None = None
) -> Plan:
    """What applying ``raw`` would do; ``stored`` is the object as it is stored, for its identity. Writes nothing."""
    with IbmAccount(settings.api_key, settings.ibm_url, settings.clock, intervals=settings.intervals) as account:
        adapter = ADAPTERS[str(raw["kind"])](account)
        return await plan_with(adapter, account, settings.clock, raw, ring, stored)


async def plan_with(
    adapter: Adapter,
    cloud: CloudAccount,
    clock: Clock,
    raw: Mapping[str, Any],
    ring: KeyRing,
    stored: Mapping[str, Any] | None = None,
) -> Plan:
    """The same with kind and cloud passed in."""
    metadata = raw["metadata"]
    subject = f"{metadata.get('namespace') or 'default'}/{metadata['name']}"
    known = identity.identify(stored, adapter.served.finalizer, ring) if stored is not None else None
    if isinstance(known, identity.KeyMissing):
        return Plan(subject, problems=(known.message,))
    journal = _journal(raw, known, ring)
    found = await adapter.desired(raw, gate.Proceed(metadata["name"]), journal)
    notes = tuple(str(note) for note in found.notes)
    if isinstance(found, Refused):
        return Plan(subject, problems=tuple(str(problem) for problem in found.problems), notes=notes)
    if isinstance(found, Undecided):
        fields: dict[str, list[str]] = {}
        for field, answer in found.missing.items():
            fields.setdefault(answer.message, []).append(field)
        missing = tuple(f"{', '.join(names)}: {message}" for message, names in fields.items())
        return Plan(subject, unanswered=missing, notes=notes)
    state = ObjectState(first_seen=clock.monotonic())
    try:
        done = await engine.plan(cloud.planning_deps(ring), found.graph, journal, _NoStore(), state)
    except CloudError as error:
        if isinstance(of_error(error), Waiting):
            return Plan(subject, unanswered=(error.message,), notes=notes)
        return Plan(subject, problems=(error.message,), notes=notes)
    rows = tuple(_row(node, done, found.graph) for node in (found.graph.nodes[key] for key in found.graph.order))
    return Plan(subject, rows, notes=(*notes, *done.notes))


def _journal(raw: Mapping[str, Any], known: identity.Identity | None, ring: KeyRing) -> Journal:
    """The stored object's own, or one that owns nothing: nobody's uuid matches it."""
    if isinstance(known, identity.Identified | identity.Restored | identity.Minted):
        return known.journal
    metadata = raw["metadata"]
    owner = Owner("plan", str(raw["kind"]), str(metadata.get("namespace") or "default"), metadata["name"])
    return Journal(owner, key=ring.writing)


def _row(node: Node, done: PassResult, graph: Graph) -> PlanRow:
    key, outcome = node.key, done.outcomes.get(node.key)
    entry = done.journal.get(key)
    if isinstance(outcome, Waiting) and outcome.reason is Reason.REQUIREMENT:
        action, reason = _later(node, graph)
    else:
        action, reason = _action(key, outcome, entry, done)
    return PlanRow(key.kind, key.logical, node.name, action, reason, entry.id if entry else "")


def _action(key: NodeKey, outcome: Outcome | None, entry: Entry | None, done: PassResult) -> tuple[str, str]:
    if key in done.creating:
        return "create", "does not exist"
    if isinstance(outcome, Blocked):
        return "refuse", outcome.message
    if entry and entry.phase is Phase.GIVEN:
        return "reuse", "given by id: never changed, never deleted"
    if entry and entry.phase is Phase.REUSED:
        return "reuse", "found by the name in the spec, not ours: never changed, never deleted"
    if isinstance(outcome, Ready | Surplus) or (entry and entry.phase.ours):
        return "keep", "ours" + (f": {outcome.message}" if isinstance(outcome, Waiting) and outcome.message else "")
    return "wait", outcome.message if isinstance(outcome, Waiting) else ""


def _later(node: Node, graph: Graph) -> tuple[str, str]:
    """What can only be looked up inside something that is not there yet."""
    after = ", ".join(sorted(f"{required.kind} {graph.nodes[required].name}" for required in node.requires))
    if node.given is not None:
        return "wait", f"given by id; looked for after {after}"
    return "create", f"after {after}"
