"""One token bucket an API: bounds the rate, slows down when the cloud refuses, and waits for as long as it asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

SLOWEST = 0.1
"""Calls a second below which a bucket is never throttled: somebody has to find out when it is over."""

SHORTEST_PAUSE = 0.001
"""Of a wait that rounding leaves: a sleep must move the clock."""


class Bucket:
    """Tokens refill at ``rate`` a second up to ``burst``; wall time, because vendors count in wall time."""

    def __init__(
        self,
        rate: float,
        burst: int,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._top, self._rate, self._burst = rate, rate, float(burst)
        self._tokens, self._seen = float(burst), now()
        self._closed_until = float("-inf")
        self._now, self._pause = now, pause
        self._turn = asyncio.Lock()

    @property
    def rate(self) -> float:
        return self._rate

    async def take(self) -> None:
        """Wait for a token; first come, first served."""
        async with self._turn:
            while (left := self.wait()) > 0.0:
                await self._pause(max(left, SHORTEST_PAUSE))
            self._tokens = max(0.0, self._tokens - 1.0)

    def wait(self) -> float:
        """Seconds until the next token, if nobody is before us."""
        self._refill()
        missing = (1.0 - self._tokens) / self._rate if self._tokens < 1.0 else 0.0
        return max(missing, self._closed_until - self._now())

    def throttled(self, retry_after: float | None = None) -> None:
        """The cloud refused for rate: halve, start empty, and send nothing for as long as it asks."""
        self._refill()
        self._rate = max(SLOWEST, self._rate / 2)
        self._tokens = 0.0
        if retry_after is not None:
            self._closed_until = max(self._closed_until, self._now() + retry_after)

    def served(self) -> None:
        """Recover by a twentieth of the top rate a call."""
        self._rate = min(self._top, self._rate + self._top / 20)

    def _refill(self) -> None:
        now = self._now()
        self._tokens = min(self._burst, self._tokens + (now - self._seen) * self._rate)
        self._seen = now


class Limits:
    """The buckets of one account and region, by API."""

    def __init__(
        self,
        rate: float = 10.0,
        burst: int = 20,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._rate, self._burst = rate, burst
        self._now, self._pause = now, pause
        self._buckets: dict[str, Bucket] = {}

    def bucket(self, api: str) -> Bucket:
        if api not in self._buckets:
            self._buckets[api] = Bucket(self._rate, self._burst, self._now, self._pause)
        return self._buckets[api]
