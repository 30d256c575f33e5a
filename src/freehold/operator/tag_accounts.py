"""The places of tags on AWS (tag_places): an account for each region, and reads of the index that objects share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

from freehold.clouds.aws.identities import AssumedRole, Identity
from freehold.clouds.aws.tags import Tags
from freehold.lifecycle.clock import Clock
from freehold.lifecycle.errors import CloudError
from freehold.operator.aws import AwsAccount, AwsCloud
from freehold.operator.aws_identities import DEFAULT, NotUsable, Reference
from freehold.operator.tag_places import Region, Tagger, TagPlace, TagsByArn
from freehold.reconcilers.metadata.demand import Place, Refused
from freehold.tagging.batches import Batch
from freehold.tagging.classifiers import Query

SHARED_SECONDS: Final = 5.0
"""Of domain time for which objects with equal classifiers share one read of the index; it lags more than that."""


class Identities(Protocol):
    """The operator's own credentials, as far as a namespace may use them (aws_identities.StoredIdentities)."""

    async def credentials(self, reference: Reference, namespace: str) -> Identity:
        """Raises NotUsable, and KubeError where nothing can be read now."""
        ...


class SharedFinds:
    """A tagger whose queries are answered from what another object has just asked."""

    def __init__(self, inner: Tagger, asked: dict[Query, tuple[float, TagsByArn]], clock: Clock) -> None:
        self._inner = inner
        self._asked = asked
        self._clock = clock

    async def find(self, query: Query) -> TagsByArn:
        now = self._clock.monotonic()
        for old in [each for each, (when, _) in self._asked.items() if now - when >= SHARED_SECONDS]:
            del self._asked[old]
        if query not in self._asked:
            self._asked[query] = (now, await self._inner.find(query))
        return self._asked[query][1]

    async def read(self, arns: Collection[str]) -> Mapping[str, Tags | CloudError]:
        return await self._inner.read(arns)

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        return await self._inner.send(batch)


class AwsTagAccounts:
    """On AWS: with the operator's own identity, where the namespace may use it, or a role that it assumes."""

    def __init__(self, cloud: AwsCloud | None, identities: Identities, clock: Clock) -> None:
        self._cloud = cloud
        self._identities = identities
        self._clock = clock
        self._asked: dict[tuple[Reference, str], dict[Query, tuple[float, TagsByArn]]] = {}

    async def at(self, place: Place, namespace: str, subject: str) -> Sequence[TagPlace | Region] | Refused:
        if self._cloud is None:
            return Refused("NoCredentials", "the operator does not serve AWS: start it with AWS credentials")
        if not place.regions:
            message = "no region is named: name at least one in spec.regions of the AWSMetadata, like eu-central-1"
            return Refused("NoRegion", message)
        try:
            own = await self._identities.credentials(DEFAULT, namespace)
        except NotUsable as problem:
            return Refused("NoCredentials", str(problem))
        reference, identity = _identity(place, own)
        try:
            accounts = [self._cloud.account(reference, identity, region) for region in place.regions]
        except ValueError as problem:
            return Refused("InvalidSpec", f"spec.regions of the AWSMetadata: {problem}; correct it")
        return [await self._place(account, reference, subject) for account in accounts]

    async def _place(self, account: AwsAccount, reference: Reference, subject: str) -> TagPlace | Region:
        try:
            number = await account.client.account()
        except CloudError as error:
            return Region(account.region, error)
        asked = self._asked.setdefault((reference, account.region), {})
        return TagPlace(number, account.region, SharedFinds(account.tagger_for(subject), asked, self._clock))


def _identity(place: Place, own: Identity) -> tuple[Reference, Identity]:
    if not place.role:
        return DEFAULT, own
    # A reference is one identity: two objects may name one role with different external ids.
    name = f"{place.role} {place.external_id}"
    return Reference("Role", name), AssumedRole(place.role, own, place.external_id)
