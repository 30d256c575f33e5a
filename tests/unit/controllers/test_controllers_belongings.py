"""What belongs to a control plane: machines of several kinds, and the infrastructure of its Cluster."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.owner_cluster import OwnerClusterReader
from freehold.controllers.watches import build_watches
from freehold.kube.errors import Forbidden, KubeError, ObjectNotFound, ServerUnavailable
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.aws.machine.kind import AWS_MACHINE
from freehold.providers.objects import gate
from freehold.providers.objects.gate import ClusterApiMode, StandingMachine

GONE = ObjectNotFound("gone")
REFUSED = (Forbidden("RBAC"), ServerUnavailable("503"))
LABEL = {names.CLUSTER_NAME_LABEL: "c1"}
OWNER = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c1", "uid": "u"}
MIRROR = {"metadata": {"name": "c1", "namespace": "ns", "ownerReferences": [OWNER]}}
CLUSTER = {
    "metadata": {"name": "c1", "namespace": "ns"},
    "spec": {
        "infrastructureRef": {"apiGroup": names.INFRASTRUCTURE_GROUP, "kind": "AWSManagedCluster", "name": "c1"},
        "controlPlaneRef": {
            "apiGroup": names.CONTROL_PLANE_GROUP,
            "kind": "AWSManagedControlPlane",
            "name": "c1-plane",
        },
    },
}


def plane(*, owned: bool = True, deleting: bool = False, name: str = "") -> Json:
    metadata: Json = {"name": name or ("c1-plane" if owned else "c1"), "namespace": "ns", "uid": "p"}
    metadata |= {"ownerReferences": [OWNER]} if owned else {}
    metadata |= {"deletionTimestamp": "now", "finalizers": [AWS_MANAGED_CONTROL_PLANE.finalizer]} if deleting else {}
    served = AWS_MANAGED_CONTROL_PLANE
    return {"apiVersion": f"{served.group}/{served.version}", "kind": served.kind, "metadata": metadata, "spec": {}}


def machine(name: str, cluster: str = "c1") -> Json:
    return {"metadata": {"name": name, "namespace": "ns", "labels": {names.CLUSTER_NAME_LABEL: cluster}}, "spec": {}}


class Server:
    """Answers by plural; an error is raised."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {
            "customresourcedefinitions": {"metadata": {}},
            "clusters": CLUSTER,
            "awsmanagedclusters": MIRROR,
        }
        self.answers |= answers

    async def get(self, resource: Resource, key: Key) -> Json:
        found: Json = self._answer(resource)
        return found

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        name, _, value = label_selector.partition("=")
        found = [] if resource.plural not in self.answers else self._answer(resource)
        if resource.plural == "clusters":
            return ObjectList([found], "1")
        return ObjectList([each for each in found if each["metadata"]["labels"].get(name) == value], "1")

    def _answer(self, resource: Resource) -> Any:
        found = self.answers.get(resource.plural, GONE)
        if isinstance(found, KubeError):
            raise found
        return found


async def read(raw: Json, mode: ClusterApiMode = ClusterApiMode.AUTO, **answers: Any) -> gate.ClusterContext:
    client: Any = Server(**answers)
    return await OwnerClusterReader(client, mode, AWS_MANAGED_CONTROL_PLANE).read_context(raw)


async def test_a_pass_of_a_control_plane_sees_its_machines_and_the_infrastructure_of_its_cluster() -> None:
    machines = [machine("m1"), machine("m2", "c2")]
    found = await read(plane(), awsmachines=machines)
    assert (found.around.machines, found.around.infrastructure) == ((machines[0],), MIRROR)
    decision = gate.decide(plane(), found, AWS_MANAGED_CONTROL_PLANE)
    assert isinstance(decision, gate.Proceed) and decision.around == found.around
    alone = await read(plane(owned=False), ClusterApiMode.OFF, awsmachines=machines)
    assert (alone.around.machines, alone.around.infrastructure) == ((machines[0],), None)
    laptop = await read(plane(owned=False, name="c1-plane"), ClusterApiMode.OFF)
    assert laptop.around.infrastructure == MIRROR, "a Cluster that is kept names it, and nobody sets owners"


