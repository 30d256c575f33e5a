"""The controller against the embedded API server: real HTTP, real watches, and a clock that the test moves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from freehold.controllers.controller import Controller, Done, RequeueAfter, Result, WatchedResource
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.errors import Conflict, ServerUnavailable
from freehold.kube.resources import CONFIG_MAPS, Json, Key, Resource
from freehold.kube.watch import ObjectChange, WatchState
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.virtual_time import VirtualTime

WIDGETS = Resource("test.freehold.dev", "v1", "widgets", "Widget")
GADGETS = Resource("test.freehold.dev", "v1", "gadgets", "Gadget")
FINALIZER = "test.freehold.dev/finalizer"


def crd(resource: Resource) -> Json:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"plural": resource.plural, "kind": resource.kind},
            "versions": [
                {
                    "name": resource.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }


def widget(name: str, size: int = 1) -> Json:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": WIDGETS.api_version, "kind": "Widget", "metadata": meta, "spec": {"size": size}}


def key(name: str) -> Key:
    return Key("default", name)


class Seen:
    """Counts the reconciles of a key, and lets a test wait for a number of them."""

    def __init__(self) -> None:
        self.passes: dict[str, int] = {}
        self._changed = asyncio.Condition()

    async def note(self, which: Key) -> None:
        async with self._changed:
            self.passes[which.name] = self.passes.get(which.name, 0) + 1
            self._changed.notify_all()

    async def until(self, condition: Callable[[dict[str, int]], bool]) -> None:
        async with asyncio.timeout(120), self._changed:
            await self._changed.wait_for(lambda: condition(self.passes))


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    store = Store.open(":memory:")
    server = ApiServer(store, [crd(WIDGETS)])
    url = await server.start()
    async with KubeClient(Connection(url)) as found:
        yield found
    await server.stop()
    store.close()


@asynccontextmanager
async def running(controller: Controller) -> AsyncIterator[Controller]:
    task = asyncio.ensure_future(controller.run())
    try:
        async with asyncio.timeout(120):
            await controller.wait_until_synced()
        yield controller
    finally:
        controller.stop()
        async with asyncio.timeout(120):
            await task


async def converge(client: KubeClient, time: VirtualTime, seen: Seen, objects: Any) -> Controller:
    """A controller that adds a finalizer and writes status, as ours do."""

    async def reconcile(which: Key) -> Result:
        obj = controller.get(which)
        if obj is not None:
            meta = obj["metadata"]
            if meta.get("deletionTimestamp"):
                patch = {"metadata": {"finalizers": [], "resourceVersion": meta["resourceVersion"]}}
                await client.patch(WIDGETS, which, patch)
            elif FINALIZER not in meta.get("finalizers", []):
                patch = {"metadata": {"finalizers": [FINALIZER], "resourceVersion": meta["resourceVersion"]}}
                await client.patch(WIDGETS, which, patch)
            elif obj.get("status", {}).get("observedGeneration") != meta["generation"]:
                await client.patch_status(WIDGETS, which, {"status": {"observedGeneration": meta["generation"]}})
        await seen.note(which)
        return Done()

    controller = Controller(client, WIDGETS, reconcile, time=time, **objects)
    return controller


async def test_finalizer_flow_from_create_to_gone(client: KubeClient) -> None:
    """Create, finalizer, spec edit, delete: each causes one reconcile, our own status write causes none."""
    seen = Seen()
    async with running(await converge(client, VirtualTime(), seen, {})) as controller:
        await client.create(WIDGETS, widget("a"))
        await seen.until(lambda passes: passes.get("a") == 2)
        await client.patch(WIDGETS, key("a"), {"spec": {"size": 2}})
        await seen.until(lambda passes: passes["a"] == 3)
        assert (await client.get(WIDGETS, key("a")))["status"] == {"observedGeneration": 2}
        await client.delete(WIDGETS, key("a"))
        await seen.until(lambda passes: passes["a"] == 5)
        assert controller.get(key("a")) is None
        assert seen.passes == {"a": 5}
        assert controller.read_health().ready


async def test_the_last_state_of_what_is_gone_is_told_once(client: KubeClient) -> None:
    """Nothing reconciles an object that lost its finalizer and was deleted: its last state names what it owned."""
    seen, gone = Seen(), list[Json]()

    async def reconcile(which: Key) -> Result:
        await seen.note(which)
        return Done()

    async with running(Controller(client, WIDGETS, reconcile, time=VirtualTime(), gone=gone.append)):
        await client.create(WIDGETS, widget("a"))
        await seen.until(lambda passes: passes.get("a") == 1)
        await client.patch(WIDGETS, key("a"), {"metadata": {"annotations": {"last": "1"}}})
        await client.delete(WIDGETS, key("a"))
        await client.create(WIDGETS, widget("z"))
        await seen.until(lambda passes: "z" in passes)
    assert [each["metadata"]["annotations"] for each in gone] == [{"last": "1"}]


async def test_each_change_of_the_cache_is_told_also_one_that_wakes_nothing(client: KubeClient) -> None:
    seen, told = Seen(), list[tuple[str, Any, Any]]()

    async def reconcile(which: Key) -> Result:
        await seen.note(which)
        return Done()

    def note(change: ObjectChange) -> None:
        told.append((change.key.name, *(raw and raw.get("status", {}) for raw in (change.old, change.new))))

    controller = Controller(client, WIDGETS, reconcile, time=VirtualTime())
    controller.on_change = note
    await client.create(WIDGETS, widget("a"))
    async with running(controller):
        await client.patch_status(WIDGETS, key("a"), {"status": {"size": 1}})
        await client.delete(WIDGETS, key("a"))
        await client.create(WIDGETS, widget("z"))
        await seen.until(lambda passes: "z" in passes)
    assert told == [("a", None, {}), ("a", {}, {"size": 1}), ("a", {"size": 1}, None), ("z", None, {})]


async def test_an_object_that_is_not_served_is_never_reconciled_until_it_is(client: KubeClient) -> None:
    """Also its end is told to ``unserved`` only: what it owned is somebody else's matter."""
    seen, gone, unserved = Seen(), list[Json](), list[Json]()

    async def reconcile(which: Key) -> Result:
        if controller.get(which) is not None:
            await seen.note(which)
        return Done()

    controller = Controller(
        client, WIDGETS, reconcile, time=VirtualTime(), workers=1, gone=gone.append, unserved=unserved.append
    )
    controller.serves = lambda obj: obj["spec"]["size"] == 1
    async with running(controller):
        await client.create(WIDGETS, widget("other", size=2))
        await client.create(WIDGETS, widget("a"))
        await seen.until(lambda passes: "a" in passes)
        assert seen.passes == {"a": 1} and len(controller.list_objects()) == 2
        assert [each["metadata"]["name"] for each in controller.list_served()] == ["a"]
        await client.delete(WIDGETS, key("other"))
        await client.create(WIDGETS, widget("again", size=2))
        await client.patch(WIDGETS, key("again"), {"spec": {"size": 1}})
        await seen.until(lambda passes: "again" in passes)
    assert "other" not in seen.passes and gone == []
    assert {each["metadata"]["name"] for each in unserved} >= {"other"}


