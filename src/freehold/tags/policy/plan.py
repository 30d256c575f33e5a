"""One resource: from its tags, what is wanted of it and what we wrote, to the keys to write and to remove.

Nothing differs: nothing is to be done. A key is written or removed with the value that was seen, so that who executes
the plan can read again and see whether it still fits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from freehold.tags.policy.key_decision import (
    AsWanted,
    Cause,
    KeySituation,
    LeaveReason,
    LeftAlone,
    Removal,
    Rules,
    Upsert,
    decide_dropped,
    decide_kept,
    decide_wanted,
)
from freehold.tags.policy.ledger import LedgerEntry, Proof, Record, entry_of
from freehold.tags.policy.limits import (
    Fits,
    LimitPolicy,
    Slots,
    TooMany,
    Trimmed,
    fit,
    limit_of,
    list_keys_beyond,
    slots_used,
)
from freehold.tags.policy.operations import Opcode
from freehold.tags.policy.precedence import Claim, Claimant, Granted, grant_by_age
from freehold.tags.policy.protected import is_exempt
from freehold.tags.policy.resources import TaggedResource


@dataclass(frozen=True, slots=True)
class Note:
    """What was not done for one object, and why. ``key`` is empty where it is about the whole resource."""

    claimant: Claimant
    key: str
    reason: LeaveReason
    message: str


@dataclass(frozen=True)
class Delta:
    """Sorted by key. Removals go first: they free what the additions may need. Resources that are alike share one."""

    removals: tuple[Removal, ...] = ()
    upserts: tuple[Upsert, ...] = ()

    @cached_property
    def written(self) -> frozenset[str]:
        """The keys of ``upserts``; ``causes`` are theirs."""
        return frozenset(each.key for each in self.upserts)

    @cached_property
    def causes(self) -> frozenset[Cause]:
        return frozenset(each.cause for each in self.upserts)

    @cached_property
    def replaces(self) -> bool:
        """Whether a key that is written has a value now."""
        return any(each.seen for each in self.upserts)


class PlanVerdict(StrEnum):
    NOTHING_TO_DO = "NothingToDo"
    CHANGES = "Changes"


class ResourcePlan(NamedTuple):
    """``record_before`` is stored before the first write of ``delta``, ``record_after`` when it has succeeded."""

    resource: TaggedResource
    delta: Delta
    notes: tuple[Note, ...]
    record_before: Record
    record_after: Record

    @property
    def verdict(self) -> PlanVerdict:
        return PlanVerdict.CHANGES if self.delta.removals or self.delta.upserts else PlanVerdict.NOTHING_TO_DO


@dataclass(frozen=True)
class Terms:
    """The same for all resources on which the same objects meet: ``granted`` is what each of them may have there."""

    granted: tuple[Granted, ...]
    rules: Rules

    @cached_property
    def named(self) -> frozenset[str]:
        """Keys that an object or a cluster asks for: what was written under another one is dropped."""
        keys = {key for each in self.granted for key in (*each.wants, *each.lost)}
        return frozenset(keys | set(self.rules.cluster_keys))

    @cached_property
    def decisive(self) -> tuple[str, ...]:
        """Keys whose values decide, with any record."""
        kept = (key for each in self.granted for key in each.claim.kept or ())
        return (*self.named, *kept)


def terms(claims: Sequence[Claim], rules: Rules) -> Terms:
    """``claims``: of every object that selects a resource, and, with no wants, of one that is deleted with
    ``deletionPolicy: Remove``. What an object wrote that has no claim here stays.
    """
    return Terms(grant_by_age(claims, rules.cluster_keys), rules)


def plan_on(resource: TaggedResource, terms: Terms, record: Record, acting: str | None = None) -> ResourcePlan:
    """Plan a resource on which these terms hold.

    ``acting``: the uid of the one whose changes are planned; the others keep what they win, and the room that it needs.
    """
    if is_exempt(resource):
        message = f"{resource.id} is exempt by its tag; nothing of it is changed"
        claimants = (each.claim.claimant for each in terms.granted)
        told = (each for each in claimants if acting in (None, each.uid))
        notes = tuple(Note(claimant, "", LeaveReason.EXEMPT, message) for claimant in told)
        return ResourcePlan(resource, Delta(), notes, record, record)
    return _Planner(resource, record, terms, acting).plan()


@dataclass(frozen=True)
class _ClaimList:
    """What one object is to have on the resource: what must be written, and the values of its own that are there."""

    claim: Claim
    upserts: dict[str, Upsert] = field(default_factory=dict)
    held: dict[str, frozenset[str]] = field(default_factory=dict)


class _Planner:
    """The working state of one resource's plan."""

    def __init__(self, resource: TaggedResource, record: Record, terms: Terms, acting: str | None) -> None:
        self._resource = resource
        self._acting = acting
        self._known = record
        self._terms = terms
        self._notes: list[Note] = []
        self._removals: dict[str, Removal] = {}
        self._upserts: dict[str, Upsert] = {}
        self._planned: set[str] = set()
        """Keys that the object which they are granted to writes or removes."""
        self._used = slots_used(resource)
        self._before: dict[str, LedgerEntry] = dict(self._known)
        self._after: dict[str, LedgerEntry] = dict(self._known)

    def plan(self) -> ResourcePlan:
        granted = self._terms.granted
        lists = [self._plan_wanted(each) for each in granted]
        for each in granted:
            if not self._acts(each.claim.claimant):
                continue
            if each.claim.kept is None:
                self._plan_dropped(each.claim.claimant)
        self._used -= sum(len(each.seen) for each in self._removals.values())
        for listed in lists:
            if listed.upserts:
                self._fit(listed)
        for each in granted:
            if each.shared and self._acts(each.claim.claimant):
                self._note_shared(each)
        return self._result()

    def _acts(self, claimant: Claimant) -> bool:
        return self._acting in (None, claimant.uid)

    def _plan_wanted(self, granted: Granted) -> _ClaimList:
        """Put down removals and notes; what is to be written must still be fitted into the limit."""
        claimant = granted.claim.claimant
        for key, winner in granted.lost.items():
            told = f"{winner} is older and asks for something else of the tag {key!r} on {self._resource.id}"
            if key in self._terms.rules.cluster_keys:
                told = f"{winner} puts the tag {key!r} on {self._resource.id} itself"
            self._note(claimant, key, LeaveReason.CONFLICT, f"{told}: take the key out of one of the two")
        found = _ClaimList(granted.claim)
        for key, want in granted.wants.items():
            self._list(found, key, decide_wanted(self._situation(key), want, granted.claim.foreign), want.opcode)
        for key, value in sorted((granted.claim.kept or {}).items()):
            entry = self._known.get(key)
            if key not in self._terms.named and (entry is None or entry.writer == claimant.uid):
                self._list(found, key, decide_kept(self._situation(key), value, granted.claim.foreign), Opcode.ADD)
        return found

    def _list(
        self, found: _ClaimList, key: str, decision: Upsert | Removal | LeftAlone | AsWanted, opcode: Opcode
    ) -> None:
        claimant = found.claim.claimant
        if isinstance(decision, Upsert):
            found.upserts[key] = decision
            return
        is_ours = opcode is not Opcode.DELETE and key in self._known
        if isinstance(decision, AsWanted) and is_ours:
            found.held[key] = decision.values
        if isinstance(decision, Removal):
            self._planned.add(key)
        if not self._acts(claimant):
            return
        if isinstance(decision, AsWanted):
            self._as_wanted(key, claimant, decision, opcode)
        else:
            self._settle(claimant, key, decision)

    def _note_shared(self, granted: Granted) -> None:
        """Say where what somebody older wants too is not so: that one writes it, and this object must not say it is."""
        claim = granted.claim
        for key, older in granted.shared.items():
            decision = decide_wanted(self._situation(key), claim.wants[key], claim.foreign)
            if isinstance(decision, LeftAlone):
                self._note(claim.claimant, key, decision.reason, decision.message)
            elif not isinstance(decision, AsWanted) and key not in self._upserts and key not in self._removals:
                told = f"{older} is older and asks for the same of the tag {key!r} on {self._resource.id}"
                if key in self._planned:
                    self._note(claim.claimant, key, LeaveReason.AWAITED, f"{told}, and has not done it yet")
                else:
                    told = f"{told}, and leaves it as it is: look at its status, or take the key out of one of the two"
                    self._note(claim.claimant, key, LeaveReason.CONFLICT, told)

    def _plan_dropped(self, claimant: Claimant) -> None:
        """Keys that were written for this object, and that no object names any more."""
        for key, entry in sorted(self._known.items()):
            if entry.writer == claimant.uid and key not in self._terms.named:
                decision = decide_dropped(self._situation(key), entry)
                if isinstance(decision, AsWanted):
                    self._forget(key)
                else:
                    self._settle(claimant, key, decision)

    def _situation(self, key: str) -> KeySituation:
        seen = self._resource.tags.get(key, frozenset())
        return KeySituation(self._resource, key, seen, self._known.get(key), self._terms.rules)

    def _as_wanted(self, key: str, claimant: Claimant, decision: AsWanted, opcode: Opcode) -> None:
        """Record what is ours. What is as wanted without a write of ours does not become so (A13)."""
        if opcode is Opcode.DELETE:
            self._forget(key)
        elif key in self._known:
            self._before[key] = self._after[key] = LedgerEntry(claimant.uid, decision.values, Proof.CONFIRMED)

    def _forget(self, key: str) -> None:
        self._before.pop(key, None)
        self._after.pop(key, None)

    def _settle(self, claimant: Claimant, key: str, decision: Removal | LeftAlone) -> None:
        if isinstance(decision, Removal):
            self._removals[key] = decision
            self._after.pop(key, None)
        else:
            self._note(claimant, key, decision.reason, decision.message)

    def _fit(self, listed: _ClaimList) -> None:
        """Put down what there is room for. Of a PARTIAL list what is there already may have to go."""
        claim, limit = listed.claim, limit_of(self._resource)
        slots = {key: Slots(1, len(each.seen)) for key, each in listed.upserts.items()}
        if claim.limit is LimitPolicy.PARTIAL:
            slots |= {key: self._of_ours(key, each) for key, each in listed.held.items()}
            outdated = (key for key, each in listed.upserts.items() if each.cause is Cause.OUTDATED)
            slots |= {key: Slots(1, 0) for key in outdated}
        fitted = fit(slots, limit - self._used_without(slots), claim.limit)
        match fitted:
            case TooMany():
                message = (
                    f"{self._resource.id} can have {limit} tags, and the list needs {fitted.missing} more than are "
                    "free: shorten it, remove tags, or set limit POLICY_APPLY_PARTIAL"
                )
                self._note(claim.claimant, "", LeaveReason.LIMIT_EXCEEDED, message)
                self._repair(listed)
            case Trimmed():
                for key in fitted.keys:
                    self._cut(listed, key, limit)
                self._put(listed, listed.upserts)
            case Fits():
                self._put(listed, listed.upserts)

    def _of_ours(self, key: str, values: frozenset[str]) -> Slots:
        seen = self._resource.tags[key]
        return Slots(len(seen), len(seen - values))

    def _used_without(self, keys: Iterable[str]) -> int:
        """Count the slots that are in use now but for those of ``keys``."""
        return self._used - sum(len(self._resource.tags.get(key, ())) for key in keys)

    def _put(self, listed: _ClaimList, keys: Collection[str]) -> None:
        self._used = self._used_without(keys) + len(keys)
        self._planned.update(keys)
        for key in keys:
            if self._acts(listed.claim.claimant):
                self._write(listed.claim.claimant, key, listed.upserts[key])

    def _repair(self, listed: _ClaimList) -> None:
        """Keep what was written of a strict list that does not fit as it was; it brings nothing new."""
        known = {key: entry for key, entry in self._known.items() if entry.proof is Proof.CONFIRMED}
        ours = {key: each for key, each in listed.upserts.items() if key in known and each.value in known[key].values}
        slots = {key: Slots(1, len(each.seen)) for key, each in ours.items()}
        cut = list_keys_beyond(slots, limit_of(self._resource) - self._used_without(slots))
        repaired = [key for key in ours if key not in cut]
        self._put(listed, repaired)

    def _cut(self, listed: _ClaimList, key: str, limit: int) -> None:
        """Leave out what is beyond the limit; what is ours makes room for what sorts before it."""
        claimant, upsert = listed.claim.claimant, listed.upserts.pop(key, None)
        if not self._acts(claimant):
            return
        message = f"the tag {key!r} is left out on {self._resource.id}, which can have {limit} tags"
        self._note(claimant, key, LeaveReason.TRIMMED, message)
        ours = listed.held[key] if upsert is None else upsert.seen if upsert.cause is Cause.OUTDATED else frozenset()
        if ours:
            self._used -= len(ours)
            self._settle(claimant, key, Removal(key, ours, Cause.TRIMMED))
        elif upsert is not None and not upsert.seen:
            self._forget(key)

    def _write(self, claimant: Claimant, key: str, upsert: Upsert) -> None:
        earlier = self._known.get(key)
        intended = entry_of(claimant.uid, upsert.value, Proof.INTENDED)
        self._upserts[key] = upsert
        self._before[key] = earlier.about_to_write(claimant.uid, upsert.value) if earlier else intended
        self._after[key] = entry_of(claimant.uid, upsert.value, Proof.CONFIRMED)

    def _note(self, claimant: Claimant, key: str, reason: LeaveReason, message: str) -> None:
        if self._acts(claimant):
            self._notes.append(Note(claimant, key, reason, message))

    def _result(self) -> ResourcePlan:
        delta = Delta(
            tuple(each for _, each in sorted(self._removals.items())),
            tuple(each for _, each in sorted(self._upserts.items())),
        )
        return ResourcePlan(self._resource, delta, tuple(self._notes), self._before, self._after)
