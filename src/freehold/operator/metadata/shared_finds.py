"""What the index of a cloud has shown lately: objects with equal classifiers share one read of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from freehold.engine.clock import Clock
from freehold.tagging.classifiers import Query

SHARED_SECONDS: Final = 5.0
"""Of domain time for which a read is shared; every index lags more than that."""

Found = TypeVar("Found")


class SharedFinds(Generic[Found]):
    """Of one identity and region, or of a whole account. ``Found`` is what its tagger finds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: dict[Query, tuple[float, Found]] = {}

    async def find(self, query: Query, ask: Callable[[Query], Awaitable[Found]]) -> Found:
        """Raises what ``ask`` does; that is not remembered."""
        now = self._clock.monotonic()
        for old in [each for each, (when, _) in self._asked.items() if now - when >= SHARED_SECONDS]:
            del self._asked[old]
        if query not in self._asked:
            self._asked[query] = (now, await ask(query))
        return self._asked[query][1]
