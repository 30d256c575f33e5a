"""Rate limits: a token bucket for each API, which slows down when the cloud refuses, and waits as long as it asks."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

SLOWEST = 0.1
"""The lowest rate in calls a second: some calls must go on, to find out when the throttling ends."""

LOOK_SHARE = 20
"""While others wait, one token of so many is for a read of an object at rest."""

READ_SHARE = 2
"""While writes wait, one token of so many is for a read, so that the writes of one object do not stop the others. With
55 objects at two calls a second none waits longer than a minute (``powervs.fair.wait`` of ``make bench``)."""

_TIMES: Final[Mapping[str, float]] = {"secretsmanager": 4.0}
"""APIs with higher limits: 50 writes and 10,000 DescribeSecret a second, and each secret needs a call of its own.

Source: https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html
"""

_OF_THEIR_OWN: Final[Mapping[str, tuple[float, int]]] = {"ec2.run_instances": (0.2, 5)}
"""Operations with a bucket of their own: the multiple of the rate, and the burst. With 10 calls a second that is AWS's
own for RunInstances, so that many machines at once are not refused, and no other call of EC2 waits for them.

Source: https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
"""

SHORTEST_PAUSE = 0.001
"""The least seconds of a sleep, so that rounding does not leave one that does not move the clock."""


class TurnExpired(Exception):
    """The turn of a call came after its time limit; no token was spent."""


@dataclass(eq=False)
class _Turn:
    """A call that waits for a token. ``number`` is the order of arrival, ``until`` the time limit."""

    sender: str
    write: bool
    look: bool
    until: float
    number: int
    wakeup: asyncio.Future[None] | None = None

    def wake(self) -> None:
        if self.wakeup is not None and not self.wakeup.done():
            self.wakeup.set_result(None)


class TokenBucket:
    """A token bucket: ``rate`` tokens a second of wall time, as vendors count, up to ``burst``.

    Where several processes use one account, each has its ``share`` of both.

    Senders take turns, so that the many calls of one do not delay the few of another. Writes go before
    reads, and the writes of one sender in a row: they were decided on readings that age, and a write that comes too
    late costs all its reads again. Reads of objects at rest (looks) go last.
    """

    def __init__(
        self,
        rate: float,
        burst: int,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        share: Callable[[], float] = lambda: 1.0,
    ) -> None:
        self._top, self._rate, self._burst, self._share = rate, rate, float(burst), share
        self._tokens, self._refilled_at = float(burst), now()
        self._closed_until = self._halved_at = float("-inf")
        self._now, self._pause = now, pause
        self._waiting: list[_Turn] = []
        self._numbers = itertools.count(1)
        self._last_turns: dict[str, int] = {}
        self._last: _Turn | None = None
        self._since_look = 0
        self._writes_in_a_row = 0

    @property
    def rate(self) -> float:
        """The tokens a second now."""
        return max(SLOWEST, self._rate * self._share())

    async def take(
        self, sender: str = "", *, write: bool = False, look: bool = False, until: float = float("inf")
    ) -> float:
        """Wait for a token. Return the time when it came. Raises TurnExpired if the turn comes after ``until``."""
        turn = _Turn(sender, write, look and not write, until, next(self._numbers))
        self._waiting.append(turn)
        try:
            return await self._wait_for(turn)
        finally:
            self._waiting.remove(turn)
            if self._waiting:
                self._choose_next().wake()
            else:
                self._last_turns.clear()  # nobody has a turn to be compared with

    async def _wait_for(self, turn: _Turn) -> float:
        while True:
            if self._choose_next() is not turn:
                turn.wakeup = asyncio.get_running_loop().create_future()
                await turn.wakeup
            elif self._now() > turn.until:
                raise TurnExpired
            elif (left := self.find_wait()) > 0.0:
                await self._pause(max(left, SHORTEST_PAUSE))
            else:
                self._spend(turn)
                return self._now()

    def _spend(self, turn: _Turn) -> None:
        self._tokens = max(0.0, self._tokens - 1.0)
        self._last_turns[turn.sender] = next(self._numbers)
        self._last = turn
        self._since_look = 0 if turn.look else self._since_look + 1
        self._writes_in_a_row = self._writes_in_a_row + 1 if turn.write else 0

    def _choose_next(self) -> _Turn:
        """Choose whose turn it is: a look's only if nothing else waits, or after :data:`LOOK_SHARE` others."""
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
        return not turn.write, not goes_on, self._last_turns.get(turn.sender, 0), turn.number

    def find_wait(self) -> float:
        """Return the seconds until the next token, if nobody else waits."""
        self._refill()
        missing = (1.0 - self._tokens) / self.rate if self._tokens < 1.0 else 0.0
        return max(missing, self._closed_until - self._now())

    def slow_down(self, retry_after: float | None = None, *, sent: float = float("inf")) -> None:
        """Halve the rate, empty the bucket, and wait as long as the cloud asks: it has refused a call for its rate.

        Calls that were in flight together and are all refused count once: one that was ``sent`` before the last halving
        does not halve the rate again.
        """
        self._refill()
        if sent > self._halved_at:
            self._rate = max(SLOWEST, self._rate / 2)
            self._halved_at = self._now()
        self._tokens = 0.0
        if retry_after is not None:
            self._closed_until = max(self._closed_until, self._now() + retry_after)

    def speed_up(self) -> None:
        """Raise the rate by a twentieth of the top rate, after a successful call."""
        self._rate = min(self._top, self._rate + self._top / 20)

    def _refill(self) -> None:
        now = self._now()
        burst = max(1.0, self._burst * self._share())
        self._tokens = min(burst, self._tokens + (now - self._refilled_at) * self.rate)
        self._refilled_at = now


class TokenBuckets(Protocol):
    """The buckets of each API, for one account or for several."""

    def find_bucket(self, api: str, operation: str = "") -> TokenBucket: ...


class Limits:
    """The buckets of one account, by API: on AWS of one region of it, on IBM Cloud of all (ADR 11).

    ``share`` is the part of the account's limits that this process may use.
    """

    share: Callable[[], float] = staticmethod(lambda: 1.0)

    def __init__(
        self,
        rate: float = 10.0,
        burst: int = 20,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._rate, self._burst = rate, burst
        self._now, self._pause = now, pause
        self._buckets: dict[str, TokenBucket] = {}

    def find_bucket(self, api: str, operation: str = "") -> TokenBucket:
        """Return the bucket of an API, or that of an operation that has its own."""
        named = f"{api}.{operation}"
        name = named if named in _OF_THEIR_OWN else api
        if name not in self._buckets:
            times, burst = _OF_THEIR_OWN.get(name, (_TIMES.get(api, 1.0), self._burst))
            self._buckets[name] = TokenBucket(
                self._rate * times, min(burst, self._burst), self._now, self._pause, lambda: self.share()
            )
        return self._buckets[name]
