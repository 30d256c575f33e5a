"""The driver that the network kinds of EC2 share, from a description of each.

None of them has a name of its own: ``Name`` is a tag, and anybody may have as many of one name. What tells a create of
ours is the birth tag, which the create itself sets and which the read shows that shows the resource.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from freehold.engine.drivers import Listed, User
from freehold.engine.errors import InUse, Invalid, NameTaken, NotFound
from freehold.engine.keyed_codec import BIRTH
from freehold.engine.resources import Birth, NodeKey, NonceSet, Observed, ParentResource, Part, Ref, Request, Want
from freehold.engine.tag_text import texts
from freehold.providers.aws import delete_blockers, reading
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import ApiClient, Json
from freehold.providers.aws.decoded import Seen
from freehold.providers.aws.kind_facts import KindFacts
from freehold.providers.aws.reading import Read
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import FILTER_VALUES, chunks
from freehold.providers.aws.tags.tag_map import Tags


@dataclass(frozen=True)
class Home:
    """The kind in which another one is created.

    ``attribute`` names it in requests and in what is seen, ``filter`` in the lists of both kinds; ``operation``,
    ``items`` and ``ident`` are those of its own list.
    """

    kind: str
    attribute: str
    filter: str
    operation: str
    items: str
    ident: str


IN_VPC = Home("vpc", "vpc_id", "vpc-id", "describe_vpcs", "Vpcs", "VpcId")
IN_SUBNET = Home("subnet", "subnet_id", "subnet-id", "describe_subnets", "Subnets", "SubnetId")


@dataclass(frozen=True)
class Shape:
    """How one kind is created, read and deleted, in botocore's names.

    ``reply`` is the member of the create's reply that shows the resource, empty where the reply itself does, and
    ``shows_tags`` whether its tags are in it. ``params`` are those of the create but for tags and token. ``home`` is
    None for what is in no other resource; ``home_filter`` is off where its list cannot be narrowed by that.
    ``holders`` says where to look for what refuses a delete. ``may_be`` is whether a create with the
    request may have made what is in its home (:class:`drivers.UntaggedFinder`); None where the cloud refuses a second
    one, and its holder is named.
    """

    facts: KindFacts
    read: Read
    create: str
    reply: str
    delete: str
    ident: str
    params: Callable[[Request], Json]
    shows_tags: bool = True
    home: Home | None = None
    home_filter: bool = True
    holders: Callable[[str], tuple[delete_blockers.Search, ...]] = lambda ident: ()
    may_be: Callable[[Request, Seen], bool] | None = None


class Ec2Driver:
    """Verbs, list and reads of parts. Kinds with parts or attributes that change derive from it."""

    def __init__(self, client: ApiClient, shape: Shape) -> None:
        self._client = client
        self._shape = shape
        self._facts = shape.facts

    # -- verbs --------------------------------------------------------------------------------------------------

    async def create(self, request: Request, birth: Birth) -> Observed:
        shape, facts = self._shape, self._facts
        place = await reading.place_of(self._client)  # before the write: if it failed after it, the reply were lost
        params = {**shape.params(request), "TagSpecifications": birth_tags.specified(birth, facts.tag_type)}
        if facts.token_in:
            params[facts.token_in] = birth.token
        body = await self._client.write("ec2", shape.create, str(request.get("name") or facts.name), **params)
        row = body[shape.reply] if shape.reply else body
        # A repeated token answers with the first resource, which may have gone meanwhile.
        seen = shape.read.decode(row, place) or shape.read.decode({**row, "State": "deleting"}, place)
        assert seen is not None
        # Tags are set with the create, or nothing is made; a read has yet to show them.
        # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html
        return seen.observed() if shape.shows_tags else replace(seen.observed(), tags=birth.marks)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        found = await reading.by_id(self._client, self._shape.read, [ref.id for ref in refs])
        return {ident: seen.observed() for ident, seen in found.items()}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        born = await self._born(_homes(self._shape.home, wants))
        return {want.key: [seen.observed() for seen in born if self._fits(seen, want)] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        home = self._shape.home
        homes = {place.ref.id for place in places if home and place.kind == home.kind} | _homes(home, wants)
        if home and not homes:
            return []
        born = await self._born(homes)
        if home:
            await self._all_exist(home, homes - {str(seen.attributes[home.attribute]) for seen in born})
        inside = [seen for seen in born if not home or seen.attributes[home.attribute] in homes]
        return [
            seen.observed()
            for seen in inside
            if birth_tags.is_born(seen.tags, nonces) or any(self._fits(seen, want) for want in wants)
        ]

    def identify(self, target: str, carried: str = "") -> str:
        arn = Arn.parse(target)
        is_this = arn and not carried and arn.service == "ec2" and arn.type == self._facts.arn_type
        return arn.id if arn and is_this else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        """Nothing about it is changed in place."""

    async def delete(self, ref: Ref) -> None:
        shape = self._shape
        try:
            await self._client.write("ec2", shape.delete, ref.id, **{shape.ident: ref.id})
        except InUse as refused:
            raise await delete_blockers.named(self._client, refused, shape.holders(ref.id)) from refused

    # -- the list that objects share ----------------------------------------------------------------------------

    @property
    def page(self) -> int:
        return self._shape.read.page or 1000

    def list_of(self, ref: Ref) -> str:
        """A client is of one region, which has one list."""
        return self._client.session.region

    async def listed(self, name: str) -> Sequence[Listed]:
        return [Listed(seen.observed(), seen.parts) for seen in await reading.all_of(self._client, self._shape.read)]

    # -- parts --------------------------------------------------------------------------------------------------

    async def parts(self, ref: Ref) -> frozenset[Part]:
        """Not asked for by the engine: every look shows them."""
        found = await reading.by_id(self._client, self._shape.read, [ref.id])
        if ref.id not in found:
            raise NotFound(f"{self._facts.name} {ref.id} does not exist", advice="Check that it still exists")
        return found[ref.id].parts

    async def _add(self, ref: Ref, part: Part, operation: str, **params: str) -> None:
        """Add a part. One that is there already is no error, if it does what is wanted."""
        try:
            await self._client.write("ec2", operation, f"{part} of {ref.id}", **params)
        except (NameTaken, Invalid):
            there = next((have for have in await self.parts(ref) if have == part), None)
            if there is None or there.behavior != part.behavior:
                raise

    async def _remove(self, ref: Ref, part: Part, operation: str, **params: str) -> None:
        """Remove a part. One that is gone already is no error."""
        with suppress(NotFound):
            await self._client.write("ec2", operation, f"{part} of {ref.id}", **params)

    async def _remove_association(self, ref: Ref, part: Part, operation: str) -> None:
        """The same of a part that EC2 knows by an id of its own."""
        ident = part.id or next((have.id for have in await self.parts(ref) if have == part), "")
        if ident:
            await self._remove(ref, part, operation, AssociationId=ident)

    async def _routes_to(self, ref: Ref, selector: str) -> Sequence[User]:
        """The route tables with a route to it, of which EC2 makes a black hole (drivers.UsageDriver)."""
        filters = [{"Name": selector, "Values": [ref.id]}]
        subject = f"those with a route to {ref.id}"
        rows = await self._client.listed("ec2", "describe_route_tables", "RouteTables", subject, Filters=filters)
        return [User(f"route table {row['RouteTableId']}", row["RouteTableId"]) for row in rows]

    # -- what has lost its tags -----------------------------------------------------------------------------------

    async def find_untagged(self, request: Request, tags: frozenset[str]) -> Sequence[Observed]:
        may_be = self._shape.may_be
        assert may_be is not None
        found = [seen for seen in await self._beside(request) if may_be(request, seen)]
        return [seen.observed() for seen in found if _without_birth_mark(seen.tags) <= tags]

    async def _beside(self, request: Request) -> list[Seen]:
        """All that is in the home which the request names, or in the region where the kind has none."""
        home = self._shape.home
        if not home:
            return await reading.all_of(self._client, self._shape.read)
        place = str(request[home.attribute])
        if self._shape.home_filter:
            return await reading.by_filter(self._client, self._shape.read, home.filter, [place])
        found = await reading.all_of(self._client, self._shape.read)
        return [seen for seen in found if seen.attributes[home.attribute] == place]

    # -- what was born of ours ----------------------------------------------------------------------------------

    async def _born(self, homes: Collection[str]) -> list[Seen]:
        """What has a birth tag, of anybody, in these homes, or in the region where the kind has none."""
        shape, born = self._shape, {"tag-key": [BIRTH]}
        region = self._client.session.region
        if not shape.home or not shape.home_filter:
            return await reading.by_filters(self._client, shape.read, born, f"those with {BIRTH} in {region}")
        found: list[Seen] = []
        for some in chunks(sorted(homes), FILTER_VALUES):
            filters = {shape.home.filter: some, **born}
            subject = f"those with {BIRTH} in {', '.join(some)}"
            found += await reading.by_filters(self._client, shape.read, filters, subject)
        return found

    def _fits(self, seen: Seen, want: Want) -> bool:
        home = self._shape.home
        in_scope = not home or seen.attributes[home.attribute] == want.request[home.attribute]
        return in_scope and birth_tags.is_born(seen.tags, want.nonces)

    async def _all_exist(self, home: Home, idents: Collection[str]) -> None:
        """A filter shows nothing of a place that does not exist. Raises NotFound: that is not an empty place."""
        for some in chunks(sorted(idents), FILTER_VALUES):
            filters = [{"Name": home.filter, "Values": some}]
            rows = await self._client.listed("ec2", home.operation, home.items, ", ".join(some), Filters=filters)
            if missing := sorted(set(some) - {row[home.ident] for row in rows}):
                raise NotFound(
                    f"AWS does not show the {home.kind} {', '.join(missing)}", advice="Check that it still exists"
                )


def _without_birth_mark(tags: Tags) -> frozenset[str]:
    """One that is there was made with a key that is lost: others tell."""
    return texts({key: value for key, value in tags.items() if key != BIRTH})


def _homes(home: Home | None, wants: Sequence[Want]) -> set[str]:
    return {str(want.request[home.attribute]) for want in wants} if home else set()
