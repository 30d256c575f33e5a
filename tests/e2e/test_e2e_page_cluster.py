"""The live page of a cluster: each viewer sees what the API server lets them list, and no longer than that."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import aiohttp
import pytest
import requests
from e2e_lookers import Json, Lookers, looking
from e2e_operator_lab import ServeOptions, powervs
from e2e_servers import PATIENCE, Server, new_namespace

from freehold.api.names import WATCH_FILTER_LABEL
from freehold.controllers.app import Operator
from freehold.controllers.process_server import Address
from freehold.controllers.watch_filter import WatchFilter
from freehold.engine.clock import ManualClock, SystemClock
from freehold.install.options import InstallOptions
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.page import live
from freehold.page.live import LivePage
from freehold.page.reviews import KEPT_SECONDS, ReviewGate
from freehold.page.streams import Streams
from freehold.providers.access.audit import FileAudit
from harness.judging_proxy import JudgingProxy

pytestmark = pytest.mark.e2e

KIND = "IBMPowerVSCluster"
NO_CLOUD = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def lookers(server: Server, our_crds: None) -> Iterator[Lookers]:
    if server.label == "kubeconfig":
        pytest.skip("tokens of a cluster are its administrator's business")
    with looking(server, InstallOptions(page=True)) as found:
        yield found


@pytest.fixture
def other_namespace(server: Server) -> Iterator[str]:
    with new_namespace(server) as name:
        yield name


@pytest.fixture
def create_paused(server: Server) -> Iterator[Callable[[str, str], str]]:
    """Create a cluster that is paused, so that nothing is done for it, and return its key."""
    urls = []

    def create(namespace: str, label: str) -> str:
        paused = {"cluster.x-k8s.io/paused": "true"}
        cluster = powervs("shown", namespace)
        cluster["metadata"] |= {"labels": {WATCH_FILTER_LABEL: label}, "annotations": paused}
        url = f"{server.url}/apis/{cluster['apiVersion']}/namespaces/{namespace}/ibmpowervsclusters"
        answer = requests.post(url, json=cluster, timeout=PATIENCE)
        assert answer.status_code == 201, answer.text
        urls.append(f"{url}/shown")
        return f"{KIND}/{namespace}/shown"

    yield create
    for url in urls:
        assert requests.delete(url, timeout=PATIENCE).status_code in (200, 404)  # it may have gone with its namespace


@dataclass
class Page:
    """A served page; ``clock`` is the gate's."""

    url: str
    session: aiohttp.ClientSession
    clock: ManualClock = field(default_factory=ManualClock)

    async def ask(self, path: str, token: str) -> tuple[int, Json]:
        """Return status and JSON of an answer."""
        async with self.session.get(f"{self.url}{path}", headers=bearing(token)) as answer:
            return answer.status, await answer.json()

    async def list_keys(self, token: str) -> list[str]:
        """List the keys of the objects that a viewer sees."""
        status, found = await self.ask("/api/objects", token)
        assert status == 200, found
        return sorted(row["key"] for row in found["rows"])


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@contextlib.asynccontextmanager
async def served(server: Server, gate_url: str, namespace: str, label: str, *audit: Path) -> AsyncIterator[Page]:
    """Serve the page of an operator of the objects with this label. Its objects are paused: no cloud is called."""
    options = ServeOptions(server.kubeconfig, NO_CLOUD, namespace, keys_namespace=namespace)
    settings = replace(options.settings(), namespace=None, watch_filter=WatchFilter(label), clock=SystemClock())
    shown = LivePage(settings, audit, simulated=True)
    operator = Operator(shown.look_on(settings))
    shown.attach(operator)
    running = asyncio.create_task(operator.run())
    clock = ManualClock()
    try:
        async with KubeClient(Connection(gate_url)) as client, aiohttp.ClientSession() as session:
            gate = ReviewGate(client, clock.monotonic)
            async with shown.serve(Address("127.0.0.1", 0), gate, loopback_only=True) as address:
                yield Page(f"http://{address}", session, clock)
    finally:
        operator.stop()
        await running


