"""Rows of a plan: the writes and outcomes of a dry run, by node."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from freehold.controllers.plan.plan import PlanAction
from freehold.controllers.plan.plan import PlanRow as PlanRow
from freehold.engine import dry_run_overlay
from freehold.engine.dry_run_overlay import PLANNED, Write, is_planned
from freehold.engine.interface import EngineDeps
from freehold.engine.journal import Entry, Journal, RecordState
from freehold.engine.outcomes import Blocked, Kept, Ready, Reason, Surplus, Waiting
from freehold.engine.resources import NodeKey
from freehold.engine.value_texts import texts_in
from freehold.providers.objects.adapter import PassReport, WantedGraph

_TAGGED = (dry_run_overlay.Action.ATTACH, dry_run_overlay.Action.DETACH)
_PLANNED_ID = re.compile(rf"{PLANNED}\d+")


def build_rows(
    before: Journal | None, report: PassReport, writes: Sequence[Write], deps: EngineDeps
) -> tuple[PlanRow, ...]:
    """Build a row for each node, and one for each change of an existing resource. A mark is a change of its node."""
    return tuple(_RowBuilder(before, report, writes, deps).build_rows())


class _RowBuilder:
    def __init__(self, before: Journal | None, report: PassReport, writes: Sequence[Write], deps: EngineDeps) -> None:
        self._outcomes, self._deleting = report.outcomes, report.deleting
        self._graph = report.plan.graph if isinstance(report.plan, WantedGraph) else None
        self._before: Mapping[NodeKey, Entry] = before.entries if before else {}
        self._after: Mapping[NodeKey, Entry] = report.journal.entries if report.journal else {}
        self._writes = _fold_writes(writes)
        self._deps = deps
        deletes = dict.fromkeys((w.kind, w.id) for w in writes if w.action is dry_run_overlay.Action.DELETE)
        self._deleted = {resource: turn for turn, resource in enumerate(deletes)}
        self._requests = {w.id: w.after for w in writes if w.action is dry_run_overlay.Action.CREATE}
        entries = [*self._after.items(), *self._before.items()]
        self._known = {text for _, e in entries for text in (e.id, e.id.rpartition("/")[2], e.target) if text}
        self._keys = {(key.kind, e.id): key for key, e in reversed(entries) if e.id}
        self._planned_names = {e.id: self._choose_name(key) for key, e in self._after.items() if is_planned(e.id)}
        self._targets = {e.target: key for key, e in reversed(entries) if e.target and not e.carried}

    def build_rows(self) -> Iterator[PlanRow]:
        order = [*(self._graph.order if self._graph else ()), *self._before, *self._after]
        shown = dict.fromkeys(key for key in order if self._is_shown(key))
        for key in sorted(shown, key=self._find_turn):
            yield self._build_row(key)
            yield from self._build_change_rows(key)
        strangers = [key for key in self._outcomes if key not in shown and isinstance(self._outcomes[key], Blocked)]
        for key in strangers:
            outcome = self._outcomes[key]
            assert isinstance(outcome, Blocked)
            yield PlanRow(key.kind, key.logical, key.logical, PlanAction.REFUSE, outcome.message)

    def _find_turn(self, key: NodeKey) -> int:
        """Return the place among the deletions, which are the last rows, in order of request; -1 for another row."""
        entry = self._find_entry(key)
        return self._deleted.get((key.kind, entry.id), -1) if entry else -1

    def _is_shown(self, key: NodeKey) -> bool:
        entry = self._find_entry(key)
        if entry and entry.state is RecordState.VACANT and key not in self._outcomes:
            return False  # it has no resource, and a delete makes none
        return bool(self._graph and key in self._graph.nodes) or bool(entry and entry.id)

    def _find_entry(self, key: NodeKey) -> Entry | None:
        """Find the record after the passes; for a deleted resource, the one before."""
        after, before = self._after.get(key), self._before.get(key)
        return after if after and (after.id or before is None) else before or after

    def _build_row(self, key: NodeKey) -> PlanRow:
        entry = self._find_entry(key)
        action, reason = self._choose_action(key, entry)
        ident = entry.id if entry and not is_planned(entry.id) else ""
        values = self._select_values(key, self._requests.get(entry.id) or {}) if entry else {}
        return PlanRow(key.kind, key.logical, self._choose_name(key), action, reason, ident, values=values)

    def _select_values(self, key: NodeKey, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Select the arguments of a create that are neither empty nor names that the row or its reason has already."""
        told = {*self._known, self._choose_name(key)}
        return {
            name: self._to_json(value)
            for name, value in request.items()
            if value not in (None, "", [], ()) and not _is_known(value, told)
        }

    def _to_json(self, value: Any) -> Any:
        """Return ``value`` as JSON has it; a secret by its reference."""
        match value:
            case str():
                return self._replace_planned_ids(value)
            case Mapping():
                return {str(name): self._to_json(each) for name, each in value.items()}
            case list() | tuple():
                return [self._to_json(each) for each in value]
            case set() | frozenset():
                return sorted(self._to_json(each) for each in value)
            case None | bool() | int() | float():
                return value
        return repr(value)

    def _choose_name(self, key: NodeKey) -> str:
        if self._graph and key in self._graph.nodes:
            return self._graph.title(key)
        outcome = self._outcomes.get(key)
        observed = outcome.observed if isinstance(outcome, Ready | Surplus | Waiting | Blocked) else None
        # A resource whose name is its id is shown by its logical name: the id has a column of its own.
        return observed.name if observed and observed.name != observed.id else key.logical

    def _choose_action(self, key: NodeKey, entry: Entry | None) -> tuple[PlanAction, str]:
        outcome = self._outcomes.get(key)
        if entry and is_planned(entry.id):
            return self._explain_create(key)
        if entry and (key.kind, entry.id) in self._deleted:
            dropped = self._graph and not self._deleting and key not in self._graph.nodes
            why = "the spec no longer wants it" if dropped else "with its object"
            return PlanAction.DELETE, f"{why}; {self._explain_proof(key, entry)}"
        match outcome:
            case Blocked():
                return PlanAction.REFUSE, outcome.message
            case Surplus():
                return PlanAction.SURPLUS, outcome.message
            case Kept():
                return PlanAction.KEEP, outcome.message
            case Ready(reason=Reason.DRIFTED):
                return PlanAction.LEAVE, outcome.note
            case Waiting():
                return PlanAction.WAIT, outcome.message
        dropped = self._graph is not None and key not in self._graph.nodes
        if dropped and entry and entry.state in (RecordState.GIVEN, RecordState.REUSED):
            return PlanAction.KEEP, "surplus: the spec no longer names it; it is not ours, so no prune deletes it"
        if entry and entry.state is RecordState.GIVEN:
            return PlanAction.REUSE, "given, not made here: never changed, never deleted"
        if entry and entry.state is RecordState.THEIRS:
            return PlanAction.KEEP, "was on record as ours, and has only another owner's marks now: it is theirs"
        if entry and entry.state is RecordState.GIVEN_UP:
            return PlanAction.KEEP, "was ours, until a person gave it up"
        if entry and entry.state is RecordState.REUSED:
            return PlanAction.REUSE, "found by the name in the spec, not ours: never changed, never deleted"
        return PlanAction.KEEP, self._explain_proof(key, entry) if entry else ""

    def _explain_create(self, key: NodeKey) -> tuple[PlanAction, str]:
        before = self._before.get(key)
        if before and before.state is RecordState.INTENDED:
            return PlanAction.MAY_CREATE, "a create of it was cut off; it is created unless that one took effect"
        requires = self._graph.nodes[key].requires if self._graph and key in self._graph.nodes else ()
        names = ", ".join(sorted(f"{r.kind} {self._choose_name(r)}" for r in requires if self._is_planned(r)))
        if before and before.id:
            return PlanAction.CREATE, f"{before.id} is gone" + (f"; after {names}" if names else "")
        after = f"after {names}" if names else "does not exist"
        return PlanAction.CREATE, after + self._name_given(key) + self._name_surplus(key)

    def _name_given(self, key: NodeKey) -> str:
        """Name the given resources that a create uses, for example the subnets of a load balancer."""
        requires = self._graph.nodes[key].requires if self._graph and key in self._graph.nodes else ()
        given = [
            (each.kind, entry.id)
            for each in requires
            if (entry := self._find_entry(each)) and entry.state is RecordState.GIVEN
        ]
        return f"; uses {', '.join(f'{kind} {ident}' for kind, ident in sorted(given))}" if given else ""

    def _name_surplus(self, key: NodeKey) -> str:
        """Name surplus resources of the kind of a create, because a person may have meant to rename one."""
        left = [k for k, o in self._outcomes.items() if k.kind == key.kind and isinstance(o, Surplus)]
        names = ", ".join(sorted(self._choose_name(k) for k in left))
        return f"; {names} is not renamed to it, and stays as surplus: see freehold prune" if names else ""

    def _is_planned(self, key: NodeKey) -> bool:
        entry = self._after.get(key)
        return bool(entry and is_planned(entry.id))

    def _explain_proof(self, key: NodeKey, entry: Entry) -> str:
        kind = self._deps.registry.get(key.kind)
        if kind is None or not kind.markable:
            return "ours by the operator's signed record"
        return "ours by the mark on its carrier" if entry.carried else "ours by its marks"

    def _build_change_rows(self, key: NodeKey) -> Iterator[PlanRow]:
        """Build the rows for the changes of an existing resource. Writes of a create or a delete are in its row."""
        for write in self._writes:
            if self._find_key(write) != key or self._belongs_to_another(write):
                continue
            entry = self._find_entry(key)
            ident = entry.id if entry and not is_planned(entry.id) else ""
            mark = self._is_mark(write)
            yield PlanRow(
                key.kind, key.logical, self._choose_name(key), _translate_action(write, mark=mark),
                self._explain_write(write), ident, self._replace_planned_ids(write.attribute),
                write.before, write.after, mark,
            )  # fmt: skip

    def _is_mark(self, write: Write) -> bool:
        return write.action in _TAGGED and self._deps.codec.is_mark(write.attribute)

    def _replace_planned_ids(self, text: str) -> str:
        """Replace ids of planned resources in ``text`` by names: nobody can look such an id up."""
        return _PLANNED_ID.sub(lambda found: self._planned_names.get(found[0], found[0]), text)

    def _find_key(self, write: Write) -> NodeKey | None:
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
                unmarked = self._deps.codec.is_mark(write.attribute) and not (
                    before and before.state is RecordState.OWNED
                )
                return is_planned(write.id) or is_planned(write.attribute) or of_deleted or unmarked
        return False

    def _explain_write(self, write: Write) -> str:
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
                return f"is {_format_value(write.before)}, the spec says {_format_value(write.after)}"
        return "the spec asks for it"


