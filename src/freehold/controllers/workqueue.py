"""The work queue: which object is looked at next, and when.

The semantics are those that client-go documents for ``util/workqueue``: a key that is added twice
before it is taken is handed out once; a key that is added while a worker has it is handed out again
when that worker is done, never to two workers at a time; failures back off per key.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import sys
import time as wall
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

from freehold.controllers.timing import DomainTime

K = TypeVar("K", bound=Hashable)

LIVE_BEFORE_BACKLOG = 4


class Priority(IntEnum):
    """The priority of a key: LIVE goes first, but every fifth key is of the backlog, so that it never starves."""

    LIVE = 0
    BACKLOG = 1


_NEVER = (float("inf"), Priority.BACKLOG)


@dataclass(frozen=True)
class Backoff:
    """The delays between attempts, in domain time: ``first`` * 2^n, at most ``cap``, spread by ``jitter``."""

    first: float = 1.0
    cap: float = 300.0
    jitter: float = 0.2

    def find_delay(self, failures: int, spread: float) -> float:
        """Return the delay after so many failures. ``spread`` between 0 and 1 places it within the jitter."""
        plain = min(self.first * 2.0 ** min(failures, 60), self.cap)
        return plain * (1.0 + self.jitter * (2.0 * spread - 1.0))


class WorkQueue(Generic[K]):
    """A queue of keys for any number of workers in one event loop."""

    def __init__(
        self,
        time: DomainTime,
        backoff: Backoff | None = None,
        spread: Callable[[], float] = random.random,
        backlog_workers: int = sys.maxsize,
    ) -> None:
        """``backlog_workers``: at most so many workers have keys of the backlog, so that live ones find a worker."""
        self._backlog_workers = backlog_workers
        self._time = time
        self._backoff = backoff or Backoff()
        self._spread = spread
        self._ready: dict[Priority, OrderedDict[K, None]] = {each: OrderedDict() for each in Priority}
        self._ready_since: dict[K, float] = {}
        self._added_meanwhile: dict[K, Priority] = {}
        self._active: dict[K, Priority] = {}
        self._failures: dict[K, int] = {}
        self._due: dict[K, tuple[float, Priority]] = {}
        self._wakes: list[tuple[float, int, K]] = []
        self._order = 0
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = float("inf")
        self._getters: deque[asyncio.Future[None]] = deque()
        self._live_in_a_row = 0
        self._closed = False
        self._idle = asyncio.Event()
        self._idle.set()

    # --- adding --------------------------------------------------------------------------------

    def add(self, key: K, priority: Priority = Priority.LIVE) -> None:
        """Hand ``key`` out as soon as possible. A pending later wake of it is superseded."""
        if self._closed:
            return
        self._due.pop(key, None)
        if key in self._active:
            if self._added_meanwhile.get(key) is not Priority.LIVE:
                self._added_meanwhile[key] = priority
            return
        if key in self._ready[Priority.LIVE] or key in self._ready[priority]:
            return
        self._ready[Priority.BACKLOG].pop(key, None)
        self._ready[priority][key] = None
        self._ready_since.setdefault(key, wall.monotonic())
        self._notify_getter()

    def add_after(self, key: K, seconds: float, priority: Priority = Priority.LIVE) -> None:
        """Hand ``key`` out after ``seconds`` of domain time; an earlier wake, pending or later asked for, wins."""
        if self._closed:
            return
        if seconds <= 0:
            self.add(key, priority)
            return
        if key in self._added_meanwhile or any(key in ready for ready in self._ready.values()):
            return
        due = self._time.monotonic() + seconds
        if key in self._due and due >= self._due[key][0]:
            return
        self._due[key] = due, priority
        self._order += 1
        heapq.heappush(self._wakes, (due, self._order, key))
        self._set_alarm()

    def retry(self, key: K, at_least: float = 0.0) -> float:
        """Hand ``key`` out after its backoff, and no sooner than ``at_least``; returns that delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = max(self._backoff.find_delay(failures, self._spread()), at_least)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """Reset the backoff of ``key``, which succeeded."""
        self._failures.pop(key, None)

    # --- taking --------------------------------------------------------------------------------

    async def get(self) -> K | None:
        """Wait for the next key, which is this worker's until ``finish``. Return None once the queue is closed."""
        while not self._closed:
            taken = self._take()
            if taken is not None:
                key, self._active[key] = taken[0], taken[1]
                self._ready_since.pop(key, None)
                self._idle.clear()
                return key
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter.done() and not getter.cancelled():
                    self._notify_getter()  # the wake-up was for somebody
                elif getter in self._getters:
                    self._getters.remove(getter)
                raise
        return None

    def finish(self, key: K) -> None:
        """Take ``key`` back from its worker. If it was added meanwhile, it becomes ready again."""
        if self._active.pop(key, None) is Priority.BACKLOG:
            self._notify_getter()  # who could not take from the backlog may now
        priority = self._added_meanwhile.pop(key, None)
        if priority is not None:
            self.add(key, priority)
        if not self._active:
            self._idle.set()

    # --- ending --------------------------------------------------------------------------------

    def close(self) -> None:
        """Hand out and accept no more keys; workers may finish theirs."""
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
        self._getters.clear()

    async def wait_until_drained(self) -> None:
        """Wait until no worker has a key in hand."""
        await self._idle.wait()

    # --- looking -------------------------------------------------------------------------------

    @property
    def active(self) -> frozenset[K]:
        """Keys that workers have in hand."""
        return frozenset(self._active)

    @property
    def scheduled(self) -> int:
        """The number of keys that wait for their time."""
        return len(self._due)

    def oldest_wait(self) -> float:
        """Return how long the first of the ready keys has been waiting, in wall seconds. Any thread may ask."""
        since = list(self._ready_since.values())  # a copy in one step; the oldest is first
        return wall.monotonic() - since[0] if since else 0.0

    def __len__(self) -> int:
        """Return the number of keys that are ready to be taken."""
        return sum(len(ready) for ready in self._ready.values())

    # --- within --------------------------------------------------------------------------------

    def _take(self) -> tuple[K, Priority] | None:
        live, backlog = self._ready[Priority.LIVE], self._ready[Priority.BACKLOG]
        busy = sum(priority is Priority.BACKLOG for priority in self._active.values())
        may_backlog = bool(backlog) and busy < self._backlog_workers
        if live and not (may_backlog and self._live_in_a_row >= LIVE_BEFORE_BACKLOG):
            self._live_in_a_row += 1
            return live.popitem(last=False)[0], Priority.LIVE
        if may_backlog:
            self._live_in_a_row = 0
            return backlog.popitem(last=False)[0], Priority.BACKLOG
        return None

    def _notify_getter(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    def _set_alarm(self) -> None:
        while self._wakes and self._due.get(self._wakes[0][2], _NEVER)[0] != self._wakes[0][0]:
            heapq.heappop(self._wakes)  # superseded
        if not self._wakes or self._wakes[0][0] >= self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = self._wakes[0][0]
        self._alarm = asyncio.get_running_loop().create_task(self._fire_alarm(self._alarm_at))

    async def _fire_alarm(self, due: float) -> None:
        await self._time.sleep(due - self._time.monotonic())
        self._alarm, self._alarm_at = None, float("inf")
        now = self._time.monotonic()
        while self._wakes and self._wakes[0][0] <= now:
            at, _, key = heapq.heappop(self._wakes)
            wanted_at, priority = self._due.get(key, _NEVER)
            if wanted_at == at:
                self.add(key, priority)
        self._set_alarm()
