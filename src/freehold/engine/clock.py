"""Domain time: polls, backoff, lag, provisioning. Virtual in tests, N times life in the demo."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """``now`` is epoch seconds, for people and records; ``monotonic`` never jumps, for settle delays."""

    def now(self) -> float: ...

    def monotonic(self) -> float: ...


class SystemClock:
    """Domain time that runs ``speed`` times wall time from a common origin.

    ``origin`` pairs a wall time with a domain time, so that two processes can share one domain clock.
    """

    def __init__(self, speed: float = 1.0, origin: tuple[float, float] | None = None) -> None:
        self.speed = speed
        self._wall, self._domain = origin or (time.time(), time.time())

    def now(self) -> float:
        return self._domain + (time.time() - self._wall) * self.speed

    def monotonic(self) -> float:
        return time.monotonic() * self.speed

    def domain(self, wall: float) -> float:
        """Return the domain time at a wall time, such as one that the API server wrote."""
        return self._domain + (wall - self._wall) * self.speed

    def wall(self, seconds: float) -> float:
        """Return how long ``seconds`` of domain time last on the wall."""
        return seconds / self.speed


class ManualClock:
    """Stands still until it is moved."""

    def __init__(self, start: float = 1_700_000_000.0, monotonic: float = 0.0) -> None:
        self._now = start
        self._monotonic = monotonic

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Move the wall clock only, as a time server may."""
        self._now += seconds
