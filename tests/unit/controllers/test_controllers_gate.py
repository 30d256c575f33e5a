"""What may be done with an object: the numbered rules of docs/reference/capi-contract.md, one row each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.api.served import ClusterLink, ServedName
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects.gate import (
    ClusterApiMode,
    ClusterContext,
    FoundCluster,
    GateDecision,
    Hold,
    NoCluster,
    Pause,
    Presence,
    Proceed,
    Release,
    ReleaseForMove,
    Skip,
    StandingMachine,
    UnreadableCluster,
    UnreadableMachines,
    WaitForMachines,
    decide,
    find_cluster_name,
    owner_of,
    refers_to,
)
from harness.rows import over_rows

FINALIZER = ibm_names.POWERVS_CLUSTER_FINALIZER
INFRASTRUCTURE = ClusterLink.INFRASTRUCTURE
M1, M2 = StandingMachine("IBMPowerVSMachine", "m1"), StandingMachine("IBMPowerVSMachine", "m2")


def obj(
    *,
    owner: str = "",
    kind: str = "Cluster",
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    deleting: bool = False,
    finalizers: tuple[str, ...] = (FINALIZER,),
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "c1", "namespace": "ns", "uid": "u1", "annotations": annotations or {}}
    metadata["labels"] = labels or {}
    metadata["finalizers"] = list(finalizers)
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": owner, "kind": kind, "name": "c1", "uid": "x"}]
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "IBMPowerVSCluster",
        "metadata": metadata,
        "spec": {},
    }


def cluster(paused: bool | None = None, port: int | None = None) -> FoundCluster:
    spec: dict[str, Any] = {}
    if paused is not None:
        spec["paused"] = paused
    if port:
        spec["clusterNetwork"] = {"apiServerPort": port}
    return FoundCluster({"metadata": {"name": "c1"}, "spec": spec})


V2 = "cluster.x-k8s.io/v1beta2"
AUTO, REQUIRED, OFF = ClusterApiMode.AUTO, ClusterApiMode.REQUIRED, ClusterApiMode.OFF
FORBIDDEN = UnreadableCluster("403 on clusters")
PAUSED = {names.PAUSED_ANNOTATION: ""}
MOVED = {names.DELETE_FOR_MOVE_ANNOTATION: ""}
LABEL = {names.CLUSTER_NAME_LABEL: "c1"}

ROWS: dict[str, tuple[dict[str, Any], ClusterContext, type[GateDecision]]] = {
    "C15 owner of v1beta2 found": (obj(owner=V2), ClusterContext(AUTO, owner=cluster()), Proceed),
    "C15 any version of the owner": (
        obj(owner="cluster.x-k8s.io/v1beta1"),
        ClusterContext(REQUIRED, owner=cluster()),
        Proceed,
    ),
    "C15 a Cluster of another group is not an owner": (
        obj(owner="example.com/v1"),
        ClusterContext(REQUIRED, owner=cluster()),
        Hold,
    ),
    "C18 owner named but gone: hold, never standalone": (obj(owner=V2), ClusterContext(AUTO), Hold),
    "C18 label without owner: wait": (obj(labels=LABEL), ClusterContext(AUTO), Hold),
    "C18 a Cluster refers to it: wait": (obj(), ClusterContext(AUTO, referrer=cluster()), Hold),
    "C18 no Cluster API installed: standalone": (obj(), ClusterContext(AUTO, Presence.ABSENT), Proceed),
    "C18 Cluster API installed, no opt-in: wait": (obj(), ClusterContext(AUTO, Presence.PRESENT), Hold),
    "C18 opted in": (
        obj(annotations={names.STANDALONE_ANNOTATION: "true"}),
        ClusterContext(AUTO, Presence.PRESENT),
        Proceed,
    ),
    "C18 opted out explicitly": (
        obj(annotations={names.STANDALONE_ANNOTATION: "false"}),
        ClusterContext(AUTO, Presence.PRESENT),
        Hold,
    ),
    "C19 owner unreadable: unknown is not absent": (obj(owner=V2), ClusterContext(AUTO, owner=FORBIDDEN), Hold),
    "C19 referrers unreadable": (obj(), ClusterContext(AUTO, referrer=FORBIDDEN), Hold),
    "C19 CRDs unreadable": (obj(), ClusterContext(AUTO, Presence.UNKNOWN), Hold),
    "C19 CRDs unreadable: hold even an object that was served alone, a Cluster may own it by now": (
        obj(annotations={names.JOURNAL_ANNOTATION: "{}", names.STANDALONE_ANNOTATION: "true"}),
        ClusterContext(AUTO, Presence.UNKNOWN),
        Hold,
    ),
    "C19 unreadable holds a delete too, it may be paused": (
        obj(owner=V2, deleting=True),
        ClusterContext(AUTO, owner=FORBIDDEN),
        Hold,
    ),
    "C20 served alone before Cluster API was installed: still served": (
        obj(annotations={names.JOURNAL_ANNOTATION: "{}"}),
        ClusterContext(AUTO, Presence.PRESENT),
        Proceed,
    ),
    "required: standalone never": (
        obj(annotations={names.STANDALONE_ANNOTATION: "true"}),
        ClusterContext(REQUIRED),
        Hold,
    ),
    "off: the label has no effect": (obj(labels=LABEL), ClusterContext(OFF), Proceed),
    "off: a missing owner has no effect": (obj(owner=V2), ClusterContext(OFF), Proceed),
    "C23 paused by annotation, empty value": (obj(annotations=PAUSED), ClusterContext(OFF), Pause),
    "C23 paused by annotation without any Cluster (CAPO's bug)": (
        obj(annotations=PAUSED),
        ClusterContext(AUTO, Presence.UNKNOWN),
        Pause,
    ),
    "C23 paused by the Cluster": (obj(owner=V2), ClusterContext(AUTO, owner=cluster(paused=True)), Pause),
    "C23 pause goes before delete": (
        obj(owner=V2, deleting=True),
        ClusterContext(AUTO, owner=cluster(paused=True)),
        Pause,
    ),
    "C25 paused: null is not paused": (obj(owner=V2), ClusterContext(AUTO, owner=cluster(paused=False)), Proceed),
    "off: the Cluster of the manifest pauses too": (obj(), ClusterContext(OFF, referrer=cluster(paused=True)), Pause),
    "C26 managed by something else": (
        obj(annotations={names.MANAGED_BY_ANNOTATION: "argo"}),
        ClusterContext(OFF),
        Skip,
    ),
    "C26 managed-by without a value is something else": (
        obj(annotations={names.MANAGED_BY_ANNOTATION: ""}),
        ClusterContext(OFF),
        Skip,
    ),
    "C26 managed by something else, deleting": (
        obj(annotations={names.MANAGED_BY_ANNOTATION: "argo"}, deleting=True),
        ClusterContext(OFF),
        Skip,
    ),
    "C26 managed by freehold is ours": (
        obj(annotations={names.MANAGED_BY_ANNOTATION: "freehold"}),
        ClusterContext(OFF),
        Proceed,
    ),
    "C21 ownerless and never touched: nothing to do on delete": (
        obj(deleting=True, finalizers=()),
        ClusterContext(REQUIRED),
        Skip,
    ),
    "C22 machines use it: they are deleted first": (
        obj(owner=V2, deleting=True),
        ClusterContext(AUTO, owner=cluster(), machines=(M1,)),
        WaitForMachines,
    ),
    "C22 standalone: only we can wait for them": (
        obj(deleting=True),
        ClusterContext(OFF, machines=(M1, M2)),
        WaitForMachines,
    ),
    "C22 machines that cannot be read may exist": (
        obj(deleting=True),
        ClusterContext(OFF, machines=UnreadableMachines("403")),
        WaitForMachines,
    ),
    "C22 pause goes before machines": (
        obj(deleting=True, annotations=PAUSED),
        ClusterContext(OFF, machines=(M1,)),
        Pause,
    ),
    "C22 a move does not wait for machines": (
        obj(deleting=True, annotations=MOVED),
        ClusterContext(OFF, machines=(M1,)),
        ReleaseForMove,
    ),
    "C21 ownerless with our finalizer: released, not stranded": (
        obj(deleting=True),
        ClusterContext(REQUIRED),
        Release,
    ),
    "delete with the Cluster gone": (obj(owner=V2, deleting=True), ClusterContext(AUTO), Release),
    "delete": (obj(owner=V2, deleting=True), ClusterContext(AUTO, owner=cluster()), Release),
    "C29 moved away: released": (obj(owner=V2, annotations=MOVED, deleting=True), ClusterContext(AUTO), ReleaseForMove),
    "C29 moved away while its Cluster is still paused": (
        obj(owner=V2, annotations=MOVED, deleting=True),
        ClusterContext(AUTO, owner=cluster(paused=True)),
        ReleaseForMove,
    ),
    "C29 moved away and Cluster unreadable": (
        obj(owner=V2, annotations=MOVED, deleting=True),
        ClusterContext(AUTO, owner=FORBIDDEN),
        ReleaseForMove,
    ),
    "C29 the annotation alone is not a move": (obj(annotations=MOVED), ClusterContext(OFF), Proceed),
}


def test_machines_of_several_kinds_are_named() -> None:
    pool = StandingMachine("BearPool", "p1")
    found = decide(obj(deleting=True), ClusterContext(OFF, machines=(M1, M2, pool)), POWERVS_CLUSTER)
    assert found == WaitForMachines("IBMPowerVSMachine m1, m2; BearPool p1 of this cluster must be deleted first")


@over_rows(("raw", "around", "expected"), ROWS.values(), ids=ROWS.keys())
def test_decision(raw: dict[str, Any], around: ClusterContext, expected: type[GateDecision]) -> None:
    assert isinstance(decide(raw, around, POWERVS_CLUSTER), expected)


def test_the_port_is_the_clusters() -> None:
    """The port of the API server is that of the Cluster; 6443 by default."""
    around = ClusterContext(AUTO, owner=cluster(port=8443))
    assert decide(obj(owner=V2), around, POWERVS_CLUSTER) == Proceed("c1", 8443, standalone=False)
    assert decide(obj(), ClusterContext(OFF), POWERVS_CLUSTER) == Proceed("c1", 6443, standalone=True)


def test_the_standalone_object_uses_the_port_of_the_manifests_cluster() -> None:
    """In the embedded API the Cluster is a placeholder that is not reconciled, but its port counts."""
    around = ClusterContext(OFF, referrer=cluster(port=8443))
    assert decide(obj(), around, POWERVS_CLUSTER) == Proceed("c1", 8443, standalone=True)


@pytest.mark.parametrize("raw", [obj(owner=V2), obj(deleting=True)], ids=["live", "deleting"])
def test_messages_of_pause_are_the_contracts(raw: dict[str, Any]) -> None:
    """docs/reference/capi-contract.md C24 fixes the texts."""
    raw["metadata"]["annotations"] = PAUSED
    decision = decide(raw, ClusterContext(AUTO, owner=cluster()), POWERVS_CLUSTER)
    assert isinstance(decision, Pause)
    assert decision.message.startswith("IBMPowerVSCluster has the cluster.x-k8s.io/paused annotation: ")
    assert "kubectl annotate ibmpowervscluster c1 -n ns cluster.x-k8s.io/paused- (" in decision.message


def test_the_pause_of_a_cluster_says_how_to_end_it() -> None:
    """As clusterctl does: the field is removed."""
    decision = decide(obj(owner=V2), ClusterContext(AUTO, owner=cluster(paused=True)), POWERVS_CLUSTER)
    assert isinstance(decision, Pause) and decision.message.startswith("Cluster spec.paused is set to true: ")
    command = 'kubectl patch clusters.cluster.x-k8s.io c1 -n ns --type=merge -p \'{"spec":{"paused":null}}\' ('
    assert command in decision.message


@pytest.mark.parametrize(
    "reference",
    [
        {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "IBMPowerVSCluster", "name": "c1"},
        {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "IBMPowerVSCluster", "name": "c1"},
    ],
    ids=["v1beta2 shape", "v1beta1 shape"],
)
def test_a_cluster_refers_in_either_shape(reference: dict[str, str]) -> None:
    """docs/reference/capi-contract.md C17: both served shapes of the Cluster must be read."""
    assert refers_to({"spec": {"infrastructureRef": reference}}, obj(), INFRASTRUCTURE)
    assert not refers_to({"spec": {"infrastructureRef": {**reference, "name": "other"}}}, obj(), INFRASTRUCTURE)
    assert not refers_to({}, obj(), INFRASTRUCTURE)
    other = {"apiVersion": "other.example.com/v1", "kind": "IBMPowerVSCluster", "name": "c1"}
    assert not refers_to({"spec": {"infrastructureRef": other}}, obj(), INFRASTRUCTURE), (
        "another group's kind of the same name"
    )


def test_its_machines_are_labelled_with_the_owners_name() -> None:
    """The owner decides, then the label, then its own name."""
    assert find_cluster_name(obj(), INFRASTRUCTURE) == "c1"
    assert find_cluster_name(obj(labels={names.CLUSTER_NAME_LABEL: "labelled"}), INFRASTRUCTURE) == "labelled"
    owned = obj(owner=V2, labels={names.CLUSTER_NAME_LABEL: "labelled"})
    owned["metadata"]["ownerReferences"][0]["name"] = "owner"
    assert find_cluster_name(owned, INFRASTRUCTURE) == "owner"


def test_no_owner_is_none() -> None:
    """An object without ownerReferences has no owner; nothing is guessed from labels."""
    assert owner_of(obj(labels=LABEL), INFRASTRUCTURE) is None
    assert isinstance(ClusterContext(AUTO).owner, NoCluster)


MACHINE = replace(POWERVS_CLUSTER, link=ClusterLink.MACHINE, machines=None)
CONTROL_PLANE = replace(POWERVS_CLUSTER, link=ClusterLink.CONTROL_PLANE, machines=None)
NONE = replace(POWERVS_CLUSTER, link=ClusterLink.NONE, machines=None)
OWNED_BY_MACHINE = obj(owner=V2, kind="Machine")

LINKS: dict[str, tuple[dict[str, Any], ServedName, ClusterContext, type[GateDecision]]] = {
    "C37 a Machine owns it": (OWNED_BY_MACHINE, MACHINE, ClusterContext(AUTO, owner=cluster()), Proceed),
    "C37 a Cluster is not an owner of a machine": (
        obj(owner=V2),
        MACHINE,
        ClusterContext(AUTO, Presence.PRESENT, owner=cluster()),
        Hold,
    ),
    "C37 its Machine, or the Cluster of that, is gone": (OWNED_BY_MACHINE, MACHINE, ClusterContext(AUTO), Hold),
    "C23 the Cluster of its Machine pauses": (
        OWNED_BY_MACHINE,
        MACHINE,
        ClusterContext(AUTO, owner=cluster(paused=True)),
        Pause,
    ),
    "a machine whose Machine is gone is released": (
        obj(owner=V2, kind="Machine", deleting=True),
        MACHINE,
        ClusterContext(AUTO),
        Release,
    ),
    "C19 a Machine that cannot be read holds a delete": (
        obj(owner=V2, kind="Machine", deleting=True),
        MACHINE,
        ClusterContext(AUTO, owner=FORBIDDEN),
        Hold,
    ),
    "C37 a control plane belongs to its Cluster": (
        obj(owner=V2),
        CONTROL_PLANE,
        ClusterContext(AUTO, owner=cluster()),
        Proceed,
    ),
    "C18 a Cluster names the control plane: wait for the owner": (
        obj(),
        CONTROL_PLANE,
        ClusterContext(AUTO, referrer=cluster()),
        Hold,
    ),
    "no link: neither mode nor Cluster has an effect": (
        obj(owner=V2, labels=LABEL),
        NONE,
        ClusterContext(REQUIRED, Presence.UNKNOWN),
        Proceed,
    ),
    "no link: released at once": (obj(deleting=True), NONE, ClusterContext(REQUIRED), Release),
    "no link: paused by its own annotation": (obj(annotations=PAUSED), NONE, ClusterContext(AUTO), Pause),
}


@over_rows(("raw", "served", "around", "expected"), LINKS.values(), ids=LINKS.keys())
def test_decision_by_link(
    raw: dict[str, Any], served: ServedName, around: ClusterContext, expected: type[GateDecision]
) -> None:
    assert isinstance(decide(raw, around, served), expected)


def test_what_is_missing_is_named() -> None:
    """The Machine may exist without its Cluster."""
    decision = decide(OWNED_BY_MACHINE, ClusterContext(AUTO, owner=NoCluster("Cluster 'prod'")), MACHINE)
    assert isinstance(decision, Hold)
    assert "names Machine 'c1', and Cluster 'prod' does not exist" in decision.message


def test_a_control_plane_is_named_in_a_field_of_its_own() -> None:
    """The Cluster's infrastructureRef may name an object of the same name and kind."""
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "IBMPowerVSCluster", "name": "c1"}
    assert refers_to({"spec": {"controlPlaneRef": reference}}, obj(), ClusterLink.CONTROL_PLANE)
    assert not refers_to({"spec": {"infrastructureRef": reference}}, obj(), ClusterLink.CONTROL_PLANE)
    assert not refers_to({"spec": {"machine": reference}}, obj(), ClusterLink.MACHINE)
