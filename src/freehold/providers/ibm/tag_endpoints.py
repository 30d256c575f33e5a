"""The endpoint of tags on IBM Cloud: one account, whose index and tags are of all regions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagsByTarget
from freehold.providers.ibm.accounts import IbmAccount
from freehold.providers.ibm.tag_dialect import IBM, ibm_tag_name, ibm_tags
from freehold.providers.ibm.tagged import kind_of, region_of
from freehold.providers.ibm.tags import IbmTagger
from freehold.tags.policy.batches import Batch, TagVerb
from freehold.tags.policy.classifiers import Query
from freehold.tags.policy.plan_resources import ReadCost
from freehold.tags.policy.references import Refused
from freehold.tags.policy.resources import TaggedResource
from freehold.tags.policy.tag_request import TagScope
from freehold.tags.tag_endpoint import SharedFinds, TagEndpoint, UnreachableRegion

_OPERATIONS: Mapping[TagVerb, tuple[str, bool]] = {
    TagVerb.ATTACH: ("attach_tag", False),
    TagVerb.ATTACH_UPDATE: ("attach_tag", True),
    TagVerb.DETACH: ("detach_tag", False),
}


@dataclass(frozen=True)
class IbmTagEndpoint:
    """The whole account (tag_endpoint.TagEndpoint)."""

    account: str
    tagger: IbmTagger
    index: SharedFinds[TagsByTarget]
    region: str = ""

    async def find(self, query: Query) -> Sequence[TaggedResource]:
        """Search without case, as the tags are. Raises ValueError where the query is for any value."""
        found = await self.index.find(query, self._search)
        return [self._resource(crn, tags) for crn, tags in found.items()]

    async def _search(self, query: Query) -> TagsByTarget:
        if query.values is None:
            raise ValueError(f"the tag {query.key!r} with any value: on IBM Cloud a tag is found by all of it")
        return await self.tagger.find_by_tags([ibm_tag_name(query.key, value) for value in query.values])

    async def read(self, ids: Collection[str]) -> Mapping[str, TaggedResource | CloudError]:
        found = await self.tagger.tags_of_each(sorted(ids))
        return {crn: tags if isinstance(tags, CloudError) else self._resource(crn, tags) for crn, tags in found.items()}

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        operation, update = _OPERATIONS[batch.verb]
        names = [ibm_tag_name(key, value or "") for key, value in batch.tags]
        return await self.tagger.send(operation, names, batch.targets, update=update)

    def cost(self, resource: str) -> ReadCost:
        return ReadCost.OWN

    def address(self, resource: str) -> str:
        return ""

    def holds(self, resource: str, address: str) -> bool:
        return f":a/{self.account}:" in resource

    def named_in(self, error: CloudError, resources: Collection[str]) -> frozenset[str]:
        """Name none: the answer has an entry for each resource, and what refuses the whole call names none."""
        return frozenset()

    def _resource(self, crn: str, names: Collection[str]) -> TaggedResource:
        return TaggedResource(crn, IBM, kind_of(crn), self.account, region_of(crn), ibm_tags(names))


class IbmTagAccounts:
    """On IBM Cloud: the account of the operator's API key."""

    def __init__(self, account: IbmAccount | None, clock: Clock) -> None:
        self._account = account
        self._index = SharedFinds[TagsByTarget](clock)

    async def find_endpoints(
        self, place: TagScope, subject: str
    ) -> Sequence[TagEndpoint | UnreachableRegion] | Refused:
        if self._account is None:
            message = "the operator has no credentials for IBM Cloud: start it with IBMCLOUD_API_KEY"
            return Refused("NoCredentials", message)
        try:
            number = await self._account.read_account()
        except CloudError as error:
            return [UnreachableRegion("", error)]
        return [IbmTagEndpoint(number, self._account.tagger_for(subject), self._index)]
