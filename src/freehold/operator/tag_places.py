"""Where the tags of one object are: a place for each region, whatever the cloud behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from freehold.clouds.aws.tags import Tags
from freehold.lifecycle.errors import CloudError
from freehold.reconcilers.metadata.demand import Place, Refused
from freehold.tagging.batches import Batch
from freehold.tagging.classifiers import Query

TagsByArn = Mapping[str, Tags]


class Tagger(Protocol):
    """Tags of one account and region, by any key. Raises CloudError."""

    async def find(self, query: Query) -> TagsByArn: ...

    async def read(self, arns: Collection[str]) -> Mapping[str, Tags | CloudError]: ...

    async def send(self, batch: Batch) -> Mapping[str, CloudError]: ...


@dataclass(frozen=True)
class TagPlace:
    """One region of one account, for one object."""

    account: str
    region: str
    tagger: Tagger


@dataclass(frozen=True)
class Region:
    """One that could not be asked for its account."""

    region: str
    error: CloudError


class TagAccounts(Protocol):
    """The places that an object names."""

    async def at(self, place: Place, namespace: str, subject: str) -> Sequence[TagPlace | Region] | Refused:
        """Raises KubeError where the API server had to be asked and did not answer."""
        ...
