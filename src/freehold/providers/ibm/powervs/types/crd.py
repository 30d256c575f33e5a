"""``IBMPowerVSCluster`` as a kind with a CRD."""

from __future__ import annotations

from freehold.api.names import CONTRACT_V1BETA1_LABEL, V1BETA2
from freehold.api.served_kind import CLUSTER_LABEL_PATH, Column, ServedKind, build_condition_path
from freehold.providers.ibm.powervs.kind import POWERVS_CLUSTER
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSCluster

# Columns of docs/reference/capi-contract.md C4: those of upstream, the phase, Ready with its reason, Paused.
POWERVS_CLUSTERS = ServedKind(
    name=POWERVS_CLUSTER,
    model=IBMPowerVSCluster,
    labels={CONTRACT_V1BETA1_LABEL: V1BETA2},
    columns=(
        Column("Cluster", CLUSTER_LABEL_PATH, "The Cluster that the object belongs to"),
        Column("Phase", ".status.phase", "The state of the object in one word"),
        Column("Ready", build_condition_path("Ready"), "Whether the infrastructure is complete"),
        Column("Reason", build_condition_path("Ready", "reason"), "Why it is ready, or why not"),
        Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date"),
        Column("Instance ID", ".status.serviceInstance.id", "The PowerVS workspace", priority=1),
        Column("Endpoint", ".spec.controlPlaneEndpoint.host", "Address of the API server", priority=1),
        Column("Port", ".spec.controlPlaneEndpoint.port", "Port of the API server", type="integer", priority=1),
        Column("Paused", build_condition_path("Paused"), "Whether reconciliation is paused", priority=10),
    ),
)
