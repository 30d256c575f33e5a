"""The driver that the kinds of Elastic Load Balancing share, classic and v2, from a description of their reads.

A name stands for one resource of the region and never changes, so a resource with a name of ours is found by it. Lists
show no tags: the tag index gives them, and the resource itself where its birth mark decides.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from freehold.engine.drivers import Listed
from freehold.engine.errors import CloudError, NotFound
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Ref, Request, Want
from freehold.providers.aws import balancing
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.balancing import BalancingRead
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.reading import location_of
from freehold.providers.aws.tags import birth_tags

SERVICE = "elasticloadbalancing"


class BalancingDriver:
    """The reads of a kind. Each kind adds its create, its changes and its delete."""

    def __init__(self, client: AwsClient, read: BalancingRead) -> None:
        self._client = client
        self._read = read

    # -- verbs --------------------------------------------------------------------------------------------------

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        found = await balancing.read_by_id(self._client, self._read, [ref.id for ref in refs])
        return {ident: self._without_tags(await self._complete(seen)) for ident, seen in found.items()}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        named = await balancing.read_by_name(self._client, self._read, {want.name for want in wants})
        tagged = await balancing.fill_in_tags(self._client, named)
        found = [self._to_observed(await self._complete(seen)) for seen in tagged]
        return {want.key: [seen for seen in found if seen.name == want.name] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Search the whole region: its list cannot be narrowed to a VPC."""
        every = await balancing.fill_in_tags(self._client, await balancing.read_all(self._client, self._read))
        names = {want.name for want in wants}
        return [
            self._to_observed(seen)
            for seen in every
            if birth_tags.has_birth_nonce(seen.tags, nonces) or seen.name in names
        ]

    async def update(self, ref: Ref, changes: Request) -> None:
        """Do nothing: no attribute is changed in place."""

    # -- the list that objects share ----------------------------------------------------------------------------

    @property
    def page(self) -> int:
        return self._read.page

    def list_of(self, ref: Ref) -> str:
        return self._client.session.region

    async def read_rows(self, name: str) -> Sequence[Listed]:
        """Return all rows, with attributes where some were ever cached; an outdated value is read from the resource."""
        every = await balancing.read_all(self._client, self._read)
        found = [self._without_tags(await self._complete_if_cached(seen)) for seen in every]
        return [Listed(one, one.parts) for one in found]

    async def _complete_if_cached(self, seen: DecodedResource) -> DecodedResource:
        with suppress(NotFound):  # gone since the list was read
            return await self._complete(seen) if self._client.session.attribute_cache.has_entry(seen.id) else seen
        return seen

    # -- attributes that no list shows --------------------------------------------------------------------------

    def forget(self, idents: Collection[str]) -> None:
        """Drop the cached attributes of these resources alone: the cache serves all objects."""
        for ident in idents:
            self._client.session.attribute_cache.forget(ident)

    async def _read_attributes(self, ident: str) -> Mapping[str, object]:
        """Read the attributes, under our names; empty for a kind without any."""
        return {}

    @asynccontextmanager
    async def _writing_attributes(self, ident: str, attributes: Mapping[str, object]) -> AsyncIterator[None]:
        """Wrap a write of ``attributes``: once AWS took it, they are cached as written until the next read."""
        cache = self._client.session.attribute_cache
        known = cache.find_fresh(ident)
        cache.forget(ident)
        yield
        if known is not None:
            cache.keep(ident, {**known, **attributes})

    async def _complete(self, seen: DecodedResource) -> DecodedResource:
        known = self._client.session.attribute_cache.find_fresh(seen.id)
        if known is None:
            known = await self._read_attributes(seen.id)
            self._client.session.attribute_cache.keep(seen.id, known)
        return _add_attributes(seen, known)

    # -- creates that answer with what was there ----------------------------------------------------------------

    async def _observe_reply(self, row: Json, birth: Birth, at_birth: Mapping[str, object] | None = None) -> Observed:
        """Return the reply of a create with its tags, which alone tell whether this create made the resource.

        ``at_birth`` are the attributes of a new resource, where they are known. Where the tags cannot be read now, the
        reply counts as lost, and the engine searches for the resource.
        """
        seen = self._read.decode(row, await location_of(self._client))
        try:
            (tagged,) = await balancing.fill_in_tags(self._client, [seen])
            if at_birth is not None and birth_tags.has_birth_nonce(tagged.tags, (birth.nonce,)):
                self._client.session.attribute_cache.keep(seen.id, at_birth)
            return self._to_observed(await self._complete(tagged))
        except CloudError:
            return self._without_tags(seen)

    def _to_observed(self, seen: DecodedResource) -> Observed:
        return seen.to_observed()

    def _without_tags(self, seen: DecodedResource) -> Observed:
        return replace(self._to_observed(seen), tags=None)


def _add_attributes(seen: DecodedResource, attributes: Mapping[str, object] | None) -> DecodedResource:
    return replace(seen, attributes={**seen.attributes, **(attributes or {})})


def identify(target: str, resource_type: str) -> str:
    """Return ``target``, whose ARN is the engine's id, if it is of this type: ``targetgroup``, ``loadbalancer/net``."""
    arn = Arn.parse(target)
    fits = arn is not None and arn.service == SERVICE and arn.resource.startswith(f"{resource_type}/")
    return target if fits else ""
