"""Tags of the toy cloud: a map on each resource, which its lists show."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagChange, TagsByTarget
from freehold.engine.keyed_codec import UUID
from freehold.engine.tag_text import tag_map, texts
from freehold.providers.toy.calls import API, ToyClient


class ToyTagger:
    """Finds and changes tags (engine.inventory.Tagger). The id of a resource is the target of its tags."""

    api = API
    asks_resources = True

    def __init__(self, client: ToyClient) -> None:
        self._client = client

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByTarget:
        rows = await self._client.list()
        return {row["id"]: texts(row["tags"]) for row in rows if row["tags"].get(UUID) == uuid or row["id"] in also}

    async def everything(self, without: frozenset[str] = frozenset()) -> TagsByTarget:
        return {row["id"]: texts(row["tags"]) for row in await self._client.list() if UUID in row["tags"]}

    async def tags_of(self, target: str) -> frozenset[str]:
        return (await self.find_marked("", [target])).get(target, frozenset())

    async def tags_of_each(self, targets: Sequence[str]) -> Mapping[str, frozenset[str] | CloudError]:
        found = await self.find_marked("", targets)
        return {target: found.get(target, frozenset()) for target in targets}

    async def attach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return await self._each("tag", changes)

    async def detach(self, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        return await self._each("untag", changes)

    async def _each(self, operation: str, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
        failed: dict[str, CloudError] = {}
        for change in changes:
            tags = tag_map(change.tags)
            arguments = {"tags": tags} if operation == "tag" else {"keys": list(tags)}
            try:
                await self._client.write(operation, change.target, ident=change.target, **arguments)
            except CloudError as error:
                failed[change.target] = error
        return failed
