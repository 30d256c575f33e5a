"""The HTTP server of the live page: its routes, what each answer carries, and whom it hangs up on.

It runs in the operator's event loop and only reads. Whoever has no token gets the files of the front end, no data.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit

from aiohttp import web

from freehold.controllers.process_server import Address
from freehold.page.answers import SAFETY, UNKEPT, Problem, accepts_gzip, build_problem
from freehold.page.assets import INDEX, Asset
from freehold.page.gate import Gate, GateUnavailable, TokenRefused, Viewer, read_bearer

_LOG = logging.getLogger(__name__)
_NO_LOG = logging.Logger("freehold.page.http", logging.CRITICAL + 1)
"""The HTTP library writes whole requests into its log, and a token could be in one."""

HEAD_SECONDS = 10.0
IDLE_SECONDS = 30.0
ANSWER_SECONDS = 60.0
"""Seconds in which an answer must be taken, and the next request come."""
STOP_SECONDS = 2.0
"""Seconds for answers under way when the server stops; streams are ended at once."""
MOST_CONNECTIONS = 300
LONGEST_LINE = 8190

_TOKEN_NAMES = ("token", "access_token", "id_token")


class Api(Protocol):
    """The answers under ``/api``. Each raises Problem, GateUnavailable."""

    async def describe_session(self, request: web.Request, viewer: Viewer) -> web.StreamResponse: ...

    async def list_objects(self, request: web.Request, viewer: Viewer) -> web.StreamResponse: ...

    async def stream_changes(self, request: web.Request, viewer: Viewer) -> web.StreamResponse: ...

    async def show_object(self, request: web.Request, viewer: Viewer) -> web.StreamResponse: ...

    async def show_deletion(self, request: web.Request, viewer: Viewer) -> web.StreamResponse: ...

    async def show_tags(self, request: web.Request, viewer: Viewer) -> web.StreamResponse: ...

    async def read_audit(self, request: web.Request, viewer: Viewer) -> web.StreamResponse: ...


_Answer = Callable[[web.Request, Viewer], Awaitable[web.StreamResponse]]
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PageServer:
    """The server of one process. ``loopback_only``: a request must name this machine as its Host."""

    def __init__(self, api: Api, gate: Gate, assets: Mapping[str, Asset], *, loopback_only: bool) -> None:
        self._gate = gate
        self._assets = assets
        self._loopback_only = loopback_only
        self._waiting: dict[asyncio.BaseProtocol, asyncio.TimerHandle] = {}
        """The connections for which nothing is at work here, those that wait longest first: no head of a request has
        come yet, or not all of an answer was taken. Some may have gone."""
        self._app = web.Application(middlewares=[self._guard])
        self._app.add_routes(
            [
                web.get("/", self._send_index),
                web.get("/static/{name:.+}", self._send_asset),
                web.get("/api/session", self._admit(api.describe_session)),
                web.get("/api/objects", self._admit(api.list_objects)),
                web.get("/api/stream", self._admit(api.stream_changes)),
                web.get("/api/objects/{kind}/{namespace}/{name}", self._admit(api.show_object)),
                web.get("/api/objects/{kind}/{namespace}/{name}/deletion", self._admit(api.show_deletion)),
                web.get("/api/tags", self._admit(api.show_tags)),
                web.get("/api/audit", self._admit(api.read_audit)),
            ]
        )
        self._runner = web.AppRunner(
            self._app, access_log=None, logger=_NO_LOG, handler_cancellation=True, keepalive_timeout=IDLE_SECONDS,
            lingering_time=0.0, max_line_size=LONGEST_LINE, shutdown_timeout=STOP_SECONDS,
        )  # fmt: skip

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Call ``stop`` when the server stops, before it waits for what is under way."""

        async def call(app: web.Application) -> None:
            stop()

        self._app.on_shutdown.append(call)

    @asynccontextmanager
    async def listen(self, address: Address) -> AsyncIterator[Address]:
        """Serve for the length of the block, and yield the address. Raises OSError where it cannot be used."""
        await self._runner.setup()
        server = await asyncio.get_running_loop().create_server(self._accept, address.host, address.port)
        try:
            yield Address(address.host, int(server.sockets[0].getsockname()[1]))
        finally:
            server.close()
            for timer in self._waiting.values():
                timer.cancel()
            await self._runner.cleanup()

    # --- connections ---------------------------------------------------------------------------

    def _accept(self) -> asyncio.Protocol:
        """Take a connection. One more than the bound takes the place of the one that waits longest."""
        server = self._runner.server
        assert server is not None  # as it was set up
        crowded = len(server.connections) >= MOST_CONNECTIONS
        while self._waiting and (crowded or len(self._waiting) > 2 * MOST_CONNECTIONS):
            crowded &= not self._hang_up(next(iter(self._waiting)))
        connection = server()
        self._wait_for(connection, HEAD_SECONDS)
        return connection

    def _wait_for(self, connection: asyncio.BaseProtocol, seconds: float) -> None:
        """Hang up after so many seconds without the head of a request."""
        self._note_head(connection)
        loop = asyncio.get_running_loop()
        self._waiting[connection] = loop.call_later(seconds, self._hang_up, connection)

    def _hang_up(self, connection: asyncio.BaseProtocol) -> bool:
        """Close a connection, and return whether it was there."""
        self._note_head(connection)
        transport = getattr(connection, "transport", None)  # none once it has gone
        if transport is not None:
            transport.abort()
        return transport is not None

    def _note_head(self, connection: asyncio.BaseProtocol) -> None:
        if timer := self._waiting.pop(connection, None):
            timer.cancel()

    # --- every answer --------------------------------------------------------------------------

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        self._note_head(request.protocol)
        try:
            self._refuse_foreign(request)
            response = await handler(request)
        except Problem as problem:
            response = build_problem(problem.status, problem.sentence)
        except TokenRefused as refusal:
            response = build_problem(HTTPStatus.UNAUTHORIZED, str(refusal))
            response.headers["WWW-Authenticate"] = "Bearer"
        except GateUnavailable as problem:
            response = build_problem(HTTPStatus.SERVICE_UNAVAILABLE, str(problem))
            response.headers["Retry-After"] = "5"
        except web.HTTPMethodNotAllowed:
            response = build_problem(HTTPStatus.METHOD_NOT_ALLOWED, "the page is only read: GET and HEAD are answered")
            response.headers["Allow"] = "GET, HEAD"
        except web.HTTPException as refusal:
            response = build_problem(HTTPStatus(refusal.status), f"nothing is served at {request.path[:200]}")
        except Exception:  # a defect of ours: logged whole, and the viewer hears that there is one
            _LOG.exception("the page could not answer %s", request.path[:200])
            sentence = "the page has a defect: the operator's log tells more"
            response = build_problem(HTTPStatus.INTERNAL_SERVER_ERROR, sentence)
        if not response.prepared:
            response.headers.update(SAFETY)
            for name, value in UNKEPT.items():
                response.headers.setdefault(name, value)
        self._wait_for(request.protocol, ANSWER_SECONDS)
        return response

    def _refuse_foreign(self, request: web.Request) -> None:
        """Refuse what no page of ours sends."""
        if any(name in request.query for name in _TOKEN_NAMES):
            sentence = "a token is never part of an address, which others keep: send it as Authorization: Bearer TOKEN"
            raise Problem(HTTPStatus.BAD_REQUEST, sentence)
        if not self._loopback_only:
            return
        named = [f"http://{host}" for host in request.headers.getall("Host", [""])]
        for url in (*named, *request.headers.getall("Origin", [])):
            if not is_loopback(url):  # a name that a stranger's page makes lead here
                raise Problem(HTTPStatus.FORBIDDEN, "this page is served to this machine alone: open it at 127.0.0.1")

    def _admit(self, answer: _Answer) -> _Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            token = read_bearer(request.headers.getall("Authorization", []))
            return await answer(request, await self._gate.identify(token))

        return handle

    # --- files ---------------------------------------------------------------------------------

    async def _send_index(self, request: web.Request) -> web.StreamResponse:
        return self._build_file(request, INDEX)

    async def _send_asset(self, request: web.Request) -> web.StreamResponse:
        return self._build_file(request, request.match_info["name"])

    def _build_file(self, request: web.Request, name: str) -> web.StreamResponse:
        asset = self._assets.get(name)
        if asset is None:
            raise web.HTTPNotFound
        headers = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding", "Content-Type": asset.content_type}
        body = asset.body
        tag = asset.tag
        if asset.packed and accepts_gzip(request):
            body, tag = asset.packed, f'{asset.tag[:-1]}-gzip"'
            headers["Content-Encoding"] = "gzip"
        headers["ETag"] = tag
        known = [each.strip() for each in request.headers.get("If-None-Match", "").split(",")]
        if tag in known:
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        return web.Response(body=body, headers=headers)


def is_loopback(url: str) -> bool:
    """Return whether a URL names this machine, at any port: there may be a tunnel between."""
    try:
        name = urlsplit(url).hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
