"""A scripted API server, for answers that a correct one never gives, and the embedded one for the rest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store


@dataclass
class Scripted:
    """Answers with ``handler``; ``requests`` has the requests in order, ``naps`` the waits that the client wanted."""

    handler: Callable[[web.Request], Awaitable[web.StreamResponse]] | None = None
    requests: list[web.Request] = field(default_factory=list)
    naps: list[float] = field(default_factory=list)
    url: str = ""

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        await request.read()
        assert self.handler is not None
        return await self.handler(request)

    async def nap(self, seconds: float) -> None:
        self.naps.append(seconds)

    def answers(self, *responses: web.Response) -> None:
        """Give these answers in turn, then repeat the last one."""
        left = list(responses)

        async def handler(_: web.Request) -> web.StreamResponse:
            response = left.pop(0) if len(left) > 1 else left[0]
            return web.Response(status=response.status, body=response.body, headers=response.headers)

        self.handler = handler


def status(code: int, reason: str = "", message: str = "no", headers: dict[str, str] | None = None) -> web.Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "message": message,
        "code": code,
    }
    return web.Response(status=code, text=json.dumps(body), content_type="application/json", headers=headers)


@pytest.fixture(name="status")
def status_fixture() -> Callable[..., web.Response]:
    return status


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    server = Scripted()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.serve)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    yield server
    await runner.cleanup()


@pytest.fixture
async def client(scripted: Scripted) -> AsyncIterator[KubeClient]:
    async with KubeClient(Connection(scripted.url), sleep=scripted.nap) as found:
        yield found


@pytest.fixture
async def embedded() -> AsyncIterator[KubeClient]:
    """A client of a real API server (the embedded one)."""
    async with _server() as found:
        yield found


@pytest.fixture
async def other() -> AsyncIterator[KubeClient]:
    """A client of another one."""
    async with _server() as found:
        yield found


@asynccontextmanager
async def _server() -> AsyncIterator[KubeClient]:
    store = Store.open(":memory:")
    server = ApiServer(store)
    url = await server.start()
    async with KubeClient(Connection(url)) as found:
        yield found
    await server.stop()
    store.close()


@pytest.fixture
def within() -> Callable[[Awaitable[Any]], Awaitable[Any]]:
    """Wait with a time-out, for real sockets."""

    async def wait(awaitable: Awaitable[Any]) -> Any:
        async with asyncio.timeout(120):
            return await awaitable

    return wait