async def test_cold_start_converges_over_many_pages(client: KubeClient) -> None:
    """Several pages, every object reaches its status: the server's pages are one snapshot, and none is lost."""
    count = 1200
    for index in range(count):
        await client.create(WIDGETS, widget(f"w{index}"))
    seen = Seen()
    async with running(await converge(client, VirtualTime(), seen, {})):
        await seen.until(lambda passes: len(passes) == count and all(each >= 2 for each in passes.values()))
    objects = await client.list(WIDGETS)
    assert [each for each in objects.items if each.get("status") != {"observedGeneration": 1}] == []


async def test_after_a_restart_deletes_are_served_before_other_objects(client: KubeClient) -> None:
    """Reading a thousand clusters takes minutes if the cloud limits calls, and somebody waits for this delete."""
    for index in range(30):
        await client.create(WIDGETS, widget(f"w{index:02d}"))
        ready = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}
        await client.patch(WIDGETS, key(f"w{index:02d}"), {"status": ready}, subresource="status")
    going = widget("w99")
    going["metadata"]["finalizers"] = [FINALIZER]
    await client.create(WIDGETS, going)
    await client.delete(WIDGETS, key("w99"))
    order: list[str] = []
    seen = Seen()

    async def reconcile(which: Key) -> Result:
        order.append(which.name)
        await seen.note(which)
        return Done()

    async with running(Controller(client, WIDGETS, reconcile, time=VirtualTime(), workers=1)):
        await seen.until(lambda passes: len(passes) == 31)
    assert order[0] == "w99"


