"""What no list shows and what seldom changes: attributes that cost a call for each resource, read once an hour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

HOUR = 3600.0
"""Seconds for which a reading counts: somebody else's change is noticed as late, unless somebody asks for a look."""

Attributes = Mapping[str, Any]


class Seldom:
    """Shared by the clients of many objects. After a write of ours what was known is forgotten."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, tuple[float, Attributes]] = {}
        self._swept = now()

    def known(self, ident: str) -> Attributes | None:
        """None where it must be read; also after the clock went back."""
        taken, attributes = self._known.get(ident, (-HOUR, {}))
        return attributes if self._is_fresh(taken) else None

    def knew(self, ident: str) -> bool:
        """Whether it was read, or set, some time ago: so it is of one of our objects, and worth a call."""
        return ident in self._known

    def keep(self, ident: str, attributes: Attributes) -> None:
        """What was read of it just now, or what a create has just set."""
        if not self._is_fresh(self._swept):
            self._known = {each: said for each, said in self._known.items() if said[0] >= self._swept}
            self._swept = self._now()
        self._known[ident] = self._now(), attributes

    def forget(self, ident: str) -> None:
        self._known.pop(ident, None)

    def _is_fresh(self, taken: float) -> bool:
        return 0 <= self._now() - taken < HOUR
