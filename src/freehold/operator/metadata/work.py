"""Carries a plan of tags out: approval, record, calls, record again.

The order is what makes it safe: what is written is on record before (ADR 19).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, Denied, NeedsPerson, NotFound, NotReady
from freehold.engine.keys import KeyRing
from freehold.operator.metadata.places import TagPlace
from freehold.operator.metadata.record import StoredRecord, TagRecord
from freehold.operator.metadata.writes import Written, carry_out
from freehold.reconcilers.metadata.active_list import on_all
from freehold.reconcilers.metadata.fleet import recorded_by
from freehold.reconcilers.metadata.outcome import Outcome, removed_by, repairs_of
from freehold.tagging.approval import ApprovalNeeded, Approved, Approver, NotNeeded, Risk, approval, risk
from freehold.tagging.batches import batches, turned
from freehold.tagging.configuration import Configuration
from freehold.tagging.ownership import Proof, Record, RecordLost
from freehold.tagging.part_done import Done, record_of_part
from freehold.tagging.plan import ResourcePlan, Verdict
from freehold.tagging.resources import Resource
from freehold.tagging.stored_record import RecordFull
from freehold.tagging.wanted_keys import Reason


@dataclass(frozen=True)
class Planned:
    """``plans`` by resource, ``routes`` the place of each; ``forgotten``: what the record need not have any more.

    ``turn``: another number begins the calls at another point. ``wanted``: the tags that are to be there.
    """

    plans: Mapping[str, ResourcePlan]
    routes: Mapping[str, TagPlace]
    forgotten: Mapping[str, Record]
    turn: int = 0
    wanted: Mapping[str, str] = field(default_factory=dict)


class NotCounted(Enum):
    """How many resources would lose something is not known."""

    YET = "a region was not asked, a resource was not read, or another object has not looked"


@dataclass(frozen=True)
class TagWork:
    """What it takes for one object. ``begin`` notes on it that something is written for it, ``note`` what
    the record has counted since (StoredRecord.witnessed). ``may_go``: asked before each call.
    ``beside`` is told the resources that lose something, and has those that others have for the same object (Risks).
    ``used`` takes an approval back: it was for what has been done. ``approver``: where a person approves.
    """

    store: TagRecord
    ring: KeyRing
    clock: Clock
    configuration: Configuration
    begin: Callable[[], Awaitable[None]]
    note: Callable[[int], Awaitable[None]]
    may_go: Callable[[], bool]
    beside: Callable[[frozenset[str]], frozenset[str] | None]
    used: Callable[[str], Awaitable[None]]
    approver: Approver

    async def carry_out(self, planned: Planned, known: StoredRecord, outcome: Outcome) -> Outcome:
        """``outcome``: what is known by now. Raises StaleObject and KubeError."""
        plans = planned.plans
        changing = [plan for plan in plans.values() if plan.verdict is Verdict.CHANGES]
        risky = frozenset(plan.resource.id for plan in changing if risk(plan) is not Risk.NONE)
        answer = self._asked(changing, risky, outcome)
        waiting = answer if isinstance(answer, ApprovalNeeded) else None
        held = risky if isinstance(answer, ApprovalNeeded | NotCounted) else frozenset[str]()
        todo = [plan for plan in changing if plan.resource.id not in held]
        notes = tuple(note for plan in plans.values() for note in plan.notes)
        later = risky if answer is NotCounted.YET else frozenset[str]()
        later |= {plan.resource.id for plan in plans.values() for note in plan.notes if note.reason is Reason.AWAITED}
        there = on_all(planned.wanted, plans.values())
        outcome = replace(outcome, notes=notes, approval=waiting, later=later, applied=there)
        settled = [plan for plan in plans.values() if plan.verdict is Verdict.NOTHING_TO_DO]
        before = {**planned.forgotten, **recorded_by(settled), **_records((plan, plan.record_before) for plan in todo)}
        earlier = known
        try:
            known = await self.store.save(known, before, self.ring, _places(planned))
        except RecordFull as problem:
            return replace(outcome, problem=str(problem))
        if not todo:
            await self._witness(known)
            return outcome
        if known.has_head:  # else nothing is on record: only keys of others are removed
            await self.begin()
        written = Written()
        for place, some in _by_place(todo, planned.routes):
            sent = turned(batches(some), planned.turn)
            written |= await _confirmed(await carry_out(sent, place, self.may_go), place)
        outcome = await self._after(outcome, planned, todo, written, known, earlier)
        if isinstance(answer, Approved) and risky - written.stopped:
            await self.used(answer.digest)
        return outcome

    def _asked(
        self, changing: Sequence[ResourcePlan], risky: frozenset[str], outcome: Outcome
    ) -> NotNeeded | Approved | ApprovalNeeded | NotCounted:
        """What could not be read may be overwritten or removed in the next pass: it counts, or is waited for.

        A region that waits for a person, as one that is not enabled, is not waited for: it may never answer.
        """
        beside = self.beside(risky)
        if not risky:
            return NotNeeded(0)
        if beside is None or any(not isinstance(error, NeedsPerson) for error in outcome.unasked.values()):
            return NotCounted.YET
        answer = approval(changing, self.configuration.approve_above, self.approver, {*beside, *outcome.failed})
        passing = any(not isinstance(error, NeedsPerson) for error in outcome.failed.values())
        return NotCounted.YET if passing and isinstance(answer, ApprovalNeeded) else answer

    async def _witness(self, known: StoredRecord) -> None:
        if known.total > known.witnessed:
            await self.note(known.total)

    async def _after(
        self,
        outcome: Outcome,
        planned: Planned,
        todo: Sequence[ResourcePlan],
        written: Written,
        known: StoredRecord,
        earlier: StoredRecord,
    ) -> Outcome:
        stopped, failed = written.stopped, written.failed
        done = [plan for plan in todo if plan.resource.id not in stopped]
        after: dict[str, Record | RecordLost] = dict(_records((plan, plan.record_after) for plan in done))
        after |= {ident: {} for ident in written.vanished} | _parts(todo, written, earlier)
        await self._witness(await self.store.save(known, after, self.ring))
        left = [plan for ident, plan in planned.plans.items() if ident not in written.vanished]
        return replace(
            outcome,
            applied=on_all(planned.wanted, left, {plan.resource.id for plan in done}),
            selected=len(left),
            changed=len(done),
            failed={**outcome.failed, **{ident: _lasting(each, known.of(ident)) for ident, each in failed.items()}},
            later=outcome.later | written.later | written.unsure,
            wait=written.wait,
            repairs=tuple(repair for plan in done for repair in repairs_of(plan)),
            removed=tuple(each for plan in done for each in removed_by(plan)),
        )


def _places(planned: Planned) -> dict[str, str]:
    found = {ident: planned.routes[ident].address(ident) for ident in planned.plans}
    return {ident: address for ident, address in found.items() if address}


def _parts(todo: Iterable[ResourcePlan], written: Written, earlier: StoredRecord) -> dict[str, Record | RecordLost]:
    """Of resources on which not all was done: nothing was done where a call was refused (tagging/part_done.py)."""
    part = written.stopped - written.vanished
    done = written.done_on(part)
    found: dict[str, Record | RecordLost] = {}
    for plan in todo:
        if (ident := plan.resource.id) in part:
            found[ident] = record_of_part(plan, earlier.of(ident), done.get(ident, Done()))
    return found


async def _confirmed(written: Written, place: TagPlace) -> Written:
    """Gone is what the resource itself does not show: the record must not forget what is there by a word of a call."""
    if not written.vanished:
        return written
    read = await place.read(written.vanished)
    gone = {ident for ident, now in read.items() if _is_gone(now)}
    return replace(written, vanished=gone, unsure=written.unsure | (written.vanished - gone))


def _is_gone(now: Resource | CloudError) -> bool:
    return isinstance(now, NotFound) if isinstance(now, CloudError) else not now.tags


def _lasting(error: CloudError, record: Record | RecordLost) -> CloudError:
    """IBM Cloud refuses an attach with these words also while its index does not know a new resource
    (terraform-provider-ibm#3874). One that we have written on is not new: there they mean what they say.
    """
    known = isinstance(record, Mapping) and any(each.proof is Proof.CONFIRMED for each in record.values())
    if not known or not isinstance(error, NotReady) or "not authorized" not in error.message.casefold():
        return error
    message = error.message.replace("It is tried again; if it goes on, grant", "Grant")
    return Denied(message, code="NotAuthorized", request_id=error.request_id)


def _by_place(
    plans: Iterable[ResourcePlan], routes: Mapping[str, TagPlace]
) -> list[tuple[TagPlace, list[ResourcePlan]]]:
    found: dict[int, tuple[TagPlace, list[ResourcePlan]]] = {}
    for plan in plans:
        place = routes[plan.resource.id]
        found.setdefault(id(place), (place, []))[1].append(plan)
    return list(found.values())


def _records(pairs: Iterable[tuple[ResourcePlan, Record | RecordLost]]) -> dict[str, Record]:
    return {plan.resource.id: record for plan, record in pairs if not isinstance(record, RecordLost)}
