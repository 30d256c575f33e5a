"""How often an object is reconciled: ``syncevery`` in Go's notation (docs/reference/metadata-compat.md A8).

Source of the notation: https://pkg.go.dev/time#ParseDuration.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from freehold.api.tag_sentences import SHORT_PERIOD, UNPARSABLE_DURATION

DEFAULT: Final = 600.0
FLOOR: Final = 30.0
JITTER: Final = 0.1
SOON: Final = 5.0
DOUBLINGS: Final = 20

_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
PATTERN: Final = rf"^(?:{_PART})+$"


@dataclass(frozen=True)
class UnparsableDuration:
    text: str

    @property
    def message(self) -> str:
        return f"{UNPARSABLE_DURATION} ({self.text!r})"


@dataclass(frozen=True)
class ShortPeriod:
    text: str

    @property
    def message(self) -> str:
        return f"{SHORT_PERIOD} ({self.text!r})"


def parse_sync_period(text: str | None, default: float = DEFAULT) -> float | UnparsableDuration | ShortPeriod:
    """Seconds; the default where there is none. Nothing is looked at more often than the floor allows."""
    if text is None:
        return default
    seconds = duration(text)
    return ShortPeriod(text) if isinstance(seconds, float) and seconds < FLOOR else seconds


def duration(text: str) -> float | UnparsableDuration:
    """Seconds."""
    if not re.fullmatch(PATTERN.strip("^$"), text):
        return UnparsableDuration(text)
    return math.fsum(float(number) * _SECONDS[unit] for number, unit in re.findall(_PART, text))


def retry_after(retries: int) -> float:
    """Seconds until the next look, after so many that came to nothing; who asks bounds it by the sync period."""
    return SOON * 2.0 ** min(retries, DOUBLINGS)


def with_jitter(period: float, fraction: float) -> float:
    """``fraction`` is in [0, 1): objects must not reconcile in lockstep."""
    return period * (1 - JITTER + 2 * JITTER * fraction)