async def wait_until(holds: Callable[[], bool], what: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.05)
    assert holds(), what


async def test_two_viewers_see_their_own_rows_objects_and_audit_lines(
    server: Server,
    lookers: Lookers,
    create_paused: Callable[[str, str], str],
    namespace: str,
    other_namespace: str,
    tmp_path: Path,
) -> None:
    label = namespace
    keys = {each: create_paused(each, label) for each in (namespace, other_namespace)}
    log = tmp_path / "audit.jsonl"
    with FileAudit(log, ManualClock()) as audit:
        for each in keys:
            audit.log_kept(f"{KIND} {each}/shown", f"kept-in-{each}", "its marks are gone")
    one, other = (lookers.admit("looker", each) for each in keys)
    every = lookers.admit("everywhere", namespace, everywhere=True)
    async with served(server, lookers.proxy.url, namespace, label, log) as page:
        assert await page.list_keys(every) == sorted(keys.values())
        for token, own, foreign in ((one, namespace, other_namespace), (other, other_namespace, namespace)):
            assert await page.list_keys(token) == [keys[own]]
            session = (await page.ask("/api/session", token))[1]
            assert (session["viewer"], session["everywhere"], session["namespaces"]) == (
                f"system:serviceaccount:{own}:looker", False, [own],
            )  # fmt: skip
            assert (await page.ask(f"/api/objects/{keys[own]}", token))[0] == 200
            for path in (keys[foreign], f"{keys[foreign]}/deletion", f"{KIND}/{foreign}/not-there"):
                status, told = await page.ask(f"/api/objects/{path}", token)
                assert (status, list(told)) == (403, ["problem"])
            lines = (await page.ask("/api/audit", token))[1]["lines"]
            assert [each["resource"] for each in lines] == [f"kept-in-{own}"]
        for token in ("", "wrong", lookers.make_stale(lookers.issue("looker", namespace))):
            status, told = await page.ask("/api/objects", token)
            assert (status, "kubectl create token" in told["problem"]) == (401, True)


async def test_view_ends_with_the_right_with_the_account_and_with_the_api_server(
    server: Server,
    lookers: Lookers,
    create_paused: Callable[[str, str], str],
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "Streams", partial(Streams, beat=0.1))  # five seconds are a long time for a test
    label = namespace
    key = create_paused(namespace, label)
    token = lookers.admit("looker", namespace)
    second = JudgingProxy(lookers.proxy.url, lookers.proxy.rights, "second")
    async with contextlib.AsyncExitStack() as stack:
        there = stack.enter_context(contextlib.ExitStack())
        there.enter_context(second.running())
        page = await stack.enter_async_context(served(server, second.url, namespace, label))
        assert await page.list_keys(token) == [key]
        events: list[str] = []
        reading = asyncio.create_task(follow(page, token, events))
        await wait_until(lambda: "beat" in events, "the stream lives")
        lookers.unbind("looker", namespace)
        while "reset" not in events[1:]:
            page.clock.advance(KEPT_SECONDS)  # and the stream asks again at its next beat
            count = len(events)
            await wait_until(lambda count=count: len(events) > count or reading.done(), "something is sent")  # type: ignore[misc]  # a lambda with a default has no type
        assert await page.list_keys(token) == []
        lookers.bind("looker", namespace)
        lookers.delete_account("looker", namespace)
        while not reading.done():
            page.clock.advance(KEPT_SECONDS)
            await asyncio.sleep(0.05)
        assert (await page.ask("/api/session", token))[0] == 401
        await asyncio.to_thread(there.close)
        status, told = await page.ask("/api/session", "another")
        assert (status, told["problem"][:38]) == (503, "the API server cannot be asked: POST /")


async def follow(page: Page, token: str, events: list[str]) -> None:
    """Follow a stream to its end, and note the names of its events."""
    async with page.session.get(f"{page.url}/api/stream", headers=bearing(token)) as answer:
        assert answer.status == 200
        async for line in answer.content:
            if line.startswith(b"event: "):
                events.append(line.decode().split()[1])
            elif line.startswith(b"data: "):
                json.loads(line[6:])
