"""An asyncio event loop on virtual time: when nothing is left to run, the time of the next timer is now."""

from __future__ import annotations

import asyncio
import selectors


class _Timeless(selectors.DefaultSelector):
    """Lets the time pass that the loop would wait for. A loop without a timer would wait for ever: that is a defect."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("every task waits, and none of them for time")
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time()`` begins at 0. Nothing may wait for a socket or a thread: only timers move the time."""

    def __init__(self) -> None:
        self._timeless = _Timeless()
        super().__init__(self._timeless)

    def time(self) -> float:
        return self._timeless.now


class LoopTime:
    """The loop's time as the operator's clock and as its way to wait (engine.clock.Clock, timing.DomainTime)."""

    START = 1_700_000_000.0

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        return self.START + self._loop.time()

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))
