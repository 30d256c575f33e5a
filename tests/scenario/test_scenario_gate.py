"""When an object is worked on: annotation, pause, move, other managers (docs/reference/capi-contract.md C15 to C31)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.objects.gate import (
    ClusterApiMode,
    ClusterContext,
    FoundCluster,
    NoCluster,
    StandingMachine,
    UnreadableCluster,
)
from harness.powervs import Done, Harness, example
from harness.resources import existing, infrastructure, made_by_us, snapshot
from harness.standing import standing

CREATE = ibm_names.CREATE_INFRA_ANNOTATION


def annotate(harness: Harness, **annotations: str | None) -> None:
    harness.object.patch({"metadata": {"annotations": annotations}})


def paused_cluster() -> ClusterContext:
    cluster = {"metadata": {"name": "freehold-demo"}, "spec": {"paused": True}}
    return ClusterContext(ClusterApiMode.OFF, referrer=FoundCluster(cluster))


@pytest.mark.parametrize("value", ["false", None], ids=["false", "removed"])
def test_without_the_annotation_nothing_more_is_created(value: str | None) -> None:
    """Nothing more is created; what exists stays, and a delete still releases it."""
    harness = Harness()
    harness.pass_once()
    harness.for_a_while(60.0)
    annotate(harness, **{CREATE: value})
    creates = [call.operation for call in harness.calls() if ".create_" in call.operation]
    harness.for_a_while(1500.0)

    after = [call.operation for call in harness.calls() if ".create_" in call.operation]
    assert after == creates
    assert made_by_us(harness) != []
    assert "nothing more is created" in harness.condition("SpecValid")["message"]

    harness.down()
    assert existing(harness) == []


def test_removing_the_annotation_of_a_ready_cluster_changes_nothing_in_the_cloud() -> None:
    """Ready stays true, too."""
    harness = standing(Harness)
    world = snapshot(harness)
    annotate(harness, **{CREATE: "false"})
    harness.for_a_while(1500.0)
    assert snapshot(harness) == world
    assert harness.status()["ready"] is True
    harness.start_process()
    harness.down()
    assert existing(harness) == []


def test_without_the_annotation_existing_workspace_and_network_are_used() -> None:
    """docs/reference/requirements.md I5: nothing is created, and the endpoint is the user's."""
    manifest = example(
        serviceInstance={"name": "theirs-serviceInstance"},
        network={"name": "theirs-net"},
        controlPlaneEndpoint={"host": "192.0.2.1", "port": 6443},
        vpc=None,
        vpcSubnets=None,
        transitGateway=None,
        loadBalancers=None,
        resourceGroup=None,
    )
    del manifest["metadata"]["annotations"]
    harness = Harness(manifest)
    theirs = infrastructure(harness)
    before = snapshot(harness)
    harness.up()

    assert harness.status()["serviceInstance"] == {"id": theirs.workspace["id"], "controllerCreated": False}
    assert harness.status()["network"]["id"] == theirs.network["id"]
    assert harness.calls(mutating=True) == []
    harness.down()
    assert snapshot(harness) == before
    assert harness.calls(mutating=True) == []


@pytest.mark.parametrize("value", ["", "true", "false"])
def test_the_paused_annotation_stops_every_write(value: str) -> None:
    """Any value, even empty; the conditions are the only write (docs/reference/capi-contract.md C23, C24)."""
    harness = Harness()
    harness.pass_once()
    harness.clock.advance(30.0)
    annotate(harness, **{names.PAUSED_ANNOTATION: value})
    calls = len(harness.calls())
    harness.settle(4)
    assert harness.condition("Paused")["status"] == "True"
    harness.object.delete()
    harness.settle(1)
    version = harness.object.raw["metadata"]["resourceVersion"]
    assert (harness.condition("Ready")["status"], harness.status()["phase"]) == ("False", "Paused")
    harness.settle(4)

    assert len(harness.calls()) == calls
    assert harness.object.raw["metadata"]["resourceVersion"] == version
    assert not harness.object.gone

    annotate(harness, **{names.PAUSED_ANNOTATION: None})
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []


