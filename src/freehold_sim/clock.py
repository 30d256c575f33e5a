"""Domain time drives provisioning, lags and reclamation. Only tokens use wall time."""

import time
from dataclasses import dataclass, field
from typing import Protocol


class Clock(Protocol):
    """A source of epoch seconds that never goes backwards."""

    def now(self) -> float: ...


class SteerableClock(Clock, Protocol):
    """A clock that can be advanced; `speed` is its rate relative to wall time, 0 when it does not run by itself."""

    @property
    def speed(self) -> float: ...

    def advance(self, seconds: float) -> None: ...


@dataclass
class VirtualClock:
    """A clock that changes only when a test advances it."""

    time: float = 1_790_000_000.0

    @property
    def speed(self) -> float:
        return 0.0

    def now(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        """Advance by `seconds`; raises ValueError if negative."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds}")
        self.time += seconds


@dataclass
class ScaledClock:
    """Wall time scaled by `speed`, starting at `origin` (epoch seconds)."""

    speed: float
    origin: float
    _started: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        return self.origin + (time.monotonic() - self._started) * self.speed

    def advance(self, seconds: float) -> None:
        """Advance by `seconds`; raises ValueError if negative."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds}")
        self.origin += seconds


class WallClock:
    """Wall time. Access tokens use it, because the vendors' SDKs compare `exp` with the machine's clock."""

    def now(self) -> float:
        return time.time()
