"""A stand-in for Cluster API's core and kubeadm's providers: owners, Machines, their bootstrap Secrets and nodes.

It does what a provider sees of them (docs/reference/capi-contract.md), in their order: the Cluster owns its
infrastructure; once that is ready the first control-plane Machine is made, once it has a node the others; a Machine has
an owner reference on its infrastructure machine, which is cloned from its template. A control plane of a provider gets
its owner reference when the infrastructure is ready, and the Machines are made when it says that it is initialized. A
Cluster's delete takes the Machines first, then the control plane, then the infrastructure. The node of a Machine comes
up as soon as its instance runs.
"""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from e2e_client import Http
from e2e_operator_lab import Json
from e2e_servers import PATIENCE

CORE, GROUP, VERSION = "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "v1beta2"
CONTROL_PLANES = f"controlplane.{CORE}"
PLURALS = {
    "AWSCluster": "awsclusters",
    "AWSManagedCluster": "awsmanagedclusters",
    "IBMPowerVSCluster": "ibmpowervsclusters",
}
MANAGED = "awsmanagedcontrolplanes"
CLUSTER_FINALIZER, MACHINE_FINALIZER = f"cluster.{CORE}", f"machine.{CORE}"
CLUSTER_LABEL, CONTROL_PLANE_LABEL = f"{CORE}/cluster-name", f"{CORE}/control-plane"
BOOTSTRAP = "#cloud-config\nwrite_files:\n- path: /run/kubeadm/canary\n  content: the-secret-canary\n"
"""The bootstrap data of every Machine."""
TICK = 0.25


@dataclass(frozen=True)
class MachineGroup:
    """The Machines of one KubeadmControlPlane or MachineDeployment."""

    name: str
    template: str
    replicas: int
    version: str
    control_plane: bool


