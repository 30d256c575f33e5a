"""Places of tags with something around them (places.TagPlace): watched for audit and metrics, recorded for a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from freehold.engine.errors import CloudError
from freehold.operator.metadata.places import Region, TagAccounts, TagPlace
from freehold.reconcilers.metadata.demand import Place
from freehold.reconcilers.metadata.fleet import ReadCost
from freehold.reconcilers.metadata.references import Refused
from freehold.tagging.batches import Batch
from freehold.tagging.classifiers import Query
from freehold.tagging.resources import Resource

T = TypeVar("T")


class WrappedPlace:
    """Passes everything on; a wrapper overrides what it is for."""

    def __init__(self, inner: TagPlace) -> None:
        self._inner = inner

    @property
    def account(self) -> str:
        return self._inner.account

    @property
    def region(self) -> str:
        return self._inner.region

    async def find(self, query: Query) -> Sequence[Resource]:
        return await self._inner.find(query)

    async def read(self, ids: Collection[str]) -> Mapping[str, Resource | CloudError]:
        return await self._inner.read(ids)

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        return await self._inner.send(batch)

    async def all(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
        return await self._inner.all(work)

    def cost(self, resource: str) -> ReadCost:
        return self._inner.cost(resource)

    def address(self, resource: str) -> str:
        return self._inner.address(resource)

    def holds(self, resource: str, address: str) -> bool:
        return self._inner.holds(resource, address)

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]:
        return self._inner.named_in(error, resources)


class WrappedAccounts:
    """The places of ``inner``, each wrapped for the object that asks (``subject``)."""

    def __init__(self, inner: TagAccounts, wrap: Callable[[TagPlace, str], TagPlace]) -> None:
        self._inner = inner
        self._wrap = wrap

    async def at(self, place: Place, subject: str) -> Sequence[TagPlace | Region] | Refused:
        found = await self._inner.at(place, subject)
        if isinstance(found, Refused):
            return found
        return [each if isinstance(each, Region) else self._wrap(each, subject) for each in found]
