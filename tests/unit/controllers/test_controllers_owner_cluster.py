"""Cluster and Machines of an object: if the API server does not answer, they are unknown, never absent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.api import names
from freehold.api.served import ClusterLink, ParentName, ServedName
from freehold.controllers.owner_cluster import OwnerClusterReader, build_cluster_mapper, map_machine, map_parent
from freehold.controllers.watches import build_watches
from freehold.kube.errors import Forbidden, KubeError, ObjectNotFound, ServerUnavailable
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.ibm import api_names as ibm_names
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.objects import gate

REFUSED = (Forbidden("RBAC"), ServerUnavailable("no connection"))
GONE = ObjectNotFound("not there")
OBJECT: Json = {
    "apiVersion": f"{names.INFRASTRUCTURE_GROUP}/v1beta2",
    "kind": ibm_names.POWERVS_CLUSTER_KIND,
    "metadata": {"name": "c1", "namespace": "ns"},
}
OWNER = {"apiVersion": f"{names.CLUSTER_API_GROUP}/v1beta2", "kind": "Cluster", "name": "owner", "uid": "u"}
OWNED = {**OBJECT, "metadata": {**OBJECT["metadata"], "ownerReferences": [OWNER]}}
REFERRER = {
    "metadata": {"name": "referrer", "namespace": "ns"},
    "spec": {
        "infrastructureRef": {
            "apiGroup": names.INFRASTRUCTURE_GROUP,
            "kind": ibm_names.POWERVS_CLUSTER_KIND,
            "name": "c1",
        }
    },
}


def standing(*named: str) -> tuple[gate.StandingMachine, ...]:
    return tuple(gate.StandingMachine("IBMPowerVSMachine", name) for name in named)


def machine(name: str, cluster: str) -> Json:
    return {"metadata": {"name": name, "labels": {names.CLUSTER_NAME_LABEL: cluster}}}


class Server:
    """Answers by plural; an error is raised. Lists are narrowed by label as an API server does."""

    def __init__(self, **answers: Any) -> None:
        self._answers = {"customresourcedefinitions": {"metadata": {}}, "clusters": GONE, "ibmpowervsmachines": []}
        self._answers |= answers

    async def get(self, resource: Resource, key: Key) -> Json:
        return self._answer(resource)

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        found = self._answer(resource)
        name, _, value = label_selector.partition("=")
        return ObjectList([o for o in found if not name or o["metadata"]["labels"].get(name) == value], "1")

    def _answer(self, resource: Resource) -> Any:
        found = self._answers[resource.plural]
        if isinstance(found, KubeError):
            raise found
        return found


async def around(
    raw: Json,
    mode: gate.ClusterApiMode = gate.ClusterApiMode.AUTO,
    served: ServedName = POWERVS_CLUSTER,
    **answers: Any,
) -> gate.ClusterContext:
    client: Any = Server(**answers)  # all of a client that is used
    return await OwnerClusterReader(client, mode, served).read_context(raw)


@pytest.mark.parametrize("error", REFUSED, ids=lambda error: type(error).__name__)
async def test_an_api_server_that_does_not_answer_does_not_count_as_one_without_cluster_api(error: KubeError) -> None:
    """Otherwise an object of a Cluster would be served without it, although it may be paused."""
    found = await around(OBJECT, customresourcedefinitions=error, clusters=[])
    assert found.crds is gate.Presence.UNKNOWN
    assert (await around(OBJECT, customresourcedefinitions=GONE)).crds is gate.Presence.ABSENT
    assert (await around(OBJECT, clusters=[])).crds is gate.Presence.PRESENT


@pytest.mark.parametrize("error", REFUSED, ids=lambda error: type(error).__name__)
async def test_a_cluster_that_cannot_be_read_is_not_absent(error: KubeError) -> None:
    """It may be paused."""
    assert isinstance((await around(OWNED, clusters=error)).owner, gate.UnreadableCluster)
    assert isinstance((await around(OWNED, clusters=GONE)).owner, gate.NoCluster)


@pytest.mark.parametrize("error", REFUSED, ids=lambda error: type(error).__name__)
async def test_clusters_that_cannot_be_listed_may_refer_to_it(error: KubeError) -> None:
    assert isinstance((await around(OBJECT, clusters=error)).referrer, gate.UnreadableCluster)
    assert isinstance((await around(OBJECT, clusters=[])).referrer, gate.NoCluster)
    assert (await around(OBJECT, clusters=[REFERRER])).referrer == gate.FoundCluster(REFERRER)


@pytest.mark.parametrize("error", REFUSED, ids=lambda error: type(error).__name__)
async def test_machines_that_cannot_be_listed_may_be_there(error: KubeError) -> None:
    """Deleting their network would break them."""
    leaving = {**OBJECT, "metadata": {**OBJECT["metadata"], "deletionTimestamp": "now"}}
    found = await around(leaving, gate.ClusterApiMode.OFF, ibmpowervsmachines=error)
    assert isinstance(found.machines, gate.UnreadableMachines)
    assert (await around(leaving, gate.ClusterApiMode.OFF, ibmpowervsmachines=GONE)).machines == ()


async def test_the_machines_of_its_own_cluster_are_named_when_it_is_deleted() -> None:
    """Machines of other clusters do not hold the delete; without a delete they are not read."""
    machines = [machine("m2", "c1"), machine("m1", "c1"), machine("other", "c2")]
    leaving = {**OBJECT, "metadata": {**OBJECT["metadata"], "deletionTimestamp": "now"}}
    assert (await around(leaving, gate.ClusterApiMode.OFF, ibmpowervsmachines=machines)).machines == standing(
        "m1", "m2"
    )
    assert (await around(OBJECT, gate.ClusterApiMode.OFF, ibmpowervsmachines=machines)).machines == ()
    owned = {**OWNED, "metadata": {**OWNED["metadata"], "deletionTimestamp": "now"}}
    theirs = [machine("m1", "owner")]
    assert (await around(owned, ibmpowervsmachines=theirs)).machines == standing("m1")


def test_a_change_of_a_cluster_concerns_the_object_that_it_refers_to() -> None:
    """Only if the reference is of our kind: an object of another provider may have the same name."""
    concerned = build_cluster_mapper(POWERVS_CLUSTER, list)
    assert list(concerned(REFERRER)) == [Key("ns", "c1")]
    reference = {**REFERRER["spec"]["infrastructureRef"], "kind": "AWSCluster"}
    assert list(concerned({**REFERRER, "spec": {"infrastructureRef": reference}})) == []
    assert list(concerned({"metadata": {}, "spec": {}})) == []
    control_plane = build_cluster_mapper(replace(POWERVS_CLUSTER, link=ClusterLink.CONTROL_PLANE), list)
    assert list(control_plane(REFERRER)) == []


def test_a_change_of_a_cluster_concerns_all_its_machines() -> None:
    """A pause or its end must reach each of them."""

    def known(name: str, namespace: str, cluster: str) -> Json:
        labels = {names.CLUSTER_NAME_LABEL: cluster}
        return {"metadata": {"name": name, "namespace": namespace, "labels": labels}}

    objects = [known("m1", "ns", "referrer"), known("m2", "ns", "other"), known("m3", "elsewhere", "referrer")]
    assert list(build_cluster_mapper(MACHINE, lambda: objects)(REFERRER)) == [Key("ns", "m1")]


MACHINE = replace(POWERVS_CLUSTER, link=ClusterLink.MACHINE, machines=())
MADE = {**OBJECT, "metadata": {**OBJECT["metadata"], "ownerReferences": [{**OWNER, "kind": "Machine"}]}}


async def test_a_machine_belongs_to_the_cluster_that_its_machine_names() -> None:
    """A missing Machine or Cluster is named; one that cannot be read does not count as absent."""
    named = {"metadata": {"name": "owner"}, "spec": {"clusterName": "referrer"}}
    assert (await around(MADE, served=MACHINE, machines=named, clusters=REFERRER)).owner == gate.FoundCluster(REFERRER)
    assert (await around(MADE, served=MACHINE, machines=GONE)).owner == gate.NoCluster("Machine 'owner'")
    assert (await around(MADE, served=MACHINE, machines=named)).owner == gate.NoCluster("Cluster 'referrer'")
    for error in REFUSED:
        found = await around(MADE, served=MACHINE, machines=error)
        assert isinstance(found.owner, gate.UnreadableCluster)


async def test_an_object_without_a_cluster_reads_none() -> None:
    """CloudMetadata and similar kinds are served even if the API server does not let us read Clusters."""
    served = replace(POWERVS_CLUSTER, link=ClusterLink.NONE, machines=())
    refused = Forbidden("RBAC")
    leaving = {**OWNED, "metadata": {**OWNED["metadata"], "deletionTimestamp": "now"}}
    found = await around(leaving, served=served, customresourcedefinitions=refused, clusters=refused)
    assert found == gate.ClusterContext(gate.ClusterApiMode.AUTO)


MADE_OF = replace(
    MACHINE, parents=(ParentName(names.INFRASTRUCTURE_GROUP, names.V1BETA2, "AWSCluster", "awsclusters", ("region",)),)
)
NAMED = {"metadata": {"name": "owner"}, "spec": {"clusterName": "referrer"}}
STANDS_IN = {"apiGroup": names.INFRASTRUCTURE_GROUP, "kind": "AWSCluster", "name": "infra"}
PROVIDED = {"metadata": {"name": "referrer", "namespace": "ns"}, "spec": {"infrastructureRef": STANDS_IN}}
INFRA = {"metadata": {"name": "infra", "namespace": "ns"}}
LABELLED = {**OBJECT, "metadata": {**OBJECT["metadata"], "labels": {names.CLUSTER_NAME_LABEL: "infra"}}}


async def test_around_a_machine_are_its_machine_its_cluster_and_what_that_refers_to() -> None:
    found = await around(MADE, served=MADE_OF, machines=NAMED, clusters=PROVIDED, awsclusters=INFRA)
    assert found.around == gate.Around(NAMED, PROVIDED, INFRA)
    gone = await around(MADE, served=MADE_OF, machines=NAMED, clusters=PROVIDED, awsclusters=GONE)
    assert gone.around == gate.Around(NAMED, PROVIDED)
    for error in REFUSED:
        unread = await around(MADE, served=MADE_OF, machines=NAMED, clusters=PROVIDED, awsclusters=error)
        assert unread.around == gate.Around(NAMED, PROVIDED, unread=str(error))


async def test_what_a_cluster_refers_to_of_another_kind_is_not_read() -> None:
    other = {**PROVIDED, "spec": {"infrastructureRef": {**STANDS_IN, "kind": "OtherCluster"}}}
    assert (await around(MADE, served=MADE_OF, machines=NAMED, clusters=other)).around == gate.Around(NAMED, other)


async def test_a_machine_of_a_cluster_that_is_gone_is_put_into_none_by_its_label() -> None:
    """The label names the Cluster, and another one may have the name."""
    labelled = {**MADE, "metadata": {**MADE["metadata"], **LABELLED["metadata"]}}
    labelled["metadata"]["ownerReferences"] = MADE["metadata"]["ownerReferences"]
    found = await around(labelled, served=MADE_OF, machines=GONE, awsclusters=INFRA)
    assert found.around == gate.Around()


@pytest.mark.parametrize("mode", (gate.ClusterApiMode.AUTO, gate.ClusterApiMode.OFF))
async def test_the_label_of_a_machine_without_an_owner_names_what_it_is_part_of(mode: gate.ClusterApiMode) -> None:
    found = await around(LABELLED, mode, MADE_OF, customresourcedefinitions=GONE, awsclusters=INFRA)
    assert found.around == gate.Around(parent=INFRA)
    assert (await around(OBJECT, mode, MADE_OF, customresourcedefinitions=GONE)).around == gate.Around()


def test_what_changes_around_a_machine_wakes_it() -> None:
    """Its Machine by reference; a cluster of ours all machines with the label of its name, or of its Cluster's."""
    owner = {"metadata": {"name": "owner", "namespace": "ns"}, "spec": {"infrastructureRef": {"name": "m1"}}}
    ours = {**owner, "spec": {"infrastructureRef": {"kind": MADE_OF.kind, "name": "m1"}}}
    assert (list(map_machine(MADE_OF)(ours)), list(map_machine(MADE_OF)(owner))) == ([Key("ns", "m1")], [])

    def known(name: str, namespace: str, cluster: str) -> Json:
        return {"metadata": {"name": name, "namespace": namespace, "labels": {names.CLUSTER_NAME_LABEL: cluster}}}

    objects = [
        known("m1", "ns", "infra"),
        known("m2", "ns", "owner"),
        known("m3", "ns", "c"),
        known("m4", "b", "owner"),
    ]
    owned = {"metadata": {**INFRA["metadata"], "ownerReferences": [OWNER]}}
    assert list(map_parent(lambda: objects)(owned)) == [Key("ns", "m1"), Key("ns", "m2")]


