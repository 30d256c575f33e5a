"""The base of all VPC kinds: ids with their region, lists, reads after a list (docs/reference/ibm-cloud.md#vpc)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from freehold.engine.drivers import Listed
from freehold.engine.resources import NodeKey, NonceSet, Observed, ParentResource, Ref, State, Want
from freehold.providers.ibm import crn
from freehold.providers.ibm.calls import PAGE, IbmClient, Json
from freehold.providers.ibm.names import has_nonce, matches
from freehold.providers.ibm.times import epoch

HOME = "us-south"
"""A region that always exists; it gives the list of all regions."""

REGION = re.compile(r"[a-z]{2}-[a-z]+\d?")
"""The beginning of regional kinds' engine ids; those of other kinds begin with a guid.

Names of regions: https://cloud.ibm.com/docs/vpc?topic=vpc-creating-a-vpc-in-a-different-region
"""

STATES = {
    "pending": State.PENDING,
    "create_pending": State.PENDING,
    "available": State.READY,
    "active": State.READY,
    "failed": State.FAILED,
    "deleting": State.DELETING,
    "delete_pending": State.DELETING,
    # A mutation is under way; the resource keeps working.
    "update_pending": State.READY,
    "maintenance_pending": State.READY,
    "migrate_pending": State.READY,
}


def join_id(region: str, ident: str) -> str:
    """Return the engine's id: VPC ids mean nothing outside their region."""
    return f"{region}/{ident}"


def split_id(engine_id: str) -> tuple[str, str]:
    """Return region and vendor id of an engine id."""
    region, _, ident = engine_id.partition("/")
    return region, ident


def parent_vpcs(places: Sequence[ParentResource]) -> list[tuple[str, str]]:
    """Return region and id of the VPCs among ``places``."""
    return sorted({split_id(place.ref.id) for place in places if place.kind == "vpc"})


async def read_regions(client: IbmClient, home: str = HOME) -> list[Json]:
    """Return every VPC region, with its status; not paged."""
    sdk = client.session.vpc
    return await client.read_short_list("vpc", "list_regions", lambda: sdk(home).list_regions(), "regions", "of VPC")


async def regions_to_search(client: IbmClient, places: Sequence[ParentResource], wants: Sequence[Want]) -> list[str]:
    """Return the regions that ``places`` or ``wants`` name, else every region.

    A workspace or a gateway names none: its VPC may be in another region.
    """
    named = {split_id(place.ref.id)[0] for place in places if REGION.fullmatch(split_id(place.ref.id)[0])}
    named |= {want.request["region"] for want in wants}
    return sorted(named or {body["name"] for body in await read_regions(client)})


def identify(target: str, resource_type: str) -> str:
    """Return the engine's id for a CRN of this type; empty for any other text."""
    parsed = crn.parse(target)
    if parsed is None or parsed.service != "is" or parsed.type != resource_type:
        return ""
    return join_id(parsed.region, parsed.id)


def to_observed(
    region: str, body: Json, word: str, attributes: Mapping[str, Any], nonce_fields: Iterable[str] = ()
) -> Observed:
    """Return a resource. ``word`` is its status; ``nonce_fields`` are texts besides its name that may hold a nonce."""
    return Observed(
        id=join_id(region, body["id"]),
        name=body["name"],
        state=STATES.get(word, State.PENDING),
        target=body["crn"],
        nonce_fields=frozenset({body["name"], *nonce_fields}),
        created_at=epoch(body.get("created_at")),
        vendor_state=word,
        region=region,
        attributes={"id": body["id"], "crn": body["crn"], "name": body["name"], **group_of(body), **attributes},
    )


def group_of(body: Json) -> dict[str, str]:
    """Return the attribute ``resource_group``, where the reply shows it."""
    group = body.get("resource_group")
    return {"resource_group": group["id"]} if group else {}


def _scope(want: Want) -> tuple[str, str]:
    return want.request["region"], want.request["vpc"]


def is_wanted(name: str, wants: Sequence[Want], nonces: NonceSet) -> bool:
    """Return whether a name has one of ``nonces``, or is or holds what one of ``wants`` looks for."""
    return has_nonce(name, nonces) or any(matches(name, want.name, want.nonces) for want in wants)


async def confirm_vpc(client: IbmClient, region: str, ident: str) -> None:
    """Raise NotFound when there is no such VPC."""
    await client.read("vpc", "get_vpc", lambda: client.session.vpc(region).get_vpc(ident), f"vpc {ident}")


