"""The endpoints of tags on AWS: an account for each region, and reads of the index that objects share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, NotOffered, Unavailable
from freehold.engine.port import Port
from freehold.providers.aws.accounts import AwsAccount, AwsCloud
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.identities import Identity
from freehold.providers.aws.identity_objects import DEFAULT, IdentityNotUsable, IdentityReference, RoleRequest
from freehold.providers.aws.tags.dialect import AWS
from freehold.providers.aws.tags.native_tags import NativeTags, ReadMode, ec2_request, read_mode, summarize_arns
from freehold.providers.aws.tags.tag_map import Tags
from freehold.providers.aws.tags.tagged_resources import find_named, kind_of
from freehold.providers.aws.tags.tagging_api import TaggingApi
from freehold.tags.policy.batches import Batch, TagVerb
from freehold.tags.policy.classifiers import Query
from freehold.tags.policy.plan_resources import ReadCost
from freehold.tags.policy.references import Refused
from freehold.tags.policy.resources import TaggedResource, single_valued
from freehold.tags.policy.tag_request import TagScope
from freehold.tags.tag_endpoint import SharedFinds, TagEndpoint, UnreachableRegion

ABSENT_SECONDS: Final = 60.0
"""Of domain time for which an index must not show a resource until it counts as gone."""

_COSTS: Final = {
    ReadMode.TOGETHER: ReadCost.SHARED,
    ReadMode.ALONE: ReadCost.OWN,
    ReadMode.NEVER: ReadCost.IMPOSSIBLE,
}

TagsByArn = Mapping[str, Tags]


class Identities(Protocol):
    """The operator's own credentials, as far as a namespace may use them (identity_objects.StoredIdentities)."""

    async def credentials(self, reference: IdentityReference, namespace: str) -> Identity:
        """Return who calls. Raises IdentityNotUsable, and KubeError where nothing can be read now."""
        ...

    async def find_by_role(self, role: RoleRequest, namespace: str) -> tuple[IdentityReference, Identity]:
        """Find an identity with this role that the namespace may use. Raises IdentityNotUsable and KubeError."""
        ...