@pytest.mark.parametrize("error", REFUSED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("unread", ("awsmachines", "awsmanagedclusters"))
@pytest.mark.parametrize("deleting", (False, True))
async def test_what_cannot_be_read_is_not_absent(unread: str, error: KubeError, *, deleting: bool) -> None:
    """Nodes would lose their access to the cluster, or what somebody asked to keep would be collected."""
    raw = plane(deleting=deleting)
    found = gate.decide(raw, await read(raw, **{unread: error}), AWS_MANAGED_CONTROL_PLANE)
    assert isinstance(found, gate.Hold | gate.WaitForMachines) and str(error) in found.message


async def test_a_delete_waits_for_machines_and_pools_of_the_kinds_that_are_installed() -> None:
    pools = [machine("p1"), machine("p2", "c2")]
    found = await read(
        plane(deleting=True), awsmachines=[machine("m1")], awsmanagedmachinepools=pools, awsmachinepools=GONE
    )
    assert found.machines == (StandingMachine("AWSMachine", "m1"), StandingMachine("AWSManagedMachinePool", "p1"))
    last = await read(plane(deleting=True), awsmachines=[], awsmachinepools=[machine("p3")])
    assert last.machines == (StandingMachine("AWSMachinePool", "p3"),)
    gone = await read(plane(deleting=True))
    assert gate.decide(plane(deleting=True), gone, AWS_MANAGED_CONTROL_PLANE) == gate.Release(gone.around)


def test_what_belongs_to_a_control_plane_wakes_it() -> None:
    elsewhere = plane()
    elsewhere["metadata"]["namespace"] = "other"
    known = [plane(), elsewhere, plane(owned=False)]
    known[2]["metadata"]["name"] = "c2"
    watches = build_watches(AWS_MANAGED_CONTROL_PLANE, ClusterApiMode.AUTO, lambda: known, "")
    concerned = {each.resource.plural: each.concerns for each in watches}
    assert list(concerned) == ["clusters", "awsmanagedclusters", "awsmachines"]
    assert list(concerned["awsmanagedclusters"](MIRROR)) == [Key("ns", "c1-plane")]
    assert list(concerned["awsmachines"](machine("m1"))) == [Key("ns", "c1-plane")]
    assert list(concerned["awsmachines"](machine("m2", "c2"))) == [Key("ns", "c2")]
    assert list(concerned["clusters"](CLUSTER)) == [Key("ns", "c1-plane")]


async def test_a_machine_is_part_of_the_control_plane_of_its_cluster() -> None:
    """That of an AWSManagedCluster: the infrastructure beside it has nothing of its own."""
    owner = {"metadata": {"name": "owner"}, "spec": {"clusterName": "c1"}}
    made = machine("m1")
    made["metadata"]["ownerReferences"] = [{**OWNER, "kind": "Machine", "name": "owner"}]
    client: Any = Server(machines=owner, awsmanagedcontrolplanes=plane(), awsclusters=MIRROR)
    found = await OwnerClusterReader(client, ClusterApiMode.AUTO, AWS_MACHINE).read_context(made)
    assert found.around == gate.Around(owner, CLUSTER, plane())


async def test_the_label_of_a_machine_alone_names_an_awscluster_before_a_control_plane() -> None:
    async def read_alone(**answers: Any) -> gate.Around:
        client: Any = Server(**answers)
        return (await OwnerClusterReader(client, ClusterApiMode.OFF, AWS_MACHINE).read_context(machine("m1"))).around

    both = {"awsclusters": MIRROR, "awsmanagedcontrolplanes": plane()}
    assert (await read_alone(**both)).parent == MIRROR
    assert (await read_alone(awsmanagedcontrolplanes=plane())).parent == plane()
    assert await read_alone() == gate.Around()
    unread = await read_alone(**{**both, "awsclusters": REFUSED[0]})
    assert (unread.parent, unread.unread) == (None, "RBAC")