async def test_requeue_follows_domain_time(client: KubeClient) -> None:
    time, seen = VirtualTime(), Seen()

    async def reconcile(which: Key) -> Result:
        await seen.note(which)
        return RequeueAfter(300)

    await client.create(WIDGETS, widget("a"))
    async with running(Controller(client, WIDGETS, reconcile, time=time)):
        for count in (1, 2, 3):
            await seen.until(lambda passes, count=count: passes.get("a") == count)
            while time.until_next() is None:
                await turn()
            time.advance(300)


async def turn() -> None:
    waiter = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(waiter.set_result, None)
    await waiter


@pytest.mark.parametrize(
    ("problem", "traceback"),
    [(ServerUnavailable("the cloud is away"), False), (RuntimeError("a defect"), True)],
    ids=["known", "unknown"],
)
async def test_a_failure_backs_off_is_reported_once_and_recovers(
    problem: Exception, traceback: bool, client: KubeClient, caplog: pytest.LogCaptureFixture
) -> None:
    time, seen = VirtualTime(), Seen()

    async def reconcile(which: Key) -> Result:
        await seen.note(which)
        if seen.passes[which.name] < 4:
            raise problem
        return Done()

    await client.create(WIDGETS, widget("a"))
    caplog.set_level(logging.WARNING, "freehold.controllers")
    async with running(Controller(client, WIDGETS, reconcile, time=time)):
        for count, delay in ((1, 1.2), (2, 2.4), (3, 4.8)):
            await seen.until(lambda passes, count=count: passes.get("a") == count)
            while time.until_next() is None:
                await turn()
            assert (time.until_next() or 0) >= delay * 0.6
            time.advance(delay)
        await seen.until(lambda passes: passes.get("a") == 4)
    said = [record for record in caplog.records if str(problem) in record.getMessage() or record.exc_info]
    assert len(said) == 1
    assert bool(said[0].exc_info) is traceback


async def test_stale_write_is_a_conflict_not_a_lost_update(client: KubeClient) -> None:
    created = await client.create(WIDGETS, widget("a"))
    await client.patch(WIDGETS, key("a"), {"spec": {"size": 2}})
    stale = {"metadata": {"resourceVersion": created["metadata"]["resourceVersion"], "finalizers": [FINALIZER]}}
    with pytest.raises(Conflict):
        await client.patch(WIDGETS, key("a"), stale)
    assert "finalizers" not in (await client.get(WIDGETS, key("a")))["metadata"]


async def test_another_resource_wakes_its_object_and_an_invalid_one_is_skipped(client: KubeClient) -> None:
    seen = Seen()

    def concerns(obj: Json) -> list[Key]:
        return [Key(obj["metadata"]["namespace"], obj["data"]["widget"])]  # KeyError without data

    async def reconcile(which: Key) -> Result:
        await seen.note(which)
        return Done()

    watched = WatchedResource(CONFIG_MAPS, concerns)
    async with running(Controller(client, WIDGETS, reconcile, time=VirtualTime(), watches=[watched])) as controller:
        meta = {"namespace": "default"}
        poison: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**meta, "name": "poison"}}
        await client.create(CONFIG_MAPS, poison)
        await client.create(CONFIG_MAPS, {**poison, "metadata": {**meta, "name": "good"}, "data": {"widget": "a"}})
        await seen.until(lambda passes: passes.get("a") == 1)
        assert controller.read_health().restarts == 0
        assert controller.find_reflector(CONFIG_MAPS).objects.keys() >= {key("good"), key("poison")}


