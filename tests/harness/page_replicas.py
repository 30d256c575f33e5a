"""Replicas of an operator with a page over one embedded API server; their clouds answer nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from freehold.controllers.app import Operator
from freehold.controllers.process_server import Address
from freehold.controllers.settings import Settings
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import NAMESPACES
from freehold.page.gate import Gate, TokenGate
from freehold.page.live import LivePage, list_shown
from freehold.providers.crds import build_crds
from freehold.providers.ibm.access import IbmAccess
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.ibm.provider import IBM
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import Kinds
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.live_page import PageClient
from harness.powervs import example

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)
KINDS = Kinds((IBM,))
SECONDS = 60.0
NOWHERE = "http://127.0.0.1:9"
OWNER = TokenGate("token", "ask")


class Replica:
    """An operator with a page, as a replica has both."""

    def __init__(self, connection: Connection, keys: Path, audit: Sequence[Path] = (), **more: Any) -> None:
        access = {"ibm": IbmAccess(key="a-key", url=NOWHERE)}
        settings = Settings(connection, access, "off", keys=keys, kinds=KINDS, leader_elect=True, **more)
        self.page = LivePage(settings, audit, simulated=False)
        self.operator = Operator(self.page.look_on(settings))
        self.page.attach(self.operator)

    @contextmanager
    def runs(self) -> Iterator[asyncio.Task[None]]:
        running = asyncio.create_task(self.operator.run())
        try:
            yield running
        finally:
            self.operator.stop()

    @asynccontextmanager
    async def viewer(self, gate: Gate = OWNER) -> AsyncIterator[PageClient]:
        async with (
            self.page.serve(Address("127.0.0.1", 0), gate, loopback_only=True) as address,
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session,
        ):
            yield PageClient(session, f"http://{address}/#token=token")


@asynccontextmanager
async def serve_kinds() -> AsyncIterator[KubeClient]:
    """Serve the kinds of one provider, and a namespace for the operator."""
    store = Store.open(":memory:")
    kinds = {"MetadataGrant", *(each.kind for each in list_shown(KINDS))}
    api = ApiServer(store, [each for each in build_crds() if each["spec"]["names"]["kind"] in kinds])
    try:
        async with KubeClient(Connection(await api.start())) as talking:
            for name in ("freehold-system", "a", "b"):
                await talking.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            yield talking
    finally:
        await api.stop()
        store.close()


def build_cluster(name: str, namespace: str = "default") -> dict[str, Any]:
    raw = example()
    raw["metadata"] = {"name": name, "namespace": namespace}
    return raw
