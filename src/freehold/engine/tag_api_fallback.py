"""Where the tag API is denied, or a partition has none, the services' own tag calls stand in for it.

The stand-in may cost more calls, and must show as much: it raises what it cannot read in full, because what a search
leaves out may be forgotten.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from math import inf
from typing import Generic, TypeVar

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, Denied, NotOffered
from freehold.engine.inventory import TagChange, Tagger, TagsByTarget

T = TypeVar("T")
AnyTagger = TypeVar("AnyTagger", bound=Tagger)
ASKED_AGAIN = 3600.0
"""Seconds after which the tag API is tried again: somebody may have granted the permission."""

_NOT_THERE = (Denied, NotOffered)


class FallbackTagger(Generic[AnyTagger]):
    """Tagger that asks ``first``; what that denies or does not offer it asks ``stand_in``, for an hour at once.

    Each operation by itself: reading may be allowed where writing is not. ``refused_at``, by operation, is shared by
    the taggers of one identity, so that not each of them is refused first.
    """

    def __init__(
        self, first: AnyTagger, stand_in: AnyTagger, clock: Clock, refused_at: dict[str, float] | None = None
    ) -> None:
        self._first = first
        self._stand_in = stand_in
        self._clock = clock
        self._refused_at = {} if refused_at is None else refused_at

    @property
    def api(self) -> str:
        return self._first.api

    @property
    def asks_resources(self) -> bool:
        return self._first.asks_resources

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByTarget:
        return await self.ask("find_marked", lambda tagger: tagger.find_marked(uuid, also))

    async def everything(self, without: frozenset[str] = frozenset()) -> TagsByTarget:
        return await self.ask("everything", lambda tagger: tagger.everything(without))

    async def tags_of(self, target: str) -> frozenset[str]:
        return await self.ask("tags_of", lambda tagger: tagger.tags_of(target))

    async def tags_of_each(self, targets: Sequence[str]) -> Mapping[str, frozenset[str] | CloudError]:
        if self.is_refused("tags_of_each"):
            return await self._stand_in.tags_of_each(targets)
        found = await self._first.tags_of_each(targets)
        refused = self._note_refused_targets("tags_of_each", found, of=len(targets))
        return {**found, **(await self._stand_in.tags_of_each(refused) if refused else {})}

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return await self._change("attach", changes, lambda tagger, some: tagger.attach(some))

    async def detach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return await self._change("detach", changes, lambda tagger, some: tagger.detach(some))

    async def ask(self, operation: str, ask: Callable[[AnyTagger], Awaitable[T]]) -> T:
        """Return the answer of ``first``, or where that refuses ``operation``, of ``stand_in``."""
        if not self.is_refused(operation):
            try:
                return await ask(self._first)
            except _NOT_THERE:
                self._refused_at[operation] = self._clock.monotonic()
        return await ask(self._stand_in)

    async def _change(
        self,
        operation: str,
        changes: Sequence[TagChange],
        send: Callable[[AnyTagger, Sequence[TagChange]], Awaitable[Mapping[str, CloudError]]],
    ) -> Mapping[str, CloudError]:
        """Send to the other one what ``first`` refused: it had no effect there."""
        if self.is_refused(operation):
            return await send(self._stand_in, changes)
        failed = await send(self._first, changes)
        refused = set(self._note_refused_targets(operation, failed, of=len(changes)))
        again = [change for change in changes if change.target in refused]
        left = {target: error for target, error in failed.items() if target not in refused}
        return {**left, **(await send(self._stand_in, again) if again else {})}

    def is_refused(self, operation: str) -> bool:
        """Return whether the stand-in answers for the tag API just now."""
        return self._clock.monotonic() - self._refused_at.get(operation, -inf) < ASKED_AGAIN

    def _note_refused_targets(
        self, operation: str, answers: Mapping[str, frozenset[str] | CloudError], *, of: int
    ) -> list[str]:
        """Return the targets that were refused; where all were, it is not tried again for a while."""
        refused = [target for target, answer in answers.items() if isinstance(answer, _NOT_THERE)]
        if refused and len(refused) == of:
            self._refused_at[operation] = self._clock.monotonic()
        return refused
