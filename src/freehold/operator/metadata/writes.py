"""Sends the calls that carry out plans: one bad resource never fails the others."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from freehold.lifecycle.errors import CloudError, NeedsPerson
from freehold.tagging.batches import Batch
from freehold.tagging.failures import Failed, ReadFirst, SendAgain, Step, Vanished, after_partial_failure
from freehold.tagging.failures import after_refused_call as after_refused
from freehold.tagging.part_done import Done

Send = Callable[[Batch], Awaitable[Mapping[str, CloudError]]]
NamedIn = Callable[[CloudError, Collection[str]], frozenset[str]]

MOST_REFUSALS = 8
"""Of one call in a row, while none has succeeded: as many as it takes to find one bad resource of 200 by halving."""
MOST_IN_A_PASS = 100
"""Of one call, though others succeed: what is left then is tried whole, and begun elsewhere in the next pass."""


@dataclass
class _Way:
    """How one call has fared in this pass, in one region of one account."""

    refusals: int = 0
    in_a_row: int = 0
    """Since the last one that named the resource in its way, or from the beginning."""
    succeeded: bool = False

    def refused(self, named: Collection[str]) -> None:
        self.refusals += 1
        self.in_a_row = 0 if named else self.in_a_row + 1

    @property
    def is_hopeless(self) -> bool:
        return self.refusals > MOST_IN_A_PASS or (self.in_a_row > MOST_REFUSALS and not self.succeeded)


@dataclass
class Written:
    """What became of the resources of some batches; each is in one of these at most, else all of its calls succeeded.

    ``later`` go again in the next pass, after ``wait`` seconds if the cloud said so. ``unsure``: a reply was lost.
    """

    failed: dict[str, CloudError] = field(default_factory=dict)
    vanished: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    wait: float | None = None
    calls: int = 0
    succeeded: list[Batch] = field(default_factory=list)
    """With the resources on which they did."""

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
            max((each.wait for each in (self, other) if each.wait is not None), default=None),
            self.calls + other.calls,
            self.succeeded + other.succeeded,
        )

    def done_on(self, targets: Collection[str]) -> dict[str, Done]:
        """What the calls that succeeded have done on some of the resources."""
        found: dict[str, Done] = {}
        for batch in self.succeeded:
            keys = {key for key, _ in batch.tags}
            for target in set(batch.targets) & set(targets):
                done = found.setdefault(target, Done())
                (done.removed if batch.verb.removes else done.written).update(keys)
        return found

    def going_on(self, targets: Sequence[str]) -> list[str]:
        """Those for which something may still be sent."""
        ended = (self.failed, self.vanished, self.unsure, self.later)
        return [target for target in targets if not any(target in each for each in ended)]


async def carry_out(
    batches: Sequence[Batch], send: Send, named_in: NamedIn, may_go: Callable[[], bool] = lambda: True
) -> Written:
    """In their order. A resource of which one call did not succeed gets no other one in this pass.

    ``may_go`` is asked before each call: what was allowed when the pass began may be withdrawn by now.
    """
    done, waiting = Written(), deque(batches)
    ways: defaultdict[tuple[str, str, str], _Way] = defaultdict(_Way)
    while waiting:
        batch = waiting.popleft()
        left = done.going_on(batch.targets)
        if not left:
            continue
        if not may_go():
            done.later |= set(left)
            continue
        batch = batch.only(left)
        way = ways[batch.verb, batch.account, batch.region]
        done.calls += 1
        try:
            errors = await send(batch)
        except CloudError as error:
            named = named_in(error, batch.targets)
            way.refused(named)
            if isinstance(error, NeedsPerson) and way.is_hopeless:
                done.failed |= dict.fromkeys(batch.targets, error)
                continue
            steps = after_refused(batch, error, named)
            waiting.extendleft(reversed(_again(steps, batch)))
            _note(done, [step for step in steps if not isinstance(step, SendAgain) or step.batch == batch])
        else:
            way.succeeded = True
            if good := set(batch.targets) - errors.keys():
                done.succeeded.append(batch.only(good) if errors else batch)
            _note(done, after_partial_failure(batch, errors))
    return done


def _again(steps: Sequence[Step], batch: Batch) -> list[Batch]:
    """Halves, and what is left of a batch; a whole one that was refused for a while waits for the next pass."""
    return [step.batch for step in steps if isinstance(step, SendAgain) and step.batch != batch]


def _note(done: Written, steps: Sequence[Step]) -> None:
    for step in steps:
        match step:
            case SendAgain(batch, after):
                done.later |= set(batch.targets)
                done.wait = max(done.wait or 0.0, after) if after is not None else done.wait
            case ReadFirst(targets):
                done.unsure |= set(targets)
            case Vanished(targets):
                done.vanished |= set(targets)
            case Failed(target, error):
                done.failed[target] = error
