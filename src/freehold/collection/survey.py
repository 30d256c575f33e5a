"""What a cloud offers to the collection (protocols)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from freehold.collection.found import Look, Step, Thing, Workloads
from freehold.collection.policy import Volumes
from freehold.collection.rules import Rule
from freehold.collection.things import Task


class Survey(Protocol):
    """Looks for the leftovers of one cluster, and deletes them. Raises CloudError."""

    @property
    def rules(self) -> Mapping[Task, Rule]:
        """What proves that a thing of each task is the cluster's."""
        ...

    async def look(self, workloads: Workloads, tasks: Sequence[Task]) -> Look:
        """Read everything natively that may be the cluster's: all of ``tasks``, and what blocks its network."""
        ...

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return those that are still there."""
        ...

    async def traces(self, network: str) -> Mapping[str, tuple[str, ...]]:
        """Return what remains for a while of what has gone (:attr:`Look.traces`)."""
        ...

    def steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        """Return the changes that end ``things``, all of one task: waves, each to be sent when the last was taken."""
        ...

    async def all(self, work: Sequence[Callable[[], Awaitable[None]]]) -> Sequence[Exception | None]:
        """Run independent pieces of work, together where that is possible; a failure is a result."""
        ...
