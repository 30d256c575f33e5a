"""Domain time with a sleep: the only way in which the controllers let time pass (ARCHITECTURE.md)."""

from __future__ import annotations

import asyncio
from typing import Protocol

from freehold.engine.clock import SystemClock


class DomainTime(Protocol):
    """A clock that can be waited for. ``monotonic`` never jumps; ``sleep`` takes seconds of the same time."""

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
