"""Keys that somebody sets back each time we write or remove them.

The AWS Load Balancer Controller, for one, removes tags that it does not know. After three turns in a row the key is
named as contested, and the next pass at the object's own cadence leaves it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

TURNS: Final = 3

NEXT: Final = 1.5
"""Periods within which the next pass comes, whatever the jitter, and the one after it does not."""


class Standing(StrEnum):
    FREE = "Free"
    CONTESTED = "Contested"


@dataclass(frozen=True)
class Turns:
    """How many passes in a row found a key set back, and when the last one did, in seconds of domain time."""

    count: int
    last: float


def set_back(turns: Turns | None, now: float, period: float) -> Turns:
    """What we wrote was found changed or gone. A pass that found it well ends the row, one that left it does not."""
    return Turns(1, now) if turns is None or is_over(turns, now, period) else Turns(turns.count + 1, now)


def removed(turns: Turns | None, now: float, period: float) -> Turns:
    """A key that is to be absent was there and is removed: for the first time, or because somebody put it on again."""
    return Turns(0, now) if turns is None or is_over(turns, now, period) else Turns(turns.count + 1, now)


def is_over(turns: Turns, now: float, period: float) -> bool:
    left = 1.0 if turns.count >= TURNS else 0.0
    return now - turns.last >= (NEXT + left) * period


def standing(turns: Turns | None, now: float, period: float) -> Standing:
    if turns is None or turns.count < TURNS or now - turns.last >= NEXT * period:
        return Standing.FREE
    return Standing.CONTESTED
