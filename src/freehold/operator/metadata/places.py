"""Where the tags of one object are: a place for each region, whatever the cloud behind it."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from freehold.engine.errors import CloudError
from freehold.reconcilers.metadata.demand import Place
from freehold.reconcilers.metadata.fleet import ReadCost
from freehold.reconcilers.metadata.references import Refused
from freehold.tagging.batches import Batch
from freehold.tagging.classifiers import Query
from freehold.tagging.resources import Resource

T = TypeVar("T")


class TagPlace(Protocol):
    """Tags by any key in one region of one account, for one object. Raises CloudError."""

    @property
    def account(self) -> str: ...

    @property
    def region(self) -> str:
        """Empty where one place has all regions."""
        ...

    async def find(self, query: Query) -> Sequence[Resource]:
        """What the index shows for a query, on all pages."""
        ...

    async def read(self, ids: Collection[str]) -> Mapping[str, Resource | CloudError]:
        """The resources themselves as they are now, without tags where one is missing; why, where it is not known."""
        ...

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        """One call; what failed, by resource. Raises CloudError where the whole call did."""
        ...

    async def all(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
        """Run independent pieces of work, together where its port can; a failure is a result."""
        ...

    def cost(self, resource: str) -> ReadCost: ...

    def address(self, resource: str) -> str:
        """What to note of a resource of this place, to know it again; empty where its id says it."""
        ...

    def holds(self, resource: str, address: str) -> bool:
        """Whether a resource is surely of this place: by its id, else by the address that was noted, empty for none."""
        ...

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]:
        """Those that a refused call names as the reason."""
        ...


@dataclass(frozen=True)
class Region:
    """One that could not be asked for its account."""

    region: str
    error: CloudError


class TagAccounts(Protocol):
    """The places that an object names."""

    async def at(self, place: Place, subject: str) -> Sequence[TagPlace | Region] | Refused:
        """Raises KubeError where the API server had to be asked and did not answer."""
        ...
