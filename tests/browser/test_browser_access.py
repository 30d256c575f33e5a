"""Who sees what: tokens of a laptop and of a cluster, that are wrong, have expired, or may read one namespace only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests
from e2e_lookers import Lookers, looking
from e2e_operator_lab import OUR_CRDS, ServeOptions, aws
from e2e_servers import running, write_kubeconfig

from freehold.controllers.app import Operator
from freehold.controllers.process_server import Address
from freehold.engine.clock import ManualClock
from freehold.install.options import InstallOptions
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.page.live import LivePage
from freehold.page.reviews import KEPT_SECONDS, ReviewGate
from harness.page_laptop import laptop
from harness.serving import in_a_thread, simulator

if TYPE_CHECKING:
    from harness.browser import Browser

pytestmark = pytest.mark.slow

REFUSED = [r"status of 401"]
"""What the browser itself says of an answer that refuses."""


def test_a_wrong_token_is_refused_with_the_way_to_the_right_one(chromium: Browser, tmp_path: Path) -> None:
    with laptop(tmp_path) as world, chromium.viewer(REFUSED) as viewer:
        page, _, token = world.url.partition("#token=")
        viewer.open(page)
        viewer.sees("This page needs a token", "h1")
        viewer.open(f"{page}#token=wrong")
        viewer.sees("This token is refused", "h1")
        viewer.sees("freehold serve", "main")
        viewer.type("#token", token)
        viewer.press("\ue007")
        viewer.sees("There are no objects", "main")
        assert token not in viewer.url and viewer.count(".rows > .row") == 0


@dataclass
class Cluster:
    """A page of an operator in a cluster. ``clock`` is the gate's: it keeps an answer for a while."""

    url: str
    lookers: Lookers
    clock: ManualClock


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder, clock = tmp_path_factory.mktemp("cluster"), ManualClock()
    with (
        running("embedded", folder) as server,
        simulator(folder / "world.json", 300.0) as clouds,
        looking(server, InstallOptions(page=True)) as lookers,
    ):
        for definition in OUR_CRDS:
            post(f"{server.url}/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        for namespace in ("freehold-system", "red", "blue"):
            post(
                f"{server.url}/api/v1/namespaces",
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            )
            if namespace == "freehold-system":
                continue
            objects = f"{server.url}/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/{namespace}/awsclusters"
            post(objects, aws(f"of-{namespace}", namespace))
        kubeconfig = write_kubeconfig(folder / "operator", lookers.proxy.url)
        options = ServeOptions(kubeconfig, clouds, "", keys_namespace="freehold-system")
        with in_a_thread(serve(options, lookers.proxy.url, clock)) as url:
            yield Cluster(url, lookers, clock)


@asynccontextmanager
async def serve(options: ServeOptions, api: str, clock: ManualClock) -> AsyncIterator[str]:
    settings = options.settings()
    page = LivePage(settings, (), simulated=True)
    operator = Operator(page.look_on(settings))
    async with KubeClient(Connection(api)) as client:
        gate = ReviewGate(client, clock.monotonic)
        async with page.serve(Address("127.0.0.1", 0), gate, loopback_only=True) as found:
            page.attach(operator)
            working = asyncio.ensure_future(operator.run())
            yield f"http://{found}/"
            operator.stop()
            await working


def post(url: str, body: object) -> None:
    answer = requests.post(url, json=body, timeout=60)
    assert answer.status_code == 201, answer.text


def test_a_reader_of_one_namespace_sees_nothing_of_another(chromium: Browser, cluster: Cluster) -> None:
    token = cluster.lookers.admit("reader", "red")
    with chromium.viewer([*REFUSED, "status of 403"]) as viewer:
        viewer.open(f"{cluster.url}#token={token}")
        viewer.sees("of-red", ".rows")
        assert "blue" not in viewer.script("return document.documentElement.outerHTML")
        viewer.sees("system:serviceaccount:red:reader", "#foot")
        viewer.go("#/object/AWSCluster/blue/of-blue")
        viewer.sees("may not list awsclusters", "main")
        assert "us-east-1" not in viewer.text("main")


def test_who_may_read_nothing_is_told_so(chromium: Browser, cluster: Cluster) -> None:
    token = cluster.lookers.make_account("nobody", "red")
    with chromium.viewer(REFUSED) as viewer:
        viewer.open(f"{cluster.url}#token={token}")
        viewer.sees("There are no objects|no namespace", "main")
        assert "of-red" not in viewer.script("return document.documentElement.outerHTML")


def test_a_token_that_expires_takes_the_objects_off_the_page(chromium: Browser, cluster: Cluster) -> None:
    token = cluster.lookers.admit("guest", "red")
    with chromium.viewer(REFUSED) as viewer:
        viewer.open(f"{cluster.url}#token={token}")
        viewer.sees("of-red", ".rows")
        cluster.lookers.make_stale(token)
        cluster.clock.advance(KEPT_SECONDS)
        viewer.sees("This token is refused", "h1")
        assert "of-red" not in viewer.script("return document.documentElement.outerHTML")
        viewer.sees("kubectl create token", "main")


def test_a_right_that_is_taken_away_takes_the_objects_off_the_page(chromium: Browser, cluster: Cluster) -> None:
    token = cluster.lookers.admit("leaver", "red")
    with chromium.viewer(REFUSED) as viewer:
        viewer.open(f"{cluster.url}#token={token}")
        viewer.sees("of-red", ".rows")
        cluster.lookers.unbind("leaver", "red")
        cluster.clock.advance(KEPT_SECONDS)
        viewer.sees("There are no objects|no namespace", "main")
        assert "of-red" not in viewer.script("return document.documentElement.outerHTML")
