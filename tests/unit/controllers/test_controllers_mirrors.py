"""Mirrors: ready at once; the endpoint of the control plane when there is one; the gate's rules as for all others."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.controller import Done, RequeueAfter, Result
from freehold.controllers.mirrors import MirrorReconciler, shown_fields_changed
from freehold.controllers.objects import ApiObject
from freehold.controllers.owner_cluster import CLUSTERS
from freehold.engine.clock import ManualClock
from freehold.kube import errors as kube
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Json, Key, Resource
from freehold.providers.aws.managed_cluster.kind import MANAGED_CLUSTER
from freehold.providers.objects.gate import ClusterApiMode
from freehold.providers.objects.served_resources import resource_of
from harness.stored_objects import MemoryObjects

MIRRORS, SOURCES = resource_of(MANAGED_CLUSTER.served), resource_of(MANAGED_CLUSTER.source)
ENDPOINT = {"host": "https://ABC.gr7.eu-west-1.eks.amazonaws.com", "port": 443}
DOMAINS = {"eu-west-1a": {"controlPlane": True}}
OWNER = {"apiVersion": f"{names.CLUSTER_API_GROUP}/v1beta2", "kind": "Cluster", "name": "prod", "uid": "u"}
MIRROR_KEY, SOURCE_KEY = Key("team", "prod"), Key("team", "prod-control-plane")


class Server(MemoryObjects):
    """An API server in which reads of some kinds are refused."""

    refused: frozenset[str] = frozenset()

    async def get(self, resource: Resource, key: Key) -> Json:
        if resource.kind in self.refused:
            raise kube.Forbidden("RBAC", code=403)
        return await super().get(resource, key)

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        if resource.kind in self.refused:
            raise kube.Forbidden("RBAC", code=403)
        return await super().list(resource, namespace, label_selector=label_selector)


class World:
    """A Cluster with both references, its AWSManagedCluster, and an operator."""

    def __init__(self, mode: ClusterApiMode = ClusterApiMode.AUTO, *, owned: bool = True) -> None:
        self.server = Server()
        self.put(CUSTOM_RESOURCE_DEFINITIONS, Key("", f"clusters.{names.CLUSTER_API_GROUP}"))
        references = {"infrastructureRef": MANAGED_CLUSTER.served, "controlPlaneRef": MANAGED_CLUSTER.source}
        named = {"infrastructureRef": MIRROR_KEY.name, "controlPlaneRef": SOURCE_KEY.name}
        spec = {
            field: {"apiGroup": each.group, "kind": each.kind, "name": named[field]}
            for field, each in references.items()
        }
        self.put(CLUSTERS, Key("team", "prod"), spec=spec)
        owners = {"ownerReferences": [OWNER]} if owned else {}
        self.put(MIRRORS, MIRROR_KEY, metadata=owners)
        self.process = MirrorReconciler(MANAGED_CLUSTER, self.server, mode, ManualClock())

    def put(self, resource: Resource, key: Key, *, metadata: Json | None = None, **content: Any) -> None:
        place = {"name": key.name, "namespace": key.namespace, "resourceVersion": "1", "generation": 1, "uid": "x"}
        typed = {"apiVersion": resource.api_version, "kind": resource.kind}
        self.server.objects[resource.kind, key] = {**typed, "metadata": {**place, **(metadata or {})}, **content}

    def put_source(self, endpoint: Json = ENDPOINT, domains: Json = DOMAINS) -> None:
        self.put(SOURCES, SOURCE_KEY, spec={"controlPlaneEndpoint": endpoint}, status={"failureDomains": domains})

    @property
    def mirror(self) -> Json:
        return self.server.objects[MIRRORS.kind, MIRROR_KEY]

    @property
    def status(self) -> Json:
        found: Json = self.mirror.get("status") or {}
        return found

    def condition(self, type_: str = names.READY) -> Json:
        (found,) = (each for each in self.status["conditions"] if each["type"] == type_)
        return dict(found)

    async def once(self) -> Result:
        client: Any = self.server  # what an ApiObject uses of a client
        return await self.process.reconcile(ApiObject(client, MIRRORS, await self.server.get(MIRRORS, MIRROR_KEY)))


async def test_it_is_ready_before_its_control_plane_is_there() -> None:
    """Cluster API starts the control plane only then: to wait for it would be a deadlock."""
    world = World()
    assert await world.once() == Done()
    assert (world.status["ready"], world.status["initialization"]) == (True, {"provisioned": True})
    assert "controlPlaneEndpoint" not in world.mirror.get("spec", {})
    assert "AWSManagedControlPlane 'prod-control-plane' is not there yet" in world.condition()["message"]


async def test_endpoint_and_failure_domains_are_the_control_planes_and_a_second_pass_writes_nothing() -> None:
    world = World()
    await world.once()
    world.put_source(endpoint={})
    await world.once()
    assert "has no endpoint yet" in world.condition()["message"]
    world.put_source()
    assert list(world.process.find_concerned(await world.server.get(SOURCES, SOURCE_KEY))) == [MIRROR_KEY]
    await world.once()
    assert world.mirror["spec"]["controlPlaneEndpoint"] == ENDPOINT
    assert world.status["failureDomains"] == DOMAINS
    version = world.mirror["metadata"]["resourceVersion"]
    assert await world.once() == Done()
    assert world.mirror["metadata"]["resourceVersion"] == version


async def test_an_endpoint_of_a_user_stays_and_the_difference_is_said() -> None:
    world = World()
    world.put(
        MIRRORS,
        MIRROR_KEY,
        metadata={"ownerReferences": [OWNER]},
        spec={"controlPlaneEndpoint": {"host": "me", "port": 1}},
    )
    world.put_source()
    await world.once()
    assert world.mirror["spec"]["controlPlaneEndpoint"] == {"host": "me", "port": 1}
    command = 'kubectl patch awsmanagedclusters prod -n team --type=merge -p \'{"spec":{"controlPlaneEndpoint":null}}\''
    assert "it is left as it is" in world.condition()["message"] and world.condition()["message"].endswith(command)


async def test_it_stays_ready_and_keeps_what_it_shows_when_the_control_plane_goes() -> None:
    world = World()
    world.put_source()
    await world.once()
    del world.server.objects[SOURCES.kind, SOURCE_KEY]
    await world.once()
    assert (world.status["ready"], world.status["failureDomains"]) == (True, DOMAINS)
    assert world.mirror["spec"]["controlPlaneEndpoint"] == ENDPOINT


async def test_all_of_a_lost_status_comes_back() -> None:
    """A move loses it (docs/reference/capi-contract.md C28)."""
    world = World()
    world.put_source()
    await world.once()
    before = world.mirror.pop("status")
    await world.once()
    assert world.status == before


@pytest.mark.parametrize("kind", ["AWSManagedControlPlane", "Cluster"])
async def test_what_cannot_be_read_is_said_and_read_again(kind: str) -> None:
    world = World(ClusterApiMode.OFF)
    world.put_source()
    world.server.refused = frozenset({kind})
    assert isinstance(await world.once(), RequeueAfter)
    assert world.status["ready"] is True and "RBAC" in world.condition()["message"]


async def test_alone_the_cluster_that_names_it_tells_the_control_plane() -> None:
    """On a laptop Cluster API does not run, and the Cluster of the manifest is only kept."""
    world = World(ClusterApiMode.OFF, owned=False)
    world.put_source()
    await world.once()
    assert world.mirror["spec"]["controlPlaneEndpoint"] == ENDPOINT


async def test_alone_without_a_cluster_it_is_ready_and_shows_nothing() -> None:
    world = World(ClusterApiMode.OFF, owned=False)
    del world.server.objects[CLUSTERS.kind, Key("team", "prod")]
    world.put_source()
    assert await world.once() == Done()
    assert world.status["ready"] is True
    assert "no Cluster of its namespace names it in spec.infrastructureRef" in world.condition()["message"]


async def test_a_control_plane_of_another_kind_is_not_mirrored() -> None:
    world = World()
    reference = {"apiGroup": SOURCES.group, "kind": "KubeadmControlPlane", "name": SOURCE_KEY.name}
    world.server.objects[CLUSTERS.kind, Key("team", "prod")]["spec"]["controlPlaneRef"] = reference
    world.put_source()
    await world.once()
    assert "names no AWSManagedControlPlane" in world.condition()["message"]
    assert list(world.process.find_concerned(await world.server.get(SOURCES, SOURCE_KEY))) == []


async def test_it_waits_for_the_owner_that_cluster_api_sets() -> None:
    world = World(owned=False)
    await world.once()
    assert world.status["ready"] is False
    assert world.condition()["reason"] == names.REASON_WAITING_FOR_CLUSTER


@pytest.mark.parametrize("by", ["annotation", "Cluster"])
async def test_while_paused_only_the_condition_is_written(by: str) -> None:
    world = World()
    world.put_source()
    if by == "Cluster":
        world.server.objects[CLUSTERS.kind, Key("team", "prod")]["spec"]["paused"] = True
    else:
        world.mirror["metadata"]["annotations"] = {names.PAUSED_ANNOTATION: ""}
    await world.once()
    assert world.condition(names.PAUSED)["status"] == "True"
    assert "controlPlaneEndpoint" not in world.mirror.get("spec", {}) and world.status["ready"] is False


@pytest.mark.parametrize(
    "metadata",
    [{"annotations": {names.MANAGED_BY_ANNOTATION: "terraform"}}, {"deletionTimestamp": "2026-11-23T00:00:00Z"}],
)
async def test_what_somebody_else_manages_or_what_goes_is_not_written(metadata: Json) -> None:
    world = World()
    world.mirror["metadata"] |= metadata
    assert await world.once() == Done()
    assert "status" not in world.mirror


async def test_a_pass_on_an_older_version_is_repeated() -> None:
    world = World()
    stale = await world.server.get(MIRRORS, MIRROR_KEY)
    world.mirror["metadata"]["resourceVersion"] = "7"
    client: Any = world.server
    assert isinstance(await world.process.reconcile(ApiObject(client, MIRRORS, stale)), RequeueAfter)


async def test_a_mirror_that_is_gone_is_not_woken() -> None:
    world = World()
    world.put_source()
    await world.once()
    world.process.forget(world.mirror)
    assert list(world.process.find_concerned(await world.server.get(SOURCES, SOURCE_KEY))) == []


def test_only_what_is_shown_wakes_a_mirror() -> None:
    source = {"spec": {"controlPlaneEndpoint": ENDPOINT}, "status": {"failureDomains": DOMAINS, "ready": False}}
    assert not shown_fields_changed(source, {**source, "status": {"failureDomains": DOMAINS, "ready": True}})
    assert shown_fields_changed(source, {**source, "spec": {}})
    assert shown_fields_changed(source, {**source, "status": {}})
