"""Keys that somebody sets back each time we write them.

The AWS Load Balancer Controller, for one, removes tags that it does not know. After three turns the key is named as
contested and left alone until the next sync period.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

TURNS: Final = 3


class Standing(StrEnum):
    FREE = "Free"
    CONTESTED = "Contested"


@dataclass(frozen=True)
class Turns:
    """How often a key was set back since ``since``, in seconds of domain time."""

    count: int
    since: float


def set_back(turns: Turns | None, now: float, period: float) -> Turns:
    """What we wrote was found changed or gone; turns of an earlier sync period do not count."""
    if turns is None or now - turns.since >= period:
        return Turns(1, now)
    return Turns(turns.count + 1, turns.since)


def standing(turns: Turns | None, now: float, period: float) -> Standing:
    if turns is None or turns.count < TURNS or now - turns.since >= period:
        return Standing.FREE
    return Standing.CONTESTED
