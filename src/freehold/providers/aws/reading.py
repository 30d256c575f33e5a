"""Reads of EC2 resources: by id in batches, or all of a region. A reply is decoded by the kind that it is of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from freehold.providers.aws.calls import ApiClient, Json
from freehold.providers.aws.decoded import Place, Seen
from freehold.providers.aws.tags.native_tags import FILTER_VALUES, chunks

Decode = Callable[[Json, Place], Seen | None]
"""What a row of a reply shows; None for one that has gone and is shown for a while."""


@dataclass(frozen=True)
class Read:
    """How a kind is read. ``page`` is the largest page, 0 for a list without pages (docs/reference/aws.md#sdk).

    ``id_filter`` is empty for a kind that has none: of it all are read. ``inside``: where a row has several resources.
    """

    operation: str
    items: str
    id_filter: str
    decode: Decode
    page: int = 1000
    filters: str = "Filters"
    inside: str = ""


async def place_of(client: ApiClient) -> Place:
    session = client.session
    return Place(session.partition, session.region, await client.account())


async def by_id(client: ApiClient, read: Read, idents: Collection[str]) -> dict[str, Seen]:
    """Each that is there, by id. A filter leaves out what is missing, where ids would be refused for one of them."""
    if idents and not read.id_filter:
        return {seen.id: seen for seen in await all_of(client, read) if seen.id in idents}
    found: dict[str, Seen] = {}
    for some in chunks(sorted(set(idents)), FILTER_VALUES):
        rows = await _rows(client, read, ", ".join(some), [{"Name": read.id_filter, "Values": some}])
        found |= {seen.id: seen for seen in await _decoded(client, read, rows)}
    return found


async def by_filter(client: ApiClient, read: Read, name: str, values: Sequence[str]) -> list[Seen]:
    """What a filter of EC2 selects: ``vpc-id``, ``tag:…``."""
    return await by_filters(client, read, {name: values}, f"{name} {', '.join(values)}")


async def by_filters(client: ApiClient, read: Read, filters: Mapping[str, Sequence[str]], subject: str) -> list[Seen]:
    """What all of several filters select."""
    selected = [{"Name": name, "Values": list(values)} for name, values in filters.items()]
    return await _decoded(client, read, await _rows(client, read, subject, selected))


async def all_of(client: ApiClient, read: Read) -> list[Seen]:
    """All of the account in this region: what many objects share."""
    return await _decoded(client, read, await _rows(client, read, f"all of {client.session.region}", []))


async def _rows(client: ApiClient, read: Read, subject: str, filters: list[Json]) -> list[Json]:
    selected = {read.filters: filters} if filters else {}
    paged = {"MaxResults": read.page} if read.page else {}
    rows = await client.listed("ec2", read.operation, read.items, subject, **selected, **paged)
    return [each for row in rows for each in row[read.inside]] if read.inside else rows


async def _decoded(client: ApiClient, read: Read, rows: Sequence[Json]) -> list[Seen]:
    if not rows:
        return []
    place = await place_of(client)
    return [seen for row in rows if (seen := read.decode(row, place)) is not None]
