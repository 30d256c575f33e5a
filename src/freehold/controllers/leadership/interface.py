"""Leadership: on which objects this process may act, and for how long that is certain."""

from __future__ import annotations

import math
from typing import Protocol

from freehold.controllers.observers import Standing


class LeadershipLost(Exception):
    """This process leads no more. It ends, and is started anew."""


class Leadership(Protocol):
    """The leadership of one process. Any thread may ask."""

    def holds(self, uid: str) -> bool:
        """Return whether this process may act on the object now."""
        ...

    def remaining(self) -> float:
        """Return the seconds for which it is certain that no other process acts."""
        ...

    def held_share(self) -> float:
        """Return the part of all objects that this process holds."""
        ...


class Election(Leadership, Protocol):
    """A leadership that must be won, and may be lost."""

    def read_standing(self) -> Standing:
        """Return the standing, for those who look on."""
        ...

    async def wait_until_elected(self) -> None:
        """Wait until there is something that this process may act on."""
        ...

    async def run(self) -> None:
        """Take part in the election until cancelled. Raises LeadershipLost."""
        ...

    def retire(self) -> None:
        """Take nothing new: this process is about to end."""
        ...

    async def release(self) -> None:
        """Give back what is held. Nothing of it may be in hand."""
        ...


class AlwaysLeads:
    """The leadership of a process that is alone."""

    def holds(self, uid: str) -> bool:
        return True

    def remaining(self) -> float:
        return math.inf

    def held_share(self) -> float:
        return 1.0


ALWAYS_LEADS: Leadership = AlwaysLeads()
