"""Domain time that only the test moves."""

from __future__ import annotations

import asyncio
import heapq
import itertools

from freehold.engine.clock import ManualClock


async def run_ready_tasks(turns: int = 20) -> None:
    """Let the other tasks of the loop run until each of them waits. No time passes, virtual or real."""
    for _ in range(turns):
        await asyncio.sleep(0)  # not a wait: it yields to the loop once


class VirtualTime:
    """Moves only by ``advance``, which wakes every sleeper whose time has come."""

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
        """Seconds until the next sleeper wakes; None if there is none."""
        waiting = [due for due, _, waiter in self._sleepers if not waiter.done()]
        return max(min(waiting) - self.monotonic(), 0.0) if waiting else None
