"""The client: each request to IBM Cloud becomes one call through the port, each failure one of the engine's errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from freehold.engine.errors import CloudError, NotFound
from freehold.engine.port import Call, Effect, Port
from freehold.providers.ibm import errors
from freehold.providers.ibm.session import IbmSession

Json = dict[str, Any]
T = TypeVar("T")
PAGE = 100
"""The largest page of VPC, Transit Gateway and Resource Controller (docs/reference/ibm-cloud.md)."""

FENCED = frozenset(
    {
        "create_resource_instance",
        "create_dhcp",
        "create_vpc",
        "create_subnet",
        "create_security_group",
        "create_load_balancer",
        "create_transit_gateway",
        "create_transit_gateway_connection",
        "create_bucket",
        "attach_tag",
    }
)
"""Operations that make or mark a resource. They are not sent after the object is lost (port.FencedPort)."""

_SILENT = frozenset({202, 204})
"""Statuses that come without a body: accepted, and no content."""


class IbmClient:
    """SDK requests of one account, sent through a port."""

    def __init__(self, session: IbmSession, port: Port) -> None:
        self.session = session
        self._port = port

    async def read(self, api: str, operation: str, run: Callable[[], Any], subject: str, **detail: Any) -> Any:
        """Send a request that changes nothing. Return the reply's body."""
        return await self._send(Call(api, operation, Effect.READ, run, subject, detail))

    async def get_or_none(self, api: str, operation: str, run: Callable[[], Any], subject: str) -> Any:
        """Read one resource by its id; None when it does not exist. Not for lists."""
        try:
            return await self.read(api, operation, run, subject)
        except NotFound:
            return None

    async def write(self, api: str, operation: str, run: Callable[[], Any], subject: str, **detail: Any) -> Any:
        """Send a request that changes the cloud. Raises Unknown when the effect may have happened."""
        return await self._send(Call(api, operation, Effect.WRITE, run, subject, detail, operation in FENCED))

    async def read_page(self, api: str, operation: str, run: Callable[[], Any], subject: str, **detail: Any) -> Any:
        """Return one page of a list, as it came. Raises ListNotFound, never NotFound."""
        try:
            return await self.read(api, operation, run, subject, **detail)
        except NotFound as missing:
            raise errors.ListNotFound(f"{missing.message}. The list is asked for again") from missing

    async def read_short_list(
        self, api: str, operation: str, run: Callable[[], Any], items: str, subject: str
    ) -> list[Json]:
        """Return a list that has one page; empty ``items``: a bare array. Raises ListNotFound, never NotFound."""
        return require_rows(await self.read_page(api, operation, run, subject), items, operation, subject)

    async def read_list(
        self, api: str, operation: str, fetch: Callable[[str | None], Any], items: str, subject: str, **detail: Any
    ) -> list[Json]:
        """Return all pages of a list, one call each. ``fetch`` takes the page token, ``items`` names the collection.

        Raises ListNotFound, never NotFound.
        """
        every = self.each_page(api, operation, fetch, items, subject, **detail)
        return [row async for page in every for row in page]

    async def each_page(
        self, api: str, operation: str, fetch: Callable[[str | None], Any], items: str, subject: str, **detail: Any
    ) -> AsyncIterator[list[Json]]:
        """Yield a list page by page: the rows of an account need not all be in memory at once."""
        seen: set[str | None] = set()
        start: str | None = None
        while start not in seen:
            seen.add(start)
            body = await self.read_page(api, operation, _bind_start(fetch, start), subject, **detail)
            yield require_rows(body, items, operation, subject)
            start = next_token(body)
            if start is None:
                return
        raise errors.endless_list_error(operation, subject)

    async def account(self) -> str:
        """Return the account of the API key."""
        await self._ensure_token()
        return self.session.account_id

    async def identity(self) -> str:
        """Return the IAM id of requests, which IBM Cloud shows as ``created_by``."""
        await self._ensure_token()
        return self.session.iam_id

    async def _send(self, call: Call) -> Any:
        await self._ensure_token()
        mapped, held = self._map_errors(call), self.session.tokens.access_token
        try:
            return await self._port.send(mapped)
        except errors.TokenRejected:
            self.session.tokens.forget(held)
        await self._ensure_token()
        return await self._port.send(mapped)

    async def _ensure_token(self) -> None:
        if self.session.tokens.stale:
            fetch = Call("iam", "issue_token", Effect.READ, self.session.tokens.get_token, "an access token")
            await self._port.send(self._map_errors(fetch))

    def _map_errors(self, call: Call) -> Call:
        """Return the same call with a ``run`` that returns a plain body and raises only the engine's errors."""
        session = self.session

        def run() -> Any:
            try:
                return _read_body(call)
            except CloudError:
                raise
            except Exception as error:
                what = f"{call.operation.replace('_', ' ')} ({call.subject})"
                raise errors.translate(
                    error, effect=call.effect, what=what, identity=session.identity, scrub=session.scrub
                ) from None

        return call._replace(run=run)


def _read_body(call: Call) -> Any:
    """Send the call. Return the reply's body, None for a write without one. Raises Unreadable.

    The SDKs pass on whatever comes with 200: the page of a hotel's gateway, or nothing.
    """
    reply = call.run()
    if not hasattr(reply, "get_result"):
        return reply
    body = reply.get_result()
    silent = body is None and call.effect is Effect.WRITE and reply.get_status_code() in _SILENT
    if not silent and not isinstance(body, dict | list):
        raise errors.Unreadable
    return body


def _bind_start(fetch: Callable[[str | None], Any], start: str | None) -> Callable[[], Any]:
    return lambda: fetch(start)


def require_rows(body: Any, items: str, operation: str, subject: str) -> list[Json]:
    """Return what a list's reply holds under ``items``, or the reply itself where ``items`` is empty.

    Raises Unavailable for a reply without it. Such a reply is no empty list, so it does not show that anything is gone.
    """
    absent = object()
    found = body if not items else body.get(items, absent) if isinstance(body, dict) else absent
    if found is not None and not isinstance(found, list):
        raise errors.missing_list_error(operation, subject)
    return found or []


def next_token(body: Mapping[str, Any]) -> str | None:
    """Return the token of the next page, from ``next.start``, or from the query of ``next.href`` or ``next_url``."""
    link = body.get("next") or {}
    if link.get("start"):
        return str(link["start"])
    found = parse_qs(urlsplit(link.get("href") or body.get("next_url") or "").query).get("start")
    return found[0] if found else None
