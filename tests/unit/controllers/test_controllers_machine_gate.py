"""When a machine may be made: the waits of docs/reference/capi-contract.md C38; a delete waits for none of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.api.served import ClusterLink, ParentName, ServedName
from freehold.engine import journal as journals
from freehold.engine.journal import Journal
from freehold.engine.ownership import Owner
from freehold.providers.objects.around import Around
from freehold.providers.objects.gate import (
    ClusterApiMode,
    ClusterContext,
    FoundCluster,
    Hold,
    NoCluster,
    Pause,
    Presence,
    Proceed,
    Release,
    decide,
)
from harness.rows import over_rows

GROUP = names.INFRASTRUCTURE_GROUP
PARENT = ParentName(GROUP, "v1beta2", "BearCluster", "bearclusters", ("region", "identityRef"))
MACHINE = ServedName(
    GROUP,
    "v1beta2",
    "BearMachine",
    "bearmachines",
    "bearmachine.example.com",
    link=ClusterLink.MACHINE,
    parents=(PARENT,),
)
PLANE = ParentName(
    names.CONTROL_PLANE_GROUP,
    "v1beta2",
    "BearControlPlane",
    "bearcontrolplanes",
    ("region",),
    ClusterLink.CONTROL_PLANE,
)
OF_EITHER = replace(MACHINE, parents=(PARENT, PLANE))
V2 = "cluster.x-k8s.io/v1beta2"
AUTO, REQUIRED, OFF = ClusterApiMode.AUTO, ClusterApiMode.REQUIRED, ClusterApiMode.OFF
PROVISIONED = {"initialization": {"infrastructureProvisioned": True}}
REF = {"apiGroup": GROUP, "kind": "BearCluster", "name": "c-infra"}
LABEL = {names.CLUSTER_NAME_LABEL: "c1"}
ALONE = {names.BOOTSTRAP_ANNOTATION: "boot"}
RECORD = journals.dumps(Journal(Owner("c-uuid", "BearCluster", "ns", "c-infra")))


def machine(*, owned: bool = True, deleting: bool = False, spec: Any = None, **annotations: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "m1", "namespace": "ns", "uid": "u", "labels": LABEL}
    metadata |= {"annotations": annotations, "finalizers": [MACHINE.finalizer]}
    if owned:
        metadata["ownerReferences"] = [{"apiVersion": V2, "kind": "Machine", "name": "owner", "uid": "x"}]
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"apiVersion": f"{GROUP}/v1beta2", "kind": MACHINE.kind, "metadata": metadata, "spec": spec or {}}


def owner(data: str = "boot") -> dict[str, Any]:
    bootstrap = {"dataSecretName": data} if data else {}
    return {"metadata": {"name": "owner"}, "spec": {"clusterName": "c1", "bootstrap": bootstrap}}


def cluster(status: Any = PROVISIONED, ref: Any = REF, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "c1"}, "spec": {"infrastructureRef": ref, **spec}, "status": status}


def infrastructure(
    *, name: str = "c-infra", ready: bool = True, deleting: bool = False, annotations: Any = None
) -> dict[str, Any]:
    said = {names.JOURNAL_ANNOTATION: RECORD} if annotations is None else annotations
    metadata: dict[str, Any] = {"name": name, "namespace": "ns", "uid": "c-uid", "annotations": said}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"kind": "BearCluster", "metadata": metadata, "spec": {"region": "r1"}, "status": {"ready": ready}}


def owned(data: str = "boot", of: Any = None, around: Any = None, **infra: Any) -> ClusterContext:
    of = of or cluster()
    there = Around(owner(data), of, infrastructure(**infra)) if around is None else around
    return ClusterContext(AUTO, Presence.PRESENT, FoundCluster(of), around=there)


def alone(mode: ClusterApiMode = OFF, crds: Presence = Presence.ABSENT, **infra: Any) -> ClusterContext:
    return ClusterContext(mode, crds, around=Around(None, None, infrastructure(**infra)))


INFRA, BOOT = names.REASON_WAITING_FOR_CLUSTER_INFRASTRUCTURE, names.REASON_WAITING_FOR_BOOTSTRAP_DATA
CLUSTER = names.REASON_WAITING_FOR_CLUSTER
V1 = {"apiVersion": f"{GROUP}/v1beta1", "kind": "BearCluster", "name": "c-infra"}

WAITS: dict[str, tuple[dict[str, Any], ClusterContext, str]] = {
    "no owner Machine yet": (machine(owned=False), ClusterContext(AUTO, Presence.PRESENT), CLUSTER),
    "its Machine is gone": (machine(), ClusterContext(AUTO, owner=NoCluster("Machine 'owner'")), CLUSTER),
    "the Cluster says nothing": (machine(), owned(of=cluster(status=None)), INFRA),
    "the Cluster says no": (machine(), owned(of=cluster(status={"infrastructureReady": False})), INFRA),
    "the Cluster's infrastructure is of another kind": (
        machine(),
        owned(of=cluster(ref={**REF, "kind": "OtherCluster"})),
        INFRA,
    ),
    "the infrastructure is gone": (machine(), owned(around=Around(owner(), cluster(), None)), INFRA),
    "the infrastructure cannot be read": (machine(), owned(around=Around(owner(), cluster(), None, "403")), INFRA),
    "the infrastructure has no record": (machine(), owned(annotations={}), INFRA),
    "the infrastructure has another's record": (machine(), owned(name="c-copy"), INFRA),
    "the cluster is being deleted": (machine(), owned(deleting=True), INFRA),
    "no bootstrap data yet": (machine(), owned(data=""), BOOT),
    "an annotation does not replace a Machine's data": (machine(**ALONE), owned(data=""), BOOT),
    "alone: the cluster is not ready": (machine(owned=False, **ALONE), alone(ready=False), INFRA),
    "alone: there is no such cluster": (machine(owned=False, **ALONE), ClusterContext(OFF), INFRA),
    "alone: nobody said what it boots with": (machine(owned=False), alone(), BOOT),
    "alone: Cluster API is installed and nobody asked for it": (
        machine(owned=False, **ALONE),
        alone(AUTO, Presence.PRESENT),
        CLUSTER,
    ),
    "alone: not where a Cluster is required": (machine(owned=False, **ALONE), alone(REQUIRED), CLUSTER),
}


@over_rows(("raw", "around", "reason"), WAITS.values(), ids=WAITS.keys())
def test_a_machine_waits(raw: dict[str, Any], around: ClusterContext, reason: str) -> None:
    decision = decide(raw, around, MACHINE)
    assert isinstance(decision, Hold) and decision.reason == reason and decision.message


@over_rows(("raw", "around", "reason"), WAITS.values(), ids=WAITS.keys())
def test_no_wait_blocks_a_delete(raw: dict[str, Any], around: ClusterContext, reason: str) -> None:
    leaving = {**raw, "metadata": {**raw["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert decide(leaving, around, MACHINE) == Release(around.around)


GOES_ON: dict[str, tuple[dict[str, Any], ClusterContext, str]] = {
    "all of it is there": (machine(), owned(), "boot"),
    "in v1beta1's words": (machine(), owned(of=cluster(status={"infrastructureReady": True}, ref=V1)), "boot"),
    "a cluster that others manage has no record": (
        machine(),
        owned(annotations={names.MANAGED_BY_ANNOTATION: "terraform"}),
        "boot",
    ),
    "alone": (machine(owned=False, **ALONE), alone(), "boot"),
    "alone, with nothing to boot from": (
        machine(owned=False, **{names.BOOTSTRAP_ANNOTATION: names.NO_BOOTSTRAP}),
        alone(),
        "",
    ),
    "alone, where Cluster API is not installed": (machine(owned=False, **ALONE), alone(AUTO), "boot"),
    "alone, where it asks for it": (
        machine(owned=False, **ALONE, **{names.STANDALONE_ANNOTATION: "true"}),
        alone(AUTO, Presence.PRESENT),
        "boot",
    ),
    "made already: it needs no bootstrap data": (machine(spec={"providerID": "b:///i-1"}), owned(data=""), ""),
    "made already: looked at while its cluster is being deleted": (
        machine(spec={"providerID": "b:///i-1"}),
        owned(deleting=True),
        "boot",
    ),
}


@pytest.mark.parametrize(("raw", "around", "bootstrap"), GOES_ON.values(), ids=GOES_ON.keys())
def test_a_machine_is_served(raw: dict[str, Any], around: ClusterContext, bootstrap: str) -> None:
    decision = decide(raw, around, MACHINE)
    assert isinstance(decision, Proceed), decision
    assert (decision.cluster, decision.bootstrap, decision.around) == ("c1", bootstrap, around.around)


def test_the_pause_of_its_cluster_goes_before_every_wait() -> None:
    around = owned(data="", of=cluster(status=None, paused=True))
    assert isinstance(decide(machine(), around, MACHINE), Pause)
    assert isinstance(decide(machine(deleting=True), around, MACHINE), Pause)


PLANE_REF = {"apiGroup": names.CONTROL_PLANE_GROUP, "kind": PLANE.kind, "name": "c-plane"}
MIRROR_REF = {"apiGroup": GROUP, "kind": "BearMirror", "name": "c1"}
INITIALIZED = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}}
PLANE_RECORD = {names.JOURNAL_ANNOTATION: journals.dumps(Journal(Owner("p-uuid", PLANE.kind, "ns", "c-plane")))}


def plane(*, deleting: bool = False, **status: Any) -> dict[str, Any]:
    found = infrastructure(name="c-plane", annotations=PLANE_RECORD, deleting=deleting)
    return {**found, "kind": PLANE.kind, "status": status}


def in_plane(status: Any = INITIALIZED, ref: Any = PLANE_REF, **of_plane: Any) -> ClusterContext:
    of = {**cluster(status, MIRROR_REF), "spec": {"infrastructureRef": MIRROR_REF, "controlPlaneRef": ref}}
    return owned(of=of, around=Around(owner(), of, plane(**of_plane)))


V1_WORDS = {"infrastructureReady": True, "controlPlaneReady": True}
OF_PLANES: dict[str, tuple[dict[str, Any], ClusterContext, str]] = {
    "the Cluster says that it takes requests": (machine(), in_plane(), ""),
    "in v1beta1's words": (machine(), in_plane(V1_WORDS), ""),
    "of the Cluster only the infrastructure is there": (
        machine(),
        in_plane(PROVISIONED),
        "control plane is initialized",
    ),
    "of the Cluster only the control plane is there": (
        machine(),
        in_plane({"controlPlaneReady": True}),
        "infrastructure is provisioned",
    ),
    "the Cluster names neither kind": (
        machine(),
        in_plane(ref=MIRROR_REF),
        "names no BearCluster and its Cluster's spec.controlPlaneRef names no BearControlPlane",
    ),
    "it is being deleted": (machine(), in_plane(deleting=True), "BearControlPlane 'c-plane' is being deleted"),
    "alone": (machine(owned=False, **ALONE), ClusterContext(OFF, around=Around(parent=plane(initialized=True))), ""),
    "alone, and its API server does not answer yet": (
        machine(owned=False, **ALONE),
        ClusterContext(OFF, around=Around(parent=plane(ready=True))),
        "BearControlPlane 'c-plane' is not initialized yet",
    ),
    "alone, and there is nothing of the name": (
        machine(owned=False, **ALONE),
        ClusterContext(OFF),
        "BearCluster 'c1' or BearControlPlane 'c1', which it is part of, does not exist",
    ),
}


@pytest.mark.parametrize(("raw", "around", "waits"), OF_PLANES.values(), ids=OF_PLANES.keys())
def test_a_machine_of_a_control_plane_waits_until_that_takes_requests(
    raw: dict[str, Any], around: ClusterContext, waits: str
) -> None:
    """What it boots joins there."""
    decision = decide(raw, around, OF_EITHER)
    if not waits:
        assert isinstance(decision, Proceed) and decision.around.parent == around.around.parent
        return
    assert isinstance(decision, Hold) and decision.reason == INFRA and waits in decision.message
    leaving = {**raw, "metadata": {**raw["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert decide(leaving, around, OF_EITHER) == Release(around.around)
