"""``AWSCluster``, the identities and ``AWSMetadata`` as kinds with a CRD."""

from __future__ import annotations

from freehold.api.metadata_kinds import provider_tags
from freehold.api.names import CONTRACT_V1BETA1_LABEL, MOVE_HIERARCHY_LABEL, V1BETA2
from freehold.api.served_kind import CLUSTER_LABEL_PATH, Column, ServedKind, condition_path
from freehold.providers.aws.types.cluster import AWSCluster
from freehold.providers.aws.types.identity import (
    AWSClusterControllerIdentity,
    AWSClusterRoleIdentity,
    AWSClusterStaticIdentity,
)
from freehold.providers.aws.types.metadata import AWSMetadata
from freehold.providers.aws.types.served import (
    AWS_CLUSTER,
    AWS_CONTROLLER_IDENTITY,
    AWS_METADATA,
    AWS_ROLE_IDENTITY,
    AWS_STATIC_IDENTITY,
)

_CONTRACT = {CONTRACT_V1BETA1_LABEL: V1BETA2}
_IDENTITY = {**_CONTRACT, MOVE_HIERARCHY_LABEL: ""}

AWS_CLUSTERS = ServedKind(
    name=AWS_CLUSTER,
    model=AWSCluster,
    labels=_CONTRACT,
    short_names=("awsc",),
    columns=(
        Column("Cluster", CLUSTER_LABEL_PATH, "The Cluster that the object belongs to"),
        Column("Phase", ".status.phase", "The state of the object in one word"),
        Column("Ready", condition_path("Ready"), "Whether the infrastructure is complete"),
        Column("Reason", condition_path("Ready", "reason"), "Why it is ready, or why not"),
        Column("VPC", '.status.resources[?(@.kind=="vpc")].id', "The VPC that the cluster is in"),
        Column("Age", ".metadata.creationTimestamp", "Time since the object was created", type="date"),
        Column("Endpoint", ".spec.controlPlaneEndpoint.host", "Address of the API server", priority=1),
        Column("Bastion IP", ".status.bastion.publicIp", "Public address of the bastion", priority=1),
        Column("Bastion IPv6", ".status.bastion.ipv6Address", "IPv6 address of the bastion", priority=1),
        Column("Paused", condition_path("Paused"), "Whether reconciliation is paused", priority=10),
    ),
)
AWS_IDENTITIES: tuple[ServedKind, ...] = (
    ServedKind(AWS_STATIC_IDENTITY, AWSClusterStaticIdentity, (), _IDENTITY, short_names=("awssi",)),
    ServedKind(AWS_ROLE_IDENTITY, AWSClusterRoleIdentity, (), _IDENTITY, short_names=("awsri",)),
    ServedKind(AWS_CONTROLLER_IDENTITY, AWSClusterControllerIdentity, (), _IDENTITY, short_names=("awsci",)),
)
AWS_KINDS: tuple[ServedKind, ...] = (AWS_CLUSTERS, *AWS_IDENTITIES)
"""The kinds that upstream's provider has, too."""
AWS_TAGS = provider_tags(AWS_METADATA, AWSMetadata)