@pytest.mark.parametrize(
    ("served", "mode", "watched"),
    [
        (POWERVS_CLUSTER, gate.ClusterApiMode.AUTO, ["clusters"]),
        (POWERVS_CLUSTER, gate.ClusterApiMode.OFF, []),
        (replace(POWERVS_CLUSTER, link=ClusterLink.NONE), gate.ClusterApiMode.AUTO, []),
        (MADE_OF, gate.ClusterApiMode.AUTO, ["clusters", "machines", "awsclusters"]),
        (MADE_OF, gate.ClusterApiMode.OFF, ["awsclusters"]),
    ],
)
def test_no_secret_is_watched(served: ServedName, mode: gate.ClusterApiMode, watched: list[str]) -> None:
    """That would read all Secrets of a cluster."""
    assert [each.resource.plural for each in build_watches(served, mode, list, "")] == watched


@pytest.mark.parametrize("mode", [gate.ClusterApiMode.AUTO, gate.ClusterApiMode.OFF])
async def test_beside_a_control_plane_is_the_infrastructure_that_its_cluster_names(mode: gate.ClusterApiMode) -> None:
    """Without Cluster API the Cluster of a manifest may be kept: what it names counts too."""
    control_plane = {
        "apiVersion": f"{AWS_MANAGED_CONTROL_PLANE.group}/v1beta2",
        "kind": AWS_MANAGED_CONTROL_PLANE.kind,
        "metadata": {"name": "cp", "namespace": "ns"},
    }
    infrastructure = {"kind": "AWSManagedCluster", "metadata": {"name": "infra"}}
    infra_ref = {"apiGroup": names.INFRASTRUCTURE_GROUP, "kind": "AWSManagedCluster", "name": "infra"}
    own_ref = {"apiGroup": AWS_MANAGED_CONTROL_PLANE.group, "kind": AWS_MANAGED_CONTROL_PLANE.kind, "name": "cp"}
    cluster = {"metadata": {"name": "c"}, "spec": {"infrastructureRef": infra_ref, "controlPlaneRef": own_ref}}
    answers = {"clusters": [cluster], "awsmanagedclusters": infrastructure, "awsmachines": []}
    found = await around(control_plane, mode, AWS_MANAGED_CONTROL_PLANE, **answers)
    assert found.around.infrastructure == infrastructure
    for unread in ("clusters", "awsmanagedclusters"):
        refused = await around(
            control_plane, gate.ClusterApiMode.OFF, AWS_MANAGED_CONTROL_PLANE, **answers | {unread: REFUSED[0]}
        )
        assert refused.around.unread == "RBAC"
