"""Log of what the running operator has looked at: a command must not take an earlier process's status for news.

A pass of an unchanged, healthy object writes nothing, so no status tells when it was last confirmed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from freehold.kube.resources import Key


class LookOutcome(StrEnum):
    """The outcome of the passes of this process over an object."""

    FULL_LOOK = "looked"
    """A pass has read everything of the object in the cloud, and the status has the result.

    A requested look also reads what other passes cache. What IBM Cloud offers (zones, the id
    of a resource group) may be three hours old in both.
    """
    STATUS_ONLY = "told"
    """This process wrote the status without a full look: paused, no credentials, an invalid spec."""
    LEFT_ALONE = "left"
    """Another controller manages the object."""


@dataclass(frozen=True)
class LookRecord:
    """A finished pass. ``version`` is the resourceVersion of the object with the status that the pass left."""

    outcome: LookOutcome
    version: str


class LookLog:
    """The looks at the objects of one kind. In memory only: a new process has looked at nothing."""

    def __init__(self) -> None:
        self._asked: set[Key] = set()
        self._last: dict[Key, LookRecord] = {}

    def request_look(self, key: Key) -> None:
        """Request a full look: earlier passes, and one that runs now, do not count for it."""
        self._asked.add(key)
        self._last.pop(key, None)

    def begin_pass(self, key: Key) -> bool:
        """Begin a pass. Return whether a full look was requested."""
        asked = key in self._asked
        self._asked.discard(key)
        return asked

    def note_pass(self, key: Key, seen: LookOutcome, version: str) -> None:
        """Record that a pass has stored its status. A full look counts until the next one is requested."""
        if key in self._asked:
            return
        last = self._last.get(key)
        if last is not None and last.outcome is LookOutcome.FULL_LOOK and seen is LookOutcome.STATUS_ONLY:
            seen = LookOutcome.FULL_LOOK
        self._last[key] = LookRecord(seen, version)

    def find_last(self, key: Key) -> LookRecord | None:
        """Return the last look; None if there was none since one was requested."""
        return self._last.get(key)

    def forget(self, key: Key) -> None:
        """Forget an object that is gone."""
        self._asked.discard(key)
        self._last.pop(key, None)
