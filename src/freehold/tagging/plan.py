"""One resource: from its tags, what is wanted of it and what we wrote, to the keys to write and to remove.

Nothing differs: nothing is to be done. A key is written or removed with the value that was seen, so that who executes
the plan can read again and see whether it still fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from freehold.tagging.conflicts import Claim, Claimant, Granted, grant_by_age
from freehold.tagging.limits import Fits, TooMany, Trimmed, fit, limit_of, slots_used
from freehold.tagging.operations import Opcode
from freehold.tagging.ownership import Entry, Proof, Record, RecordLost, entry_of
from freehold.tagging.protected import EXEMPT_KEY, Exemption, exemption
from freehold.tagging.resources import Resource
from freehold.tagging.rules import Rules
from freehold.tagging.wanted_keys import (
    AsWanted,
    Cause,
    Kept,
    KeySituation,
    Reason,
    Removal,
    Upsert,
    decide_dropped,
    decide_wanted,
)


@dataclass(frozen=True, slots=True)
class Note:
    """What was not done for one object, and why. ``key`` is empty where it is about the whole resource."""

    claimant: Claimant
    key: str
    reason: Reason
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


class Verdict(StrEnum):
    NOTHING_TO_DO = "NothingToDo"
    CHANGES = "Changes"


class ResourcePlan(NamedTuple):
    """``record_before`` is stored before the first write of ``delta``, ``record_after`` when it has succeeded."""

    resource: Resource
    delta: Delta
    notes: tuple[Note, ...]
    record_before: Record | RecordLost
    record_after: Record | RecordLost

    @property
    def verdict(self) -> Verdict:
        return Verdict.CHANGES if self.delta.removals or self.delta.upserts else Verdict.NOTHING_TO_DO


def plan_resource(
    resource: Resource,
    claims: Sequence[Claim],
    record: Record | RecordLost,
    rules: Rules,
    acting: str | None = None,
) -> ResourcePlan:
    """``claims``: of every object that selects the resource, and, with no wants, of one that is deleted with
    ``deletionPolicy: Remove``. What an object wrote that has no claim here stays.

    ``acting``: the uid of the one whose changes are planned; the others keep what they win, and the room that it needs.
    """
    return plan_on(resource, terms(claims, rules), record, acting)


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
        """Keys whose values decide, with any record; the last ones exempt the resource."""
        return (*self.named, *EXEMPT_KEY.values())


def terms(claims: Sequence[Claim], rules: Rules) -> Terms:
    return Terms(grant_by_age(claims, rules.cluster_keys), rules)


def plan_on(resource: Resource, terms: Terms, record: Record | RecordLost, acting: str | None = None) -> ResourcePlan:
    """The same as :func:`plan_resource`, of what was worked out before."""
    if exemption(resource) is Exemption.EXEMPT:
        message = f"{resource.id} is exempt by its tag; nothing of it is changed"
        claimants = (each.claim.claimant for each in terms.granted)
        told = (each for each in claimants if acting in (None, each.uid))
        notes = tuple(Note(claimant, "", Reason.EXEMPT, message) for claimant in told)
        return ResourcePlan(resource, Delta(), notes, record, record)
    return _Planner(resource, record, terms, acting).plan()


class _Planner:
    """The working state of one resource's plan."""

    def __init__(self, resource: Resource, record: Record | RecordLost, terms: Terms, acting: str | None) -> None:
        self._resource = resource
        self._acting = acting
        self._record = record
        self._known: Record = {} if isinstance(record, RecordLost) else record
        self._terms = terms
        self._notes: list[Note] = []
        self._removals: dict[str, Removal] = {}
        self._upserts: dict[str, Upsert] = {}
        self._left: dict[str, Kept] = {}
        """Keys that the object which they are granted to leaves as they are."""
        self._unfit: set[str] = set()
        self._before: dict[str, Entry] = dict(self._known)
        self._after: dict[str, Entry] = dict(self._known)

    def plan(self) -> ResourcePlan:
        granted = self._terms.granted
        additions = [(each.claim, upserts) for each in granted if (upserts := self._wanted(each))]
        for each in granted:
            if not self._acts(each.claim.claimant):
                continue
            self._dropped(each.claim.claimant)
            if isinstance(self._record, RecordLost):
                message = f"what was written on {self._resource.id} is not known any more: nothing is removed as ours"
                self._note(each.claim.claimant, "", Reason.RECORD_LOST, message)
        if additions:
            self._fit(additions)
        for each in granted:
            if each.shared and self._acts(each.claim.claimant):
                self._shared(each)
        return self._result()

    def _acts(self, claimant: Claimant) -> bool:
        return self._acting in (None, claimant.uid)

    def _wanted(self, granted: Granted) -> dict[str, Upsert]:
        """Removals and notes are put down; what is to be written must still be fitted into the limit."""
        claimant = granted.claim.claimant
        for key, winner in granted.lost.items():
            told = f"{winner} is older and asks for something else of the tag {key!r} on {self._resource.id}"
            if key in self._terms.rules.cluster_keys:
                told = f"{winner} puts the tag {key!r} on {self._resource.id} itself"
            self._note(claimant, key, Reason.CONFLICT, f"{told}: take the key out of one of the two")
        upserts: dict[str, Upsert] = {}
        for key, want in granted.wants.items():
            decision = decide_wanted(self._situation(key), want, granted.claim.foreign)
            if isinstance(decision, Upsert):
                upserts[key] = decision
                continue
            if isinstance(decision, Kept):
                self._left[key] = decision
            if not self._acts(claimant):
                continue
            if isinstance(decision, AsWanted):
                self._as_wanted(key, claimant, decision, want.opcode)
            else:
                self._settle(claimant, key, decision)
        return upserts

    def _shared(self, granted: Granted) -> None:
        """What somebody older wants too is that one's to write: where it is not so, this object must not say it is."""
        claim = granted.claim
        for key, older in granted.shared.items():
            decision = decide_wanted(self._situation(key), claim.wants[key], claim.foreign)
            if isinstance(decision, AsWanted):
                continue
            if isinstance(decision, Kept):
                self._note(claim.claimant, key, decision.reason, decision.message)
                continue
            told = f"{older} is older and asks for the same of the tag {key!r} on {self._resource.id}"
            if key in self._left:
                told = (
                    f"{told}, and by its opcode and foreignValues it stays as it is: take the key out of one of the two"
                )
                self._note(claim.claimant, key, Reason.CONFLICT, told)
            elif key in self._unfit:
                told = f"{told}, and has no room for it: shorten its list, or remove tags"
                self._note(claim.claimant, key, Reason.LIMIT_EXCEEDED, told)
            elif key not in self._upserts and key not in self._removals:
                self._note(claim.claimant, key, Reason.AWAITED, f"{told}, and has not done it yet")

    def _dropped(self, claimant: Claimant) -> None:
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
        """What is as wanted without a write of ours does not become ours (docs/reference/metadata-compat.md A13)."""
        if opcode is Opcode.DELETE:
            self._forget(key)
        elif key in self._known:
            self._before[key] = self._after[key] = Entry(claimant.uid, decision.values, Proof.CONFIRMED)

    def _forget(self, key: str) -> None:
        self._before.pop(key, None)
        self._after.pop(key, None)

    def _settle(self, claimant: Claimant, key: str, decision: Removal | Kept) -> None:
        if isinstance(decision, Removal):
            self._removals[key] = decision
            self._after.pop(key, None)
        else:
            self._note(claimant, key, decision.reason, decision.message)

    def _fit(self, additions: Sequence[tuple[Claim, dict[str, Upsert]]]) -> None:
        freed = sum(len(each.seen) for each in self._removals.values())
        free = limit_of(self._resource) - slots_used(self._resource) + freed
        for claim, upserts in additions:
            free = self._fitted(claim, upserts, free)

    def _fitted(self, claim: Claim, upserts: dict[str, Upsert], free: int) -> int:
        fitted = fit({key: 1 - len(each.seen) for key, each in upserts.items()}, free, claim.limit)
        limit = limit_of(self._resource)
        match fitted:
            case TooMany():
                message = (
                    f"{self._resource.id} can have {limit} tags, and the list needs {fitted.missing} more than are "
                    "free: shorten it, remove tags, or set limit POLICY_APPLY_PARTIAL"
                )
                self._note(claim.claimant, "", Reason.LIMIT_EXCEEDED, message)
                self._unfit |= upserts.keys()
                return fitted.free
            case Trimmed():
                self._unfit |= set(fitted.keys)
                for key in fitted.keys:
                    message = f"the tag {key!r} is left out on {self._resource.id}, which can have {limit} tags"
                    self._note(claim.claimant, key, Reason.TRIMMED, message)
                    del upserts[key]
            case Fits():
                pass
        for key, upsert in upserts.items():
            if self._acts(claim.claimant):
                self._write(claim.claimant, key, upsert)
        return fitted.free

    def _write(self, claimant: Claimant, key: str, upsert: Upsert) -> None:
        earlier = self._known.get(key)
        intended = entry_of(claimant.uid, upsert.value, Proof.INTENDED)
        self._upserts[key] = upsert
        self._before[key] = earlier.about_to_write(claimant.uid, upsert.value) if earlier else intended
        self._after[key] = entry_of(claimant.uid, upsert.value, Proof.CONFIRMED)

    def _note(self, claimant: Claimant, key: str, reason: Reason, message: str) -> None:
        if self._acts(claimant):
            self._notes.append(Note(claimant, key, reason, message))

    def _result(self) -> ResourcePlan:
        delta = Delta(
            tuple(each for _, each in sorted(self._removals.items())),
            tuple(each for _, each in sorted(self._upserts.items())),
        )
        before = self._before if self._before else self._record_if_lost(self._before)
        after = self._after if self._after else self._record_if_lost(self._after)
        return ResourcePlan(self._resource, delta, tuple(self._notes), before, after)

    def _record_if_lost(self, empty: Record) -> Record | RecordLost:
        """A lost record stays lost until something is written."""
        return self._record if isinstance(self._record, RecordLost) else empty