def test_a_paused_cluster_stops_every_write_and_converges_when_unpaused() -> None:
    """clusterctl move relies on it (docs/reference/capi-contract.md C28); after unpausing the work continues."""
    harness = Harness()
    harness.pass_once()
    harness.around = paused_cluster()
    calls = len(harness.calls())
    for _ in range(5):
        harness.pass_once()
        harness.clock.advance(60.0)
    assert len(harness.calls()) == calls
    assert harness.condition("Paused") | {"reason": "Paused", "status": "True"} == harness.condition("Paused")

    harness.around = ClusterContext(ClusterApiMode.OFF)
    harness.up()
    assert harness.condition("Paused")["status"] == "False"
    harness.around = paused_cluster()
    harness.object.delete()
    world = snapshot(harness)
    harness.settle(4)
    assert snapshot(harness) == world


def test_a_delete_for_move_removes_the_finalizer_without_a_cloud_call() -> None:
    """clusterctl replaces all annotations; the resources are the target's now (docs/reference/capi-contract.md C29)."""
    harness = standing(Harness)
    world, calls = snapshot(harness), len(harness.calls())
    harness.object.raw["metadata"]["annotations"] = {names.DELETE_FOR_MOVE_ANNOTATION: ""}
    harness.object.delete()
    assert harness.pass_once() == Done()

    assert harness.object.gone
    assert len(harness.calls()) == calls
    assert snapshot(harness) == world


@pytest.mark.parametrize("lost", ["status", "uid", "both"])
def test_a_cluster_moved_to_another_api_server_keeps_its_resources(lost: str) -> None:
    """Status and UID are lost, the journal is kept: zero creates, equal status, deletable.

    Source: docs/reference/capi-contract.md C28, C32.
    """
    harness = standing(Harness)
    harness.for_a_while(120.0)
    world, status = snapshot(harness), harness.status()
    moved = {key: value for key, value in harness.object.raw.items() if lost == "uid" or key != "status"}
    if lost in ("uid", "both"):
        moved["metadata"]["uid"] = "99999999-9a59-4d0c-8a2c-6f0d6f5f1c11"
    harness.object.raw = moved
    harness.start_process()
    creates = sum(".create_" in call.operation for call in harness.calls())
    harness.up()
    harness.for_a_while(300.0)

    assert sum(".create_" in call.operation for call in harness.calls()) == creates
    assert snapshot(harness) == world
    fields = ("serviceInstance", "network", "dhcpServer", "vpc", "vpcSubnet", "loadBalancers", "transitGateway")
    assert {field: harness.status()[field] for field in fields} == {field: status[field] for field in fields}
    harness.down()
    assert existing(harness) == []


def test_an_object_managed_by_something_else_is_not_changed() -> None:
    """docs/reference/capi-contract.md C26: no write, not even status or finalizer."""
    manifest = example()
    manifest["metadata"]["annotations"][names.MANAGED_BY_ANNOTATION] = "crossplane"
    harness = Harness(manifest)
    version = harness.object.raw["metadata"]["resourceVersion"]
    harness.settle(3)
    assert harness.object.raw["metadata"]["resourceVersion"] == version
    assert harness.calls() == []
    harness.object.delete()
    assert harness.object.gone


def owned_by(name: str) -> dict[str, Any]:
    manifest = example()
    reference = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": name, "uid": "1"}
    manifest["metadata"]["ownerReferences"] = [reference]
    return manifest


@pytest.mark.parametrize("around", [NoCluster(), UnreadableCluster("403 Forbidden")], ids=["missing", "unreadable"])
def test_an_object_whose_cluster_cannot_be_read_is_not_changed(around: NoCluster | UnreadableCluster) -> None:
    """The Cluster is unknown, not absent: it may be paused."""
    harness = Harness(owned_by("freehold-demo"), around=ClusterContext(ClusterApiMode.REQUIRED, owner=around))
    harness.settle(3)
    assert harness.calls() == []
    assert harness.condition("Ready")["reason"] == names.REASON_WAITING_FOR_CLUSTER
    assert harness.object.raw["metadata"].get("finalizers", []) == []
    harness.object.delete()
    assert harness.object.gone


def test_a_delete_waits_for_the_machines_of_the_cluster() -> None:
    """Without Cluster API core nothing else ensures this order (docs/reference/capi-contract.md C22)."""
    harness = standing(Harness)
    harness.around = replace(harness.around, machines=(StandingMachine("IBMPowerVSMachine", "worker-0"),))
    calls = len(harness.calls())
    harness.object.delete()
    harness.for_a_while(300.0)

    assert len(harness.calls()) == calls
    deleting = harness.condition("Deleting")
    assert (deleting["status"], deleting["reason"]) == ("True", "WaitingForDependents")
    assert "worker-0" in deleting["message"]

    harness.around = replace(harness.around, machines=())
    harness.run(lambda: harness.object.gone)
    assert existing(harness) == []
