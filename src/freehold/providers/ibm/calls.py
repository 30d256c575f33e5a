"""Every request to IBM Cloud becomes one call through the port, and every failure one of the lifecycle's errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
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
"""What makes or marks a resource: not sent by a process that may have lost its object meanwhile (port.FencedPort)."""

_SILENT = frozenset({202, 204})
"""Statuses that come without a body: accepted, and no content."""


class ApiClient:
    """Sends SDK requests of one account through a port."""

    def __init__(self, session: IbmSession, port: Port) -> None:
        self.session = session
        self._port = port

    async def read(self, api: str, operation: str, run: Callable[[], Any], subject: str, **detail: Any) -> Any:
        """Send a request that changes nothing; the reply's body."""
        return await self._send(Call(api, operation, Effect.READ, run, subject, detail))

    async def get_or_none(self, api: str, operation: str, run: Callable[[], Any], subject: str) -> Any:
        """The same of one resource, asked for by its id; None when it is not there. Not for lists."""
        try:
            return await self.read(api, operation, run, subject)
        except NotFound:
            return None

    async def write(self, api: str, operation: str, run: Callable[[], Any], subject: str, **detail: Any) -> Any:
        """Send a request that changes the cloud. Raises Unknown when the effect may have happened."""
        return await self._send(Call(api, operation, Effect.WRITE, run, subject, detail, operation in FENCED))

    async def read_list(self, api: str, operation: str, run: Callable[[], Any], subject: str, **detail: Any) -> Any:
        """One page of a list, as it came. Raises ListNotFound, never NotFound."""
        try:
            return await self.read(api, operation, run, subject, **detail)
        except NotFound as missing:
            raise errors.ListNotFound(f"{missing.message}. The list is asked for again") from missing

    async def listed(self, api: str, operation: str, run: Callable[[], Any], items: str, subject: str) -> list[Json]:
        """A list that comes in one page; empty ``items``: a bare one. Raises ListNotFound, never NotFound."""
        return rows(await self.read_list(api, operation, run, subject), items, operation, subject)

    async def pages(
        self, api: str, operation: str, fetch: Callable[[str | None], Any], items: str, subject: str, **detail: Any
    ) -> list[Json]:
        """All pages of a list, one call each. ``fetch`` takes the page token, ``items`` names the collection.

        Raises ListNotFound, never NotFound.
        """
        every = self.each_page(api, operation, fetch, items, subject, **detail)
        return [row async for page in every for row in page]

    async def each_page(
        self, api: str, operation: str, fetch: Callable[[str | None], Any], items: str, subject: str, **detail: Any
    ) -> AsyncIterator[list[Json]]:
        """The same, page by page: the rows of an account need not all be in memory at once."""
        seen: set[str | None] = set()
        start: str | None = None
        while start not in seen:
            seen.add(start)
            body = await self.read_list(api, operation, _fetching(fetch, start), subject, **detail)
            yield rows(body, items, operation, subject)
            start = following(body)
            if start is None:
                return
        raise errors.endless(operation, subject)

    async def account(self) -> str:
        """The account of the API key."""
        await self._token()
        return self.session.account_id

    async def identity(self) -> str:
        """The IAM id that requests are made under: what IBM Cloud shows as ``created_by``."""
        await self._token()
        return self.session.iam_id

    async def _send(self, call: Call) -> Any:
        await self._token()
        mapped, held = self._mapped(call), self.session.tokens.access_token
        try:
            return await self._port.send(mapped)
        except errors.TokenRejected:
            self.session.tokens.forget(held)
        await self._token()
        return await self._port.send(mapped)

    async def _token(self) -> None:
        if self.session.tokens.stale:
            fetch = Call("iam", "issue_token", Effect.READ, self.session.tokens.get_token, "an access token")
            await self._port.send(self._mapped(fetch))

    def _mapped(self, call: Call) -> Call:
        """The same call, whose ``run`` gives a plain body and raises only the lifecycle's errors."""
        session = self.session

        def run() -> Any:
            try:
                return _body(call)
            except CloudError:
                raise
            except Exception as error:
                what = f"{call.operation.replace('_', ' ')} ({call.subject})"
                raise errors.translate(
                    error, effect=call.effect, what=what, variable=session.variable, scrub=session.scrub
                ) from None

        return replace(call, run=run)


def _body(call: Call) -> Any:
    """Send it; the reply's body, None where a write says no more. Raises Unreadable.

    The SDKs hand on whatever comes with 200: the page of a hotel's gateway, or nothing.
    """
    reply = call.run()
    if not hasattr(reply, "get_result"):
        return reply
    body = reply.get_result()
    silent = body is None and call.effect is Effect.WRITE and reply.get_status_code() in _SILENT
    if not silent and not isinstance(body, dict | list):
        raise errors.Unreadable
    return body


def _fetching(fetch: Callable[[str | None], Any], start: str | None) -> Callable[[], Any]:
    return lambda: fetch(start)


def rows(body: Any, items: str, operation: str, subject: str) -> list[Json]:
    """What a list's reply holds under ``items``, or the reply itself where ``items`` is empty.

    Raises Unavailable for a reply without it: that is no empty list, from which could be told what is gone.
    """
    absent = object()
    found = body if not items else body.get(items, absent) if isinstance(body, dict) else absent
    if found is not None and not isinstance(found, list):
        raise errors.no_list(operation, subject)
    return found or []


def following(body: Mapping[str, Any]) -> str | None:
    """The token of the next page: in ``next.start``, or in the query of ``next.href`` or ``next_url``."""
    link = body.get("next") or {}
    if link.get("start"):
        return str(link["start"])
    found = parse_qs(urlsplit(link.get("href") or body.get("next_url") or "").query).get("start")
    return found[0] if found else None
