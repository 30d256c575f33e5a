"""Domain time: what provisioning, lags and reclamation run on. Wall time is needed for tokens only."""

import time
from dataclasses import dataclass, field
from typing import Protocol


class Clock(Protocol):
    """Something that tells the time in epoch seconds and never runs backwards."""

    def now(self) -> float: ...


class SteerableClock(Clock, Protocol):
    """A clock that can be moved ahead; `speed` says how fast it runs by itself, 0 for not at all."""

    @property
    def speed(self) -> float: ...

    def advance(self, seconds: float) -> None: ...


@dataclass
class VirtualClock:
    """Time that stands still until a test moves it."""

    time: float = 1_790_000_000.0

    @property
    def speed(self) -> float:
        return 0.0

    def now(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        """Move on by `seconds`; raises ValueError for a step backwards."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds}")
        self.time += seconds


@dataclass
class ScaledClock:
    """Wall time run `speed` times as fast, starting at `origin` (epoch seconds)."""

    speed: float
    origin: float
    _started: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        return self.origin + (time.monotonic() - self._started) * self.speed

    def advance(self, seconds: float) -> None:
        """Jump ahead by `seconds`; raises ValueError for a step backwards."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds}")
        self.origin += seconds


class WallClock:
    """Real time. Access tokens run on it, because the vendors' SDKs compare `exp` with the machine's clock."""

    def now(self) -> float:
        return time.time()
