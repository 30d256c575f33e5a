"""Reads of Elastic Load Balancing, classic and v2. No list shows tags: those are read by a call of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from freehold.providers.aws import errors
from freehold.providers.aws.calls import ApiClient, Json
from freehold.providers.aws.decoded import Place, Seen
from freehold.providers.aws.reading import place_of
from freehold.providers.aws.tags.native_tags import NativeTags, chunks

NAMES = 20
"""Names or ARNs in one call."""

Decode = Callable[[Json, Place], Seen]


@dataclass(frozen=True)
class BalancingRead:
    """How a kind is read: ``by`` is the parameter that takes what its engine id is, a name or an ARN.

    ``by_name`` is the one that takes names; empty for a kind that has none.
    """

    service: str
    operation: str
    items: str
    by: str
    decode: Decode
    by_name: str = ""
    page: int = 400


async def by_id(client: ApiClient, read: BalancingRead, idents: Collection[str]) -> dict[str, Seen]:
    """Each that is there: one call for up to 20."""
    return {seen.id: seen for seen in await _present(client, read, read.by, idents)}


async def by_name(client: ApiClient, read: BalancingRead, names: Collection[str]) -> list[Seen]:
    """The same by name."""
    return await _present(client, read, read.by_name, names)


async def listeners_of(client: ApiClient, read: BalancingRead, balancer: str) -> list[Seen]:
    """All listeners of a load balancer; none where it has gone."""
    try:
        return await every_listener(client, read, balancer)
    except errors.ListNotFound:
        return []


async def every_listener(client: ApiClient, read: BalancingRead, balancer: str) -> list[Seen]:
    """The same of a load balancer that must exist. Raises ListNotFound."""
    rows = await client.listed(read.service, read.operation, read.items, balancer, LoadBalancerArn=balancer)
    return await _decoded(client, read, rows)


async def all_of(client: ApiClient, read: BalancingRead) -> list[Seen]:
    """All of the account in this region."""
    subject = f"all of {client.session.region}"
    rows = await client.listed(read.service, read.operation, read.items, subject, PageSize=read.page)
    return await _decoded(client, read, rows)


async def targets_of(client: ApiClient, group: str) -> list[Json]:
    """What is registered in a target group; one that is draining has been taken out. Raises NotFound."""
    body = await client.read("elbv2", "describe_target_health", group, TargetGroupArn=group)
    rows = body["TargetHealthDescriptions"]
    return [row["Target"] for row in rows if row["TargetHealth"]["State"] != "draining"]


async def with_tags(client: ApiClient, found: Sequence[Seen]) -> list[Seen]:
    """The same with their tags: one call more for up to 20."""
    tags = await NativeTags(client).tags_of([one.arn for one in found]) if found else {}
    return [replace(one, tags=tags.get(one.arn, {})) for one in found]


async def _present(client: ApiClient, read: BalancingRead, by: str, idents: Collection[str]) -> list[Seen]:
    rows = [row for some in chunks(sorted(set(idents)), NAMES) for row in await _rows(client, read, by, some)]
    return await _decoded(client, read, rows)


async def _rows(client: ApiClient, read: BalancingRead, by: str, idents: Sequence[str]) -> list[Json]:
    """Where one of several is missing the call is refused, so each is asked alone."""
    try:
        return await client.listed(read.service, read.operation, read.items, ", ".join(idents), **{by: list(idents)})
    except errors.ListNotFound:
        if len(idents) == 1:
            return []
        return [row for ident in idents for row in await _rows(client, read, by, [ident])]


async def _decoded(client: ApiClient, read: BalancingRead, rows: Sequence[Json]) -> list[Seen]:
    if not rows:
        return []
    place = await place_of(client)
    return [read.decode(row, place) for row in rows]
