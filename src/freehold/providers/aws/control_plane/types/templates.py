"""``AWSManagedControlPlaneTemplate``: data that Cluster API makes control planes of. Nothing reconciles it.

The rules of the spec hold in it too, those about changes included, as upstream's webhook has it.
"""

from __future__ import annotations

from freehold.api.base import ApiModel
from freehold.providers.aws.control_plane.types.spec import AWSManagedControlPlaneSpec


class AWSManagedControlPlaneTemplateResource(ApiModel):
    """What a control plane is made of."""

    spec: AWSManagedControlPlaneSpec
    """The spec of the control plane."""


class AWSManagedControlPlaneTemplateSpec(ApiModel):
    """The template."""

    template: AWSManagedControlPlaneTemplateResource
    """What a control plane is made of."""


class AWSManagedControlPlaneTemplate(ApiModel):
    """What a ClusterClass makes the control planes of EKS clusters of."""

    spec: AWSManagedControlPlaneTemplateSpec | None = None
    """The template."""
