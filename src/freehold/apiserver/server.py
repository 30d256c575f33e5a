"""The embedded Kubernetes API server: aiohttp in front of a :class:`~freehold.apiserver.store.Store`.

For laptops and tests: plain HTTP, no authentication, meant for 127.0.0.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from aiohttp import web

from freehold.apiserver.builtins import built_in_resources
from freehold.apiserver.controllers import Controllers
from freehold.apiserver.crds import crd_resource
from freehold.apiserver.definitions import Definitions
from freehold.apiserver.handlers import Handlers
from freehold.apiserver.objects import Objects
from freehold.apiserver.resources import Registry
from freehold.apiserver.store import Json, Store

MAX_BODY_BYTES = 3 * 1024 * 1024
"""The limit of a real API server's request body."""


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class ApiServer:
    """Serves a store. ``crds`` are installed, or updated, at start; further ones can be POSTed.

    ``now`` gives creation timestamps. The store is the caller's: open before, closed after.
    """

    def __init__(self, store: Store, crds: Sequence[Json] = (), now: Callable[[], datetime] = _wall_clock) -> None:
        self._store = store
        self._crds = tuple(crds)
        crd = crd_resource(now)
        self._registry = Registry((*built_in_resources(), crd))
        self._objects = Objects(store, now)
        self._definitions = Definitions(store, self._objects, self._registry, crd)
        self._closing = asyncio.Event()
        self._handlers = Handlers(store, self._objects, self._registry, now, self._closing)
        self._controllers = Controllers(store, self._objects, self._registry, now)
        self._tidying: asyncio.Task[None] | None = None
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Serve; returns the URL. Port 0 picks a free one.

        Raises OSError when the port is taken, ValueError naming a CRD that is refused.
        """
        self._definitions.create_namespaces()
        self._definitions.install(self._crds)
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handlers.handle)
        # A watcher that hangs up is noticed at once; writes have no await between reading and committing.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=2.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        self._tidying = asyncio.create_task(self._controllers.run(self._closing), name="apiserver-controllers")
        bound = self._runner.addresses[0]
        self.url = f"http://{bound[0]}:{bound[1]}"
        self._handlers.address = f"{bound[0]}:{bound[1]}"
        return self.url

    async def stop(self) -> None:
        """End every watch, finish the requests in flight, and let go of the port."""
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        if self._tidying is not None:
            await self._tidying
            self._tidying = None
