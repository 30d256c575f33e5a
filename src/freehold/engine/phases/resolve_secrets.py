"""Resolve secrets: secret values for a create are read when it is sent, and read again when it is repeated.

A secret that a request names several times is read once.
"""

from __future__ import annotations

import hmac
from typing import Any

from freehold.engine.context import PassContext
from freehold.engine.errors import Invalid, NotFound
from freehold.engine.journal import Entry
from freehold.engine.resources import NodeKey, Request
from freehold.engine.secret_values import DIGEST, Named, SecretValue, find_references, with_each


async def resolve_first(ctx: PassContext, key: NodeKey, request: Request) -> tuple[Request, Request]:
    """Return the request as it is recorded, with digests, and as it is sent, with values. Raises CloudError."""
    values = await _read(ctx, request)
    if not values:
        return dict(request), request

    def record_reference(one: Named) -> Any:
        return {**one.to_request(), DIGEST: _digest(ctx, ctx.keys.writing, key, one, values[one.path])}

    return with_each(request, record_reference), _with_values(request, values)


async def resolve_again(ctx: PassContext, key: NodeKey, entry: Entry) -> Request | None:
    """Return the recorded request as it was sent. Raises CloudError.

    None where a secret is not what it was then: the cloud has not seen this request, so it is not sent as a repeat.
    """
    request = entry.request or {}
    try:
        values = await _read(ctx, request)
    except (NotFound, Invalid):
        return None
    for one in find_references(request):
        recorded, now = one.digest.encode(), _digest(ctx, entry.key, key, one, values[one.path]).encode()
        if not hmac.compare_digest(recorded, now):
            return None
    return _with_values(request, values) if values else request


async def _read(ctx: PassContext, request: Request) -> dict[str, bytes]:
    """Return what is sent in place of each reference. Raises CloudError."""
    wanted = find_references(request)
    read = {name: await ctx.deps.secrets.read(name) for name in dict.fromkeys(one.reference for one in wanted)}
    return {one.path: one.transform(read[one.reference]) for one in wanted}


def _with_values(request: Request, values: dict[str, bytes]) -> Request:
    sent: Request = with_each(request, lambda one: SecretValue(one.reference, values[one.path]))
    return sent


def _digest(ctx: PassContext, digest: str, key: NodeKey, one: Named, value: bytes) -> str:
    return ctx.keys.secret_digest(digest, key, f"{one.path}\0{one.reference}", value)
