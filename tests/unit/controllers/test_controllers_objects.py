"""One object in one pass, against the embedded API server: the slower writer gets a conflict, overwrites nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.objects import ApiObject
from freehold.engine import journal as journals
from freehold.engine.journal import Journal, StaleObject
from freehold.engine.ownership import Owner
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import Key
from freehold.providers.crds import build_crds
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.served_resources import resource_of
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.powervs import example

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

KEY = Key("default", "c1")
BALANCER = {"id": "lb1", "controllerCreated": True}
STATUS = {"ready": False, "vpc": {"id": "v1", "controllerCreated": True}, "loadBalancers": {"a": BALANCER}}


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    """A server with one cluster, which has a journal and a status."""
    store = Store.open(":memory:")
    server = ApiServer(store, build_crds())
    url = await server.start()
    async with KubeClient(Connection(url)) as found:
        manifest = example()
        manifest["metadata"] = {"name": KEY.name, "namespace": KEY.namespace}
        await found.create(POWERVS_CLUSTERS, manifest)
        await (await read(found)).save(journal("first"))
        await (await read(found)).patch_status(STATUS)
        yield found
    await server.stop()
    store.close()


def journal(account: str) -> Journal:
    return Journal(Owner("u1", ibm_names.POWERVS_CLUSTER_KIND, *KEY), account=account)


async def read(client: KubeClient) -> ApiObject:
    """The read with which a pass begins."""
    return ApiObject(client, POWERVS_CLUSTERS, await client.get(POWERVS_CLUSTERS, KEY))


async def account(client: KubeClient) -> str:
    """The account in the stored journal."""
    text = (await client.get(POWERVS_CLUSTERS, KEY))["metadata"]["annotations"][names.JOURNAL_ANNOTATION]
    return journals.loads(text).account


async def status(client: KubeClient) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(POWERVS_CLUSTERS, KEY))["status"]
    return found


async def test_a_journal_is_not_written_over_one_that_somebody_else_has_written(client: KubeClient) -> None:
    """Otherwise a process that lost its turn would forget what the other one created."""
    slow, quick = await read(client), await read(client)
    await quick.save(journal("quick"))
    with pytest.raises(StaleObject, match=r"default/c1 changed since it was read"):
        await slow.save(journal("slow"))
    assert await account(client) == "quick"


async def test_a_status_is_not_written_over_a_newer_one(client: KubeClient) -> None:
    slow, quick = await read(client), await read(client)
    await quick.patch_status({"ready": True})
    with pytest.raises(StaleObject):
        await slow.patch_status({**STATUS, "vpc": {"id": "v2"}})
    assert await status(client) == {"ready": True}


async def test_one_pass_can_write_several_times(client: KubeClient) -> None:
    """Each write has the version that the previous one returned."""
    document = await read(client)
    await document.save(journal("second"))
    await document.save(journal("third"))
    await document.patch_status({"ready": True})
    await document.save(journal("fourth"))
    assert (await account(client), await status(client)) == ("fourth", {"ready": True})
    assert document.version == (await read(client)).version


async def test_an_equal_status_is_not_sent(client: KubeClient) -> None:
    """A thousand idle objects cost no write: none is sent, not even to a server that would refuse it."""
    document = await read(client)
    await client.delete(POWERVS_CLUSTERS, KEY)
    await document.patch_status(STATUS)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param({"ready": False}, id="fields that are gone are removed"),
        pytest.param({**STATUS, "loadBalancers": {"b": BALANCER}}, id="and one within a field"),
        pytest.param({**STATUS, "ready": True}, id="the rest stays"),
        pytest.param({"ready": True, "vpc": {"id": "v2", "controllerCreated": False}}, id="all at once"),
    ],
)
async def test_the_status_is_replaced_as_a_whole(client: KubeClient, after: dict[str, Any]) -> None:
    await (await read(client)).patch_status(after)
    assert await status(client) == after


async def test_a_pass_ends_when_its_object_is_gone(client: KubeClient) -> None:
    """This is not a failure: it is neither reported nor tried again."""
    document = await read(client)
    await client.delete(POWERVS_CLUSTERS, KEY)
    with pytest.raises(StaleObject, match=r"default/c1 is gone"):
        await document.save(journal("late"))
    with pytest.raises(StaleObject, match=r"default/c1 is gone"):
        await document.patch_status({"ready": True})
