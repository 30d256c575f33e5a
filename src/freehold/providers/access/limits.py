"""One token bucket an API: bounds the rate, slows down when the cloud refuses, and waits for as long as it asks."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

SLOWEST = 0.1
"""Calls a second below which a bucket is never throttled: somebody has to find out when it is over."""

LOOK_SHARE = 20
"""While others wait, one token in so many is for looks at what is at rest, so that these go on."""

READ_SHARE = 2
"""While writes wait, one token in so many is for a read: nobody's many writes keep the others from going on. With 55
objects at two calls a second none waits longer than a minute (``powervs.fair.wait`` of ``make bench``)."""

_TIMES: Final[Mapping[str, float]] = {"secretsmanager": 4.0}
"""APIs that take more than the others: 50 writes and 10,000 DescribeSecret a second, where each secret is asked alone.

Source: https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html
"""

SHORTEST_PAUSE = 0.001
"""Of a wait that rounding leaves: a sleep must move the clock."""


class Expired(Exception):
    """The turn of a call came after its time; no token was spent."""


@dataclass(eq=False)
class _Turn:
    """One call that waits for a token. ``number``: the order in which they came; ``until``: its time is over then."""

    sender: str
    write: bool
    look: bool
    until: float
    number: int
    called: asyncio.Future[None] | None = None

    def call(self) -> None:
        if self.called is not None and not self.called.done():
            self.called.set_result(None)


class Bucket:
    """Tokens refill at ``rate`` a second up to ``burst``; wall time, because vendors count in wall time.

    Those who wait take turns by sender, so that nobody's many calls keep another one's few waiting. Writes go before
    reads, and one sender's writes one after the other: what they were decided on grows old, and a write that comes too
    late costs all the reads before it again. Looks at what is at rest go last.
    """

    def __init__(
        self,
        rate: float,
        burst: int,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._top, self._rate, self._burst = rate, rate, float(burst)
        self._tokens, self._seen = float(burst), now()
        self._closed_until = self._halved_at = float("-inf")
        self._now, self._pause = now, pause
        self._waiting: list[_Turn] = []
        self._numbers = itertools.count(1)
        self._served: dict[str, int] = {}
        self._last: _Turn | None = None
        self._since_look = 0
        self._writes_in_a_row = 0

    @property
    def rate(self) -> float:
        return self._rate

    async def take(
        self, sender: str = "", *, write: bool = False, look: bool = False, until: float = float("inf")
    ) -> float:
        """Wait for a token; when it came. Raises Expired when the turn comes after ``until``."""
        turn = _Turn(sender, write, look and not write, until, next(self._numbers))
        self._waiting.append(turn)
        try:
            return await self._wait_for(turn)
        finally:
            self._waiting.remove(turn)
            if self._waiting:
                self._next().call()
            else:
                self._served.clear()  # nobody has a turn to be compared with

    async def _wait_for(self, turn: _Turn) -> float:
        while True:
            if self._next() is not turn:
                turn.called = asyncio.get_running_loop().create_future()
                await turn.called
            elif self._now() > turn.until:
                raise Expired
            elif (left := self.wait()) > 0.0:
                await self._pause(max(left, SHORTEST_PAUSE))
            else:
                self._spend(turn)
                return self._now()

    def _spend(self, turn: _Turn) -> None:
        self._tokens = max(0.0, self._tokens - 1.0)
        self._served[turn.sender] = next(self._numbers)
        self._last = turn
        self._since_look = 0 if turn.look else self._since_look + 1
        self._writes_in_a_row = self._writes_in_a_row + 1 if turn.write else 0

    def _next(self) -> _Turn:
        """Whose turn it is: a look's only where nothing else waits, or after :data:`LOOK_SHARE` others."""
        looks = [turn for turn in self._waiting if turn.look]
        urgent = [turn for turn in self._waiting if not turn.look]
        if looks and (not urgent or self._since_look >= LOOK_SHARE - 1):
            return looks[0]
        reads = [turn for turn in urgent if not turn.write]
        if reads and self._writes_in_a_row >= READ_SHARE - 1:
            urgent = reads
        return min(urgent, key=self._rank)

    def _rank(self, turn: _Turn) -> tuple[bool, bool, int, int]:
        last = self._last
        goes_on = last is not None and turn.write and last.write and last.sender == turn.sender
        return not turn.write, not goes_on, self._served.get(turn.sender, 0), turn.number

    def wait(self) -> float:
        """Seconds until the next token, if nobody is before us."""
        self._refill()
        missing = (1.0 - self._tokens) / self._rate if self._tokens < 1.0 else 0.0
        return max(missing, self._closed_until - self._now())

    def throttled(self, retry_after: float | None = None, *, sent: float = float("inf")) -> None:
        """The cloud refused for rate: halve, start empty, and send nothing for as long as it asks.

        Calls that were in flight together and are all refused tell one thing: what was ``sent`` before the last halving
        halves no more.
        """
        self._refill()
        if sent > self._halved_at:
            self._rate = max(SLOWEST, self._rate / 2)
            self._halved_at = self._now()
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


class Buckets(Protocol):
    """The buckets of each API: those of one account, or of several that are told apart somehow."""

    def bucket(self, api: str) -> Bucket: ...


class Limits:
    """The buckets of one account, by API: on AWS of one region of it, on IBM Cloud of all (ADR 11)."""

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
            rate = self._rate * _TIMES.get(api, 1.0)
            self._buckets[api] = Bucket(rate, self._burst, self._now, self._pause)
        return self._buckets[api]
