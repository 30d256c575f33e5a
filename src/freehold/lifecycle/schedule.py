"""When to look again at what is being created or deleted: as seldom as the whole object stays fast.

A look may come late by a share of the time that the object needs as a whole, and by what the chain of the resource has
to spare beside the longest chain. Nothing here decides what a look proves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from freehold.lifecycle.durations import SLOWEST, Estimate
from freehold.lifecycle.resources import NodeKey

SHORTEST, LATEST = 2.0, 300.0
"""Seconds between two looks at one resource at least, and by which a look is late at most."""

LATE_LEARNED, LATE_UNKNOWN = 0.04, 0.14
"""How late a look may be, as a share of what the object needs as a whole: when the duration is learned, and before."""

NARROW = 4.0
"""A span whose end is at most so many times its beginning counts as learned."""

LIKELY = 0.7
"""A duration that is not narrowed down counts as at least this share of its published time."""


@dataclass(frozen=True)
class Task:
    """The create or delete of one resource.

    ``before`` is how long the chain of tasks before it took; ``spent`` is how long it has run, ``done`` whether it is
    over; ``then`` are the tasks that can only begin after it. Seconds.
    """

    estimate: Estimate
    before: float = 0.0
    spent: float = 0.0
    done: bool = False
    then: frozenset[NodeKey] = frozenset()

    @property
    def least(self) -> float:
        """What it takes at least, as far as can be told."""
        if self.done:
            return self.spent
        low, high = self.estimate.span
        return max(self.spent, min(max(low, LIKELY * self.estimate.published), high))

    @property
    def most(self) -> float:
        """What it is believed to take at most."""
        return self.spent if self.done else max(self.spent, self.estimate.span.high)


@dataclass(frozen=True)
class NextLook:
    """``wait``: seconds from now. ``late``: by how many seconds the look may miss the end."""

    wait: float
    late: float


def next_look(key: NodeKey, tasks: Mapping[NodeKey, Task]) -> NextLook:
    """When to look at ``key``, one of the ``tasks`` of its object."""
    task = tasks[key]
    late = min(max(SHORTEST, _allowed_lateness(key, tasks)), LATEST)
    low, high = task.estimate.span
    margin = min(1.0, 0.02 * high)
    if task.spent >= high + margin:
        return NextLook(late, late)
    begin = max(task.spent, low)
    looks = max(1, ceil((high + margin - begin) / late))  # the quotient of the smallest floats is 0
    at = begin + (high + margin - begin) / looks
    if task.estimate.samples == 0:
        at = _aligned(at, task, late)
    longest = max(LATEST, SLOWEST * task.estimate.published)  # so that an absurd duration delays no look for long
    return NextLook(min(max(at - task.spent, SHORTEST), longest), late)


def _aligned(at: float, task: Task, late: float) -> float:
    """The published time where it is near: it is the likeliest of all."""
    published = task.estimate.published + min(1.0, 0.02 * task.estimate.published)
    return published if task.spent + SHORTEST <= published <= at + late / 4 else at


def _allowed_lateness(key: NodeKey, tasks: Mapping[NodeKey, Task]) -> float:
    task = tasks[key]
    least = {other: one.before + one.least + _rest(other, tasks, most=False) for other, one in tasks.items()}
    whole = max(least.values())
    chain = task.before + task.least + _rest(key, tasks, most=True)
    low, high = task.estimate.span
    share = LATE_LEARNED if high <= NARROW * low else LATE_UNKNOWN
    return share * whole + max(0.0, whole - chain)


def _rest(key: NodeKey, tasks: Mapping[NodeKey, Task], *, most: bool) -> float:
    """The longest chain of tasks that begins after ``key``."""
    lengths: dict[NodeKey, float] = {}

    def length(one: NodeKey) -> float:
        if one not in lengths:
            lengths[one] = 0.0  # users can edit recorded edges: a cycle ends here
            after = (other for other in tasks[one].then if other in tasks)
            lengths[one] = max(((tasks[o].most if most else tasks[o].least) + length(o) for o in after), default=0.0)
        return lengths[one]

    return length(key)