class RegionIndex(SharedFinds[TagsByArn]):
    """What the index of one identity and region has shown lately, and what it did not show."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._absent: dict[str, float] = {}
        """When the index was first asked for a resource and did not show it."""

    def settle(self, arns: Collection[str], shown: TagsByArn) -> Mapping[str, Tags | CloudError]:
        """Decide what ``shown``, the answer of the index, says of each resource: the index lags."""
        for arn in shown:
            self._absent.pop(arn, None)
        return {arn: shown[arn] if arn in shown else self._absence(arn) for arn in arns}

    def _absence(self, arn: str) -> Tags | CloudError:
        now = self._clock.monotonic()
        if now - self._absent.setdefault(arn, now) >= ABSENT_SECONDS:
            return {}
        return Unavailable(
            f"the index does not show {arn} now, and its service cannot be asked. It counts as gone "
            "if it is not there in a minute either; with spec.deletionPolicy: Retain its tags stay"
        )


class AwsTagEndpoint:
    """One region of one account (tag_endpoint.TagEndpoint): the index finds, services are read, both are written."""

    def __init__(self, account: str, region: str, client: AwsClient, port: Port, index: RegionIndex) -> None:
        self.account = account
        self.region = region
        self._client = client
        self._port = port
        self._index = index
        self._native = NativeTags(client)
        self._tagging = TaggingApi(client)

    async def find(self, query: Query) -> Sequence[TaggedResource]:
        """Services do not stand in for the index: they would show less."""
        found = await self._index.find(query, lambda each: self._tagging.find_by_tag(each.key, each.values or ()))
        return [self._resource(arn, tags) for arn, tags in found.items()]

    async def read(self, ids: Collection[str]) -> Mapping[str, TaggedResource | CloudError]:
        unknown = [arn for arn in ids if read_mode(arn) is ReadMode.NEVER]
        known = await self._native.tags_of_each([arn for arn in ids if arn not in unknown])
        found: dict[str, Tags | CloudError] = dict(known)
        found |= {arn: _unreadable(arn) for arn in unknown}
        if indexed := [arn for arn in unknown if Arn.parse(arn)]:
            found |= await self._read_index(indexed)
        return {arn: tags if isinstance(tags, CloudError) else self._resource(arn, tags) for arn, tags in found.items()}

    async def _read_index(self, arns: Collection[str]) -> Mapping[str, Tags | CloudError]:
        """Read what no service here can be asked for."""
        try:
            return self._index.settle(arns, await self._tagging.find_by_arn(arns))
        except CloudError as error:
            return dict.fromkeys(arns, error)

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        tags = {key: value or "" for key, value in batch.tags}
        match batch.verb:
            case TagVerb.TAG_RESOURCES:
                return await self._tagging.tag(batch.targets, tags)
            case TagVerb.UNTAG_RESOURCES:
                return await self._tagging.untag(batch.targets, tags)
        verb = "detach" if batch.verb.removes else "attach"
        service, operation, params = ec2_request(verb, batch.targets, tags)
        await self._client.write(service, operation, summarize_arns(batch.targets), **params)
        return {}

    def cost(self, resource: str) -> ReadCost:
        return _COSTS[read_mode(resource)]

    def address(self, resource: str) -> str:
        """Note account and region: the ARN of a bucket has neither, that of a role no region."""
        arn = Arn.parse(resource)
        return "" if arn and arn.region and arn.account else f"{self.account} {self.region}"

    def holds(self, resource: str, address: str) -> bool:
        """Another account, or another region, does not show what is in this one."""
        if own := self.address(resource):
            return address == own
        arn = Arn.parse(resource)
        return arn is not None and (arn.region, arn.account) == (self.region, self.account)

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]:
        return find_named(error, resources)

    def _resource(self, arn: str, tags: Tags) -> TaggedResource:
        return resource_of(arn, tags, self.account, self.region)


class AwsTagAccounts:
    """On AWS: with an identity that the object's namespace may use, named by itself or by the ARN of its role."""

    def __init__(self, cloud: AwsCloud | None, identities: Identities, clock: Clock) -> None:
        self._cloud = cloud
        self._identities = identities
        self._clock = clock
        self._indexes: dict[tuple[IdentityReference, str], RegionIndex] = {}

    async def find_endpoints(
        self, place: TagScope, subject: str
    ) -> Sequence[TagEndpoint | UnreachableRegion] | Refused:
        if self._cloud is None:
            return Refused("NoCredentials", "the operator does not serve AWS: start it with AWS credentials")
        if not place.regions:
            message = "no region is named: name at least one in spec.regions of the AWSMetadata, like eu-central-1"
            return Refused("NoRegion", message)
        try:
            reference, identity = await self._identity(place)
        except IdentityNotUsable as problem:
            return Refused("NoCredentials", str(problem))
        try:
            accounts = [self._cloud.account(reference, identity, region) for region in place.regions]
        except ValueError as problem:
            return Refused("InvalidSpec", f"spec.regions of the AWSMetadata: {problem}; correct it")
        return [await self._place(account, reference, subject) for account in accounts]

    async def _identity(self, place: TagScope) -> tuple[IdentityReference, Identity]:
        """Return who calls. Raises IdentityNotUsable and KubeError."""
        named = IdentityReference(*place.identity) if place.identity[0] else None
        if place.role:
            return await self._identities.find_by_role(
                RoleRequest(place.role, place.external_id, named), place.namespace
            )
        reference = named or DEFAULT
        return reference, await self._identities.credentials(reference, place.namespace)

    async def _place(
        self, account: AwsAccount, reference: IdentityReference, subject: str
    ) -> TagEndpoint | UnreachableRegion:
        try:
            number = await account.client.account()
        except CloudError as error:
            return UnreachableRegion(account.region, error)
        index = self._indexes.setdefault((reference, account.region), RegionIndex(self._clock))
        return AwsTagEndpoint(number, account.region, account.client_for(subject), account.port, index)


def _unreadable(arn: str) -> CloudError:
    return NotOffered(
        f"the tags of {arn} cannot be read from its service, so none of them is overwritten or removed: remove it from "
        "the classifiers, or change its tags there; with spec.deletionPolicy: Retain they stay",
        code="NotReadable",
    )


def resource_of(text: str, tags: Tags, account: str, region: str) -> TaggedResource:
    """Describe a resource with its tags. ``account`` and ``region``: where it was found; an ARN may have neither."""
    return TaggedResource(text, AWS, kind_of(text), account, region, single_valued(tags))
