"""The names of the kinds on AWS that objects of other kinds refer to, and of the tags. Data only."""

from __future__ import annotations

from freehold.api import names
from freehold.api.served import ClusterLink, ServedName
from freehold.providers.aws import api_names as aws_names


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
