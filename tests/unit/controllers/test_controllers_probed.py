"""The probes of an operator that serves an API server: a kind without rights, a ring that is lost, a stuck loop."""

from __future__ import annotations

import asyncio
import http.client
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from freehold.controllers import probes
from freehold.controllers.app import Operator
from freehold.controllers.keyring.file import FileRing
from freehold.controllers.keyring.stored_form import RingDocument
from freehold.controllers.probes import Probes, judge_alive, judge_ready
from freehold.controllers.process_server import Address, serve_pages
from freehold.controllers.settings import Settings
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.errors import Forbidden
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Resource
from freehold.providers.crds import build_crds
from freehold.providers.registry import SERVED
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store

NOW = 1_800_000_000.0
REFUSED = "awsclusters is forbidden: User system:serviceaccount:freehold-system:freehold-operator cannot list"


@asynccontextmanager
async def operator(folder: Path) -> AsyncIterator[Operator]:
    """An operator of an embedded API server, with a key ring in a file."""
    await FileRing(folder / "state.keys").write(RingDocument.create(NOW), "")
    store = Store.open(":memory:")
    api = ApiServer(store, build_crds())
    try:
        serving = Operator(Settings(Connection(await api.start()), {}, cluster_api="off", keys=folder / "state.keys"))
        running = asyncio.create_task(serving.run())
        try:
            yield serving
        finally:
            serving.stop()
            await running
    finally:
        await api.stop()
        store.close()


async def until_ready(serving: Operator) -> str:
    async with asyncio.timeout(60.0):
        while not (found := judge_ready(0.0, serving.read_process_health())).good:
            await asyncio.sleep(0.02)
    return found.text


async def test_a_kind_without_rights_is_named_and_the_others_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody serves one cloud only, and gives the operator no rights to the other one's objects."""
    listing = KubeClient.list_pages

    async def list_pages(
        self: KubeClient, resource: Resource, namespace: str = "", *, label_selector: str = "", limit: int = 500
    ) -> AsyncIterator[ObjectList]:
        if resource.plural == "awsclusters":
            raise Forbidden(REFUSED)
        async for page in listing(self, resource, namespace, label_selector=label_selector, limit=limit):
            yield page

    monkeypatch.setattr(KubeClient, "list_pages", list_pages)
    async with operator(tmp_path) as serving:
        said = await until_ready(serving)
        name = "awsclusters.infrastructure.cluster.x-k8s.io"
        assert said == f"ok\n{name} may not be read: {REFUSED}\n"
        assert {str(each.resource) for each in serving.controllers if not each.read_health().ready} == {name}


async def test_an_operator_whose_ring_is_lost_is_alive_and_says_why_it_is_not_ready(tmp_path: Path) -> None:
    async with operator(tmp_path) as serving:
        assert await until_ready(serving) == "ok\n"
        assert {each.resource.kind for each in serving.controllers} >= {served.kind for served in SERVED}
        keeper = serving._keeper
        assert keeper is not None
        (tmp_path / "state.keys").write_text("damaged")
        await keeper.refresh()
        health = serving.read_process_health()
        assert judge_alive(0.0, health).good
        verdict = judge_ready(0.0, health)
        assert not verdict.good and "state.keys" in verdict.lines[0]


async def test_a_stuck_loop_is_told_while_it_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has a thread of its own, so that kubelet learns of it."""
    monkeypatch.setattr(probes, "STUCK_SECONDS", 0.05)
    found, answers = Probes(), list[tuple[int, str]]()
    beating = asyncio.create_task(found.heartbeat.run())
    asked = threading.Event()

    def ask(address: Address) -> None:
        deadline = time.monotonic() + 60.0
        while not (answers and answers[-1][0] == 503) and time.monotonic() < deadline:
            connection = http.client.HTTPConnection(address.host, address.port, timeout=60)
            connection.request("GET", "/healthz")
            reply = connection.getresponse()
            answers.append((reply.status, reply.read().decode()))
            connection.close()
        asked.set()

    with serve_pages(Address("127.0.0.1", 0), found.build_pages()) as address:
        await asyncio.sleep(0)
        thread = threading.Thread(target=ask, args=(address,))
        thread.start()
        asked.wait(60.0)  # the loop does not turn meanwhile
        thread.join()
    beating.cancel()
    assert answers[-1] == (503, "failing\nthe event loop has not turned for 0 s\n")
