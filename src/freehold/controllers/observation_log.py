"""What the running operator has looked at, for a command that must not take the status of an earlier process for news.

A pass of an unchanged, healthy object writes nothing, so no status tells when it was last confirmed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from freehold.kube.resources import Key


class Seen(StrEnum):
    """What the passes of this process did for an object."""

    LOOKED = "looked"
    """A deep pass has looked at everything of the object in the cloud, and the status says what was found.

    One that somebody asked for reads also what others read from time to time only. What IBM Cloud offers (zones, the id
    of a resource group) may be three hours old in both.
    """
    TOLD = "told"
    """The status is of this process, and of no whole look: paused, no credentials, a spec that is not valid."""
    LEFT = "left"
    """It is left to somebody else."""


@dataclass(frozen=True)
class Look:
    """``version``: the resourceVersion of the object with the status that the pass wrote or left as it was."""

    seen: Seen
    version: str


class Looks:
    """Of the objects of one kind. In memory only: the next process has looked at nothing."""

    def __init__(self) -> None:
        self._asked: set[Key] = set()
        self._last: dict[Key, Look] = {}

    def ask(self, key: Key) -> None:
        """What was seen so far counts no more, nor what a pass sees that has begun already."""
        self._asked.add(key)
        self._last.pop(key, None)

    def begin(self, key: Key) -> bool:
        """A pass begins; whether somebody has asked for a deep one."""
        asked = key in self._asked
        self._asked.discard(key)
        return asked

    def note(self, key: Key, seen: Seen, version: str) -> None:
        """A pass has stored its status. A whole look counts until another one is asked for."""
        if key in self._asked:
            return
        last = self._last.get(key)
        if last is not None and last.seen is Seen.LOOKED and seen is Seen.TOLD:
            seen = Seen.LOOKED
        self._last[key] = Look(seen, version)

    def last(self, key: Key) -> Look | None:
        """None where this process has not come to it since it was last asked to look."""
        return self._last.get(key)

    def forget(self, key: Key) -> None:
        """There is no such object any more."""
        self._asked.discard(key)
        self._last.pop(key, None)
