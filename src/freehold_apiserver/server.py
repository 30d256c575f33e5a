"""The embedded Kubernetes API server: aiohttp in front of a :class:`~freehold_apiserver.store.Store`.

For laptops and tests: plain HTTP, one token for everything, meant for 127.0.0.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from aiohttp import web

from freehold_apiserver import batches
from freehold_apiserver.admission.attributes import OpenGate
from freehold_apiserver.admission.configurations import configuration_resources
from freehold_apiserver.admission.dispatch import Admission
from freehold_apiserver.authentication import Authentication
from freehold_apiserver.batches import Batches
from freehold_apiserver.bounds import MAX_BYTES
from freehold_apiserver.builtins import built_in_resources
from freehold_apiserver.controllers import Controllers
from freehold_apiserver.crds import crd_resource
from freehold_apiserver.definitions import Definitions
from freehold_apiserver.handlers import Extension, Handlers
from freehold_apiserver.objects import Objects
from freehold_apiserver.reading import Reader
from freehold_apiserver.resources import Registry
from freehold_apiserver.store import Json, Store
from freehold_apiserver.webhook_client import Services, WebhookClient

NO_SERVICES: Services = MappingProxyType({})


_PATIENCE = 2.0
"""Seconds for what is under way when the server stops."""


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class ApiServer:
    """Serves a store. ``crds`` are installed or updated at start; more can be created over HTTP.

    ``now`` provides creation timestamps. A CRD of ``crds`` that someone deletes is put back, and ``restored`` is
    told its name. ``token`` is what clients must show, empty for none. ``services`` are the Services that webhooks are
    behind, with the address (host and port) that stands for each. The caller opens and closes the store.
    """

    def __init__(
        self,
        store: Store,
        crds: Sequence[Json] = (),
        now: Callable[[], datetime] = _wall_clock,
        restored: Callable[[str], None] = lambda name: None,
        token: str = "",
        services: Services = NO_SERVICES,
    ) -> None:
        self._store = store
        self._crds = tuple(crds)
        crd = crd_resource(now)
        self._registry = Registry((*built_in_resources(), *configuration_resources(), crd))
        self._webhooks = WebhookClient(services)
        self._objects = Objects(store, self._registry, Admission(store, self._registry, self._webhooks), now)
        own = Objects(store, self._registry, OpenGate(), now)
        self._definitions = Definitions(store, own, self._registry, crd, self._webhooks)
        self._closing = asyncio.Event()
        self._reader = Reader(store, self._objects, self._registry, now)
        self._authentication = Authentication(token)
        self._handlers = Handlers(store, self._objects, self._reader, self._closing, self._authentication)
        self.extend(batches.PATH, Batches(self._objects, self._registry).answer)
        self._restored = restored
        self._controllers = Controllers(store, self._objects, self._registry, now, self._restore)
        self._background: asyncio.Task[None] | None = None
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Start listening and return the URL. Port 0 picks a free port.

        Raises OSError when the port is in use, ValueError naming a CRD that is refused.
        """
        await self._definitions.create_namespaces()
        await self._definitions.install(self._crds)
        app = web.Application(client_max_size=MAX_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handlers.handle)
        # Ends a watch at once when its client disconnects; safe, as a write that awaits has committed nothing yet.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=_PATIENCE)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        self._background = asyncio.create_task(self._controllers.run(self._closing), name="apiserver-controllers")
        bound = self._runner.addresses[0]
        self.url = f"http://{bound[0]}:{bound[1]}"
        self._reader.address = self._authentication.address = self.url.removeprefix("http://")
        return self.url

    def extend(self, path: str, extension: Extension) -> None:
        """Answer POST requests to ``path``, which is none of Kubernetes, from now on."""
        self._handlers.extensions[path] = extension

    async def _restore(self) -> None:
        for name in await self._definitions.restore():
            self._restored(name)

    async def stop(self) -> None:
        """End every watch, finish the requests in flight, and close the port."""
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        if self._background is not None:
            # Background work may wait for a webhook; what it did not commit is begun anew at the next start.
            await asyncio.wait([self._background], timeout=_PATIENCE)
            self._background.cancel()
            await asyncio.wait([self._background])
            self._background = None
        await self._webhooks.close()
