"""``AWSManagedCluster`` v1beta2 and its template: fields, defaults and schema of upstream's."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from freehold.api.base import ApiModel, Int64, Items
from freehold.api.endpoint import APIEndpoint
from freehold.api.status import Condition, Initialization
from freehold.providers.aws.cluster.types.status import FailureDomain


class AWSManagedClusterSpec(ApiModel):
    """The desired state: nothing that a person has to say."""

    control_plane_endpoint: APIEndpoint | None = None
    """The endpoint of the API server: that of the control plane, once it has one."""


class AWSManagedClusterStatus(ApiModel):
    """The observed state."""

    ready: bool | None = None
    """True at once: the network is the control plane's, which Cluster API starts only then."""
    phase: str | None = None
    """``Ready``, ``Paused`` or ``Progressing``: the conditions in one word, for people."""
    initialization: Initialization | None = None
    """The same for Cluster API's v1beta2 contract."""
    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """The generation of the spec that was last reconciled."""
    failure_domains: dict[str, FailureDomain] = Field(default_factory=dict)
    """The zones of the control plane."""
    conditions: Items[Condition] = ()
    """Conditions."""


class AWSManagedCluster(ApiModel):
    """The infrastructure of an EKS cluster for Cluster API: it shows what its AWSManagedControlPlane has."""

    spec: AWSManagedClusterSpec | None = None
    """The desired state."""
    status: AWSManagedClusterStatus | None = None
    """The observed state."""


class AWSManagedClusterTemplateResource(ApiModel):
    """What the infrastructure of an EKS cluster is made of."""

    spec: AWSManagedClusterSpec
    """Its spec."""


class AWSManagedClusterTemplateSpec(ApiModel):
    """The template."""

    template: AWSManagedClusterTemplateResource
    """What the infrastructure of an EKS cluster is made of."""


class AWSManagedClusterTemplate(ApiModel):
    """What a ClusterClass makes the infrastructure of EKS clusters of."""

    spec: AWSManagedClusterTemplateSpec | None = None
    """The template."""