class CoreStandIn:
    """Serves one Cluster of one namespace in a thread, over plain HTTP."""

    def __init__(self, http: Http, namespace: str, cluster: str) -> None:
        self._http, self._namespace, self._name = http, namespace, cluster
        self.failure: BaseException | None = None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        stopped = threading.Event()

        def run() -> None:
            try:
                while not stopped.wait(TICK):
                    self.step()
            except BaseException as failure:
                self.failure = failure

        thread = threading.Thread(target=run, name="cluster-api")
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join(PATIENCE)
        if self.failure is not None:
            raise self.failure

    def machines_with_nodes(self) -> list[Json]:
        """List the Machines of the namespace that have a node. Raises what the stand-in has failed with."""
        if self.failure is not None:
            raise self.failure
        return [each for each in self._list(CORE, "machines") if each.get("status", {}).get("nodeRef")]

    def step(self) -> None:
        """Do what is due now; each part of it may be repeated."""
        cluster = self._get(CORE, "clusters", self._name)
        if cluster is None:
            return
        reference = cluster["spec"]["infrastructureRef"]
        plural = PLURALS[reference["kind"]]
        infrastructure = self._get(GROUP, plural, reference["name"])
        if cluster["metadata"].get("deletionTimestamp"):
            self._delete_cluster(cluster, plural, infrastructure)
            return
        self._hold(CORE, "clusters", cluster, CLUSTER_FINALIZER)
        if infrastructure is None:
            return
        self._own(GROUP, plural, infrastructure, cluster)
        if not infrastructure.get("status", {}).get("ready"):
            return
        self._report_infrastructure(cluster, infrastructure)
        if (control_plane := self._find_control_plane(cluster)) is not None:
            self._serve_control_plane(cluster, control_plane)
        for group in self._groups(cluster):
            self._serve_group(cluster, group)

    # -- creation ---------------------------------------------------------------------------------------------

    def _find_control_plane(self, cluster: Json) -> Json | None:
        """Find the control plane of a provider that the Cluster names; None where kubeadm's makes it."""
        reference = cluster["spec"]["controlPlaneRef"]
        if reference["kind"] != "AWSManagedControlPlane":
            return None
        return self._get(CONTROL_PLANES, MANAGED, reference["name"])

    def _serve_control_plane(self, cluster: Json, control_plane: Json) -> None:
        self._own(CONTROL_PLANES, MANAGED, control_plane, cluster)
        if not control_plane.get("status", {}).get("initialization", {}).get("controlPlaneInitialized"):
            return
        if cluster.get("status", {}).get("initialization", {}).get("controlPlaneInitialized"):
            return
        done = {"initialization": {"controlPlaneInitialized": True, "infrastructureProvisioned": True}}
        endpoint = control_plane["spec"]["controlPlaneEndpoint"]
        status = {"controlPlaneReady": True, **done}
        self._patch(CORE, "clusters", self._name, {"spec": {"controlPlaneEndpoint": endpoint}, "status": status})

    def _list_groups(self, cluster: Json) -> tuple[list[Json], list[Json]]:
        """List the control plane of kubeadm's and the MachineDeployments of the Cluster."""
        control_plane = cluster["spec"]["controlPlaneRef"]["name"]
        of_kubeadm = self._list(CONTROL_PLANES, "kubeadmcontrolplanes")
        deployments = self._list(CORE, "machinedeployments")
        return (
            [each for each in of_kubeadm if each["metadata"]["name"] == control_plane],
            [each for each in deployments if each["spec"]["clusterName"] == self._name],
        )

    def _groups(self, cluster: Json) -> Iterator[MachineGroup]:
        control_planes, deployments = self._list_groups(cluster)
        for each in control_planes:
            spec = each["spec"]
            template = spec["machineTemplate"]["infrastructureRef"]["name"]
            yield MachineGroup(each["metadata"]["name"], template, spec["replicas"], spec["version"], True)
        for each in deployments:
            machine = each["spec"]["template"]["spec"]
            template = machine["infrastructureRef"]["name"]
            yield MachineGroup(each["metadata"]["name"], template, each["spec"]["replicas"], machine["version"], False)

    def _serve_group(self, cluster: Json, group: MachineGroup) -> None:
        initialized = cluster.get("status", {}).get("initialization", {}).get("controlPlaneInitialized")
        wanted = group.replicas if initialized else int(group.control_plane and group.replicas > 0)
        for index in range(wanted):
            name = f"{group.name}-{index}"
            machine = self._get(CORE, "machines", name) or self._make_machine(cluster, group, name)
            if machine["metadata"].get("deletionTimestamp"):
                self._delete_machine(machine)
            else:
                self._serve_machine(cluster, group, machine)

    def _make_machine(self, cluster: Json, group: MachineGroup, name: str) -> Json:
        labels = {CLUSTER_LABEL: self._name} | ({CONTROL_PLANE_LABEL: ""} if group.control_plane else {})
        reference = {"apiGroup": GROUP, "kind": "AWSMachine", "name": name}
        spec = {"clusterName": self._name, "version": group.version, "infrastructureRef": reference, "bootstrap": {}}
        machine: Json = {"metadata": {"name": name, "labels": labels, "finalizers": [MACHINE_FINALIZER]}, "spec": spec}
        return self._create(CORE, "machines", "Machine", machine)

    def _serve_machine(self, cluster: Json, group: MachineGroup, machine: Json) -> None:
        name = machine["metadata"]["name"]
        found = self._get(GROUP, "awsmachines", name)
        if found is None:
            found = self._clone(group, machine)
        if not machine["spec"]["bootstrap"].get("dataSecretName"):
            self._give_bootstrap_data(name)
        provider_id = found.get("spec", {}).get("providerID")
        provisioned = found.get("status", {}).get("initialization", {}).get("provisioned")
        if provider_id and provisioned and not machine.get("status", {}).get("nodeRef"):
            status = {"nodeRef": {"name": name}, "phase": "Running"}
            self._patch(CORE, "machines", name, {"spec": {"providerID": provider_id}, "status": status})
            if group.control_plane:
                done = {"initialization": {"controlPlaneInitialized": True, "infrastructureProvisioned": True}}
                self._patch(CORE, "clusters", self._name, {"status": {"controlPlaneReady": True, **done}})

    def _clone(self, group: MachineGroup, machine: Json) -> Json:
        """Clone the infrastructure machine from its template, with the Machine as its controller."""
        template = self._get(GROUP, "awsmachinetemplates", group.template)
        assert template is not None, f"there is no AWSMachineTemplate {group.template}"
        metadata = {
            "name": machine["metadata"]["name"],
            "labels": machine["metadata"]["labels"],
            "annotations": {
                f"{CORE}/cloned-from-name": group.template,
                f"{CORE}/cloned-from-groupkind": f"AWSMachineTemplate.{GROUP}",
            },
            "ownerReferences": [_reference(machine, "Machine")],
        }
        spec = template["spec"]["template"]["spec"]
        return self._create(GROUP, "awsmachines", "AWSMachine", {"metadata": metadata, "spec": spec})

    def _give_bootstrap_data(self, name: str) -> None:
        value = base64.b64encode(BOOTSTRAP.encode()).decode()
        metadata = {"name": name, "labels": {CLUSTER_LABEL: self._name}}
        secret = {"metadata": metadata, "type": f"{CORE}/secret", "data": {"value": value}}
        path = f"/api/v1/namespaces/{self._namespace}/secrets"
        answer = self._http.post(path, {"apiVersion": "v1", "kind": "Secret", **secret})
        assert answer.status_code in (201, 409), answer.text
        self._patch(CORE, "machines", name, {"spec": {"bootstrap": {"dataSecretName": name}}})

    def _report_infrastructure(self, cluster: Json, infrastructure: Json) -> None:
        if cluster.get("status", {}).get("initialization", {}).get("infrastructureProvisioned"):
            return
        status = {"infrastructureReady": True, "initialization": {"infrastructureProvisioned": True}}
        endpoint = infrastructure["spec"].get("controlPlaneEndpoint")
        spec = {"controlPlaneEndpoint": endpoint} if endpoint else {}
        self._patch(CORE, "clusters", self._name, {"spec": spec, "status": status})

    # -- deletion ---------------------------------------------------------------------------------------------

    def _delete_cluster(self, cluster: Json, plural: str, infrastructure: Json | None) -> None:
        control_planes, deployments = self._list_groups(cluster)
        for each in control_planes:
            self._delete(CONTROL_PLANES, "kubeadmcontrolplanes", each["metadata"]["name"])
        for each in deployments:
            self._delete(CORE, "machinedeployments", each["metadata"]["name"])
        machines = [each for each in self._list(CORE, "machines") if each["spec"]["clusterName"] == self._name]
        for each in machines:
            self._delete(CORE, "machines", each["metadata"]["name"])
            self._delete_machine(each)
        if machines:
            return
        if (control_plane := self._find_control_plane(cluster)) is not None:
            self._delete(CONTROL_PLANES, MANAGED, control_plane["metadata"]["name"])
            return
        if infrastructure is not None:
            self._delete(GROUP, plural, infrastructure["metadata"]["name"])
            return
        self._patch(CORE, "clusters", self._name, {"metadata": {"finalizers": None}})

    def _delete_machine(self, machine: Json) -> None:
        name = machine["metadata"]["name"]
        if self._get(GROUP, "awsmachines", name) is not None:
            self._delete(GROUP, "awsmachines", name)
            return
        self._http.delete(f"/api/v1/namespaces/{self._namespace}/secrets/{name}")
        self._patch(CORE, "machines", name, {"metadata": {"finalizers": None}})

    # -- requests ---------------------------------------------------------------------------------------------

    def _path(self, group: str, plural: str, name: str = "") -> str:
        base = f"/apis/{group}/{VERSION}/namespaces/{self._namespace}/{plural}"
        return f"{base}/{name}" if name else base

    def _get(self, group: str, plural: str, name: str) -> Json | None:
        answer = self._http.get(self._path(group, plural, name))
        if answer.status_code == 404:
            return None
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def _list(self, group: str, plural: str) -> list[Json]:
        """List the objects of a kind; none where it is not installed."""
        answer = self._http.get(self._path(group, plural))
        if answer.status_code == 404:
            return []
        assert answer.status_code == 200, answer.text
        found: list[Json] = answer.json()["items"]
        return found

    def _create(self, group: str, plural: str, kind: str, body: Json) -> Json:
        answer = self._http.post(self._path(group, plural), {"apiVersion": f"{group}/{VERSION}", "kind": kind, **body})
        assert answer.status_code == 201, answer.text
        found: Json = answer.json()
        return found

    def _patch(self, group: str, plural: str, name: str, body: Json) -> None:
        answer = self._http.merge(self._path(group, plural, name), body)
        assert answer.status_code in (200, 404), answer.text

    def _delete(self, group: str, plural: str, name: str) -> None:
        answer = self._http.delete(self._path(group, plural, name))
        assert answer.status_code in (200, 202, 404), answer.text

    def _hold(self, group: str, plural: str, obj: Json, finalizer: str) -> None:
        if finalizer not in obj["metadata"].get("finalizers", ()):
            self._patch(group, plural, obj["metadata"]["name"], {"metadata": {"finalizers": [finalizer]}})

    def _own(self, group: str, plural: str, obj: Json, cluster: Json) -> None:
        if not obj["metadata"].get("ownerReferences"):
            metadata = {"ownerReferences": [_reference(cluster, "Cluster")], "labels": {CLUSTER_LABEL: self._name}}
            self._patch(group, plural, obj["metadata"]["name"], {"metadata": metadata})


def _reference(owner: Json, kind: str) -> Json:
    return {
        "apiVersion": owner["apiVersion"], "kind": kind, "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip


def fill_in(template: Path, values: Mapping[str, str]) -> str:
    """Fill in a template of upstream's; nothing else of it is changed."""
    text = template.read_text()
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", value)
    items = [each for each in yaml.safe_load_all(text) if each]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
