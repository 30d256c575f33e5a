"""AWSManagedCluster as a kind that mirrors another one. Imports no SDK and no types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.api import names
from freehold.api.served import ClusterLink, ServedName
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.base import BuildMirror, MirrorKind

if TYPE_CHECKING:
    from freehold.api.served_kind import ServedKind

AWS_MANAGED_CLUSTER = ServedName(
    names.INFRASTRUCTURE_GROUP,
    names.V1BETA2,
    aws_names.AWS_MANAGED_CLUSTER_KIND,
    aws_names.AWS_MANAGED_CLUSTER_PLURAL,
    "",
)
AWS_MANAGED_CLUSTER_TEMPLATE = ServedName(
    names.INFRASTRUCTURE_GROUP,
    names.V1BETA2,
    aws_names.AWS_MANAGED_CLUSTER_TEMPLATE_KIND,
    aws_names.AWS_MANAGED_CLUSTER_TEMPLATE_PLURAL,
    "",
    link=ClusterLink.NONE,
)


def _describe() -> ServedKind:
    from freehold.providers.aws.managed_cluster.types.crd import AWS_MANAGED_CLUSTERS

    return AWS_MANAGED_CLUSTERS


def _build() -> BuildMirror:
    from freehold.providers.aws.managed_cluster.status import build_mirror

    return build_mirror


MANAGED_CLUSTER = MirrorKind(AWS_MANAGED_CLUSTER, AWS_MANAGED_CONTROL_PLANE, _describe, _build)
