"""The operator and its key ring: nothing is served without one, and an added key is used without a restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from freehold.api import names
from freehold.cli.local.look_service import LookService
from freehold.controllers.app import Operator
from freehold.controllers.keyring.file import FileRing
from freehold.controllers.keyring.stored_form import RingDocument
from freehold.controllers.settings import RingSecret, Settings
from freehold.engine import journal as journals
from freehold.engine.journal import Journal
from freehold.engine.ownership import Owner
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import SECRETS, Json, Key
from freehold.kube.watch import WatchState
from freehold.providers.crds import build_crds
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.access import IbmAccess
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.powervs import example

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

NOW = 1_800_000_000.0
NOWHERE = "http://127.0.0.1:9"
"""The error of an unreachable cloud: an object that reports it is served."""


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    store = Store.open(":memory:")
    api = ApiServer(store, build_crds())
    try:
        async with KubeClient(Connection(await api.start())) as talking:
            yield talking
    finally:
        await api.stop()
        store.close()


@asynccontextmanager
async def operator(client: KubeClient, keys: Path | RingSecret) -> AsyncIterator[Operator]:
    serving = Operator(
        Settings(client.connection, {"ibm": IbmAccess(key="a-key", url=NOWHERE)}, cluster_api="off", keys=keys)
    )
    running = asyncio.create_task(serving.run())
    try:
        yield serving
    finally:
        serving.stop()
        await running


async def until(wanted: Callable[[], object], what: str) -> None:
    try:
        async with asyncio.timeout(30.0):
            while not wanted():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within 30 s: {what}") from None


_LISTED = (WatchState.SYNCED, WatchState.ABSENT)
"""States of a watch that has an answer: Clusters are watched also where Cluster API is not installed."""


def looked(serving: Operator) -> bool:
    """Whether each stored object has been listed and reconciled."""
    health = serving.read_health()
    listed = health is not None and all(state in _LISTED for state in health.followed.values())
    return health is not None and listed and not health.queued and not health.busy


async def reason(client: KubeClient, name: str) -> str:
    conditions = ((await client.get(POWERVS_CLUSTERS, Key("default", name))).get("status") or {}).get("conditions", ())
    return next((str(each["reason"]) for each in conditions if each["type"] == names.READY), "")


async def reads(client: KubeClient, name: str, unlike: str) -> str:
    async with asyncio.timeout(30.0):
        while (found := await reason(client, name)) == unlike:
            await asyncio.sleep(0.05)
    return found


async def create(client: KubeClient, name: str, key: str) -> Json:
    """An object that names ``key``."""
    manifest = example()
    journal = journals.dumps(Journal(Owner(f"uuid-{name}", manifest["kind"], "default", name), key=key))
    manifest["metadata"] = {
        "name": name, "namespace": "default", "finalizers": [ibm_names.POWERVS_CLUSTER_FINALIZER],
        "annotations": {**manifest["metadata"].get("annotations", {}), names.JOURNAL_ANNOTATION: journal},
    }  # fmt: skip
    return await client.create(POWERVS_CLUSTERS, manifest)


async def test_who_asks_for_another_look_is_answered_by_a_pass_that_begins_then(
    client: KubeClient, tmp_path: Path
) -> None:
    """A command beside a running server must not take what that saw before for the cloud of now."""
    place, ring = FileRing(tmp_path / "state.keys"), RingDocument.create(NOW)
    await place.write(ring, "")
    await create(client, "c1", ring.writing)
    asked = Key("default", "c1")
    await client.patch(POWERVS_CLUSTERS, asked, {"metadata": {"annotations": {names.PAUSED_ANNOTATION: ""}}})
    async with operator(client, place.path) as serving:
        service = LookService(serving)
        body = {"objects": [{"kind": POWERVS_CLUSTERS.kind, "namespace": "default", "name": "c1"}]}
        for again in (False, True):
            answered = await service.answer({**body, "again": again})
            assert answered["looks"] == [None], "nothing was seen yet, or it counts no more"
            await until(lambda: serving.find_look(POWERVS_CLUSTERS.kind, asked), "a pass has come to it")
        (told,) = (await service.answer(body))["looks"]
        assert told == {"seen": "told", "version": told["version"]}, "it is paused: no whole look"
        assert (await client.get(POWERVS_CLUSTERS, asked))["metadata"]["resourceVersion"] == told["version"]


async def test_one_added_key_repairs_every_object_without_a_restart(client: KubeClient, tmp_path: Path) -> None:
    place, lost = FileRing(tmp_path / "state.keys"), RingDocument.create(NOW)
    await place.write(RingDocument.create(NOW), "")
    for name in ("c1", "c2"):
        await create(client, name, lost.writing)
    async with operator(client, place.path) as serving:
        for name in ("c1", "c2"):
            assert await reads(client, name, unlike="") == "KeyMissing"
        health = serving.read_health()
        assert health is not None and health.ready
        found = await place.read()
        assert found.document is not None
        await place.write(found.document.add_keys_of(lost), found.version)
        for name in ("c1", "c2"):
            assert await reads(client, name, unlike="KeyMissing") == "Retrying"


async def test_without_its_ring_the_operator_is_not_ready_and_changes_nothing(
    client: KubeClient, tmp_path: Path
) -> None:
    """An object names a key of a lost ring: with a new ring its resources would look like a stranger's."""
    lost = RingDocument.create(NOW)
    before = await create(client, "c1", lost.writing)
    pause = {"metadata": {"annotations": {names.PAUSED_ANNOTATION: ""}}}
    await create(client, "paused", lost.writing)
    paused = await client.patch(POWERVS_CLUSTERS, Key("default", "paused"), pause)
    path = tmp_path / "state.keys"
    async with operator(client, path) as serving:
        await until(lambda: looked(serving), "the first look")
        health = serving.read_health()
        assert health is not None and not health.ready
        assert str(path) in health.problem
        assert lost.writing in health.problem
        assert "freehold keys add FILE" in health.problem
        body = {"objects": [{"kind": POWERVS_CLUSTERS.kind, "namespace": "default", "name": "c1"}]}
        answered = await LookService(serving).answer(body)
        assert answered == {"looks": [None], "problem": health.problem, "queued": 0}, "up waits for no look"
        assert await client.get(POWERVS_CLUSTERS, Key("default", "c1")) == before
        assert await client.get(POWERVS_CLUSTERS, Key("default", "paused")) == paused
        assert not path.exists()
        await FileRing(path).write(lost, "")
        assert await reads(client, "c1", unlike="") == "Retrying"
        health = serving.read_health()
        assert health is not None and health.ready and not health.problem


