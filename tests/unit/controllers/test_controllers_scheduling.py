"""Which object is reconciled, and from which version: decisions of the controller and the operator, no server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.app import Operator
from freehold.controllers.controller import Controller, Done, RequeueAfter, WatchedResource, _matters
from freehold.controllers.leadership.interface import ALWAYS_LEADS
from freehold.controllers.objects import ApiObject
from freehold.controllers.peers import ConflictingProvider
from freehold.controllers.settings import Settings
from freehold.controllers.workqueue import Backoff, Priority
from freehold.engine.errors import Throttled
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.errors import ServerUnavailable
from freehold.kube.resources import CONFIG_MAPS, SECRETS, Json, Key, Resource
from freehold.kube.watch import ObjectChange, Origin, WatchState
from freehold.providers.crds import build_crds
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.gate import ClusterContext
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import PROVIDERS, served_of
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store
from harness.virtual_time import VirtualTime

POWERVS_CLUSTERS = resource_of(POWERVS_CLUSTER)

A = Key("default", "a")
NOBODY = Connection("http://127.0.0.1:1")


def obj(name: str, version: str = "1", **more: Any) -> Json:
    return {"metadata": {"name": name, "namespace": "default", "uid": "u", "resourceVersion": version}, **more}


async def never(key: Key) -> Done:
    raise AssertionError("nothing is served here")


def controller(time: VirtualTime, *watches: WatchedResource) -> Controller:
    backoff = Backoff(first=1.0, jitter=0.0)
    return Controller(KubeClient(NOBODY), CONFIG_MAPS, never, time=time, watches=watches, backoff=backoff)


async def test_a_success_resets_the_backoff() -> None:
    """The first failure after it waits as short as the very first."""
    found = controller(VirtualTime())
    assert [found.queue.retry(A), found.queue.retry(A)] == [1.0, 2.0]
    found._finish(A, Done())
    assert found.queue.retry(A) == 1.0


async def test_a_wait_that_the_cloud_asks_for_is_respected() -> None:
    """Also if our own backoff is shorter."""
    found = controller(VirtualTime())
    found._back_off(A, Throttled("slow down", retry_after=30.0))
    found.queue.add_after(A, 29.0)
    assert found.queue._due[A][0] == pytest.approx(29.0)
    other = controller(VirtualTime())
    other._back_off(A, Throttled("slow down", retry_after=30.0))
    other.queue.add_after(A, 31.0)
    assert other.queue._due[A][0] == pytest.approx(30.0)


async def test_an_object_that_was_deleted_during_its_pass_is_not_tried_again() -> None:
    """Its deletion has queued it; the failed write does not count as a failure."""
    found = controller(VirtualTime())
    found._back_off(A, ServerUnavailable("gone meanwhile"))
    assert (found.queue.scheduled, len(found.queue)) == (0, 0)


def test_each_listed_object_is_reconciled_although_nothing_seems_to_have_changed() -> None:
    """An event may have been lost before a list; in a watch only relevant changes cause a reconcile."""
    same = obj("a")
    assert _matters(ObjectChange(A, same, same, Origin.LIST), lambda old, new: False)
    assert not _matters(ObjectChange(A, same, same, Origin.WATCH), lambda old, new: False)
    assert _matters(ObjectChange(A, same, None, Origin.WATCH), lambda old, new: False)


class Following:
    """A watch of one change."""

    def __init__(self, *changes: ObjectChange) -> None:
        self._changes = changes
        self.on_state: Any = None

    async def follow_changes(self) -> AsyncIterator[ObjectChange]:
        for change in self._changes:
            yield change


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        (obj("x", of="a"), None, ["a"]),
        (obj("x", of="a"), obj("x", "2", of="b"), ["a", "b"]),
        (None, obj("x", of="b"), ["b"]),
    ],
    ids=["it is gone", "it concerns another one now", "it is new"],
)
async def test_a_change_of_another_resource_also_wakes_the_object_that_it_referred_to_before(
    old: Json | None, new: Json | None, woken: list[str]
) -> None:
    """A deleted Cluster is an example: the object that waited for it must be reconciled."""
    watched = WatchedResource(SECRETS, lambda raw: [Key("default", raw["of"])])
    found = controller(VirtualTime(), watched)
    await found._build_follower(watched, Following(ObjectChange(Key("default", "x"), old, new, Origin.WATCH)))()  # type: ignore[arg-type]  # stand-ins for client and keeper
    served = [await found.queue.get() for _ in range(len(found.queue))]
    assert sorted(key.name for key in served if key) == woken


def seen(name: str, ready: str, phase: str, *, observed: int = 3, **metadata: Any) -> Json:
    found = obj(name, status={"conditions": [{"type": "Ready", "status": ready}], "phase": phase})
    found["status"]["observedGeneration"] = observed
    found["metadata"] |= {"generation": 3, **metadata}
    return found


async def test_after_a_restart_what_somebody_waits_for_goes_before_what_is_at_rest() -> None:
    """Whatever the order of the list. An object that waits for a person is no hurry either."""
    listed = [
        *(seen(f"ready-{number}", "True", "Ready") for number in range(20)),
        seen("blocked", "False", "Blocked"),
        seen("deleted", "True", "Ready", deletionTimestamp="2026-11-28T12:00:00Z"),
        seen("created", "False", "Progressing"),
        seen("edited", "True", "Ready", observed=2),
        seen("edited-blocked", "False", "Blocked", observed=2),
        obj("new"),
    ]
    found = controller(VirtualTime())
    changes = [ObjectChange(Key("default", raw["metadata"]["name"]), None, raw, Origin.LIST) for raw in listed]
    found._primary = Following(*changes)  # type: ignore[assignment]  # a stand-in
    await found._follow_primary()
    served = []
    while len(found.queue):
        key = await found.queue.get()
        assert key is not None
        served.append(key.name)
        found.queue.finish(key)
    hurried = {"deleted", "created", "edited", "edited-blocked", "new"}
    assert set(served[:4]) < hurried, "one of the backlog comes after each four"
    assert set(served[:6]) - hurried == {served[4]}


async def test_listed_surroundings_of_an_object_at_rest_are_no_hurry() -> None:
    """A Cluster says nothing of whether our object is at rest: the status of another kind is not read."""
    watched = WatchedResource(SECRETS, lambda raw: [Key("default", raw["of"])])
    found, rest = controller(VirtualTime(), watched), Key("default", "ready")
    found.queue.add(rest, Priority.BACKLOG)
    change = ObjectChange(Key("default", "x"), None, obj("x", of="ready"), Origin.LIST)
    await found._build_follower(watched, Following(change))()  # type: ignore[arg-type]  # a stand-in
    found.queue.add(A)
    assert [await found.queue.get(), await found.queue.get()] == [A, rest]


OTHER_WATCH = pytest.mark.parametrize(
    ("other", "begins"),
    [(WatchState.STARTING, False), (WatchState.SYNCED, True), (WatchState.ABSENT, True), (WatchState.FAILING, True)],
)


@OTHER_WATCH
async def test_workers_start_when_every_watch_has_listed(other: WatchState, begins: bool) -> None:
    """Before that a Cluster that is not listed yet would count as absent; a refused watch is reported."""
    found = controller(VirtualTime(), WatchedResource(SECRETS, lambda raw: []))
    found.find_reflector(CONFIG_MAPS).state = WatchState.SYNCED
    found.find_reflector(SECRETS).state = other
    found._check_settled()
    assert found._settled.is_set() is begins
    assert found.read_health().ready is begins


@OTHER_WATCH
async def test_workers_start_when_what_they_read_of_another_controller_is_listed(
    other: WatchState, begins: bool
) -> None:
    """Each object is held once in a process; one that is not listed yet would count as absent."""
    client, time = KubeClient(NOBODY), VirtualTime()
    read = Controller(client, SECRETS, never, time=time)
    found = Controller(client, CONFIG_MAPS, never, time=time, reads=[read])
    assert found.find_reflector(SECRETS) is read.find_reflector(SECRETS)
    found.find_reflector(CONFIG_MAPS).state = WatchState.SYNCED
    found._check_settled()
    assert not found._settled.is_set()
    if other is not WatchState.STARTING:
        read.find_reflector(SECRETS)._enter(other)
    assert found._settled.is_set() is begins


@dataclass
class Held:
    """A key ring keeper."""

    problem: str = ""


@dataclass
class Writes:
    """A reconciler that writes once in each pass, and records which version it was given."""

    given: list[str] = field(default_factory=list)

    async def reconcile(self, document: ApiObject, around: ClusterContext) -> RequeueAfter:
        self.given.append(document.version)
        document.raw = obj("a", str(int(document.version) + 1))
        return RequeueAfter(1.0)

    def report_gone(self, last: Json) -> None:
        raise AssertionError("no object goes in these tests")

    def forget(self, last: Json) -> None:
        raise AssertionError("all objects are served in these tests")


class Stored:
    """An API server with the version after the cached one."""

    async def get(self, resource: Resource, key: Key) -> Json:
        assert resource == POWERVS_CLUSTERS
        return obj("a", "2")


async def test_a_pass_after_our_own_write_reads_from_the_server() -> None:
    """The cache may be older: a resource that was just recorded would be missing, and be created again."""
    reconciler = Writes()
    operator = Operator(Settings(NOBODY, "key", cluster_api="off"))
    served = served_of("IBMPowerVSCluster")
    work = operator._build_work(Stored(), served, reconciler, Held(), ALWAYS_LEADS)  # type: ignore[arg-type]  # stand-ins for client and keeper
    found = work.controller
    found.find_reflector(POWERVS_CLUSTERS)._objects[A] = obj("a", "1")
    for _ in range(2):
        await found._reconcile(A)
    assert reconciler.given == ["1", "2"]


async def test_an_operator_without_a_key_ring_is_not_ready() -> None:
    """A rollout must not continue while the ring cannot be read."""
    operator = Operator(Settings(NOBODY, "key", cluster_api="off"))
    assert operator.read_health() is None
    keeper = Held("the key ring is damaged")
    operator._keeper = keeper  # type: ignore[assignment]  # a stand-in
    served = served_of("IBMPowerVSCluster")
    work = operator._build_work(Stored(), served, Writes(), keeper, ALWAYS_LEADS)  # type: ignore[arg-type]  # stand-ins for client and keeper
    found = work.controller
    operator._controllers.append(found)
    found.find_reflector(POWERVS_CLUSTERS).state = WatchState.SYNCED
    found._check_settled()
    health = operator.read_health()
    assert health is not None and not health.ready
    assert health.problem == "the key ring is damaged"
    keeper.problem = ""
    health = operator.read_health()
    assert health is not None and health.ready


@pytest.mark.parametrize("provider", [each.upstream for each in PROVIDERS])
async def test_an_operator_does_not_start_while_another_provider_is_installed(provider: str) -> None:
    """Two controllers would both serve every object. What the command says: tests/unit/cli/test_cli_operator.py."""
    store = Store.open(":memory:")
    crds = [{**each, "metadata": {**each["metadata"]}} for each in build_crds()]
    for each in crds:
        each["metadata"]["labels"] = {names.PROVIDER_LABEL: provider}
    server = ApiServer(store, crds)
    try:
        url = await server.start()
        with pytest.raises(ConflictingProvider):
            await Operator(Settings(Connection(url), "key", cluster_api="off")).run()
    finally:
        await server.stop()
        store.close()
