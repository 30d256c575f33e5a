"""Summaries of passes over tags: how many resources stand how, what is in conflict, trimmed and repaired.

A status names five resources; these are of all of them, in memory, as the last pass of this process left them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final

from freehold.kube.resources import Key
from freehold.tags.pass_hooks import Outcomes
from freehold.tags.policy.approval import is_risky
from freehold.tags.policy.key_decision import Cause, LeaveReason
from freehold.tags.policy.outcome import Outcome
from freehold.tags.policy.plan import Note, PlanVerdict, ResourcePlan
from freehold.tags.policy.references import Refused
from freehold.tags.policy.status import NOT_APPLIED

MOST_LISTED: Final = 200
"""The tags that a summary lists of each sort; the others are counted."""

_NO_ROOM: Final = (LeaveReason.LIMIT_EXCEEDED, LeaveReason.TRIMMED)
_IN_CONFLICT: Final = tuple(each for each in NOT_APPLIED if each not in _NO_ROOM)
_DRIFT: Final = frozenset({Cause.STRIPPED, Cause.DRIFTED})


class TagStanding(StrEnum):
    """How a resource, or one of its tags, compares with what is asked for. The order is that of urgency."""

    DRIFTED = "drifted"
    """Somebody changed what we wrote."""
    DIFFERS = "differs"
    """It is not written yet, or the spec has changed."""
    REFUSED = "left"
    """Something prevents it: a limit, a conflict, somebody else's value."""
    UNKNOWN = "not known"
    """It could not be read."""
    AS_WANTED = "as wanted"


@dataclass(frozen=True)
class LeftTag:
    """A tag that is not as asked for, and that no pass will change. ``key`` is empty where it is the whole list.

    ``found`` and ``wanted`` are None where there is no value.
    """

    resource: str
    key: str
    found: str | None
    wanted: str | None
    why: str


@dataclass(frozen=True)
class RepairedTag:
    """A tag that somebody had changed or taken off, and that is as it was again. ``at`` is domain time."""

    resource: str
    key: str
    found: str | None
    value: str
    at: float


@dataclass(frozen=True)
class PassSummary:
    """The summary of one object. ``unlisted``: tags in conflict or trimmed beyond those that are listed.

    ``repaired`` counts since the process began, and ``repairs`` are the last of them. ``open`` are sentences: what
    stops the object, or could not be asked.
    """

    looked: float
    counts: Mapping[TagStanding, int]
    conflicts: tuple[LeftTag, ...] = ()
    trimmed: tuple[LeftTag, ...] = ()
    unlisted: int = 0
    repaired: int = 0
    repairs: tuple[RepairedTag, ...] = ()
    open: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class PassSummaries:
    """An Observer of passes that remembers the summary of each object. The next process begins with nothing."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._last: dict[Key, PassSummary] = {}

    def __call__(self, key: Key, outcomes: Outcomes | None) -> None:
        before = self._last.pop(key, None)
        if outcomes is None:
            return
        found = summarize(outcomes, self._now())
        if before is not None:
            repairs = (*before.repairs, *found.repairs)[-MOST_LISTED:]
            found = replace(found, repaired=before.repaired + found.repaired, repairs=repairs)
        self._last[key] = found

    def find(self, key: Key) -> PassSummary | None:
        """Return the summary of a CloudMetadata; None where no pass of this process has ended."""
        return self._last.get(key)


def summarize(outcomes: Outcomes, now: float) -> PassSummary:
    """Sum up what one pass came to, over all providers' objects."""
    worked = [each for each in outcomes if isinstance(each, Outcome)]
    counts: Counter[TagStanding] = Counter()
    for each in worked:
        counts.update(_count(each))
    left = [tag for each in worked for tag in _list_left(each)]
    conflicts = [tag for reason, tag in left if reason in _IN_CONFLICT]
    trimmed = [tag for reason, tag in left if reason in _NO_ROOM]
    repairs = [
        RepairedTag(repair.resource, repair.key, _join(repair.found), repair.value, now)
        for each in worked
        for repair in each.repairs
    ]
    return PassSummary(
        looked=now,
        counts=dict(counts),
        conflicts=tuple(conflicts[:MOST_LISTED]),
        trimmed=tuple(trimmed[:MOST_LISTED]),
        unlisted=len(conflicts[MOST_LISTED:]) + len(trimmed[MOST_LISTED:]),
        repaired=len(repairs),
        repairs=tuple(repairs[-MOST_LISTED:]),
        open=tuple(islice(dict.fromkeys(_list_open(outcomes)), MOST_LISTED)),
    )


def _count(outcome: Outcome) -> Counter[TagStanding]:
    counts = Counter(_find_standing(plan, outcome) for plan in outcome.plans.values())
    counts[TagStanding.UNKNOWN] += sum(ident not in outcome.plans for ident in outcome.failed)
    vanished = len(outcome.plans) - outcome.selected
    counts[TagStanding.AS_WANTED] -= min(max(vanished, 0), counts[TagStanding.AS_WANTED])
    return counts


def _find_standing(plan: ResourcePlan, outcome: Outcome) -> TagStanding:
    """Say how a resource stands after the pass: what the plan would change is so now, unless it was not written."""
    ident = plan.resource.id
    is_stopped = ident in outcome.failed or ident in outcome.later or bool(outcome.problem)
    if plan.verdict is PlanVerdict.CHANGES and (is_stopped or (outcome.approval is not None and is_risky(plan))):
        return TagStanding.DIFFERS if _DRIFT.isdisjoint(plan.delta.causes) else TagStanding.DRIFTED
    if ident in outcome.later:
        return TagStanding.DIFFERS
    if any(note.reason in NOT_APPLIED for note in plan.notes):
        return TagStanding.REFUSED
    return TagStanding.UNKNOWN if ident in outcome.failed else TagStanding.AS_WANTED


def _list_left(outcome: Outcome) -> Iterator[tuple[LeaveReason, LeftTag]]:
    for plan in outcome.plans.values():
        for note in plan.notes:
            yield note.reason, _describe_left(plan, note, outcome.active)


def _describe_left(plan: ResourcePlan, note: Note, wanted: Mapping[str, str]) -> LeftTag:
    found = _join(plan.resource.tags.get(note.key, ()))
    return LeftTag(plan.resource.id, note.key, found, wanted.get(note.key), note.message)


def _join(values: Collection[str]) -> str | None:
    """Join the values of a cloud with several values for a key."""
    return " and ".join(sorted(values)) if values else None


def _list_open(outcomes: Outcomes) -> Iterator[str]:
    for each in outcomes:
        if isinstance(each, Refused):
            yield each.message
            continue
        if each.problem:
            yield each.problem
        if each.approval is not None:
            yield each.approval.message
        for where, error in sorted({**each.unasked, **each.failed}.items()):
            yield f"{where}: {error.message}"
        if each.nowhere:
            yield f"{len(each.nowhere)} resources carry tags of this object and are in no account and region it names"
        if each.lost:
            yield "part of the record of what was written cannot be read: put its ConfigMaps back from a backup"
