"""Reads of Elastic Load Balancing, classic and v2. No list shows tags: a call of their own reads them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from freehold.providers.aws import errors
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource
from freehold.providers.aws.reading import location_of
from freehold.providers.aws.tags.native_tags import NativeTags, chunks

NAMES = 20
"""The most names or ARNs in one call."""

Decode = Callable[[Json, AwsLocation], DecodedResource]


@dataclass(frozen=True)
class BalancingRead:
    """How a kind is read. ``id_parameter`` takes the engine's ids, names or ARNs.

    ``name_parameter`` takes names; it is empty for a kind without names.
    """

    service: str
    operation: str
    items: str
    id_parameter: str
    decode: Decode
    name_parameter: str = ""
    page: int = 400


async def read_by_id(client: AwsClient, read: BalancingRead, idents: Collection[str]) -> dict[str, DecodedResource]:
    """Return the resources that exist, by id: one call for up to 20."""
    return {seen.id: seen for seen in await _read_present(client, read, read.id_parameter, idents)}


async def read_by_name(client: AwsClient, read: BalancingRead, names: Collection[str]) -> list[DecodedResource]:
    """Return the resources with these names: one call for up to 20."""
    return await _read_present(client, read, read.name_parameter, names)


async def list_listeners_if_present(client: AwsClient, read: BalancingRead, balancer: str) -> list[DecodedResource]:
    """Return all listeners of a load balancer; an empty list if it is gone."""
    try:
        return await list_listeners(client, read, balancer)
    except errors.ListNotFound:
        return []


async def list_listeners(client: AwsClient, read: BalancingRead, balancer: str) -> list[DecodedResource]:
    """Return all listeners of a load balancer that must exist. Raises ListNotFound."""
    rows = await client.read_list(read.service, read.operation, read.items, balancer, LoadBalancerArn=balancer)
    return await _decode_rows(client, read, rows)


async def read_all(client: AwsClient, read: BalancingRead) -> list[DecodedResource]:
    """Return all resources of the kind in this account and region."""
    subject = f"all of {client.session.region}"
    rows = await client.read_list(read.service, read.operation, read.items, subject, PageSize=read.page)
    return await _decode_rows(client, read, rows)


async def read_targets(client: AwsClient, group: str) -> list[Json]:
    """Return the registered targets of a group, without draining ones, which are deregistered. Raises NotFound."""
    body = await client.read("elbv2", "describe_target_health", group, TargetGroupArn=group)
    rows = body["TargetHealthDescriptions"]
    return [row["Target"] for row in rows if row["TargetHealth"]["State"] != "draining"]


async def fill_in_tags(client: AwsClient, found: Sequence[DecodedResource]) -> list[DecodedResource]:
    """Return the same resources with their tags: one call for up to 20."""
    tags = await NativeTags(client).tags_of([one.arn for one in found]) if found else {}
    return [replace(one, tags=tags.get(one.arn, {})) for one in found]


async def _read_present(
    client: AwsClient, read: BalancingRead, by: str, idents: Collection[str]
) -> list[DecodedResource]:
    rows = [row for some in chunks(sorted(set(idents)), NAMES) for row in await _read_rows(client, read, by, some)]
    return await _decode_rows(client, read, rows)


async def _read_rows(client: AwsClient, read: BalancingRead, by: str, idents: Sequence[str]) -> list[Json]:
    """Return the rows of these ids. AWS refuses a call with a missing id; then each id has a call of its own."""
    try:
        return await client.read_list(read.service, read.operation, read.items, ", ".join(idents), **{by: list(idents)})
    except errors.ListNotFound:
        if len(idents) == 1:
            return []
        return [row for ident in idents for row in await _read_rows(client, read, by, [ident])]


async def _decode_rows(client: AwsClient, read: BalancingRead, rows: Sequence[Json]) -> list[DecodedResource]:
    if not rows:
        return []
    place = await location_of(client)
    return [read.decode(row, place) for row in rows]
