"""Where the tags of one object are read and written: an endpoint for each region, whatever the cloud behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError
from freehold.tags.policy.batches import Batch
from freehold.tags.policy.classifiers import Query
from freehold.tags.policy.plan_resources import ReadCost
from freehold.tags.policy.references import Refused
from freehold.tags.policy.resources import TaggedResource
from freehold.tags.policy.tag_request import TagScope

SHARED_SECONDS: Final = 5.0
"""Of domain time for which a read of an index is shared; every index lags more than that."""


class TagEndpoint(Protocol):
    """Tags by any key in one region of one account, for one object. Raises CloudError."""

    @property
    def account(self) -> str: ...

    @property
    def region(self) -> str:
        """Empty where one endpoint has all regions."""
        ...

    async def find(self, query: Query) -> Sequence[TaggedResource]:
        """Ask the index, for all pages."""
        ...

    async def read(self, ids: Collection[str]) -> Mapping[str, TaggedResource | CloudError]:
        """Read the resources as they are now, without tags where one is missing; why, where it is not known."""
        ...

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        """Send one call; what failed, by resource. Raises CloudError where the whole call did."""
        ...

    def cost(self, resource: str) -> ReadCost: ...

    def address(self, resource: str) -> str:
        """Say what to note of a resource, to know it again; empty where its id says it."""
        ...

    def holds(self, resource: str, address: str) -> bool:
        """Say whether a resource is surely here: by its id, else by the address that was noted, empty for none."""
        ...

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]:
        """Pick those that a refused call names as the reason."""
        ...


@dataclass(frozen=True)
class UnreachableRegion:
    """A region whose account lookup failed, with the error."""

    region: str
    error: CloudError


class TagAccounts(Protocol):
    """The endpoints that an object names."""

    async def find_endpoints(
        self, place: TagScope, subject: str
    ) -> Sequence[TagEndpoint | UnreachableRegion] | Refused:
        """Find the endpoints. Raises KubeError where the API server had to be asked and did not answer."""
        ...


Found = TypeVar("Found")


class SharedFinds(Generic[Found]):
    """What the index of one identity and region, or of an account, has shown lately: equal classifiers share a read."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: dict[Query, tuple[float, Found]] = {}

    async def find(self, query: Query, ask: Callable[[Query], Awaitable[Found]]) -> Found:
        """Return what was found lately, or ask. Raises what ``ask`` does; that is not remembered."""
        now = self._clock.monotonic()
        for old in [each for each, (when, _) in self._asked.items() if now - when >= SHARED_SECONDS]:
            del self._asked[old]
        if query not in self._asked:
            self._asked[query] = (now, await ask(query))
        return self._asked[query][1]
