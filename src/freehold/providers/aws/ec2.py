"""The driver that the network kinds of EC2 share, from a description of each.

These kinds have no names of their own: ``Name`` is a tag, which several resources may share. A resource of ours is
recognised by its birth tag: the create sets it, and the first read that shows the resource shows it too.
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
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import DecodedResource
from freehold.providers.aws.kind_facts import KindFacts
from freehold.providers.aws.reading import Ec2Read
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import FILTER_VALUES, chunks
from freehold.providers.aws.tags.tag_map import Tags


@dataclass(frozen=True)
class Parent:
    """The kind of resource that contains resources of another kind.

    ``attribute`` names the parent in requests and in decoded resources, ``filter`` in the lists of both kinds;
    ``operation``, ``items`` and ``ident`` describe the parent's own list.
    """

    kind: str
    attribute: str
    filter: str
    operation: str
    items: str
    ident: str


IN_VPC = Parent("vpc", "vpc_id", "vpc-id", "describe_vpcs", "Vpcs", "VpcId")
IN_SUBNET = Parent("subnet", "subnet_id", "subnet-id", "describe_subnets", "Subnets", "SubnetId")


@dataclass(frozen=True)
class Ec2Shape:
    """How one kind is created, read and deleted, in botocore's names.

    ``reply`` is the member of the create's reply that shows the resource; it is empty where the whole reply does.
    ``shows_tags`` is true if the reply has the tags. ``params`` gives the create's parameters except tags and token.
    ``parent`` is None for a kind that is in no other resource; ``parent_filter`` is off where the list cannot be
    narrowed by it. ``blockers`` gives the searches for what refuses a delete. ``may_be_ours`` says whether a create
    with the request may have made a given resource (:class:`drivers.UntaggedFinder`); it is None where the cloud
    refuses a second one and names its holder.
    """

    facts: KindFacts
    read: Ec2Read
    create: str
    reply: str
    delete: str
    ident: str
    params: Callable[[Request], Json]
    shows_tags: bool = True
    parent: Parent | None = None
    parent_filter: bool = True
    blockers: Callable[[str], tuple[delete_blockers.BlockerSearch, ...]] = lambda ident: ()
    may_be_ours: Callable[[Request, DecodedResource], bool] | None = None


class Ec2Driver:
    """Verbs, list and reads of parts. A kind with parts or mutable attributes derives from it."""

    def __init__(self, client: AwsClient, shape: Ec2Shape) -> None:
        self._client = client
        self._shape = shape
        self._facts = shape.facts

    # -- verbs --------------------------------------------------------------------------------------------------

    async def create(self, request: Request, birth: Birth) -> Observed:
        shape, facts = self._shape, self._facts
        place = await reading.location_of(self._client)  # before the write: a failure after it would lose the reply
        params = {**shape.params(request), "TagSpecifications": birth_tags.tag_specifications(birth, facts.tag_type)}
        if facts.token_in:
            params[facts.token_in] = birth.token
        body = await self._client.write("ec2", shape.create, str(request.get("name") or facts.name), **params)
        row = body[shape.reply] if shape.reply else body
        # A repeated token answers with the first resource, which may have gone meanwhile.
        seen = shape.read.decode(row, place) or shape.read.decode({**row, "State": "deleting"}, place)
        assert seen is not None
        # A create sets its tags or makes nothing. A read shows them later.
        # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html
        return seen.to_observed() if shape.shows_tags else replace(seen.to_observed(), tags=birth.marks)

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        found = await reading.read_by_id(self._client, self._shape.read, [ref.id for ref in refs])
        return {ident: seen.to_observed() for ident, seen in found.items()}

    async def find(self, wants: Sequence[Want]) -> Mapping[NodeKey, Sequence[Observed]]:
        born = await self._list_candidates(_parents_of(self._shape.parent, wants))
        return {want.key: [seen.to_observed() for seen in born if self._matches_want(seen, want)] for want in wants}

    async def by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> Sequence[Observed]:
        home = self._shape.parent
        homes = {place.ref.id for place in places if home and place.kind == home.kind} | _parents_of(home, wants)
        if home and not homes:
            return []
        born = await self._list_candidates(homes)
        if home:
            await self._require_all(home, homes - {str(seen.attributes[home.attribute]) for seen in born})
        inside = [seen for seen in born if not home or seen.attributes[home.attribute] in homes]
        return [
            seen.to_observed()
            for seen in inside
            if birth_tags.has_birth_nonce(seen.tags, nonces) or any(self._matches_want(seen, want) for want in wants)
        ]

    def identify(self, target: str, carried: str = "") -> str:
        arn = Arn.parse(target)
        is_this = arn and not carried and arn.service == "ec2" and arn.type == self._facts.arn_type
        return arn.id if arn and is_this else ""

    async def update(self, ref: Ref, changes: Request) -> None:
        """Do nothing: no attribute is changed in place."""

    async def delete(self, ref: Ref) -> None:
        shape = self._shape
        try:
            await self._client.write("ec2", shape.delete, ref.id, **{shape.ident: ref.id})
        except InUse as refused:
            raise await delete_blockers.name_blockers(self._client, refused, shape.blockers(ref.id)) from refused

    # -- the list that objects share ----------------------------------------------------------------------------

    @property
    def page(self) -> int:
        return self._shape.read.page or 1000

    def list_of(self, ref: Ref) -> str:
        """Return the region: a client is of one region, which has one list."""
        return self._client.session.region

    async def read_rows(self, name: str) -> Sequence[Listed]:
        found = [seen.to_observed() for seen in await reading.read_all(self._client, self._shape.read)]
        return [Listed(seen, seen.parts) for seen in found]

    # -- parts --------------------------------------------------------------------------------------------------

    async def parts(self, ref: Ref) -> frozenset[Part]:
        """Return the parts. The engine has them from every observation, so it does not call this."""
        found = await reading.read_by_id(self._client, self._shape.read, [ref.id])
        if ref.id not in found:
            raise NotFound(f"{self._facts.name} {ref.id} does not exist", advice="Check that it still exists")
        return found[ref.id].parts

    async def _add(self, ref: Ref, part: Part, operation: str, **params: str) -> None:
        """Add a part. It is no error if the part exists and has the wanted behavior."""
        try:
            await self._client.write("ec2", operation, f"{part} of {ref.id}", **params)
        except (NameTaken, Invalid):
            there = next((have for have in await self.parts(ref) if have == part), None)
            if there is None or there.behavior != part.behavior:
                raise

    async def _remove(self, ref: Ref, part: Part, operation: str, **params: str) -> None:
        """Remove a part. It is no error if the part is gone."""
        with suppress(NotFound):
            await self._client.write("ec2", operation, f"{part} of {ref.id}", **params)

    async def _remove_association(self, ref: Ref, part: Part, operation: str) -> None:
        """Remove a part that EC2 knows by an association id."""
        ident = part.id or next((have.id for have in await self.parts(ref) if have == part), "")
        if ident:
            await self._remove(ref, part, operation, AssociationId=ident)

    async def _find_routes_to(self, ref: Ref, selector: str) -> Sequence[User]:
        """Return the route tables with a route to it, which its delete makes a black hole (drivers.UsageDriver)."""
        filters = [{"Name": selector, "Values": [ref.id]}]
        subject = f"those with a route to {ref.id}"
        rows = await self._client.read_list("ec2", "describe_route_tables", "RouteTables", subject, Filters=filters)
        return [User(f"route table {row['RouteTableId']}", row["RouteTableId"]) for row in rows]

    # -- what has lost its tags -----------------------------------------------------------------------------------

    async def find_untagged(self, request: Request, tags: frozenset[str]) -> Sequence[Observed]:
        may_be = self._shape.may_be_ours
        assert may_be is not None
        found = [seen for seen in await self._list_siblings(request) if may_be(request, seen)]
        return [seen.to_observed() for seen in found if _without_birth_mark(seen.tags) <= tags]

    async def _list_siblings(self, request: Request) -> list[DecodedResource]:
        """Return all resources in the parent that the request names, or in the region where the kind has no parent."""
        home = self._shape.parent
        if not home:
            return await reading.read_all(self._client, self._shape.read)
        place = str(request[home.attribute])
        if self._shape.parent_filter:
            return await reading.read_by_filter(self._client, self._shape.read, home.filter, [place])
        found = await reading.read_all(self._client, self._shape.read)
        return [seen for seen in found if seen.attributes[home.attribute] == place]

    # -- what was born of ours ----------------------------------------------------------------------------------

    async def _list_candidates(self, homes: Collection[str]) -> list[DecodedResource]:
        """Return what has a birth tag, of any owner, in these parents, or in the region where the kind has none."""
        shape, born = self._shape, {"tag-key": [BIRTH]}
        region = self._client.session.region
        if not shape.parent or not shape.parent_filter:
            return await reading.read_by_filters(self._client, shape.read, born, f"those with {BIRTH} in {region}")
        found: list[DecodedResource] = []
        for some in chunks(sorted(homes), FILTER_VALUES):
            filters = {shape.parent.filter: some, **born}
            subject = f"those with {BIRTH} in {', '.join(some)}"
            found += await reading.read_by_filters(self._client, shape.read, filters, subject)
        return found

    def _matches_want(self, seen: DecodedResource, want: Want) -> bool:
        home = self._shape.parent
        in_scope = not home or seen.attributes[home.attribute] == want.request[home.attribute]
        return in_scope and birth_tags.has_birth_nonce(seen.tags, want.nonces)

    async def _require_all(self, home: Parent, idents: Collection[str]) -> None:
        """Raise NotFound unless all parents exist: a missing parent's list is as empty as an existing one's may be."""
        for some in chunks(sorted(idents), FILTER_VALUES):
            filters = [{"Name": home.filter, "Values": some}]
            rows = await self._client.read_list("ec2", home.operation, home.items, ", ".join(some), Filters=filters)
            if missing := sorted(set(some) - {row[home.ident] for row in rows}):
                raise NotFound(
                    f"AWS does not show the {home.kind} {', '.join(missing)}", advice="Check that it still exists"
                )


def _without_birth_mark(tags: Tags) -> frozenset[str]:
    """Return the tags except the birth mark, which may have been made with a key that is lost."""
    return texts({key: value for key, value in tags.items() if key != BIRTH})


def _parents_of(home: Parent | None, wants: Sequence[Want]) -> set[str]:
    return {str(want.request[home.attribute]) for want in wants} if home else set()
