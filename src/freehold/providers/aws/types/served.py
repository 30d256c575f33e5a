"""The kinds on AWS that Freehold serves, by name. Data only."""

from __future__ import annotations

from freehold.api import names
from freehold.api.served import ClusterLink, MachineName, ServedName
from freehold.providers.aws import api_names as aws_names
from freehold.providers.aws.types.fields import AWS_CLUSTER_FIELDS, AWS_CLUSTER_STATUS_LEFT_OUT

AWS_CLUSTER = ServedName(
    names.INFRASTRUCTURE_GROUP,
    names.V1BETA2,
    aws_names.AWS_CLUSTER_KIND,
    aws_names.AWS_CLUSTER_PLURAL,
    aws_names.AWS_CLUSTER_FINALIZER,
    machines=MachineName(aws_names.AWS_MACHINE_KIND, aws_names.AWS_MACHINE_PLURAL),
    fields=AWS_CLUSTER_FIELDS,
    once_in_account=True,
    collectable=True,
    left_out=AWS_CLUSTER_STATUS_LEFT_OUT,
    parts=aws_names.AWS_PART_CONDITIONS,
)


def _identity(kind: str, plural: str) -> ServedName:
    """Name a kind that AWSClusters refer to. Nothing is created for it, so it has no finalizer."""
    return ServedName(
        names.INFRASTRUCTURE_GROUP, names.V1BETA2, kind, plural, "", link=ClusterLink.NONE, namespaced=False
    )


AWS_STATIC_IDENTITY = _identity(aws_names.AWS_STATIC_IDENTITY_KIND, aws_names.AWS_STATIC_IDENTITY_PLURAL)
AWS_ROLE_IDENTITY = _identity(aws_names.AWS_ROLE_IDENTITY_KIND, aws_names.AWS_ROLE_IDENTITY_PLURAL)
AWS_CONTROLLER_IDENTITY = _identity(aws_names.AWS_CONTROLLER_IDENTITY_KIND, aws_names.AWS_CONTROLLER_IDENTITY_PLURAL)

AWS_METADATA = ServedName(
    aws_names.AWS_METADATA_GROUP, names.METADATA_VERSION, "AWSMetadata", "awsmetadatas", "", link=ClusterLink.NONE
)
"""It owns no resource: it has no finalizer, but for tags that are to go with it."""
