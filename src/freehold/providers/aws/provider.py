"""AWS as a provider. Imports no SDK and no types: commands that need neither start faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freehold.api.names import BOOTSTRAP_GROUP, CONTROL_PLANE_GROUP, INFRASTRUCTURE_GROUP, V1BETA2
from freehold.api.placeholders import Placeholder
from freehold.providers.aws.access import access_of, has_credentials, other_clients
from freehold.providers.aws.cluster.kind import CLUSTER
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE_TEMPLATE, CONTROL_PLANE
from freehold.providers.aws.machine.kind import AWS_CLUSTER_TEMPLATE, AWS_MACHINE_TEMPLATE, MACHINE
from freehold.providers.aws.managed_cluster.kind import AWS_MANAGED_CLUSTER_TEMPLATE, MANAGED_CLUSTER
from freehold.providers.aws.types.served import (
    AWS_CONTROLLER_IDENTITY,
    AWS_METADATA,
    AWS_ROLE_IDENTITY,
    AWS_STATIC_IDENTITY,
)
from freehold.providers.base import Provider, TagKind

if TYPE_CHECKING:
    from freehold.api.base import ApiModel
    from freehold.api.served_kind import ServedKind
    from freehold.tags.policy.dialect import TagDialect

PLACEHOLDERS = (
    Placeholder(INFRASTRUCTURE_GROUP, V1BETA2, "AWSMachinePool", "awsmachinepools"),
    Placeholder(INFRASTRUCTURE_GROUP, V1BETA2, "AWSManagedMachinePool", "awsmanagedmachinepools"),
    Placeholder(INFRASTRUCTURE_GROUP, V1BETA2, "AWSFargateProfile", "awsfargateprofiles"),
    Placeholder(BOOTSTRAP_GROUP, V1BETA2, "NodeadmConfig", "nodeadmconfigs"),
    Placeholder(BOOTSTRAP_GROUP, V1BETA2, "NodeadmConfigTemplate", "nodeadmconfigtemplates"),
    Placeholder(BOOTSTRAP_GROUP, V1BETA2, "EKSConfig", "eksconfigs"),
    Placeholder(BOOTSTRAP_GROUP, V1BETA2, "EKSConfigTemplate", "eksconfigtemplates"),
    Placeholder(INFRASTRUCTURE_GROUP, V1BETA2, "ROSACluster", "rosaclusters"),
    Placeholder(INFRASTRUCTURE_GROUP, V1BETA2, "ROSAMachinePool", "rosamachinepools"),
    Placeholder(CONTROL_PLANE_GROUP, V1BETA2, "ROSAControlPlane", "rosacontrolplanes"),
)
"""Upstream's kinds for nodes and for other clusters than these."""


def _types() -> tuple[ServedKind, ...]:
    from freehold.providers.aws.control_plane.types.crd import AWS_MANAGED_CONTROL_PLANE_TEMPLATES
    from freehold.providers.aws.machine.types.crd import AWS_TEMPLATES
    from freehold.providers.aws.managed_cluster.types.crd import AWS_MANAGED_CLUSTER_TEMPLATES
    from freehold.providers.aws.types.kinds import AWS_IDENTITIES, AWS_TAGS

    templates = (*AWS_TEMPLATES, AWS_MANAGED_CONTROL_PLANE_TEMPLATES, AWS_MANAGED_CLUSTER_TEMPLATES)
    return (*AWS_IDENTITIES, *templates, AWS_TAGS)


def _tag_spec() -> type[ApiModel]:
    from freehold.providers.aws.types.metadata import AWSMetadataSpec

    return AWSMetadataSpec


def _tag_dialect() -> TagDialect:
    from freehold.providers.aws.tags import dialect

    return dialect.AWS


AWS = Provider(
    name="aws",
    title="AWS",
    objects=(CLUSTER, MACHINE, CONTROL_PLANE),
    mirrors=(MANAGED_CLUSTER,),
    referred=(AWS_STATIC_IDENTITY, AWS_ROLE_IDENTITY, AWS_CONTROLLER_IDENTITY),
    searched=(AWS_ROLE_IDENTITY,),
    templates=(
        AWS_MACHINE_TEMPLATE,
        AWS_CLUSTER_TEMPLATE,
        AWS_MANAGED_CONTROL_PLANE_TEMPLATE,
        AWS_MANAGED_CLUSTER_TEMPLATE,
    ),
    tags=TagKind(AWS_METADATA, _tag_spec, _tag_dialect),
    access=access_of,
    has_credentials=has_credentials,
    variable="AWS_PROFILE",
    how="AWS_PROFILE to your profile of AWS",
    without=(
        "no credentials for AWS in variables or files: only an object's identity can give them, or outside of a "
        "cluster the machine's role"
    ),
    types=_types,
    placeholders=PLACEHOLDERS,
    upstream="infrastructure-aws",
    identity_secrets=True,
    example="examples/aws-cluster.yaml",
    other_clients=other_clients,
)
