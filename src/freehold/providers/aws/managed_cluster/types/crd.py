"""``AWSManagedCluster`` and its template as kinds with a CRD."""

from __future__ import annotations

from freehold.api.names import CONTRACT_V1BETA1_LABEL, V1BETA2
from freehold.api.served_kind import CLUSTER_LABEL_PATH, Column, ServedKind, build_condition_path
from freehold.providers.aws.managed_cluster.kind import AWS_MANAGED_CLUSTER, AWS_MANAGED_CLUSTER_TEMPLATE
from freehold.providers.aws.managed_cluster.types.spec import AWSManagedCluster, AWSManagedClusterTemplate

_LABELS = {CONTRACT_V1BETA1_LABEL: V1BETA2}
_AGE = Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date")

AWS_MANAGED_CLUSTERS = ServedKind(
    name=AWS_MANAGED_CLUSTER,
    model=AWSManagedCluster,
    labels=_LABELS,
    short_names=("awsmc",),
    columns=(
        Column("Cluster", CLUSTER_LABEL_PATH, "The Cluster that the object belongs to"),
        Column("Ready", build_condition_path("Ready"), "Whether the control plane may be started"),
        Column("Reason", build_condition_path("Ready", "reason"), "Why it is ready, or why not"),
        _AGE,
        Column("Endpoint", ".spec.controlPlaneEndpoint.host", "Address of the API server", priority=1),
        Column("Paused", build_condition_path("Paused"), "Whether reconciliation is paused", priority=10),
    ),
)
AWS_MANAGED_CLUSTER_TEMPLATES = ServedKind(
    AWS_MANAGED_CLUSTER_TEMPLATE, AWSManagedClusterTemplate, (_AGE,), _LABELS, short_names=("awsmct",)
)