def _translate_action(write: Write, *, mark: bool) -> PlanAction:
    match write.action:
        case dry_run_overlay.Action.ATTACH:
            return PlanAction.CHANGE_TAG if write.before and not mark else PlanAction.ADD_TAG
        case dry_run_overlay.Action.DETACH:
            return PlanAction.REMOVE_TAG
    return PlanAction(write.action.value)


def _is_known(value: object, told: Collection[str]) -> bool:
    """Return whether ``value`` has only the row's name and ids of recorded or planned resources."""
    texts = list(texts_in(value))
    return bool(texts) and all(is_planned(each) or each in told for each in texts)


def _format_value(value: object) -> str:
    """Format a value as in a manifest, but with quotes around texts."""
    return repr(value) if isinstance(value, str) else json.dumps(value, default=str)


def _fold_writes(writes: Sequence[Write]) -> list[Write]:
    """Fold the writes: later ones replace or undo earlier ones."""
    last: dict[tuple[str, str, str, str], Write] = {}
    for write in writes:
        if write.action in (dry_run_overlay.Action.CREATE, dry_run_overlay.Action.DELETE):
            last[write.action.value, write.kind, write.id, ""] = write
            continue
        slot = (_classify_action(write.action), write.kind, write.id, write.attribute)
        earlier = last.pop(slot, None)
        if earlier is None:
            last[slot] = write
        elif write.action is dry_run_overlay.Action.UPDATE and earlier.before != write.after:
            last[slot] = Write(write.action, write.kind, write.id, write.attribute, earlier.before, write.after)
        elif write.action is earlier.action is not dry_run_overlay.Action.UPDATE:
            last[slot] = write
    return list(last.values())


def _classify_action(action: dry_run_overlay.Action) -> str:
    if action in _TAGGED:
        return "tag"
    return "part" if action in (dry_run_overlay.Action.ADD_PART, dry_run_overlay.Action.REMOVE_PART) else action.value
