"""A cache of AWS's answers about an account: what many objects ask, one call answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

from freehold.engine.clock import Clock

T = TypeVar("T")


class AnswerCache:
    """Answers by question, each with its age. What is empty or failed is asked for again each time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[Hashable, tuple[float, object]] = {}
        self._asking: dict[Hashable, asyncio.Lock] = {}

    async def ask_once(self, key: Hashable, max_age: float, ask: Callable[[], Awaitable[T]]) -> T:
        """Return an answer that is at most ``max_age`` seconds old. Who asks meanwhile waits for it."""
        async with self._asking.setdefault(key, asyncio.Lock()):
            kept = self._kept.get(key)
            if kept is not None and self._clock.monotonic() - kept[0] <= max_age:
                return kept[1]  # type: ignore[return-value]  # what ``ask`` of the same key answered
            found = await ask()
            if found:
                self._kept[key] = (self._clock.monotonic(), found)
            return found

    def forget(self, key: Hashable) -> None:
        self._kept.pop(key, None)
