"""One pass over the tags of one object: find, plan, approve, record, send, record.

The order is what makes it safe: what is written is on record before (ADR 19). One bad resource never fails the others.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from freehold.engine.errors import CloudError, NeedsPerson, NotFound, NotReady
from freehold.engine.keys import KeyRing
from freehold.engine.port import run_together
from freehold.providers.access.ports import THREADS
from freehold.tags.find_and_plan import Endpoints, Finder, Planned
from freehold.tags.ledger_store import LedgerStore, StoredLedger
from freehold.tags.pass_hooks import Announcer, PassHooks
from freehold.tags.policy.applied_tags import tags_on_all
from freehold.tags.policy.approval import ApprovalNeeded, Approved, Approver, NotNeeded, approval, is_risky
from freehold.tags.policy.batches import Batch, batches
from freehold.tags.policy.failures import (
    DoneKeys,
    Failed,
    ReadFirst,
    SendAgain,
    Step,
    Vanished,
    after_partial_failure,
    record_of_part,
    took_effect,
)
from freehold.tags.policy.failures import after_refused_call as after_refused
from freehold.tags.policy.key_decision import LeaveReason
from freehold.tags.policy.ledger import Proof, Record
from freehold.tags.policy.ledger_format import LedgerFull
from freehold.tags.policy.outcome import Outcome, repairs_of
from freehold.tags.policy.plan import PlanVerdict, ResourcePlan
from freehold.tags.policy.plan_resources import settled_records
from freehold.tags.policy.resources import TaggedResource
from freehold.tags.tag_endpoint import TagEndpoint

AT_ONCE = THREADS // 2
"""Calls in flight for one object in one region: a reply that is lost is waited for for ten seconds, and half of the
threads are left to others."""

MOST_REFUSALS = 8
"""Of one call, each sent after the one before was refused, while none has succeeded: as many as it takes to find one
bad resource of 200 by halving."""
MOST_IN_A_PASS = 100
"""Of one call, though others succeed. What is left then goes first in the next pass."""


@dataclass(frozen=True)
class TagPass:
    """``begin`` notes on the object that something is written for it. ``may_go``: asked before each call.

    ``used`` takes an approval back: it was for what has been done. ``approver``: where a person approves. ``refused``:
    resources that go last, because a call about them was refused before.
    """

    subject: str
    finder: Finder
    store: LedgerStore
    ring: KeyRing
    approve_above: int
    approver: Approver
    begin: Callable[[], Awaitable[None]]
    may_go: Callable[[], bool]
    used: Callable[[str], Awaitable[None]]
    hooks: PassHooks
    refused: frozenset[str] = frozenset()

    async def run(self, endpoints: Endpoints, known: StoredLedger) -> Outcome:
        """Do the pass. Raises StaleObject and KubeError; what a cloud refuses is in the outcome."""
        planned = await self.finder.find_and_plan(endpoints, known)
        changing = [plan for plan in planned.plans.values() if plan.verdict is PlanVerdict.CHANGES]
        risky = frozenset(plan.resource.id for plan in changing if is_risky(plan))
        answer = self._approve(changing, risky, planned.outcome)
        held = frozenset[str]() if isinstance(answer, NotNeeded | Approved) else risky
        todo = [plan for plan in changing if plan.resource.id not in held]
        outcome = _build_planned_outcome(planned, answer, held)
        try:
            recorded = await self._record_intentions(planned, todo, known)
        except LedgerFull as problem:
            return replace(outcome, problem=str(problem))
        if not todo:
            return outcome
        written = await self._send(planned, todo)
        outcome = await self._record_results(outcome, planned, todo, written, recorded, known)
        if isinstance(answer, Approved) and risky - written.stopped:
            await self.used(answer.digest)
        return outcome

    def _approve(
        self, changing: Sequence[ResourcePlan], risky: Collection[str], outcome: Outcome
    ) -> NotNeeded | Approved | ApprovalNeeded | None:
        """Decide what must wait for a person; None where more may count than is known now, and all that is risky waits.

        What could not be read may be overwritten or removed in the next pass. A region that waits for a person, as one
        that is not enabled, is not waited for: it may never answer.
        """
        answer = approval(changing, self.approve_above, self.approver, outcome.failed)
        unseen = [*outcome.unasked.values(), *(outcome.failed.values() if isinstance(answer, ApprovalNeeded) else ())]
        return None if risky and any(not isinstance(error, NeedsPerson) for error in unseen) else answer

    async def _record_intentions(
        self, planned: Planned, todo: Sequence[ResourcePlan], known: StoredLedger
    ) -> StoredLedger:
        """Store what is about to be written. Raises LedgerFull."""
        settled = [plan for plan in planned.plans.values() if plan.verdict is PlanVerdict.NOTHING_TO_DO]
        intended = {plan.resource.id: plan.record_before for plan in todo}
        addresses = {ident: planned.routes[ident].address(ident) for ident in planned.plans}
        noted = {ident: address for ident, address in addresses.items() if address}
        changes = {**planned.forgotten, **settled_records(settled), **intended}
        recorded = await self.store.save(known, changes, self.ring, noted)
        if todo and recorded.is_stored:  # else nothing is on record: only keys of others are removed
            await self.begin()
        return recorded

    async def _send(self, planned: Planned, todo: Sequence[ResourcePlan]) -> Written:
        announcer = Announcer(self.subject, {plan.resource.id: plan.resource.tags for plan in todo}, self.hooks.watches)
        written = Written()
        for endpoint, plans in _by_endpoint(todo, planned.routes):
            sent = batches(each for each in plans if each.resource.id not in self.refused)
            sent += batches(each for each in plans if each.resource.id in self.refused)
            if self.hooks.dry is not None:
                self.hooks.dry.extend(sent)
                continue
            written |= await _confirm_vanished(await carry_out(sent, endpoint, self.may_go, announcer), endpoint)
        return written

    async def _record_results(
        self,
        outcome: Outcome,
        planned: Planned,
        todo: Sequence[ResourcePlan],
        written: Written,
        known: StoredLedger,
        earlier: StoredLedger,
    ) -> Outcome:
        """``known``: with the intentions; ``earlier``: before them."""
        stopped, failed = written.stopped, written.failed
        done = [plan for plan in todo if plan.resource.id not in stopped]
        after = {plan.resource.id: plan.record_after for plan in done}
        after |= {ident: {} for ident in written.vanished} | _parts(todo, written, earlier)
        await self.store.save(known, after, self.ring)
        left = [plan for ident, plan in planned.plans.items() if ident not in written.vanished]
        return replace(
            outcome,
            applied=tags_on_all(planned.wanted, left, {plan.resource.id for plan in done}),
            selected=len(left),
            changed=len(done),
            failed={
                **outcome.failed,
                **{ident: _lasting(each, known.find_record(ident)) for ident, each in failed.items()},
            },
            refused=frozenset(written.refused),
            later=outcome.later | written.later | written.unsure,
            wait=written.wait,
            repairs=tuple(repair for plan in done for repair in repairs_of(plan)),
        )


def _build_planned_outcome(planned: Planned, answer: object, held: Collection[str]) -> Outcome:
    """Say what is known before anything is written. ``held``: what waits for an approval, or for what is not known."""
    notes = tuple(note for plan in planned.plans.values() for note in plan.notes)
    awaited = {
        plan.resource.id for plan in planned.plans.values() for n in plan.notes if n.reason is LeaveReason.AWAITED
    }
    waiting = answer if isinstance(answer, ApprovalNeeded) else None
    later = frozenset(awaited) if waiting else frozenset({*awaited, *held})
    applied = tags_on_all(planned.wanted, planned.plans.values())
    return replace(planned.outcome, notes=notes, approval=waiting, later=later, applied=applied)


def _parts(todo: Iterable[ResourcePlan], written: Written, earlier: StoredLedger) -> dict[str, Record]:
    """Of resources on which not all was done: nothing was done where a call was refused (tagging/part_done.py)."""
    part = written.stopped - written.vanished
    done = written.done_on(part)
    return {
        plan.resource.id: record_of_part(
            plan, earlier.find_record(plan.resource.id), done.get(plan.resource.id, DoneKeys())
        )
        for plan in todo
        if plan.resource.id in part
    }


async def _confirm_vanished(written: Written, endpoint: TagEndpoint) -> Written:
    """Gone is what the resource itself does not show: the ledger must not forget what is there by a word of a call."""
    if not written.vanished:
        return written
    read = await endpoint.read(written.vanished)
    gone = {ident for ident, now in read.items() if _is_gone(now)}
    return replace(written, vanished=gone, unsure=written.unsure | (written.vanished - gone))


def _is_gone(now: TaggedResource | CloudError) -> bool:
    return isinstance(now, NotFound) if isinstance(now, CloudError) else not now.tags


def _lasting(error: CloudError, record: Record) -> CloudError:
    """Believe a refusal that may only mean that a resource is new where we have written on it: it is not new."""
    known = any(each.proof is Proof.CONFIRMED for each in record.values())
    return error.if_not_new if known and isinstance(error, NotReady) and error.if_not_new else error


def _by_endpoint(
    plans: Iterable[ResourcePlan], routes: Mapping[str, TagEndpoint]
) -> list[tuple[TagEndpoint, list[ResourcePlan]]]:
    found: dict[int, tuple[TagEndpoint, list[ResourcePlan]]] = {}
    for plan in plans:
        endpoint = routes[plan.resource.id]
        found.setdefault(id(endpoint), (endpoint, []))[1].append(plan)
    return list(found.values())


# -- sending -------------------------------------------------------------------------------------------------------


class Sender(Protocol):
    """All that sending needs of an endpoint (tag_endpoint.TagEndpoint)."""

    async def send(self, batch: Batch) -> Mapping[str, CloudError]: ...

    async def read(self, ids: Collection[str]) -> Mapping[str, TaggedResource | CloudError]: ...

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]: ...


@dataclass
class _Way:
    """How one call has fared in this pass, in one region of one account."""

    refusals: int = 0
    in_a_row: int = 0
    """Since the last one that named the resource in its way, or from the beginning; together in flight count as one."""
    succeeded: bool = False

    def note_refusal(self, named: Collection[str], before: int) -> None:
        """``before``: how many in a row there were when it was sent."""
        self.refusals += 1
        self.in_a_row = 0 if named else max(self.in_a_row, before + 1)

    @property
    def is_hopeless(self) -> bool:
        return self.refusals > MOST_IN_A_PASS or (self.in_a_row > MOST_REFUSALS and not self.succeeded)


@dataclass
class Written:
    """What became of the resources of some batches; each is in one of these at most, else all of its calls succeeded.

    ``later`` go again in the next pass, after ``wait`` seconds if the cloud said so. ``unsure``: a reply was lost, and
    the resource does not show the effect.
    """

    failed: dict[str, CloudError] = field(default_factory=dict)
    vanished: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    """Those of ``failed`` of which a call of their own was refused; the others were given up."""
    wait: float | None = None
    calls: int = 0
    succeeded: list[Batch] = field(default_factory=list)
    """With the resources on which they did."""
    doubtful: list[Batch] = field(default_factory=list)
    """With the resources on which nobody knows."""

    @property
    def stopped(self) -> frozenset[str]:
        """Resources for which nothing more is sent in this pass."""
        return frozenset({*self.failed, *self.vanished, *self.unsure, *self.later})

    def __or__(self, other: Written) -> Written:
        """Of other resources."""
        return Written(
            {**self.failed, **other.failed},
            self.vanished | other.vanished,
            self.unsure | other.unsure,
            self.later | other.later,
            self.refused | other.refused,
            max((each.wait for each in (self, other) if each.wait is not None), default=None),
            self.calls + other.calls,
            self.succeeded + other.succeeded,
            self.doubtful + other.doubtful,
        )

    def done_on(self, targets: Collection[str]) -> dict[str, DoneKeys]:
        """Sum up what the calls have done, or may have, on some of the resources."""
        found: dict[str, DoneKeys] = {}
        for batch in self.succeeded:
            for done in _find_done_keys(batch, targets, found):
                (done.removed if batch.verb.removes else done.written).update(key for key, _ in batch.tags)
        for batch in self.doubtful:
            for done in _find_done_keys(batch, targets, found):
                (done.perhaps_removed if batch.verb.removes else done.perhaps_written).update(k for k, _ in batch.tags)
        return found

    def going_on(self, targets: Sequence[str]) -> list[str]:
        """Those for which something may still be sent."""
        ended = [each for each in (self.failed, self.vanished, self.unsure, self.later) if each]
        return [target for target in targets if not any(target in each for each in ended)] if ended else list(targets)


async def carry_out(
    sent: Sequence[Batch], endpoint: Sender, may_go: Callable[[], bool], announcer: Announcer | None = None
) -> Written:
    """Send the calls of one resource in their order, those of different resources together.

    A resource of which one call did not succeed gets no other one in this pass. ``may_go`` is asked before each call:
    what was allowed when the pass began may be withdrawn by now.
    """
    sending = _Sending(deque(sent), endpoint, may_go, announcer or Announcer())
    for ended in await run_together([sending.run() for _ in range(AT_ONCE)]):
        if isinstance(ended, Exception):
            raise ended
    return sending.done


@dataclass
class _Sending:
    """``waiting``: the calls that are left. ``busy``: resources of calls that are not answered yet."""

    waiting: deque[Batch]
    endpoint: Sender
    may_go: Callable[[], bool]
    announcer: Announcer
    done: Written = field(default_factory=Written)
    ways: defaultdict[tuple[str, str, str], _Way] = field(default_factory=lambda: defaultdict(_Way))
    busy: set[str] = field(default_factory=set)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    blind: bool = False
    """Nothing could be read of what a lost reply was about: in this pass nothing more is."""

    async def run(self) -> None:
        """Send one call after the other until none is left, and none is in flight of which a part may be left."""
        while (batch := await self._next()) is not None:
            try:
                await self._try(batch)
            finally:
                self.busy.difference_update(batch.targets)
                if self.waiting or not self.busy:  # else there is nothing for the others to do
                    async with self.changed:
                        self.changed.notify_all()

    async def _next(self) -> Batch | None:
        while self.waiting or self.busy:
            if (batch := self._free()) is not None:
                self.busy.update(batch.targets)
                return batch
            async with self.changed:
                await self.changed.wait()
        return None

    def _free(self) -> Batch | None:
        """Take the first one of whose resources none has a call in flight, or an earlier one that waits."""
        before = set(self.busy)
        for at, batch in enumerate(self.waiting):
            if before.isdisjoint(batch.targets):
                del self.waiting[at]
                return batch
            before.update(batch.targets)
        return None

    async def _try(self, batch: Batch) -> None:
        done, left = self.done, self.done.going_on(batch.targets)
        if not left:
            return
        if not self.may_go():
            done.later |= set(left)
            return
        batch = batch.only(left)
        way = self.ways[batch.verb, batch.account, batch.region]
        done.calls += 1
        before = way.in_a_row
        self.announcer.sending(batch)
        try:
            errors = await self.endpoint.send(batch)
        except CloudError as error:
            named = self.endpoint.named_in(error, batch.targets)
            if isinstance(error, NeedsPerson):
                way.note_refusal(named, before)
                if way.is_hopeless:
                    done.failed |= dict.fromkeys(batch.targets, error)
                    return
            steps = after_refused(batch, error, named)
            self.waiting.extendleft(reversed(_again(steps, batch)))
            await self._note(batch, [step for step in steps if not isinstance(step, SendAgain) or step.batch == batch])
        else:
            self.announcer.note_answer(batch, errors)
            way.succeeded = True
            if good := set(batch.targets) - errors.keys():
                done.succeeded.append(batch.only(good) if errors else batch)
            await self._note(batch, after_partial_failure(batch, errors))

    async def _note(self, batch: Batch, steps: Sequence[Step]) -> None:
        done = self.done
        for step in steps:
            match step:
                case SendAgain(again, after):
                    done.later |= set(again.targets)
                    done.wait = max(done.wait or 0.0, after) if after is not None else done.wait
                case ReadFirst(targets):
                    await self._read(batch.only(targets))
                case Vanished(targets):
                    done.vanished |= set(targets)
                    done.doubtful.append(batch.only(targets))  # the call may be wrong
                case Failed(target, error):
                    done.refused.add(target)
                    done.failed[target] = error

    async def _read(self, batch: Batch) -> None:
        """Read what a lost reply was about. What shows no effect may still get it: the next pass plans it anew.

        One at a time: most resources take a call of their own, and where one cannot be read the others wait as long.
        """
        async with self.reading:
            read = {} if self.blind else await self.endpoint.read(batch.targets)
            self.blind = self.blind or all(isinstance(now, CloudError) for now in read.values())
        good = {ident for ident, now in read.items() if isinstance(now, TaggedResource) and took_effect(batch, now)}
        if good:
            self.done.succeeded.append(batch.only(good))
            self.ways[batch.verb, batch.account, batch.region].succeeded = True
        if left := set(batch.targets) - good:
            self.done.unsure |= left
            self.done.doubtful.append(batch.only(left))


def _find_done_keys(batch: Batch, targets: Collection[str], found: dict[str, DoneKeys]) -> list[DoneKeys]:
    return [found.setdefault(target, DoneKeys()) for target in set(batch.targets) & set(targets)]


def _again(steps: Sequence[Step], batch: Batch) -> list[Batch]:
    """Halves, and what is left of a batch; a whole one that was refused for a while waits for the next pass."""
    return [step.batch for step in steps if isinstance(step, SendAgain) and step.batch != batch]
