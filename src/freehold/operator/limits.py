"""One token bucket an API: bounds the rate, and slows down when the cloud says it is too much."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

SLOWEST = 0.5
"""Calls a second below which a bucket is never throttled: somebody has to find out when it is over."""


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
        self._now, self._pause = now, pause
        self._turn = asyncio.Lock()

    @property
    def rate(self) -> float:
        return self._rate

    async def take(self) -> None:
        """Wait for a token; first come, first served."""
        async with self._turn:
            self._refill()
            if self._tokens < 1.0:
                await self._pause((1.0 - self._tokens) / self._rate)
                self._refill()
            self._tokens = max(0.0, self._tokens - 1.0)

    def throttled(self) -> None:
        """The cloud refused for rate: halve, and start empty."""
        self._rate = max(SLOWEST, self._rate / 2)
        self._tokens = 0.0

    def served(self) -> None:
        """Recover by a twentieth of the top rate a call."""
        self._rate = min(self._top, self._rate + self._top / 20)

    def _refill(self) -> None:
        now = self._now()
        self._tokens = min(self._burst, self._tokens + (now - self._seen) * self._rate)
        self._seen = now


class Limits:
    """The buckets of one account and region, by API."""

    def __init__(self, rate: float = 10.0, burst: int = 20) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: dict[str, Bucket] = {}

    def bucket(self, api: str) -> Bucket:
        return self._buckets.setdefault(api, Bucket(self._rate, self._burst))
