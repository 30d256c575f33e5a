"""An asyncio event loop on virtual time: when nothing is left to run, the time of the next timer is now."""

from __future__ import annotations

import asyncio


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time()`` begins at 0. Nothing may wait for a socket or a thread: only timers move the time."""

    def __init__(self) -> None:
        super().__init__()
        self._virtual = 0.0

    def time(self) -> float:
        return self._virtual

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]  # of asyncio.BaseEventLoop
            self._virtual = max(self._virtual, self._scheduled[0]._when)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


class LoopTime:
    """The loop's time as the operator's clock and as its way to wait (lifecycle.clock.Clock, timing.DomainTime)."""

    START = 1_700_000_000.0

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        return self.START + self._loop.time()

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0))
