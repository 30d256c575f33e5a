"""The operator and Cluster API: which objects are served alone, which wait, and what wakes them again.

Cluster API's own controllers do not run here; the tests write what they would write.
"""

from __future__ import annotations

import json

import pytest
from e2e_operator_lab import CLUSTER_CRD, KIND, Json, Stage, Witness, capi_cluster, condition, crds_installed, manifests
from e2e_servers import PATIENTLY

from freehold.api import names
from freehold.api.placeholders import Placeholder
from freehold.providers.ibm import api_names as ibm_names

pytestmark = pytest.mark.e2e


def waits(obj: Json) -> bool:
    return bool(condition(obj, names.READY).get("reason") == names.REASON_WAITING_FOR_CLUSTER)


def is_paused(obj: Json) -> bool:
    return bool(condition(obj, names.PAUSED).get("status") == "True")


def is_to_leave_paused(obj: Json) -> bool:
    """A delete is a new generation, which the operator has observed without acting on it."""
    paused, metadata = condition(obj, names.PAUSED), obj["metadata"]
    return "deletionTimestamp" in metadata and is_paused(obj) and paused["observedGeneration"] == metadata["generation"]


def owned(stage: Stage, **spec: object) -> Json:
    """Create the Cluster and make it the owner, as Cluster API does once it has seen ``infrastructureRef``."""
    stage.kubectl.apply(capi_cluster(stage.name, stage.namespace, **spec))
    cluster = stage.kubectl.json("get", "clusters.v1beta2.cluster.x-k8s.io", stage.name)
    reference = {
        "apiVersion": cluster["apiVersion"], "kind": "Cluster", "name": stage.name, "uid": cluster["metadata"]["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    return {"metadata": {"ownerReferences": [reference], "labels": {names.CLUSTER_NAME_LABEL: stage.name}}}


def held_without_a_call(stage: Stage, witness: Witness, seen: int) -> str:
    """The message of an object on hold, during which nothing was changed in the cloud."""
    message = condition(witness.wait(waits, "it waits"), names.READY)["message"]
    assert stage.cloud.calls(seen)["mutating"] == 0
    assert stage.cloud.of(stage.name) == []
    return str(message)


def test_an_object_is_served_alone_without_cluster_api(no_cluster_api: None, stage: Stage) -> None:
    """If its label announces a Cluster, it waits until the label is removed (docs/reference/capi-contract.md C18)."""
    labelled = stage.powervs()
    labelled["metadata"]["labels"] = {names.CLUSTER_NAME_LABEL: stage.name}
    seen = stage.cloud.calls()["total"]
    with stage.witness() as witness, stage.operator("auto"):
        stage.kubectl.apply(labelled)
        assert names.CLUSTER_NAME_LABEL in held_without_a_call(stage, witness, seen)
        stage.kubectl.run("label", KIND, stage.name, f"{names.CLUSTER_NAME_LABEL}-")
        stage.await_ready()
        stage.delete()


def test_the_whole_example_with_its_other_kinds(no_cluster_api: None, upstream_kinds: None, stage: Stage) -> None:
    """Upstream's manifest, unmodified, standalone: every object is kept, ours is served.

    Cluster API's own CRDs take it only with the defaults of its webhooks (a MachineDeployment's selector).
    """
    items = manifests(stage.name, stage.namespace)
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    with stage.operator("off"):
        assert stage.kubectl.run("apply", "-f", "-", stdin=everything).count(" created") == len(items)
        stage.await_ready()
        header, row = stage.kubectl.run("get", KIND, stage.name).splitlines()
        assert row.split()[:4] == [stage.name, stage.name, "Ready", "True"], header
        stage.kubectl.run("delete", "-f", "-", PATIENTLY, stdin=everything)
        assert stage.cloud.of(stage.name) == []


@pytest.mark.parametrize(("mode", "hint"), [("auto", names.STANDALONE_ANNOTATION), ("required", "--cluster-api=auto")])
def test_an_infrastructure_that_is_created_before_its_cluster_waits_for_it(
    cluster_api: None, stage: Stage, mode: str, hint: str
) -> None:
    """With Cluster API installed, a missing owner is a normal first state (GitOps): wait until it is created.

    The endpoint's port is the Cluster's.
    """
    seen = stage.cloud.calls()["total"]
    with stage.witness() as witness, stage.operator(mode):
        stage.kubectl.apply(stage.powervs())
        assert hint in held_without_a_call(stage, witness, seen)
        stage.patch(owned(stage, clusterNetwork={"apiServerPort": 7443}))
        if mode == "auto":
            stage.await_ready()
            assert stage.object()["spec"]["controlPlaneEndpoint"]["port"] == 7443
        else:
            witness.wait(lambda obj: names.JOURNAL_ANNOTATION in obj["metadata"].get("annotations", {}), "it is served")
        stage.delete()


def test_an_owner_that_does_not_exist_holds(no_cluster_api: None, stage: Stage) -> None:
    """A Cluster that answers 404 is not the same as no Cluster: after a failed restore nothing may be created
    (docs/reference/capi-contract.md C18).

    Without the CRD, because a garbage collector that knows the kind would delete the object.
    """
    orphan = stage.powervs()
    orphan["metadata"]["ownerReferences"] = [
        {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "lost", "uid": "1-2-3"}
    ]
    seen = stage.cloud.calls()["total"]
    with stage.witness() as witness, stage.operator("auto"):
        stage.kubectl.apply(orphan)
        assert "'lost'" in held_without_a_call(stage, witness, seen)
        stage.delete()


def test_unpausing_the_cluster_wakes(cluster_api: None, stage: Stage) -> None:
    """No other event tells it; clusterctl removes the key (docs/reference/capi-contract.md C25)."""
    with stage.witness() as witness, stage.operator("auto"):
        stage.kubectl.apply(stage.powervs())
        stage.patch(owned(stage, paused=True))
        witness.wait(is_paused, "paused")
        seen = stage.cloud.calls()["total"]
        assert witness.quiet(0.5), "a paused object is left alone"
        assert stage.cloud.calls(seen)["mutating"] == 0
        stage.patch({"spec": {"paused": None}}, of="clusters.v1beta2.cluster.x-k8s.io")
        stage.await_ready()
        stage.patch({"spec": {"paused": True}}, of="clusters.v1beta2.cluster.x-k8s.io")
        witness.wait_from_now(is_paused, "paused again")
        stage.kubectl.run("delete", KIND, stage.name, "--wait=false")
        witness.wait_from_now(is_to_leave_paused, "to be deleted, and paused")
        seen = stage.cloud.calls()["total"]
        assert witness.quiet(0.5) and stage.cloud.calls(seen)["mutating"] == 0, "paused: not even a delete"
        stage.patch({"spec": {"paused": None}}, of="clusters.v1beta2.cluster.x-k8s.io")
        stage.gone()


def test_cluster_api_is_installed_later(no_cluster_api: None, stage: Stage) -> None:
    """An operator that was started before it watches Clusters, too, without a restart."""
    with (
        stage.witness() as witness,
        stage.operator("auto"),
        crds_installed(stage.server, [CLUSTER_CRD]),
    ):
        stage.kubectl.apply(stage.powervs())
        stage.patch(owned(stage, paused=True))
        witness.wait(is_paused, "paused")
        stage.patch({"spec": {"paused": None}}, of="clusters.v1beta2.cluster.x-k8s.io")
        stage.await_ready()
        stage.delete()
        stage.leave()


def test_a_delete_waits_for_machines_whoever_serves_them(no_cluster_api: None, stage: Stage) -> None:
    """Standalone nothing else orders it; an uninstalled kind has none (docs/reference/capi-contract.md C22)."""
    machine = {
        "apiVersion": f"{names.INFRASTRUCTURE_GROUP}/{names.V1BETA2}",
        "kind": ibm_names.POWERVS_MACHINE_KIND,
        "metadata": {
            "name": "worker-0",
            "namespace": stage.namespace,
            "labels": {names.CLUSTER_NAME_LABEL: stage.name},
        },
    }
    placeholder = Placeholder(
        names.INFRASTRUCTURE_GROUP, names.V1BETA2, ibm_names.POWERVS_MACHINE_KIND, ibm_names.POWERVS_MACHINE_PLURAL
    )
    with (
        stage.witness() as witness,
        stage.operator("off"),
        crds_installed(stage.server, [placeholder.build_crd()]),
    ):
        stage.kubectl.apply(stage.powervs())
        stage.await_ready()
        stage.kubectl.apply(machine)
        seen = stage.cloud.calls()["total"]
        stage.kubectl.run("delete", KIND, stage.name, "--wait=false")
        witness.wait_from_now(
            lambda obj: condition(obj, names.DELETING).get("reason") == names.REASON_WAITING_FOR_DEPENDENTS,
            "waits for its machine",
        )
        assert "worker-0" in condition(stage.object(), names.DELETING)["message"]
        assert stage.cloud.calls(seen)["mutating"] == 0
        stage.kubectl.run("delete", ibm_names.POWERVS_MACHINE_PLURAL, "worker-0")
        stage.gone()
