"""The places of tags on AWS (places): an account for each region, and reads of the index that objects share."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, Unavailable
from freehold.engine.port import run_together
from freehold.operator.metadata.places import Region, TagPlace
from freehold.operator.metadata.shared_finds import SharedFinds
from freehold.providers.aws.accounts import AwsAccount, AwsCloud
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.identities import Identity
from freehold.providers.aws.identity_objects import DEFAULT, NotUsable, Reference, RoleRequest
from freehold.providers.aws.tags.native_tags import Reading, reading_of
from freehold.providers.aws.tags.tag_map import Tags
from freehold.providers.aws.tags.tagged_resources import named_in, resource_of
from freehold.providers.aws.tags.tagger import AwsTagger
from freehold.reconcilers.metadata.demand import Place
from freehold.reconcilers.metadata.fleet import ReadCost
from freehold.reconcilers.metadata.references import Refused
from freehold.tagging.batches import Batch
from freehold.tagging.classifiers import Query
from freehold.tagging.resources import Resource

ABSENT_SECONDS: Final = 60.0
"""Of domain time that lie between two looks at the index that do not show a resource, until it counts as gone."""

FORGOTTEN_SECONDS: Final = 3600.0
"""Of domain time after which such a first look is forgotten: the next one begins anew."""
_COSTS: Final = {
    Reading.TOGETHER: ReadCost.SHARED,
    Reading.ALONE: ReadCost.OWN,
    Reading.NEVER: ReadCost.IMPOSSIBLE,
}

TagsByArn = Mapping[str, Tags]
T = TypeVar("T")


class Identities(Protocol):
    """The operator's own credentials, as far as a namespace may use them (aws_identities.StoredIdentities)."""

    async def credentials(self, reference: Reference, namespace: str) -> Identity:
        """Raises NotUsable, and KubeError where nothing can be read now."""
        ...

    async def of_role(self, role: RoleRequest, namespace: str) -> tuple[Reference, Identity]:
        """Find an identity with this role that the namespace may use. Raises NotUsable and KubeError."""
        ...


class RegionIndex(SharedFinds[TagsByArn]):
    """What the index of one identity and region has shown lately."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._absent: dict[str, float] = {}
        """When the index was first asked for a resource and did not show it."""

    async def read(self, arns: Collection[str], tagger: AwsTagger) -> Mapping[str, Tags | CloudError]:
        """Instead of a service that is not known here: the index, which lags, asked twice."""
        try:
            first, second = await tagger.by_arn(arns), await tagger.by_arn(arns)
        except CloudError as error:
            return dict.fromkeys(arns, error)
        now = self._clock.monotonic()
        for old in [arn for arn, since in self._absent.items() if now - since >= FORGOTTEN_SECONDS]:
            del self._absent[old]
        return {arn: self._settled(arn, first.get(arn), second.get(arn)) for arn in arns}

    def _settled(self, arn: str, first: Tags | None, second: Tags | None) -> Tags | CloudError:
        if first != second:
            return Unavailable(f"the index shows other tags of {arn} from one moment to the next. It is asked again")
        if second is not None:
            self._absent.pop(arn, None)
            return second
        now = self._clock.monotonic()
        if now - self._absent.setdefault(arn, now) >= ABSENT_SECONDS:
            return {}
        return Unavailable(
            f"the index does not show {arn} now, and its service cannot be asked. It counts as gone "
            "if it is not there in a minute either; with spec.deletionPolicy: Retain its tags stay"
        )


@dataclass(frozen=True)
class AwsPlace:
    """One region of one account (places.TagPlace)."""

    account: str
    region: str
    tagger: AwsTagger
    index: RegionIndex

    async def find(self, query: Query) -> Sequence[Resource]:
        found = await self.index.find(query, self.tagger.find)
        return [self._resource(arn, tags) for arn, tags in found.items()]

    async def read(self, ids: Collection[str]) -> Mapping[str, Resource | CloudError]:
        found = dict(await self.tagger.read(ids))
        unread = [arn for arn, each in found.items() if isinstance(each, CloudError)]
        indexed = frozenset(arn for arn in unread if reading_of(arn) is Reading.NEVER and Arn.parse(arn))
        found |= await self.index.read(indexed, self.tagger) if indexed else {}
        return {arn: tags if isinstance(tags, CloudError) else self._resource(arn, tags) for arn, tags in found.items()}

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        return await self.tagger.send(batch)

    async def all(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
        return await run_together(work)

    def cost(self, resource: str) -> ReadCost:
        return _COSTS[reading_of(resource)]

    def address(self, resource: str) -> str:
        """The ARN of a bucket has neither account nor region, that of a role no region."""
        arn = Arn.parse(resource)
        return "" if arn and arn.region and arn.account else f"{self.account} {self.region}"

    def holds(self, resource: str, address: str) -> bool:
        """Another account, or another region, does not show what is in this one."""
        if own := self.address(resource):
            return address == own
        arn = Arn.parse(resource)
        return arn is not None and (arn.region, arn.account) == (self.region, self.account)

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]:
        return named_in(error, resources)

    def _resource(self, arn: str, tags: Tags) -> Resource:
        return resource_of(arn, tags, self.account, self.region)


class AwsTagAccounts:
    """On AWS: with an identity that the object's namespace may use, named by itself or by the ARN of its role."""

    def __init__(self, cloud: AwsCloud | None, identities: Identities, clock: Clock) -> None:
        self._cloud = cloud
        self._identities = identities
        self._clock = clock
        self._indexes: dict[tuple[Reference, str], RegionIndex] = {}

    async def at(self, place: Place, subject: str) -> Sequence[TagPlace | Region] | Refused:
        if self._cloud is None:
            return Refused("NoCredentials", "the operator does not serve AWS: start it with AWS credentials")
        if not place.regions:
            message = "no region is named: name at least one in spec.regions of the AWSMetadata, like eu-central-1"
            return Refused("NoRegion", message)
        try:
            reference, identity = await self._identity(place)
        except NotUsable as problem:
            return Refused("NoCredentials", str(problem))
        try:
            accounts = [self._cloud.account(reference, identity, region) for region in place.regions]
        except ValueError as problem:
            return Refused("InvalidSpec", f"spec.regions of the AWSMetadata: {problem}; correct it")
        return [await self._place(account, reference, subject) for account in accounts]

    async def _identity(self, place: Place) -> tuple[Reference, Identity]:
        """Return who calls. Raises NotUsable and KubeError."""
        named = Reference(*place.identity) if place.identity[0] else None
        if place.role:
            return await self._identities.of_role(RoleRequest(place.role, place.external_id, named), place.namespace)
        reference = named or DEFAULT
        return reference, await self._identities.credentials(reference, place.namespace)

    async def _place(self, account: AwsAccount, reference: Reference, subject: str) -> TagPlace | Region:
        try:
            number = await account.client.account()
        except CloudError as error:
            return Region(account.region, error)
        index = self._indexes.setdefault((reference, account.region), RegionIndex(self._clock))
        return AwsPlace(number, account.region, account.tagger_for(subject), index)
