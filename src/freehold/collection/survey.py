"""Protocol of a cloud for the collection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from freehold.collection.found import Look, Step, Thing, Workloads
from freehold.collection.policy import Volumes
from freehold.collection.rules import CollectionRule
from freehold.collection.things import CollectionTask


class Survey(Protocol):
    """A search for the leftovers of one cluster, with their deletion. Raises CloudError."""

    @property
    def rules(self) -> Mapping[CollectionTask, CollectionRule]:
        """The rules by task that prove a thing to be the cluster's."""
        ...

    async def look(self, workloads: Workloads, tasks: Sequence[CollectionTask]) -> Look:
        """Read from each service what may be the cluster's: all of ``tasks``, and what blocks its network."""
        ...

    async def find_remaining(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Find those of ``things`` that still exist."""
        ...

    async def find_traces(self, network: str) -> Mapping[str, tuple[str, ...]]:
        """Find the traces that deleted things leave for a while (:attr:`Look.traces`)."""
        ...

    def plan_steps(self, things: Sequence[Thing], volumes: Volumes) -> Sequence[Sequence[Step]]:
        """Plan the changes that delete ``things`` of one task, in waves: each is sent after the one before."""
        ...

    async def run_all(self, work: Sequence[Callable[[], Awaitable[None]]]) -> Sequence[Exception | None]:
        """Run independent pieces of work, together where that is possible; a failure is a result."""
        ...
