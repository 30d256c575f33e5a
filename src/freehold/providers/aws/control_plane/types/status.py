"""``AWSManagedControlPlane`` v1beta2: the status.

Status is a cache and a report: nothing in it proves ownership, and all of it can be lost (ADR 2).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from freehold.api.base import ApiModel, Int64, Items, Timestamp
from freehold.api.status import Condition, Identity, ResourceSummary
from freehold.providers.aws.cluster.types.status import FailureDomain, Instance, NetworkStatus


class ControlPlaneInitialization(ApiModel):
    """The field that Cluster API's v1beta2 contract reads of a control plane."""

    control_plane_initialized: bool | None = None
    """True once the API server could be reached with the kubeconfig for the first time; never false again."""


class AddonIssue(ApiModel):
    """A problem of an addon, as EKS tells it."""

    code: str | None = None
    """Its code."""
    message: str | None = None
    """What is wrong."""
    resource_ids: Annotated[Items[str], Field(alias="resourceIds")] = ()
    """What it concerns."""


class AddonState(ApiModel):
    """An addon, as EKS tells it."""

    arn: str
    """Its ARN."""
    created_at: Timestamp | None = None
    """When it was created."""
    issues: Items[AddonIssue] = ()
    """Its problems."""
    modified_at: Timestamp | None = None
    """When it was changed."""
    name: str
    """Its name."""
    service_account_role_arn: Annotated[str | None, Field(alias="serviceAccountRoleARN")] = None
    """The role that it calls AWS with."""
    status: str | None = None
    """Its state, in EKS's words."""
    version: str
    """Its version."""


class OIDCProviderStatus(ApiModel):
    """The provider in IAM for the cluster's service accounts."""

    arn: str | None = None
    """Its ARN."""
    trust_policy: str | None = None
    """What a role's trust policy says so that a service account can assume it."""


class IdentityProviderStatus(ApiModel):
    """An identity provider of the cluster."""

    arn: str | None = None
    """Its ARN."""
    status: str | None = None
    """Its state."""


class AWSManagedControlPlaneStatus(ApiModel):
    """The observed state."""

    ready: bool = False
    """True while the API server can be reached: the cluster is active, or is being updated."""
    initialized: bool | None = None
    """True once the API server could be reached with the kubeconfig for the first time; never false again."""
    initialization: ControlPlaneInitialization | None = None
    """The same for Cluster API's v1beta2 contract."""
    external_managed_control_plane: bool = True
    """True: there are no machines of the control plane."""
    version: str | None = None
    """The Kubernetes version that the cluster has. Machines of a newer one wait for it."""
    phase: str | None = None
    """``Progressing``, ``Ready``, ``Blocked``, ``Paused`` or ``Deleting``: the conditions in one word, for people."""
    observed_generation: Int64 | None = None
    """The generation of the spec that was last reconciled."""
    addons: Items[AddonState] = ()
    """The addons."""
    bastion: Instance | None = None
    """The bastion."""
    failure_domains: dict[str, FailureDomain] = Field(default_factory=dict)
    """The zones in which machines can be."""
    failure_message: str | None = None
    """Not written: conditions say it."""
    identity_provider_status: IdentityProviderStatus | None = None
    """Not written: identity providers are not served."""
    network_status: NetworkStatus | None = None
    """The network."""
    oidc_provider: Annotated[OIDCProviderStatus | None, Field(alias="oidcProvider")] = None
    """The provider in IAM for the cluster's service accounts."""
    resources: Items[ResourceSummary] = ()
    """Every resource of the cluster in one list, in the order in which they are created."""
    identity: Identity | None = None
    """The identity of the owner of the resources: a copy, read only if the journal was lost."""
    conditions: Items[Condition] = ()
    """Conditions; ``Ready`` summarizes the others."""
