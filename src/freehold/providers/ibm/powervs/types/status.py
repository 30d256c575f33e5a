"""``IBMPowerVSCluster`` v1beta2: the status.

Status is a cache and a report: nothing in it proves ownership, and all of it can be lost (ADR 2).
``controllerCreated`` is derived from the ownership tags in the cloud at each pass.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from freehold.api.base import ApiModel, Int64, Items
from freehold.api.status import Condition, Identity, Initialization, ResourceSummary, V1Beta2Status


class ResourceReference(ApiModel):
    """A resource in the cloud."""

    controller_created: bool = False
    """Whether the ownership tags in the cloud show that the resource belongs to this object."""
    id: str | None = None
    """Its id."""


class VPCLoadBalancerStatus(ResourceReference):
    """A load balancer in the cloud."""

    hostname: str | None = None
    """The host name of the load balancer."""
    state: str | None = None
    """The state that the cloud reports."""


class VPCSecurityGroupStatus(ResourceReference):
    """A security group in the cloud."""

    rule_ids: Items[str] = ()
    """The ids of its rules."""


class TransitGatewayStatus(ResourceReference):
    """The transit gateway in the cloud, and its two connections."""

    power_vs_connection: ResourceReference | None = None
    """The connection to the PowerVS workspace."""
    vpc_connection: ResourceReference | None = None
    """The connection to the VPC."""


class IBMPowerVSClusterStatus(ApiModel):
    """The observed state."""

    ready: bool = False
    """True once the infrastructure has been complete for the first time; never false again."""
    phase: str | None = None
    """``Progressing``, ``Ready``, ``Blocked``, ``Paused`` or ``Deleting``: the conditions in one word, for people."""
    initialization: Initialization | None = None
    """The same for Cluster API's v1beta2 contract."""
    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """The generation of the spec that was last reconciled."""
    resource_group_id: ResourceReference | None = None
    """The resource group."""
    service_instance: ResourceReference | None = None
    """The PowerVS workspace."""
    network: ResourceReference | None = None
    """The private network in the workspace."""
    dhcp_server: ResourceReference | None = None
    """The DHCP server."""
    vpc: ResourceReference | None = None
    """The VPC."""
    vpc_subnet: dict[str, ResourceReference] = Field(default_factory=dict)
    """The subnets of the VPC, by name."""
    vpc_security_groups: dict[str, VPCSecurityGroupStatus] = Field(default_factory=dict)
    """The security groups of the VPC, by name."""
    transit_gateway: TransitGatewayStatus | None = None
    """The transit gateway and its connections."""
    cos_instance: ResourceReference | None = None
    """The Cloud Object Storage instance."""
    load_balancers: dict[str, VPCLoadBalancerStatus] = Field(default_factory=dict)
    """The load balancers, by name."""
    resources: Items[ResourceSummary] = ()
    """Every resource of the cluster in one list, in the order in which they are created."""
    identity: Identity | None = None
    """The identity of the owner of the resources: a copy, read only if the journal was lost."""
    conditions: Items[Condition] = ()
    """Conditions; ``Ready`` summarizes the others."""
    v1beta2: V1Beta2Status | None = None
    """Upstream's field for conditions of the next contract."""
