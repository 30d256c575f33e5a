"""The source of the page's objects: of the operator that serves, or watches of its own while another one leads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from freehold.controllers.app import Operator
from freehold.controllers.process_server import Address
from freehold.controllers.settings import Settings
from freehold.controllers.watch_filter import WatchFilter
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import NAMESPACES, Key
from freehold.page import feed as feeds
from freehold.page import source as sources
from freehold.page.gate import TokenGate
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


class Replica:
    """An operator with a page, as a replica has both."""

    def __init__(self, connection: Connection, keys: Path, **more: Any) -> None:
        access = {"ibm": IbmAccess(key="a-key", url=NOWHERE)}
        settings = Settings(connection, access, "off", keys=keys, kinds=KINDS, leader_elect=True, **more)
        self.page = LivePage(settings, (), simulated=False)
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
    async def viewer(self) -> AsyncIterator[PageClient]:
        async with (
            self.page.serve(Address("127.0.0.1", 0), TokenGate("token", "ask"), loopback_only=True) as address,
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session,
        ):
            yield PageClient(session, f"http://{address}/#token=token")


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    store = Store.open(":memory:")
    kinds = {"MetadataGrant", *(each.kind for each in list_shown(KINDS))}
    api = ApiServer(store, [each for each in build_crds() if each["spec"]["names"]["kind"] in kinds])
    try:
        async with KubeClient(Connection(await api.start())) as talking:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "freehold-system"}}
            await talking.create(NAMESPACES, namespace)  # of the Lease
            yield talking
    finally:
        await api.stop()
        store.close()


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while not is_so():
            await asyncio.sleep(0.02)


def named(name: str) -> dict[str, Any]:
    raw = example()
    raw["metadata"] = {"name": name, "namespace": "default"}
    return raw


async def list_names(page: PageClient) -> list[str]:
    return sorted(row["name"] for row in (await page.get("objects"))["rows"])


async def test_a_replica_that_follows_shows_the_objects_and_goes_on_when_it_leads(
    client: KubeClient, tmp_path: Path
) -> None:
    first, second = (Replica(client.connection, tmp_path / "keys") for _ in range(2))
    await client.create(POWERVS_CLUSTERS, named("one"))
    with first.runs() as leading:
        await until(first.operator.leads)
        with second.runs() as following:
            async with second.viewer() as page:
                session = await page.get("session")
                assert (session["leads"], second.operator.controllers) == (False, ())
                assert await list_names(page) == ["one"]
                await client.create(POWERVS_CLUSTERS, named("two"))
                await page.watch_until(lambda rows: "IBMPowerVSCluster/default/two" in rows)
                place = (await page.get("objects"))["seq"]
                first.operator.stop()
                await leading
                async with page.request(f"stream?after={place}") as answer:
                    async with asyncio.timeout(SECONDS):
                        while await answer.content.readline() != b"event: reset\n":
                            pass
                assert await list_names(page) == ["one", "two"]
                assert (await page.get("session"))["leads"]
            second.operator.stop()
            await following


async def test_a_follower_watches_only_while_somebody_looks(
    client: KubeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "LINGER_SECONDS", 0.1)
    monkeypatch.setattr(sources, "FOLLOW_SECONDS", 0.02)
    await client.create(POWERVS_CLUSTERS, named("one"))
    replica = Replica(client.connection, tmp_path / "keys")  # it never runs: another one leads
    source = replica.page._source
    async with replica.viewer() as page:
        assert not source._following
        for _ in range(2):
            assert await list_names(page) == ["one"]
            await until(lambda: not source._following)
            assert replica.page._feed.find("IBMPowerVSCluster/default/one") is None
        await client.create(POWERVS_CLUSTERS, named("two"))
        assert await list_names(page) == ["one", "two"]
    assert not source._following


async def test_an_object_that_is_not_served_is_not_shown(client: KubeClient, tmp_path: Path) -> None:
    replica = Replica(client.connection, tmp_path / "keys", watch_filter=WatchFilter("blue"))
    label = {"labels": {"cluster.x-k8s.io/watch-filter": "blue"}}
    for name in ("one", "two"):
        await client.create(POWERVS_CLUSTERS, named(name))
    async with replica.viewer() as page:
        assert await list_names(page) == []
        await client.patch(POWERVS_CLUSTERS, Key("default", "one"), {"metadata": label})
        await page.watch_until(lambda rows: rows.keys() == {"IBMPowerVSCluster/default/one"})
        await client.patch(POWERVS_CLUSTERS, Key("default", "one"), {"metadata": {"labels": None}})
        await page.watch_until(lambda rows: not rows)


async def test_what_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = Replica(Connection(NOWHERE), tmp_path / "keys")
    async with replica.viewer() as page:
        unread = (await page.get("objects"))["unread"]
    assert len(unread) == len(replica.page._feed.resources)
    assert "ibmpowervsclusters.infrastructure.cluster.x-k8s.io cannot be read" in " ".join(unread)


async def test_what_is_not_listed_in_time_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LIST_SECONDS", 0.1)
    settings = Settings(Connection(NOWHERE), {}, keys=tmp_path / "keys")  # its operator has not begun
    page = LivePage(settings, (), simulated=False)
    async with (
        page.serve(Address("127.0.0.1", 0), TokenGate("token", "ask"), loopback_only=True) as address,
        aiohttp.ClientSession() as session,
        PageClient(session, f"http://{address}/#token=token").request("objects") as answer,
    ):
        assert answer.status == 503
        assert "has not listed its objects yet" in (await answer.json())["problem"]


async def test_a_history_that_cannot_be_kept_stops_no_watch(
    client: KubeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sources.Histories, "note", _fail)
    await client.create(POWERVS_CLUSTERS, named("one"))
    replica = Replica(client.connection, tmp_path / "keys")
    with replica.runs() as running:
        async with replica.viewer() as page:
            assert await list_names(page) == ["one"]
        replica.operator.stop()
        await running
    assert "the page could not note something" in caplog.text
    assert "died" not in caplog.text


def _fail(*_: object) -> None:
    raise ZeroDivisionError
