"""The engine's tagger on AWS: in as few calls as AWS allows, through the tagging API or without it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, NotFound, NotReady
from freehold.engine.inventory import TagChange, TagsByTarget
from freehold.engine.keyed_codec import UUID, WITHIN
from freehold.engine.tag_api_fallback import FallbackTagger
from freehold.engine.tag_text import texts
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.tags import tagging_api
from freehold.providers.aws.tags.native_tags import NativeTags, TagsByArn
from freehold.providers.aws.tags.service_tags import ServiceTags
from freehold.providers.aws.tags.source import TagSource
from freehold.providers.aws.tags.tagging_api import TaggingApi

T = TypeVar("T")


class SourceTagger:
    """A Tagger (engine.inventory) over one source of tags. Proofs are always read from the resources.

    ``carries``: some kinds have their mark on another resource. A call of their own finds these, because only EC2's
    list has wildcards in keys.
    """

    api = tagging_api.SERVICE
    asks_resources = True

    def __init__(self, source: TagSource, native: NativeTags, *, carries: bool) -> None:
        self._source = source
        self._native = native
        self._carries = carries

    async def find_by_tag(self, key: str, values: Sequence[str] = ()) -> TagsByArn:
        """Return everything with this tag, with one of ``values`` where any are given, and all its tags."""
        return await self._source.find_by_tag(key, values)

    async def find_by_any_tag(self, tags: Mapping[str, str]) -> TagsByArn:
        return await self._source.find_by_any_tag(tags)

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByTarget:
        found = await self._source.find_marked(uuid, also)
        return _to_texts(found | (await self._native.find_carriers(uuid) if self._carries else {}))

    async def everything(self, without: frozenset[str] = frozenset()) -> TagsByTarget:
        found = await self._source.find_by_tag(UUID, without=without)
        return _to_texts(found | (await self._native.find_carriers() if self._carries else {}))

    async def tags_of(self, target: str) -> frozenset[str]:
        return texts((await self._native.tags_of([target])).get(target, {}))

    async def tags_of_each(self, targets: Sequence[str]) -> Mapping[str, frozenset[str] | CloudError]:
        found = await self._native.tags_of_each(targets)
        return {target: tags if isinstance(tags, CloudError) else texts(tags) for target, tags in found.items()}

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        failed = await self._source.attach(changes)
        return {target: _to_not_ready(error) for target, error in failed.items()}

    async def detach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return await self._source.detach(changes)


class AwsTagger(FallbackTagger[SourceTagger]):
    """A tagger through the tagging API, and through each service where that is denied or cannot be reached.

    ``carried``: the kinds whose mark is on another resource (``Registry.carried``). ``refused_at``: when each operation
    of the tagging API was refused, shared by the taggers of one identity.
    """

    def __init__(
        self,
        client: AwsClient,
        clock: Clock,
        carried: Collection[str] = (),
        refused_at: dict[str, float] | None = None,
    ) -> None:
        native, carries = NativeTags(client), bool(carried)
        services = SourceTagger(ServiceTags(client), native, carries=carries)
        self._client = client
        self._index = TaggingApi(client)
        super().__init__(SourceTagger(self._index, native, carries=carries), services, clock, refused_at)
        self._resources = services
        self._native = native

    async def find_by_tag(self, key: str, values: Sequence[str] = ()) -> TagsByArn:
        """Return what has this tag in this region, of any owner, such as our cluster's name (capa_tags)."""
        return await self.ask("find_by_tag", lambda tagger: tagger.find_by_tag(key, values))

    async def find_by_any_tag(self, tags: Mapping[str, str]) -> TagsByArn:
        """Return what has one of these tags (source.TagSource). Services' lists are read once for all of them."""
        return await self.ask("find_by_tag", lambda tagger: tagger.find_by_any_tag(tags))

    async def find_inner_targets(self, uuid: str) -> TagsByTarget:
        """Return the resources of owners within this cluster: machines, node pools (inventory.InnerOwners)."""
        return _to_texts(await self.find_by_tag(WITHIN, [uuid]))

    async def tags_of(self, target: str) -> frozenset[str]:
        """Ask the resource itself in any case: a refusal says nothing about the tagging API."""
        return await self._resources.tags_of(target)

    async def tags_of_each(self, targets: Sequence[str]) -> Mapping[str, frozenset[str] | CloudError]:
        return await self._resources.tags_of_each(targets)


def _to_texts(found: TagsByArn) -> TagsByTarget:
    return {target: texts(tags) for target, tags in found.items()}


def _to_not_ready(error: CloudError) -> CloudError:
    """Return NotReady for NotFound: only what was just seen is tagged, so a service that does not know it lags."""
    if not isinstance(error, NotFound):
        return error
    return NotReady(error.fact, advice="It is tried again", code=error.code, request_id=error.request_id)