async def test_missing_other_resource_does_not_hold_up_ours(client: KubeClient) -> None:
    """Cluster API is not installed: this is reported, and its later installation is noticed.

    Source: docs/reference/capi-contract.md C20.
    """
    seen = Seen()

    async def reconcile(which: Key) -> Result:
        await seen.note(which)
        return Done()

    await client.create(WIDGETS, widget("a"))
    watched = WatchedResource(GADGETS, lambda obj: [key("a")])
    async with running(Controller(client, WIDGETS, reconcile, time=VirtualTime(), watches=[watched])) as controller:
        await seen.until(lambda passes: passes.get("a") == 1)
        assert controller.read_health().followed[str(GADGETS)] is WatchState.ABSENT
        definitions = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "", namespaced=False)
        await client.create(definitions, crd(GADGETS))
        meta = {"name": "g", "namespace": "default"}
        await client.create(GADGETS, {"apiVersion": GADGETS.api_version, "kind": "Gadget", "metadata": meta})
        await seen.until(lambda passes: passes.get("a", 0) >= 2)
        assert controller.read_health().followed[str(GADGETS)] is WatchState.SYNCED


async def test_stop_finishes_the_running_reconciles(client: KubeClient) -> None:
    begun, finish, finished = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def reconcile(which: Key) -> Result:
        begun.set()
        await finish.wait()
        finished.set()
        return Done()

    await client.create(WIDGETS, widget("a"))
    controller = Controller(client, WIDGETS, reconcile, time=VirtualTime())
    task = asyncio.ensure_future(controller.run())
    async with asyncio.timeout(120):
        await begun.wait()
        assert controller.read_health().busy > 0
        controller.stop()
        await turn()
        assert not task.done()
        finish.set()
        await task
    assert finished.is_set()


async def test_stop_gives_up_after_its_grace(client: KubeClient, caplog: pytest.LogCaptureFixture) -> None:
    begun = asyncio.Event()

    async def reconcile(which: Key) -> Result:
        begun.set()
        await asyncio.Event().wait()
        return Done()

    await client.create(WIDGETS, widget("slow"))
    controller = Controller(client, WIDGETS, reconcile, time=VirtualTime(), grace=0.05)
    task = asyncio.ensure_future(controller.run())
    async with asyncio.timeout(120):
        await begun.wait()
        controller.stop()
        await task
    assert "default/slow" in caplog.text


async def test_stop_before_the_server_answers(client: KubeClient) -> None:
    async def reconcile(which: Key) -> Result:
        return Done()

    async with KubeClient(Connection("http://127.0.0.1:1")) as nobody:
        controller = Controller(nobody, WIDGETS, reconcile, time=VirtualTime())
        task = asyncio.ensure_future(controller.run())
        await turn()
        controller.stop()
        async with asyncio.timeout(120):
            await task
        assert not controller.read_health().ready


async def test_dead_watch_task_is_started_again(
    client: KubeClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A defect in the watch must not lead to a process that seems alive and does nothing (nolar/kopf#1276)."""
    monkeypatch.setattr("freehold.controllers.controller.RESTART_SECONDS", 0.01)
    seen = Seen()
    broken = [True]

    def wake(old: Json, new: Json) -> bool:
        if broken.pop() if broken else False:
            raise ZeroDivisionError("a defect of ours")
        return True

    async def reconcile(which: Key) -> Result:
        await seen.note(which)
        return Done()

    await client.create(WIDGETS, widget("a"))
    async with running(Controller(client, WIDGETS, reconcile, time=VirtualTime(), wake=wake)) as controller:
        await seen.until(lambda passes: passes.get("a") == 1)
        await client.patch(WIDGETS, key("a"), {"spec": {"size": 5}})
        await seen.until(lambda passes: passes["a"] >= 2)
        assert (controller.read_health().restarts, controller.read_health().deaths) == (1, 1)
    assert "died and is started again" in caplog.text


async def test_server_restart_is_survived() -> None:
    """The new server process has a new watch history: list again, and continue."""
    store, seen = Store.open(":memory:"), Seen()
    first = ApiServer(store, [crd(WIDGETS)])
    url = await first.start()
    port = int(url.rsplit(":", 1)[1])

    async def reconcile(which: Key) -> Result:
        await seen.note(which)
        return Done()

    async with KubeClient(Connection(url)) as client:
        await client.create(WIDGETS, widget("a"))
        async with running(Controller(client, WIDGETS, reconcile, time=VirtualTime())):
            await seen.until(lambda passes: passes.get("a") == 1)
            await first.stop()
            second = ApiServer(store, [crd(WIDGETS)])
            await second.start(port=port)
            await client.create(WIDGETS, widget("b"))
            await seen.until(lambda passes: passes.get("b") == 1)
        await second.stop()
    store.close()
