"""Reads of EC2 resources: by id in batches, or all of a region. Each kind decodes its own replies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource
from freehold.providers.aws.tags.native_tags import FILTER_VALUES, chunks

Decode = Callable[[Json, AwsLocation], DecodedResource | None]
"""Decodes a row of a reply; None for a resource that is gone and still shown for a while."""


@dataclass(frozen=True)
class Ec2Read:
    """How a kind is read. ``page`` is the largest page, 0 for a list without pages (docs/reference/aws.md#sdk).

    ``id_filter`` is empty for a kind that has none: then all are read. ``nested_items`` is the member with the
    resources where a row has several.
    """

    operation: str
    items: str
    id_filter: str
    decode: Decode
    page: int = 1000
    filters: str = "Filters"
    nested_items: str = ""


async def location_of(client: AwsClient) -> AwsLocation:
    session = client.session
    return AwsLocation(session.partition, session.region, await client.account())


async def read_by_id(client: AwsClient, read: Ec2Read, idents: Collection[str]) -> dict[str, DecodedResource]:
    """Return the resources that exist, by id. A filter leaves out missing ids, where a list of ids would be refused."""
    if idents and not read.id_filter:
        return {seen.id: seen for seen in await read_all(client, read) if seen.id in idents}
    found: dict[str, DecodedResource] = {}
    for some in chunks(sorted(set(idents)), FILTER_VALUES):
        rows = await _read_rows(client, read, ", ".join(some), [{"Name": read.id_filter, "Values": some}])
        found |= {seen.id: seen for seen in await _decode_rows(client, read, rows)}
    return found


async def read_by_filter(client: AwsClient, read: Ec2Read, name: str, values: Sequence[str]) -> list[DecodedResource]:
    """Return what one filter of EC2 selects: ``vpc-id``, ``tag:…``."""
    return await read_by_filters(client, read, {name: values}, f"{name} {', '.join(values)}")


async def read_by_filters(
    client: AwsClient, read: Ec2Read, filters: Mapping[str, Sequence[str]], subject: str
) -> list[DecodedResource]:
    """Return what several filters together select."""
    selected = [{"Name": name, "Values": list(values)} for name, values in filters.items()]
    return await _decode_rows(client, read, await _read_rows(client, read, subject, selected))


async def read_all(client: AwsClient, read: Ec2Read) -> list[DecodedResource]:
    """Return all of the account in this region: the list that many objects share."""
    return await _decode_rows(client, read, await _read_rows(client, read, f"all of {client.session.region}", []))


async def _read_rows(client: AwsClient, read: Ec2Read, subject: str, filters: list[Json]) -> list[Json]:
    selected = {read.filters: filters} if filters else {}
    paged = {"MaxResults": read.page} if read.page else {}
    rows = await client.read_list("ec2", read.operation, read.items, subject, **selected, **paged)
    return [each for row in rows for each in row[read.nested_items]] if read.nested_items else rows


async def _decode_rows(client: AwsClient, read: Ec2Read, rows: Sequence[Json]) -> list[DecodedResource]:
    if not rows:
        return []
    place = await location_of(client)
    return [seen for row in rows if (seen := read.decode(row, place)) is not None]
