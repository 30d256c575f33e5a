"""A stand-in for Cluster API's core of a Cluster whose control plane EKS runs (:mod:`e2e_core_stand_in`).

The Cluster owns its infrastructure and its control plane; it says of each when that is there. Its Machines are made
once the control plane takes requests, as a bootstrap provider for EKS waits for that. A delete takes the Machines, then
the control plane, then the infrastructure.
"""

from __future__ import annotations

from e2e_core_stand_in import CLUSTER_FINALIZER, CORE, GROUP, CoreStandIn
from e2e_operator_lab import Json

PLANES = f"controlplane.{CORE}"
PLANE, INFRASTRUCTURE = "awsmanagedcontrolplanes", "awsmanagedclusters"


class EksStandIn(CoreStandIn):
    """Serves one such Cluster."""

    def step(self) -> None:
        cluster = self._get(CORE, "clusters", self._name)
        if cluster is None:
            return
        infrastructure = self._get(GROUP, INFRASTRUCTURE, cluster["spec"]["infrastructureRef"]["name"])
        plane = self._get(PLANES, PLANE, cluster["spec"]["controlPlaneRef"]["name"])
        if cluster["metadata"].get("deletionTimestamp"):
            self._take_down(infrastructure, plane)
            return
        self._hold(CORE, "clusters", cluster, CLUSTER_FINALIZER)
        if infrastructure is None or plane is None:
            return
        self._own(GROUP, INFRASTRUCTURE, infrastructure, cluster)
        self._own(PLANES, PLANE, plane, cluster)
        self._report(cluster, infrastructure, plane)
        for group in self._groups():
            self._serve_group(cluster, group)

    def _report(self, cluster: Json, infrastructure: Json, plane: Json) -> None:
        said = cluster.get("status", {}).get("initialization", {})
        initialization = {
            "infrastructureProvisioned": infrastructure.get("status", {}).get("ready") is True,
            "controlPlaneInitialized": plane.get("status", {}).get("initialized") is True,
        }
        if initialization == said:
            return
        ready = {"infrastructureReady": initialization["infrastructureProvisioned"]}
        ready["controlPlaneReady"] = initialization["controlPlaneInitialized"]
        status = {**ready, "initialization": initialization}
        endpoint = infrastructure.get("spec", {}).get("controlPlaneEndpoint")
        spec = {"controlPlaneEndpoint": endpoint} if endpoint else {}
        self._patch(CORE, "clusters", self._name, {"spec": spec, "status": status})

    def _take_down(self, infrastructure: Json | None, plane: Json | None) -> None:
        for each in self._list(CORE, "machinedeployments"):
            self._delete(CORE, "machinedeployments", each["metadata"]["name"])
        machines = self._list(CORE, "machines")
        for each in machines:
            self._delete(CORE, "machines", each["metadata"]["name"])
            self._delete_machine(each)
        if machines:
            return
        if plane is not None:
            self._delete(PLANES, PLANE, plane["metadata"]["name"])
        elif infrastructure is not None:
            self._delete(GROUP, INFRASTRUCTURE, infrastructure["metadata"]["name"])
        else:
            self._patch(CORE, "clusters", self._name, {"metadata": {"finalizers": None}})
