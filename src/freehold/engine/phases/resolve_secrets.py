"""Resolve secrets: secret values for a create are read when it is sent, and read again when it is repeated."""

from __future__ import annotations

import hmac
from typing import Any

from freehold.engine.context import PassContext
from freehold.engine.errors import NotFound
from freehold.engine.journal import Entry
from freehold.engine.resources import NodeKey, Request
from freehold.engine.secret_values import DIGEST, Named, SecretValue, named, reference, with_each


async def resolve_first(ctx: PassContext, key: NodeKey, request: Request) -> tuple[Request, Request]:
    """Return the request as it is recorded, with digests, and as it is sent, with values. Raises CloudError."""
    values = {one.path: await ctx.deps.secrets.read(one.reference) for one in named(request)}
    if not values:
        return dict(request), request

    def recorded(one: Named) -> Any:
        return {**reference(one.reference), DIGEST: _digest(ctx, ctx.keys.writing, key, one, values[one.path])}

    return with_each(request, recorded), _with_values(request, values)


async def resolve_again(ctx: PassContext, key: NodeKey, entry: Entry) -> Request | None:
    """Return the recorded request as it was sent. Raises CloudError.

    None where a secret is not what it was then: the cloud has not seen this request, so it is not sent as a repeat.
    """
    request = entry.request or {}
    values: dict[str, bytes] = {}
    for one in named(request):
        try:
            values[one.path] = await ctx.deps.secrets.read(one.reference)
        except NotFound:
            return None
        recorded, now = one.digest.encode(), _digest(ctx, entry.key, key, one, values[one.path]).encode()
        if not hmac.compare_digest(recorded, now):
            return None
    return _with_values(request, values) if values else request


def _with_values(request: Request, values: dict[str, bytes]) -> Request:
    sent: Request = with_each(request, lambda one: SecretValue(one.reference, values[one.path]))
    return sent


def _digest(ctx: PassContext, digest: str, key: NodeKey, one: Named, value: bytes) -> str:
    return ctx.keys.secret_digest(digest, key, f"{one.path}\0{one.reference}", value)
