"""The driver that the kinds of Elastic Load Balancing share, classic and v2, from how each is read.

A name stands for one resource of the region and never changes, so what has a name of ours is found by it. Lists show no
tags: the tag index is asked for those, and where something is told by its birth mark the resource itself.
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
from freehold.providers.aws.calls import ApiClient, Json
from freehold.providers.aws.decoded import Seen
from freehold.providers.aws.reading import place_of
from freehold.providers.aws.tags import birth_tags

SERVICE = "elasticloadbalancing"


class BalancingDriver:
    """Reads. Each kind adds its create, its changes and its delete."""

    def __init__(self, client: ApiClient, read: BalancingRead) -> None:
        self._client = client
        self._read = read

    # -- verbs --------------------------------------------------------------------------------------------------

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        found = await balancing.by_id(self._client, self._read, [ref.id for ref in refs])
        return {ident: self._untagged(await self._complete(seen)) for ident, seen in found.items()}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        named = await balancing.by_name(self._client, self._read, {want.name for want in wants})
        tagged = await balancing.with_tags(self._client, named)
        found = [self._shown(await self._complete(seen)) for seen in tagged]
        return {want.key: [seen for seen in found if seen.name == want.name] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        """Of the whole region: its list cannot be narrowed to a VPC."""
        every = await balancing.with_tags(self._client, await balancing.all_of(self._client, self._read))
        names = {want.name for want in wants}
        return [self._shown(seen) for seen in every if birth_tags.is_born(seen.tags, nonces) or seen.name in names]

    async def update(self, ref: Ref, changes: Request) -> None:
        """Nothing about it is changed in place."""

    # -- the list that objects share ----------------------------------------------------------------------------

    @property
    def page(self) -> int:
        return self._read.page

    def list_of(self, ref: Ref) -> str:
        return self._client.session.region

    async def listed(self, name: str) -> Sequence[Listed]:
        """With their attributes, where these were ever known; where not, the resource itself is looked at."""
        every = await balancing.all_of(self._client, self._read)
        found = [self._untagged(await self._with_known(seen)) for seen in every]
        return [Listed(one, one.parts) for one in found]

    async def _with_known(self, seen: Seen) -> Seen:
        with suppress(NotFound):  # it has gone since the list was read
            return await self._complete(seen) if self._client.session.seldom.knew(seen.id) else seen
        return seen

    # -- attributes that no list shows --------------------------------------------------------------------------

    def forget(self, idents: Collection[str]) -> None:
        """Of these resources only: the session's memory is of all objects."""
        for ident in idents:
            self._client.session.seldom.forget(ident)

    async def _attributes(self, ident: str) -> Mapping[str, object]:
        """Ask for them, in our words; empty for a kind that has none."""
        return {}

    @asynccontextmanager
    async def _changing(self, ident: str, attributes: Mapping[str, object]) -> AsyncIterator[None]:
        """Around a write of some of them: when it was taken they are as it said, until the next reading."""
        seldom = self._client.session.seldom
        known = seldom.known(ident)
        seldom.forget(ident)
        yield
        if known is not None:
            seldom.keep(ident, {**known, **attributes})

    async def _complete(self, seen: Seen) -> Seen:
        known = self._client.session.seldom.known(seen.id)
        if known is None:
            known = await self._attributes(seen.id)
            self._client.session.seldom.keep(seen.id, known)
        return _with(seen, known)

    # -- creates that answer with what was there ----------------------------------------------------------------

    async def _answered(self, row: Json, birth: Birth, at_birth: Mapping[str, object] | None = None) -> Observed:
        """What the reply of a create shows, with its tags: only they tell that it was made by this create.

        ``at_birth`` are the attributes of a new one, where they are known. Where the tags cannot be read now the reply
        counts as lost, and the engine looks for it.
        """
        seen = self._read.decode(row, await place_of(self._client))
        try:
            (tagged,) = await balancing.with_tags(self._client, [seen])
            if at_birth is not None and birth_tags.is_born(tagged.tags, (birth.nonce,)):
                self._client.session.seldom.keep(seen.id, at_birth)
            return self._shown(await self._complete(tagged))
        except CloudError:
            return self._untagged(seen)

    def _shown(self, seen: Seen) -> Observed:
        return seen.observed()

    def _untagged(self, seen: Seen) -> Observed:
        return replace(self._shown(seen), tags=None)


def _with(seen: Seen, attributes: Mapping[str, object] | None) -> Seen:
    return replace(seen, attributes={**seen.attributes, **(attributes or {})})


def identify(target: str, resource_type: str) -> str:
    """The ARN itself, which is the engine id, of a resource of this type: ``targetgroup``, ``loadbalancer/net``."""
    arn = Arn.parse(target)
    fits = arn is not None and arn.service == SERVICE and arn.resource.startswith(f"{resource_type}/")
    return target if fits else ""