async def test_an_unreadable_secret_keeps_the_operator_from_serving(client: KubeClient) -> None:
    secret = {"metadata": {"name": "freehold-keys", "namespace": "default"}, "data": {"ring.json": "e30="}}
    await client.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", **secret})
    before = await client.create(POWERVS_CLUSTERS, {**example(), "metadata": {"name": "c1", "namespace": "default"}})
    async with operator(client, RingSecret("default")) as serving:
        await until(lambda: looked(serving), "the first look")
        health = serving.read_health()
        assert health is not None and not health.ready
        assert "Secret default/freehold-keys" in health.problem
        assert await client.get(POWERVS_CLUSTERS, Key("default", "c1")) == before


async def test_the_first_ring_of_a_cluster_is_made_in_its_secret(client: KubeClient) -> None:
    await client.create(POWERVS_CLUSTERS, {**example(), "metadata": {"name": "c1", "namespace": "default"}})
    async with operator(client, RingSecret("default")):
        await reads(client, "c1", unlike="")
        made = await client.get(SECRETS, Key("default", "freehold-keys"))
        assert made["data"]["ring.json"]
        served = await client.get(POWERVS_CLUSTERS, Key("default", "c1"))
    assert "finalizers" not in served["metadata"], "no cloud answers: nothing is begun that a delete would wait for"
