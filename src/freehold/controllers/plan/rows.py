"""Rows of a plan: what a dry run's passes wrote, and what became of each resource, by node."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from freehold.controllers.plan.plan import Action as Action
from freehold.controllers.plan.plan import PlanRow as PlanRow
from freehold.engine import dry_run_overlay
from freehold.engine.dry_run_overlay import PLANNED, Write, is_planned
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import Entry, Journal, Phase
from freehold.engine.outcomes import Blocked, Kept, Ready, Reason, Surplus, Waiting
from freehold.engine.resources import NodeKey
from freehold.engine.value_texts import texts_in
from freehold.providers.objects.adapter import PassReport, Wanted

_TAGGED = (dry_run_overlay.Action.ATTACH, dry_run_overlay.Action.DETACH)
_PLANNED_ID = re.compile(rf"{PLANNED}\d+")


def rows_of(
    before: Journal | None, report: PassReport, writes: Sequence[Write], deps: EngineDeps
) -> tuple[PlanRow, ...]:
    """One row for each node and one for each change of what exists; marks belong to what they are attached for."""
    return tuple(_Rows(before, report, writes, deps).rows())


class _Rows:
    def __init__(self, before: Journal | None, report: PassReport, writes: Sequence[Write], deps: EngineDeps) -> None:
        self._outcomes = report.outcomes
        self._graph = report.plan.graph if isinstance(report.plan, Wanted) else None
        self._before: Mapping[NodeKey, Entry] = before.entries if before else {}
        self._after: Mapping[NodeKey, Entry] = report.journal.entries if report.journal else {}
        self._writes = _folded(writes)
        self._deps = deps
        deletes = dict.fromkeys((w.kind, w.id) for w in writes if w.action is dry_run_overlay.Action.DELETE)
        self._deleted = {resource: turn for turn, resource in enumerate(deletes)}
        self._requests = {w.id: w.after for w in writes if w.action is dry_run_overlay.Action.CREATE}
        entries = [*self._after.items(), *self._before.items()]
        self._known = {text for _, e in entries for text in (e.id, e.id.rpartition("/")[2], e.target) if text}
        self._keys = {(key.kind, e.id): key for key, e in reversed(entries) if e.id}
        self._planned_names = {e.id: self._name(key) for key, e in self._after.items() if is_planned(e.id)}
        self._targets = {e.target: key for key, e in reversed(entries) if e.target and not e.carried}

    def rows(self) -> Iterator[PlanRow]:
        order = [*(self._graph.order if self._graph else ()), *self._before, *self._after]
        shown = dict.fromkeys(key for key in order if self._is_shown(key))
        for key in sorted(shown, key=self._turn):
            yield self._row(key)
            yield from self._changes(key)
        strangers = [key for key in self._outcomes if key not in shown and isinstance(self._outcomes[key], Blocked)]
        for key in strangers:
            outcome = self._outcomes[key]
            assert isinstance(outcome, Blocked)
            yield PlanRow(key.kind, key.logical, key.logical, Action.REFUSE, outcome.message)

    def _turn(self, key: NodeKey) -> int:
        """Deletions are the last rows, in the order in which they are requested."""
        entry = self._entry(key)
        return self._deleted.get((key.kind, entry.id), -1) if entry else -1

    def _is_shown(self, key: NodeKey) -> bool:
        entry = self._entry(key)
        if entry and entry.phase is Phase.VACANT and key not in self._outcomes:
            return False  # it has no resource, and a delete makes none
        return bool(self._graph and key in self._graph.nodes) or bool(entry and entry.id)

    def _entry(self, key: NodeKey) -> Entry | None:
        """The record after the passes; of what they deleted, the one before."""
        after, before = self._after.get(key), self._before.get(key)
        return after if after and (after.id or before is None) else before or after

    def _row(self, key: NodeKey) -> PlanRow:
        entry = self._entry(key)
        action, reason = self._action(key, entry)
        ident = entry.id if entry and not is_planned(entry.id) else ""
        values = self._values(key, self._requests.get(entry.id) or {}) if entry else {}
        return PlanRow(key.kind, key.logical, self._name(key), action, reason, ident, values=values)

    def _values(self, key: NodeKey, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a create sends, without names and what it leaves empty; the reason names the resources that it needs."""
        told = {*self._known, self._name(key)}
        return {
            name: self._plain(value)
            for name, value in request.items()
            if value not in (None, "", [], ()) and not _is_told(value, told)
        }

    def _plain(self, value: Any) -> Any:
        """``value`` as JSON has it; of a secret its reference."""
        match value:
            case str():
                return self._spoken(value)
            case Mapping():
                return {str(name): self._plain(each) for name, each in value.items()}
            case list() | tuple():
                return [self._plain(each) for each in value]
            case set() | frozenset():
                return sorted(self._plain(each) for each in value)
            case None | bool() | int() | float():
                return value
        return repr(value)

    def _name(self, key: NodeKey) -> str:
        if self._graph and key in self._graph.nodes:
            return self._graph.title(key)
        outcome = self._outcomes.get(key)
        observed = outcome.observed if isinstance(outcome, Ready | Surplus | Waiting | Blocked) else None
        # What has no name of its own is shown with its id, beside which it would tell nothing.
        return observed.name if observed and observed.name != observed.id else key.logical

    def _action(self, key: NodeKey, entry: Entry | None) -> tuple[Action, str]:
        outcome = self._outcomes.get(key)
        if entry and is_planned(entry.id):
            return self._created(key)
        if entry and (key.kind, entry.id) in self._deleted:
            why = "the spec no longer wants it" if self._graph and key not in self._graph.nodes else "with its object"
            return Action.DELETE, f"{why}; {self._proof(key, entry)}"
        match outcome:
            case Blocked():
                return Action.REFUSE, outcome.message
            case Surplus():
                return Action.SURPLUS, outcome.message
            case Kept():
                return Action.KEEP, outcome.message
            case Ready(reason=Reason.DRIFTED):
                return Action.LEAVE, outcome.note
            case Waiting():
                return Action.WAIT, outcome.message
        dropped = self._graph is not None and key not in self._graph.nodes
        if dropped and entry and entry.phase in (Phase.GIVEN, Phase.REUSED):
            return Action.KEEP, "surplus: the spec no longer names it; it is not ours, so no prune deletes it"
        if entry and entry.phase is Phase.GIVEN:
            return Action.REUSE, "given by id: never changed, never deleted"
        if entry and entry.phase is Phase.THEIRS:
            return Action.KEEP, "was on record as ours, and has only another owner's marks now: it is theirs"
        if entry and entry.phase is Phase.GIVEN_UP:
            return Action.KEEP, "was ours, until a person gave it up"
        if entry and entry.phase is Phase.REUSED:
            return Action.REUSE, "found by the name in the spec, not ours: never changed, never deleted"
        return Action.KEEP, self._proof(key, entry) if entry else ""

    def _created(self, key: NodeKey) -> tuple[Action, str]:
        before = self._before.get(key)
        if before and before.phase is Phase.INTENDED:
            return Action.MAY_CREATE, "a create of it was cut off; it is created unless that one took effect"
        requires = self._graph.nodes[key].requires if self._graph and key in self._graph.nodes else ()
        names = ", ".join(sorted(f"{r.kind} {self._name(r)}" for r in requires if self._is_planned(r)))
        if before and before.id:
            return Action.CREATE, f"{before.id} is gone" + (f"; after {names}" if names else "")
        after = f"after {names}" if names else "does not exist"
        return Action.CREATE, after + self._uses(key) + self._instead_of(key)

    def _uses(self, key: NodeKey) -> str:
        """Name what the spec gives and this is made with: which subnets a load balancer is in, for example."""
        requires = self._graph.nodes[key].requires if self._graph and key in self._graph.nodes else ()
        given = [
            (each.kind, entry.id) for each in requires if (entry := self._entry(each)) and entry.phase is Phase.GIVEN
        ]
        return f"; uses {', '.join(f'{kind} {ident}' for kind, ident in sorted(given))}" if given else ""

    def _instead_of(self, key: NodeKey) -> str:
        """An entry of a list under another name is another resource: a person may have meant to rename it."""
        left = [k for k, o in self._outcomes.items() if k.kind == key.kind and isinstance(o, Surplus)]
        names = ", ".join(sorted(self._name(k) for k in left))
        return f"; {names} is not renamed to it, and stays as surplus: see freehold prune" if names else ""

    def _is_planned(self, key: NodeKey) -> bool:
        entry = self._after.get(key)
        return bool(entry and is_planned(entry.id))

    def _proof(self, key: NodeKey, entry: Entry) -> str:
        kind = self._deps.registry.get(key.kind)
        if kind is None or not kind.markable:
            return "ours by the operator's signed record"
        return "ours by the mark on its carrier" if entry.carried else "ours by its marks"

    def _changes(self, key: NodeKey) -> Iterator[PlanRow]:
        """Of what exists, or its parts: what belongs to a create or a delete is in that row."""
        for write in self._writes:
            if self._key_of(write) != key or self._belongs_to_another(write):
                continue
            entry = self._entry(key)
            ident = entry.id if entry and not is_planned(entry.id) else ""
            mark = self._is_mark(write)
            yield PlanRow(
                key.kind, key.logical, self._name(key), _action(write, mark=mark), self._why(write), ident,
                self._spoken(write.attribute), write.before, write.after, mark,
            )  # fmt: skip

    def _is_mark(self, write: Write) -> bool:
        return write.action in _TAGGED and self._deps.codec.is_mark(write.attribute)

    def _spoken(self, text: str) -> str:
        """``text`` with names for the ids of what does not exist yet, which nobody can look up."""
        return _PLANNED_ID.sub(lambda found: self._planned_names.get(found[0], found[0]), text)

    def _key_of(self, write: Write) -> NodeKey | None:
        tagged = write.action in _TAGGED
        return self._targets.get(write.id) if tagged else self._keys.get((write.kind, write.id))

    def _belongs_to_another(self, write: Write) -> bool:
        match write.action:
            case dry_run_overlay.Action.CREATE | dry_run_overlay.Action.DELETE:
                return True
            case dry_run_overlay.Action.ATTACH | dry_run_overlay.Action.DETACH:
                carried = self._deps.codec.read([write.attribute]).carried
                gone = {id_.rpartition("/")[2].casefold() for _, id_ in self._deleted}
                of_deleted = any(mark.id.casefold() in gone for mark in carried)
                key = self._targets.get(write.id)
                before = self._before.get(key) if key else None
                unmarked = self._deps.codec.is_mark(write.attribute) and not (before and before.phase is Phase.OWNED)
                return is_planned(write.id) or is_planned(write.attribute) or of_deleted or unmarked
        return False

    def _why(self, write: Write) -> str:
        match write.action:
            case dry_run_overlay.Action.ATTACH:
                return "a mark of ours is missing" if self._is_mark(write) else "the spec asks for it"
            case dry_run_overlay.Action.DETACH:
                mark = self._is_mark(write)
                return "the mark is not used any more" if mark else "the spec does not ask for it any more"
            case dry_run_overlay.Action.REMOVE_PART:
                deleted = (write.kind, write.id) in self._deleted
                return "taken out before the delete" if deleted else "the spec does not ask for it any more"
            case dry_run_overlay.Action.UPDATE:
                return f"is {_told(write.before)}, the spec says {_told(write.after)}"
        return "the spec asks for it"


