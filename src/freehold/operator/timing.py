"""Domain time that can be waited for: the one way in which the runtime lets time pass (ARCHITECTURE.md)."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import Protocol

from freehold.lifecycle.clock import ManualClock, SystemClock


class DomainTime(Protocol):
    """``monotonic`` never jumps; ``sleep`` takes seconds of the same time."""

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class RunningTime:
    """Domain time at the speed of a system clock."""

    def __init__(self, clock: SystemClock) -> None:
        self._clock = clock

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(self._clock.wall(max(seconds, 0.0)))


class VirtualTime:
    """Stands still until ``advance`` moves it, which wakes whoever has slept long enough."""

    def __init__(self, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def monotonic(self) -> float:
        return self.clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic() + seconds, next(self._order), waiter))
        await waiter

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        self.clock.advance(seconds)
        while self._sleepers and self._sleepers[0][0] <= self.monotonic():
            waiter = heapq.heappop(self._sleepers)[2]
            if not waiter.done():
                waiter.set_result(None)

    def until_next(self) -> float | None:
        """Seconds until somebody wakes; None when nobody sleeps."""
        waiting = [due for due, _, waiter in self._sleepers if not waiter.done()]
        return max(min(waiting) - self.monotonic(), 0.0) if waiting else None
