"""When we may act: annotation, pause, move, other managers (docs/reference/capi-contract.md C15 to C31)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.reconcilers.gate import ClusterContext, FoundCluster, Mode, NoCluster, UnreadableCluster
from stage.powervs import Done, Stage, example
from stage.scenery import infrastructure, made_by_us, photograph, standing

CREATE = names.CREATE_INFRA_ANNOTATION


def annotate(stage: Stage, **annotations: str | None) -> None:
    stage.object.patch({"metadata": {"annotations": annotations}})


def paused_cluster() -> ClusterContext:
    cluster = {"metadata": {"name": "freehold-demo"}, "spec": {"paused": True}}
    return ClusterContext(Mode.OFF, referrer=FoundCluster(cluster))


@pytest.mark.parametrize("value", ["false", None], ids=["false", "removed"])
def test_without_the_annotation_a_live_cluster_grows_no_more(value: str | None) -> None:
    """Nothing more is created; what exists stays, and a delete still releases it."""
    stage = Stage()
    stage.pass_once()
    stage.for_a_while(60.0)
    annotate(stage, **{CREATE: value})
    creates = [call.operation for call in stage.calls() if ".create_" in call.operation]
    stage.for_a_while(1500.0)

    after = [call.operation for call in stage.calls() if ".create_" in call.operation]
    assert after == creates
    assert made_by_us(stage) != []
    assert "nothing more is created" in stage.condition("SpecValid")["message"]

    stage.down()
    assert standing(stage) == []


def test_the_annotation_taken_from_a_ready_cluster_changes_nothing_in_the_cloud() -> None:
    """And ready stays true."""
    stage = Stage()
    stage.up()
    world = photograph(stage)
    annotate(stage, **{CREATE: "false"})
    stage.for_a_while(1500.0)
    assert photograph(stage) == world
    assert stage.status()["ready"] is True
    stage.start_process()
    stage.down()
    assert standing(stage) == []


def test_the_existing_way_uses_workspace_and_network_and_creates_nothing() -> None:
    """docs/reference/requirements.md I5: without the annotation the existing way; the endpoint is the user's."""
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
    stage = Stage(manifest)
    theirs = infrastructure(stage)
    before = photograph(stage)
    stage.up()

    assert stage.status()["serviceInstance"] == {"id": theirs.workspace["id"], "controllerCreated": False}
    assert stage.status()["network"]["id"] == theirs.network["id"]
    assert stage.calls(mutating=True) == []
    stage.down()
    assert photograph(stage) == before
    assert stage.calls(mutating=True) == []


@pytest.mark.parametrize("value", ["", "true", "false"])
def test_the_paused_annotation_stops_every_write(value: str) -> None:
    """Any value, even empty; the Paused condition is the only write (docs/reference/capi-contract.md C23, C24)."""
    stage = Stage()
    stage.pass_once()
    stage.clock.advance(30.0)
    annotate(stage, **{names.PAUSED_ANNOTATION: value})
    calls = len(stage.calls())
    stage.settle(4)
    assert stage.condition("Paused")["status"] == "True"
    stage.object.delete()
    version = stage.object.raw["metadata"]["resourceVersion"]
    stage.settle(4)

    assert len(stage.calls()) == calls
    assert stage.object.raw["metadata"]["resourceVersion"] == version
    assert not stage.object.gone

    annotate(stage, **{names.PAUSED_ANNOTATION: None})
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []


def test_a_paused_cluster_stops_every_write_and_going_on_converges() -> None:
    """clusterctl move relies on it (docs/reference/capi-contract.md C28); unpausing goes on where it was."""
    stage = Stage()
    stage.pass_once()
    stage.around = paused_cluster()
    calls = len(stage.calls())
    for _ in range(5):
        stage.pass_once()
        stage.clock.advance(60.0)
    assert len(stage.calls()) == calls
    assert stage.condition("Paused") | {"reason": "Paused", "status": "True"} == stage.condition("Paused")

    stage.around = ClusterContext(Mode.OFF)
    stage.up()
    assert stage.condition("Paused")["status"] == "False"
    stage.around = paused_cluster()
    stage.object.delete()
    world = photograph(stage)
    stage.settle(4)
    assert photograph(stage) == world