def _action(write: Write, *, mark: bool) -> Action:
    match write.action:
        case dry_run_overlay.Action.ATTACH:
            return Action.CHANGE_TAG if write.before and not mark else Action.ADD_TAG
        case dry_run_overlay.Action.DETACH:
            return Action.REMOVE_TAG
    return Action(write.action.value)


def _is_told(value: object, told: Collection[str]) -> bool:
    """Return whether it is nothing but the row's name and ids of resources that are on record or planned."""
    texts = list(texts_in(value))
    return bool(texts) and all(is_planned(each) or each in told for each in texts)


def _told(value: object) -> str:
    """As in a manifest, but for texts: their quotes show where they end."""
    return repr(value) if isinstance(value, str) else json.dumps(value, default=str)


def _folded(writes: Sequence[Write]) -> list[Write]:
    """The writes, without what later ones take back."""
    last: dict[tuple[str, str, str, str], Write] = {}
    for write in writes:
        if write.action in (dry_run_overlay.Action.CREATE, dry_run_overlay.Action.DELETE):
            last[write.action.value, write.kind, write.id, ""] = write
            continue
        slot = (_what(write.action), write.kind, write.id, write.attribute)
        earlier = last.pop(slot, None)
        if earlier is None:
            last[slot] = write
        elif write.action is dry_run_overlay.Action.UPDATE and earlier.before != write.after:
            last[slot] = Write(write.action, write.kind, write.id, write.attribute, earlier.before, write.after)
        elif write.action is earlier.action is not dry_run_overlay.Action.UPDATE:
            last[slot] = write
    return list(last.values())


def _what(action: dry_run_overlay.Action) -> str:
    if action in _TAGGED:
        return "tag"
    return "part" if action in (dry_run_overlay.Action.ADD_PART, dry_run_overlay.Action.REMOVE_PART) else action.value
