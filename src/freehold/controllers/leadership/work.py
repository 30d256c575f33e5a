"""Work of controllers by shard: what is begun when a shard is taken, and what ends before it is handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from freehold.controllers import predicates
from freehold.controllers.controller import Controller
from freehold.controllers.leadership.shards import SINGLE, find_shard
from freehold.controllers.workqueue import Priority
from freehold.kube.resources import Json, Key, key_of

POLL_SECONDS = 0.1


def name_single(raw: Json) -> str:
    """Name work that one replica does for all objects."""
    return SINGLE


def name_by_uid(raw: Json) -> str:
    """Name an object by its uid."""
    return str(raw["metadata"]["uid"])


@dataclass(frozen=True)
class ShardedWork:
    """The work of one controller. ``name`` names what an object's shard follows from.

    ``begin`` is called with each object of a shard that is taken: what this process knows of it may be old. ``forget``
    is called with each object of a shard that is given up.
    """

    controller: Controller
    name: Callable[[Json], str] = name_by_uid
    begin: Callable[[Key], None] = lambda key: None
    forget: Callable[[Json], None] = lambda raw: None


@dataclass(frozen=True)
class ShardedWorks:
    """The work of all controllers of a process."""

    works: Sequence[ShardedWork]
    shards: int

    def take(self, shard: int) -> None:
        """Look at all objects of the shard."""
        for work in self.works:
            for key, raw in self._find_objects(work, shard):
                work.begin(key)
                work.controller.queue.add(key, Priority.BACKLOG if predicates.is_at_rest(raw) else Priority.LIVE)

    async def drain(self, shard: int) -> None:
        """Wait until no reconcile of the shard is running, then forget its objects. None may begin any more."""
        while any(self._is_in_hand(work, shard) for work in self.works):  # noqa: ASYNC110 - no queue knows of shards
            await asyncio.sleep(POLL_SECONDS)
        for work in self.works:
            for _, raw in self._find_objects(work, shard):
                work.forget(raw)

    def _find_objects(self, work: ShardedWork, shard: int) -> list[tuple[Key, Json]]:
        found = [(key_of(raw), raw) for raw in work.controller.list_objects()]
        return [(key, raw) for key, raw in found if find_shard(work.name(raw), self.shards) == shard]

    def _is_in_hand(self, work: ShardedWork, shard: int) -> bool:
        """Return whether a reconcile of the shard is running. An object that is gone may have been of any shard."""
        known = [work.controller.get(key) for key in work.controller.queue.active]
        return any(raw is None or find_shard(work.name(raw), self.shards) == shard for raw in known)
