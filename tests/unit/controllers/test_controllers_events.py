"""Events: aggregated, limited, and never blocking a reconcile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from freehold.controllers.events import BURST, MOST_QUEUED, EventRecorder, Severity
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import EVENTS, Json, Key
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store

OBJ: Json = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "IBMPowerVSCluster",
    "metadata": {"name": "c", "namespace": "default", "uid": "u1", "resourceVersion": "7"},
}


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    store = Store.open(":memory:")
    server = ApiServer(store)
    async with KubeClient(Connection(await server.start())) as found:
        yield found
    await server.stop()
    store.close()


@pytest.fixture
async def recorder(client: KubeClient) -> AsyncIterator[EventRecorder]:
    found = EventRecorder(client, "freehold", lambda: 1_700_000_000.0)
    task = asyncio.ensure_future(found.run())
    yield found
    task.cancel()


async def flushed(recorder: EventRecorder) -> None:
    async with asyncio.timeout(120):
        await recorder.wait_until_posted()


async def test_repeats_raise_the_count_of_one_event(client: KubeClient, recorder: EventRecorder) -> None:
    for _ in range(3):
        recorder.record(OBJ, Severity.WARNING, "QuotaReached", "no more VPCs; ask for more")
    await flushed(recorder)
    recorder.record(OBJ, Severity.WARNING, "QuotaReached", "no more VPCs; ask for more")
    await flushed(recorder)
    (event,) = (await client.list(EVENTS)).items
    assert (event["count"], event["type"], event["reason"]) == (4, "Warning", "QuotaReached")
    assert event["involvedObject"]["name"] == "c" and event["involvedObject"]["kind"] == "IBMPowerVSCluster"


async def test_an_expired_event_is_created_again(client: KubeClient, recorder: EventRecorder) -> None:
    recorder.record(OBJ, Severity.NORMAL, "Ready", "all there")
    await flushed(recorder)
    (event,) = (await client.list(EVENTS)).items
    await client.delete(EVENTS, Key("default", event["metadata"]["name"]))
    recorder.record(OBJ, Severity.NORMAL, "Ready", "all there")
    await flushed(recorder)
    assert [each["count"] for each in (await client.list(EVENTS)).items] == [1]


async def test_a_long_message_is_cut_and_an_event_with_a_bad_reason_dropped(
    client: KubeClient, recorder: EventRecorder
) -> None:
    recorder.record(OBJ, Severity.NORMAL, "Created", "x" * 5000)
    recorder.record(OBJ, Severity.NORMAL, "not camel", "dropped")
    await flushed(recorder)
    (event,) = (await client.list(EVENTS)).items
    assert len(event["message"]) == 1024 and recorder.dropped == 1


async def test_many_events_of_one_object_are_limited_and_those_of_others_are_sent(
    client: KubeClient, recorder: EventRecorder
) -> None:
    for index in range(BURST + 20):
        recorder.record(OBJ, Severity.NORMAL, "Chatter", f"line {index}")
    other = {**OBJ, "metadata": {**OBJ["metadata"], "uid": "u2", "name": "d"}}
    recorder.record(other, Severity.NORMAL, "Chatter", "me too")
    await flushed(recorder)
    assert len((await client.list(EVENTS)).items) == BURST + 1
    assert recorder.dropped == 20


async def test_a_warning_is_sent_after_many_other_events_of_its_object(
    client: KubeClient, recorder: EventRecorder
) -> None:
    for index in range(BURST + 20):
        recorder.record(OBJ, Severity.NORMAL, "Created", f"resource {index}")
    recorder.record(OBJ, Severity.WARNING, "RecordPutBack", "somebody took the journal off")
    await flushed(recorder)
    assert [each["reason"] for each in (await client.list(EVENTS)).items if each["type"] == "Warning"] == [
        "RecordPutBack"
    ]


async def test_what_was_collected_is_told_after_many_other_events(client: KubeClient, recorder: EventRecorder) -> None:
    for index in range(BURST + 20):
        recorder.record(OBJ, Severity.NORMAL, "Created", f"resource {index}")
    recorder.record(OBJ, Severity.NORMAL, "ExternalResourcesCollected", "load-balancer 1")
    await flushed(recorder)
    assert "load-balancer 1" in [each["message"] for each in (await client.list(EVENTS)).items]


async def test_an_unreachable_server_disturbs_nothing() -> None:
    async with KubeClient(Connection("http://127.0.0.1:1")) as nobody:
        recorder = EventRecorder(nobody, "freehold", lambda: 0.0)
        task = asyncio.ensure_future(recorder.run())
        recorder.record(OBJ, Severity.NORMAL, "Created", "unheard")
        await flushed(recorder)
        assert recorder.dropped == 1 and not task.done()
        task.cancel()


async def test_events_of_many_objects_do_not_pile_up_while_the_server_is_away() -> None:
    """Each object may send a burst; together they would fill the memory."""
    recorder = EventRecorder(KubeClient(Connection("http://127.0.0.1:1")), "freehold", lambda: 1_700_000_000.0)
    for number in range(MOST_QUEUED + 10):
        each = {**OBJ, "metadata": {**OBJ["metadata"], "uid": f"u{number}"}}
        recorder.record(each, Severity.NORMAL, "Created", "made")
    assert recorder.dropped == 10
