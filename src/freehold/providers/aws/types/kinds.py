"""The identities and ``AWSMetadata`` as kinds with a CRD."""

from __future__ import annotations

from freehold.api.metadata_kinds import provider_tags
from freehold.api.names import CONTRACT_V1BETA1_LABEL, MOVE_HIERARCHY_LABEL, V1BETA2
from freehold.api.served_kind import ServedKind
from freehold.providers.aws.types.identity import (
    AWSClusterControllerIdentity,
    AWSClusterRoleIdentity,
    AWSClusterStaticIdentity,
)
from freehold.providers.aws.types.metadata import AWSMetadata
from freehold.providers.aws.types.served import (
    AWS_CONTROLLER_IDENTITY,
    AWS_METADATA,
    AWS_ROLE_IDENTITY,
    AWS_STATIC_IDENTITY,
)

_IDENTITY = {CONTRACT_V1BETA1_LABEL: V1BETA2, MOVE_HIERARCHY_LABEL: ""}

AWS_IDENTITIES: tuple[ServedKind, ...] = (
    ServedKind(AWS_STATIC_IDENTITY, AWSClusterStaticIdentity, (), _IDENTITY, short_names=("awssi",)),
    ServedKind(AWS_ROLE_IDENTITY, AWSClusterRoleIdentity, (), _IDENTITY, short_names=("awsri",)),
    ServedKind(AWS_CONTROLLER_IDENTITY, AWSClusterControllerIdentity, (), _IDENTITY, short_names=("awsci",)),
)
AWS_TAGS = provider_tags(AWS_METADATA, AWSMetadata)