class VpcCollection:
    """One kind of VPC resource: ``subnet`` and ``subnets`` as the SDK's methods spell it.

    It remembers the VPC of each resource, so that one list observes several of a VPC.
    """

    def __init__(self, client: IbmClient, one: str, many: str) -> None:
        self._client = client
        self._one = one
        self._many = many
        self._homes: dict[str, str] = {}

    async def get(self, region: str, ident: str) -> Json | None:
        body: Json | None = await self._client.get_or_none(
            "vpc", f"get_{self._one}", lambda: self._sdk(region, f"get_{self._one}")(ident), self._subject(ident)
        )
        if body is not None:
            self._remember(body)
        return body

    async def list_all(self, region: str, vpc: str = "") -> list[Json]:
        """Return all of a region, or of one VPC where the list can be narrowed to it."""
        return [body async for body in self.iterate(region, vpc)]

    async def iterate(self, region: str, vpc: str = "") -> AsyncIterator[Json]:
        """Yield all of a region or VPC, one after the other."""
        narrow = {"vpc_id": vpc} if vpc else {}
        pages = self._client.each_page(
            "vpc",
            f"list_{self._many}",
            lambda start: self._sdk(region, f"list_{self._many}")(limit=PAGE, start=start, **narrow),
            self._many,
            f"in {vpc or region}",
        )
        async for page in pages:
            for body in page:
                self._remember(body)
                yield body

    async def read_present(self, refs: Sequence[Ref]) -> list[tuple[str, Json]]:
        """Return those of ``refs`` that exist, with their region.

        Several of one VPC take one list. A resource that it does not show is read by its id before it counts as gone: a
        list shows new resources late, and may come from a replica that lags behind the last one.
        """
        found: dict[str, Json] = {}
        groups: dict[tuple[str, str], list[str]] = {}
        for ref in refs:
            region, ident = split_id(ref.id)
            groups.setdefault((region, self._homes.get(ident, "")), []).append(ident)
        for (region, vpc), idents in groups.items():
            if vpc and len(idents) > 1:
                found |= {body["id"]: body for body in await self.list_all(region, vpc)}
        answers: list[tuple[str, Json]] = []
        for ref in refs:
            region, ident = split_id(ref.id)
            listed = len(groups.get((region, self._homes.get(ident, "")), ())) > 1 and self._homes.get(ident)
            body = found.get(ident)
            if body is None and not (listed and ref.delete_requested):
                body = await self.get(region, ident)
            if body is not None:
                answers.append((region, body))
        return answers

    async def find_wanted(self, wants: Sequence[Want]) -> dict[NodeKey, list[tuple[str, Json]]]:
        """Return, for each want, what has its name or one of our nonces in its VPC, with the region; one list a VPC."""
        bodies = {scope: await self.list_all(*scope) for scope in sorted({_scope(want) for want in wants})}
        return {
            want.key: [
                (_scope(want)[0], body)
                for body in bodies[_scope(want)]
                if matches(body["name"], want.name, want.nonces)
            ]
            for want in wants
        }

    async def find_by_nonce(
        self, places: Sequence[ParentResource], wants: Sequence[Want], nonces: NonceSet
    ) -> list[tuple[str, Json]]:
        """Return what has one of ``nonces`` in its name in a VPC of ``places``, with the region; one list a VPC.

        It includes what :meth:`find_wanted` finds for ``wants``. Raises NotFound for a VPC that is gone, whose list
        would be empty like any other.
        """
        found = []
        for scope in sorted({*parent_vpcs(places), *map(_scope, wants)}):
            await confirm_vpc(self._client, *scope)
            bodies, here = await self.list_all(*scope), [want for want in wants if _scope(want) == scope]
            found += [(scope[0], body) for body in bodies if is_wanted(body["name"], here, nonces)]
        return found

    async def create(self, region: str, subject: str, send: Callable[[Any], Any], **detail: Any) -> Json:
        """Create one; ``send`` takes the SDK's method and calls it."""
        operation = f"create_{self._one}"
        body: Json = await self._client.write(
            "vpc",
            operation,
            lambda: send(self._sdk(region, operation)),
            self._subject(subject),
            region=region,
            **detail,
        )
        self._remember(body)
        return body

    async def rename(self, ref: Ref, name: str) -> None:
        region, ident = split_id(ref.id)
        operation = f"update_{self._one}"
        await self._client.write(
            "vpc",
            operation,
            lambda: self._sdk(region, operation)(ident, {"name": name}),
            self._subject(ident),
            name=name,
        )

    async def delete(self, ref: Ref) -> None:
        region, ident = split_id(ref.id)
        operation = f"delete_{self._one}"
        await self._client.write("vpc", operation, lambda: self._sdk(region, operation)(ident), self._subject(ident))

    def _remember(self, body: Json) -> None:
        home = body.get("vpc")
        if home:
            self._homes[body["id"]] = home["id"]

    def _subject(self, subject: str) -> str:
        return f"{self._one.replace('_', ' ')} {subject}"

    def _sdk(self, region: str, method: str) -> Any:
        return getattr(self._client.session.vpc(region), method)


class VpcListing:
    """One list a region of one kind of VPC resource (engine.drivers.Listing). ``show`` makes a row of a body."""

    page = PAGE

    def __init__(self, collection: VpcCollection, show: Callable[[str, Json], Listed]) -> None:
        self._collection = collection
        self._show = show

    def list_of(self, ref: Ref) -> str:
        return split_id(ref.id)[0]

    async def read_rows(self, name: str) -> Sequence[Listed]:
        return [self._show(name, body) async for body in self._collection.iterate(name)]
