"""A cache of attributes that no list shows, that cost a call for each resource, and that seldom change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MAX_AGE = 3600.0
"""Seconds for which a cached value counts: changes by others are noticed as late, unless a user asks for a look."""

Attributes = Mapping[str, Any]


class AttributeCache:
    """Attributes by resource, shared by the clients of many objects. A write of ours drops the cached value."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, tuple[float, Attributes]] = {}
        self._swept = now()

    def find_fresh(self, ident: str) -> Attributes | None:
        """Return the cached attributes; None where they must be read again, also after the clock went back."""
        taken, attributes = self._known.get(ident, (-MAX_AGE, {}))
        return attributes if self._is_fresh(taken) else None

    def has_entry(self, ident: str) -> bool:
        """Return whether a value was ever cached, however old: then the resource is one of ours, and worth a call."""
        return ident in self._known

    def keep(self, ident: str, attributes: Attributes) -> None:
        """Cache what was just read, or what a create has just set."""
        if not self._is_fresh(self._swept):
            self._known = {each: said for each, said in self._known.items() if said[0] >= self._swept}
            self._swept = self._now()
        self._known[ident] = self._now(), attributes

    def forget(self, ident: str) -> None:
        self._known.pop(ident, None)

    def _is_fresh(self, taken: float) -> bool:
        return 0 <= self._now() - taken < MAX_AGE
