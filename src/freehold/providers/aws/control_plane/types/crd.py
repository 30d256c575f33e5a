"""``AWSManagedControlPlane`` and its template as kinds with a CRD."""

from __future__ import annotations

from freehold.api.names import CONTRACT_V1BETA1_LABEL, V1BETA2
from freehold.api.served_kind import CLUSTER_LABEL_PATH, Column, ServedKind, build_condition_path
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE, AWS_MANAGED_CONTROL_PLANE_TEMPLATE
from freehold.providers.aws.control_plane.types.spec import AWSManagedControlPlane
from freehold.providers.aws.control_plane.types.templates import AWSManagedControlPlaneTemplate

_LABELS = {CONTRACT_V1BETA1_LABEL: V1BETA2}
_AGE = Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date")

AWS_MANAGED_CONTROL_PLANES = ServedKind(
    name=AWS_MANAGED_CONTROL_PLANE,
    model=AWSManagedControlPlane,
    labels=_LABELS,
    short_names=("awsmcp",),
    columns=(
        Column("Cluster", CLUSTER_LABEL_PATH, "The Cluster that the object belongs to"),
        Column("Phase", ".status.phase", "The state of the object in one word"),
        Column("Ready", build_condition_path("Ready"), "Whether the control plane is complete"),
        Column("Reason", build_condition_path("Ready", "reason"), "Why it is ready, or why not"),
        Column("Version", ".status.version", "The Kubernetes version that the cluster has"),
        Column("VPC", '.status.resources[?(@.kind=="vpc")].id', "The VPC that the cluster is in"),
        _AGE,
        Column("Endpoint", ".spec.controlPlaneEndpoint.host", "Address of the API server", priority=1),
        Column("Bastion IP", ".status.bastion.publicIp", "Public address of the bastion", priority=1),
        Column("Paused", build_condition_path("Paused"), "Whether reconciliation is paused", priority=10),
    ),
)
AWS_MANAGED_CONTROL_PLANE_TEMPLATES = ServedKind(
    AWS_MANAGED_CONTROL_PLANE_TEMPLATE, AWSManagedControlPlaneTemplate, (_AGE,), _LABELS, short_names=("awmcpt",)
)
