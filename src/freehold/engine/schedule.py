"""When to look again at what is being created or deleted: as seldom as the whole object stays fast.

A look may come late by a share of the time that the object needs as a whole, and by what the chain of the resource has
to spare beside the longest chain. What is not learned yet is believed to keep the pace of what was seen: how many times
its published time a create or delete takes here. Nothing here decides what a look proves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import ceil, sqrt

from freehold.engine.durations import FASTEST, SLOWEST, Estimate, Span
from freehold.engine.resources import NodeKey

SHORTEST, LATEST = 2.0, 300.0
"""Seconds between two looks at one resource at least, and by which a look is late at most."""

PRICE = 0.015
"""What a look is worth: so much of the time that the object needs as a whole."""

LEAST_PRICE = 1.5
"""Seconds that a look is worth at least."""

LATE = 0.06
"""How late a look may always be, as a share of what the object needs as a whole."""

UNLIKELY = 3.0
"""How many times later a look may be before the time at which the pace expects an end."""

ANY_PACE = Span(FASTEST, SLOWEST)


@dataclass(frozen=True)
class Task:
    """The create or delete of one resource.

    ``before`` is how long the chain of tasks before it took; ``spent`` is how long it has run, ``looked`` how long it
    had at the last look that showed it under way, ``done`` whether it is over; ``then`` are the tasks that can only
    begin after it. Seconds.
    """

    estimate: Estimate
    before: float = 0.0
    spent: float = 0.0
    looked: float = 0.0
    done: bool = False
    then: frozenset[NodeKey] = frozenset()

    def likely(self, pace: Span) -> Span:
        """Return between what times it is expected to end."""
        low, high = self.estimate.span
        if self.estimate.samples:
            return self.estimate.span
        published = self.estimate.published
        return Span(max(low, pace.low * published), min(high, pace.high * published))

    def least(self, pace: Span) -> float:
        """Return what it takes at least, as far as can be told."""
        return self.spent if self.done else max(self.spent, self.likely(pace).low)

    def most(self, pace: Span) -> float:
        """Return what it is believed to take at most."""
        return self.spent if self.done else max(self.spent, self.likely(pace).high)


@dataclass(frozen=True)
class NextLook:
    """``wait``: seconds from now. ``late``: by how many seconds the look may miss the end."""

    wait: float
    late: float


def pace_of(tasks: Iterable[Task], learned: Iterable[Estimate] = ()) -> Span:
    """Return how many times its published time a create or delete takes here; any, if samples disagree."""
    low, high = ANY_PACE
    for each in learned:
        if each.samples and each.published:
            low, high = max(low, each.span.low / each.published), min(high, each.span.high / each.published)
    for task in tasks:
        if not task.done and task.estimate.published:
            low = max(low, task.looked / task.estimate.published)
    return Span(low, high) if low < high else ANY_PACE


def next_look(key: NodeKey, tasks: Mapping[NodeKey, Task], pace: Span = ANY_PACE) -> NextLook:
    """Return when to look at ``key``, one of the ``tasks`` of its object."""
    return next_looks([key], tasks, pace)[key]


def next_looks(
    keys: Collection[NodeKey], tasks: Mapping[NodeKey, Task], pace: Span = ANY_PACE
) -> dict[NodeKey, NextLook]:
    """Return when to look at each of ``keys``, which are of the ``tasks`` of one object."""
    least = {other: task.least(pace) for other, task in tasks.items()}
    most = {other: task.most(pace) for other, task in tasks.items()}
    after, after_at_most = _find_rests(tasks, tasks, least), _find_rests(keys, tasks, most)
    whole = max((task.before + least[other] + after[other] for other, task in tasks.items()), default=0.0)
    spare = {key: max(0.0, whole - tasks[key].before - least[key] - after_at_most[key]) for key in keys}
    return {key: _next_look(tasks[key], whole, spare[key], pace) for key in keys}


def _next_look(task: Task, whole: float, spare: float, pace: Span) -> NextLook:
    """``whole``: what the object needs at least. ``spare``: how much shorter the chain of this task is."""
    low, high = task.estimate.span
    margin = min(1.0, 0.02 * high)
    begin, end = max(task.looked, low), high + margin
    if begin >= end:
        late = _lateness(begin, whole, spare)  # it may take as long once more
        at = begin + late
    else:
        expected = task.likely(pace)
        if begin < expected.high + margin < end:
            end = expected.high + margin
        first = max(begin, min(expected.low, end))
        late = _lateness(end - first, whole, spare)
        at = first + (end - first) / max(1, ceil((end - first) / late))  # the quotient of the smallest floats is 0
        if begin < first:
            at = min(at, begin + UNLIKELY * _lateness(first - begin, whole, spare))
        if task.estimate.samples == 0:
            at = _align_with_published(at, task, late)
    longest = max(LATEST, SLOWEST * task.estimate.published)  # so that an absurd duration delays no look for long
    at = max(at, task.looked + SHORTEST)
    return NextLook(min(max(at - task.spent, 0.0), longest), late)


def _lateness(width: float, whole: float, spare: float) -> float:
    """Return the time from look to look in a span of ``width`` in which the end may be anywhere.

    More looks find it earlier, and each costs. Of ``n`` looks about half are needed, and the end is found half of
    ``width / n`` late: with a look worth ``price`` seconds, the sum is the least where they are this far apart.
    """
    late = max(SHORTEST, LATE * whole, sqrt(2 * max(PRICE * whole, LEAST_PRICE) * width))
    return min(late + spare, LATEST)


def _align_with_published(at: float, task: Task, late: float) -> float:
    """Return the published time where it is near: it is the likeliest of all."""
    published = task.estimate.published + min(1.0, 0.02 * task.estimate.published)
    return published if task.looked + SHORTEST <= published <= at + late / 4 else at


def _find_rests(
    keys: Iterable[NodeKey], tasks: Mapping[NodeKey, Task], times: Mapping[NodeKey, float]
) -> Mapping[NodeKey, float]:
    """Return the longest chain of tasks that begins after each of ``keys``, and after what is in these chains."""
    lengths: dict[NodeKey, float] = {}

    def length(one: NodeKey) -> float:
        if one not in lengths:
            lengths[one] = 0.0  # users can edit recorded edges: a cycle ends here
            after = (other for other in tasks[one].then if other in tasks)
            lengths[one] = max((times[other] + length(other) for other in after), default=0.0)
        return lengths[one]

    for key in keys:
        length(key)
    return lengths