def test_delete_for_move_lets_go_without_a_cloud_call() -> None:
    """clusterctl replaces all annotations; the cloud is the target's now (docs/reference/capi-contract.md C29)."""
    stage = Stage()
    stage.up()
    world, calls = photograph(stage), len(stage.calls())
    stage.object.raw["metadata"]["annotations"] = {names.DELETE_FOR_MOVE_ANNOTATION: ""}
    stage.object.delete()
    assert stage.pass_once() == Done()

    assert stage.object.gone
    assert len(stage.calls()) == calls
    assert photograph(stage) == world


@pytest.mark.parametrize("lost", ["status", "uid", "both"])
def test_moved_to_another_api_server_it_is_the_same_cluster(lost: str) -> None:
    """Status and UID are lost, the journal is kept: zero creates, equal status, deletable.

    Source: docs/reference/capi-contract.md C28, C32.
    """
    stage = Stage()
    stage.up()
    stage.for_a_while(120.0)
    world, status = photograph(stage), stage.status()
    moved = {key: value for key, value in stage.object.raw.items() if lost == "uid" or key != "status"}
    if lost in ("uid", "both"):
        moved["metadata"]["uid"] = "99999999-9a59-4d0c-8a2c-6f0d6f5f1c11"
    stage.object.raw = moved
    stage.start_process()
    creates = sum(".create_" in call.operation for call in stage.calls())
    stage.up()
    stage.for_a_while(300.0)

    assert sum(".create_" in call.operation for call in stage.calls()) == creates
    assert photograph(stage) == world
    fields = ("serviceInstance", "network", "dhcpServer", "vpc", "vpcSubnet", "loadBalancers", "transitGateway")
    assert {field: stage.status()[field] for field in fields} == {field: status[field] for field in fields}
    stage.down()
    assert standing(stage) == []


def test_managed_by_something_else_is_not_touched_at_all() -> None:
    """docs/reference/capi-contract.md C26: no write, not even status or finalizer."""
    manifest = example()
    manifest["metadata"]["annotations"][names.MANAGED_BY_ANNOTATION] = "crossplane"
    stage = Stage(manifest)
    version = stage.object.raw["metadata"]["resourceVersion"]
    stage.settle(3)
    assert stage.object.raw["metadata"]["resourceVersion"] == version
    assert stage.calls() == []
    stage.object.delete()
    assert stage.object.gone


def owned_by(name: str) -> dict[str, Any]:
    manifest = example()
    reference = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": name, "uid": "1"}
    manifest["metadata"]["ownerReferences"] = [reference]
    return manifest


@pytest.mark.parametrize("around", [NoCluster(), UnreadableCluster("403 Forbidden")], ids=["missing", "unreadable"])
def test_whose_cluster_cannot_be_read_is_not_acted_for(around: NoCluster | UnreadableCluster) -> None:
    """What cannot be read is unknown, never absent: it might be paused."""
    stage = Stage(owned_by("freehold-demo"), around=ClusterContext(Mode.REQUIRED, owner=around))
    stage.settle(3)
    assert stage.calls() == []
    assert stage.condition("Ready")["reason"] == names.REASON_WAITING_FOR_CLUSTER
    assert stage.object.raw["metadata"].get("finalizers", []) == []
    stage.object.delete()
    assert stage.object.gone


def test_a_delete_waits_for_the_machines_that_stand_on_it() -> None:
    """Without core nobody else orders it (docs/reference/capi-contract.md C22)."""
    stage = Stage()
    stage.up()
    stage.around = replace(stage.around, machines=("worker-0",))
    calls = len(stage.calls())
    stage.object.delete()
    stage.for_a_while(300.0)

    assert len(stage.calls()) == calls
    deleting = stage.condition("Deleting")
    assert (deleting["status"], deleting["reason"]) == ("True", "WaitingForDependents")
    assert "worker-0" in deleting["message"]

    stage.around = replace(stage.around, machines=())
    stage.run(lambda: stage.object.gone)
    assert standing(stage) == []
