"""Sends the calls that carry out plans: one bad resource never fails the others."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from freehold.engine.errors import CloudError, NeedsPerson
from freehold.providers.access.ports import THREADS
from freehold.tagging.batches import Batch
from freehold.tagging.failures import Failed, ReadFirst, SendAgain, Step, Vanished, after_partial_failure, took_effect
from freehold.tagging.failures import after_refused_call as after_refused
from freehold.tagging.part_done import Done
from freehold.tagging.resources import Resource

T = TypeVar("T")


class Sender(Protocol):
    """All that is needed of a place (places.TagPlace)."""

    async def send(self, batch: Batch) -> Mapping[str, CloudError]: ...

    async def read(self, ids: Collection[str]) -> Mapping[str, Resource | CloudError]: ...

    async def all(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]: ...

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]: ...


AT_ONCE = THREADS // 2
"""Calls in flight for one object in one region: a reply that is lost is waited for for ten seconds, and half of the
threads are left to others."""

MOST_REFUSALS = 8
"""Of one call, each sent after the one before was refused, while none has succeeded: as many as it takes to find one
bad resource of 200 by halving."""
MOST_IN_A_PASS = 100
"""Of one call, though others succeed: what is left then is tried whole, and begun elsewhere in the next pass."""


@dataclass
class _Way:
    """How one call has fared in this pass, in one region of one account."""

    refusals: int = 0
    in_a_row: int = 0
    """Since the last one that named the resource in its way, or from the beginning; together in flight count as one."""
    succeeded: bool = False

    def refused(self, named: Collection[str], before: int) -> None:
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
            max((each.wait for each in (self, other) if each.wait is not None), default=None),
            self.calls + other.calls,
            self.succeeded + other.succeeded,
            self.doubtful + other.doubtful,
        )

    def done_on(self, targets: Collection[str]) -> dict[str, Done]:
        """What the calls have done, or may have, on some of the resources."""
        found: dict[str, Done] = {}
        for batch in self.succeeded:
            for done in _on(batch, targets, found):
                (done.removed if batch.verb.removes else done.written).update(key for key, _ in batch.tags)
        for batch in self.doubtful:
            for done in _on(batch, targets, found):
                (done.perhaps_removed if batch.verb.removes else done.perhaps_written).update(k for k, _ in batch.tags)
        return found

    def going_on(self, targets: Sequence[str]) -> list[str]:
        """Those for which something may still be sent."""
        ended = [each for each in (self.failed, self.vanished, self.unsure, self.later) if each]
        return [target for target in targets if not any(target in each for each in ended)] if ended else list(targets)


async def carry_out(batches: Sequence[Batch], place: Sender, may_go: Callable[[], bool]) -> Written:
    """The calls of one resource go in their order, those of different resources together.

    A resource of which one call did not succeed gets no other one in this pass. ``may_go`` is asked before each call:
    what was allowed when the pass began may be withdrawn by now.
    """
    sending = _Sending(deque(batches), place, may_go)
    for ended in await place.all([sending.run() for _ in range(AT_ONCE)]):
        if isinstance(ended, Exception):
            raise ended
    return sending.done


@dataclass
class _Sending:
    """``waiting``: the calls that are left. ``busy``: resources of calls that are not answered yet."""

    waiting: deque[Batch]
    place: Sender
    may_go: Callable[[], bool]
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
        """The first one of whose resources none has a call in flight, or an earlier one that waits."""
        before = set(self.busy)
        for place, batch in enumerate(self.waiting):
            if before.isdisjoint(batch.targets):
                del self.waiting[place]
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
        try:
            errors = await self.place.send(batch)
        except CloudError as error:
            named = self.place.named_in(error, batch.targets)
            if isinstance(error, NeedsPerson):
                way.refused(named, before)
                if way.is_hopeless:
                    done.failed |= dict.fromkeys(batch.targets, error)
                    return
            steps = after_refused(batch, error, named)
            self.waiting.extendleft(reversed(_again(steps, batch)))
            await self._note(batch, [step for step in steps if not isinstance(step, SendAgain) or step.batch == batch])
        else:
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
                    done.failed[target] = error

    async def _read(self, batch: Batch) -> None:
        """What shows no effect may still get it: it is read again, and planned anew, in the next pass.

        One at a time: most resources take a call of their own, and where one cannot be read the others wait as long.
        """
        async with self.reading:
            read = {} if self.blind else await self.place.read(batch.targets)
            self.blind = self.blind or all(isinstance(now, CloudError) for now in read.values())
        good = {ident for ident, now in read.items() if isinstance(now, Resource) and took_effect(batch, now)}
        if good:
            self.done.succeeded.append(batch.only(good))
            self.ways[batch.verb, batch.account, batch.region].succeeded = True
        if left := set(batch.targets) - good:
            self.done.unsure |= left
            self.done.doubtful.append(batch.only(left))


def _on(batch: Batch, targets: Collection[str], found: dict[str, Done]) -> list[Done]:
    return [found.setdefault(target, Done()) for target in set(batch.targets) & set(targets)]


def _again(steps: Sequence[Step], batch: Batch) -> list[Batch]:
    """Halves, and what is left of a batch; a whole one that was refused for a while waits for the next pass."""
    return [step.batch for step in steps if isinstance(step, SendAgain) and step.batch != batch]
