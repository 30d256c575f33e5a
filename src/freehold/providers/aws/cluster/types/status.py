"""``AWSCluster`` v1beta2: the status.

Status is a cache and a report: nothing in it proves ownership, and all of it can be lost (ADR 2). ``failureDomains`` is
a map, as upstream's: a CRD that says otherwise is not under the contract that it is labelled with
(docs/reference/capi-contract.md C1).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api.base import ApiModel, Int64, Items
from freehold.api.status import Condition, Identity, Initialization, ResourceSummary
from freehold.providers.aws.types.instance import (
    CPUOptions,
    DynamicHostAllocation,
    InstanceMetadataOptions,
    MachineAddress,
    PrivateDNSName,
    SpotMarketOptions,
    Volume,
)
from freehold.providers.aws.types.network import IngressRule, Tags

Protocol = Literal["tcp", "tls", "udp", "TCP", "TLS", "UDP"]


class Instance(ApiModel):
    """The bastion, as it is in the cloud. Freehold writes what it reads there; the other fields are upstream's."""

    addresses: Items[MachineAddress] = ()
    """Its addresses."""
    assign_primary_ipv6: Annotated[str | None, Field(alias="assignPrimaryIPv6")] = None
    """Whether it has a primary IPv6 address."""
    availability_zone: str | None = None
    """Its zone."""
    capacity_reservation_id: Annotated[str | None, Field(alias="capacityReservationId")] = None
    """Its capacity reservation."""
    capacity_reservation_preference: Literal["", "None", "CapacityReservationsOnly", "Open"] | None = None
    """Which capacity reservations it uses."""
    cpu_options: Annotated[CPUOptions, Field(json_schema_extra={"minProperties": 1})] | None = None
    """Options of its processor."""
    dynamic_host_allocation: DynamicHostAllocation | None = None
    """Its dedicated host."""
    ebs_optimized: bool | None = None
    """Whether it is optimized for EBS."""
    ena_support: bool | None = None
    """Whether it has enhanced networking."""
    host_affinity: Literal["default", "host"] | None = None
    """How it is bound to its host."""
    host_id: Annotated[str | None, Field(alias="hostID")] = None
    """Its host."""
    iam_profile: str | None = None
    """Its instance profile."""
    id: str
    """Its id."""
    image_id: Annotated[str | None, Field(alias="imageId")] = None
    """Its image."""
    instance_metadata_options: InstanceMetadataOptions | None = None
    """Its metadata service."""
    instance_state: str | None = None
    """Its state."""
    ipv6_address: Annotated[str | None, Field(alias="ipv6Address")] = None
    """Its IPv6 address."""
    market_type: Literal["OnDemand", "Spot", "CapacityBlock"] | None = None
    """How it is paid for."""
    network_interface_type: str | None = None
    """The type of its interface."""
    network_interfaces: Items[str] = ()
    """Its interfaces."""
    non_root_volumes: Items[Volume] = ()
    """Its other volumes."""
    placement_group_name: str | None = None
    """Its placement group."""
    placement_group_partition: Annotated[Int64, Field(ge=1, le=7)] | None = None
    """Its partition in there."""
    private_dns_name: PrivateDNSName | None = None
    """How it is named in DNS."""
    private_ip: str | None = None
    """Its private address."""
    public_ip_on_launch: Annotated[bool | None, Field(alias="publicIPOnLaunch")] = None
    """Whether it got a public address when it was launched."""
    public_ip: str | None = None
    """Its public address."""
    root_volume: Volume | None = None
    """Its root volume."""
    security_group_ids: Annotated[Items[str], Field(alias="securityGroupIds")] = ()
    """Its security groups."""
    spot_market_options: SpotMarketOptions | None = None
    """Its spot request."""
    ssh_key_name: str | None = None
    """Its SSH key."""
    subnet_id: Annotated[str | None, Field(alias="subnetId")] = None
    """Its subnet."""
    tags: Tags = Field(default_factory=dict)
    """Its tags."""
    tenancy: str | None = None
    """Its tenancy."""
    type: str | None = None
    """Its type."""
    user_data: str | None = None
    """Its user data. Not written."""
    volume_ids: Items[str] = ()
    """Its volumes."""


class FailureDomain(ApiModel):
    """A zone in which machines can be."""

    attributes: dict[str, str] = Field(default_factory=dict)
    """More about it."""
    control_plane: bool | None = None
    """Whether control-plane machines can be there: the load balancer is."""


class ClassicAttributes(ApiModel):
    """Attributes of a classic load balancer."""

    cross_zone_load_balancing: bool | None = None
    """Whether each zone sends to the machines of all zones."""
    idle_timeout: Int64 | None = None
    """Nanoseconds after which an idle connection is closed."""


class TargetGroupHealthCheck(ApiModel):
    """The health check of a target group."""

    interval_seconds: Int64 | None = None
    """Seconds between two checks."""
    path: str | None = None
    """Path that is asked for."""
    port: str | None = None
    """Port that is checked."""
    protocol: str | None = None
    """Protocol of the check."""
    threshold_count: Int64 | None = None
    """Successes in a row after which a machine is healthy."""
    timeout_seconds: Int64 | None = None
    """Seconds after which a check has failed."""
    unhealthy_threshold_count: Int64 | None = None
    """Failures in a row after which a machine is not healthy."""


class TargetGroup(ApiModel):
    """A target group."""

    ip_type: str | None = None
    """Address family of the machines."""
    name: Annotated[str, Field(max_length=32)]
    """Its name."""
    port: Int64
    """Port of the machines."""
    protocol: Protocol
    """Its protocol."""
    target_group_health_check: TargetGroupHealthCheck | None = None
    """Its health check."""
    vpc_id: Annotated[str, Field(alias="vpcId")]
    """Its VPC."""


class Listener(ApiModel):
    """A listener of a network load balancer."""

    port: Int64
    """Its port."""
    protocol: str
    """Its protocol."""
    target_group: TargetGroup
    """Where it sends to."""


class ClassicHealthCheck(ApiModel):
    """The health check of a classic load balancer."""

    healthy_threshold: Int64
    """Successes in a row after which a machine is healthy."""
    interval: Int64
    """Nanoseconds between two checks."""
    target: str
    """What is checked."""
    timeout: Int64
    """Nanoseconds after which a check has failed."""
    unhealthy_threshold: Int64
    """Failures in a row after which a machine is not healthy."""


class ClassicListener(ApiModel):
    """A listener of a classic load balancer."""

    instance_port: Int64
    """Port of the machines."""
    instance_protocol: str
    """Protocol to the machines."""
    port: Int64
    """Its port."""
    protocol: str
    """Its protocol."""


class LoadBalancer(ApiModel):
    """A load balancer in the cloud."""

    arn: str | None = None
    """Its ARN; a classic one has none."""
    attributes: ClassicAttributes | None = None
    """Attributes of a classic one."""
    availability_zones: Items[str] = ()
    """Its zones."""
    dns_name: str | None = None
    """Its host name."""
    elb_attributes: dict[str, str] = Field(default_factory=dict)
    """Attributes of a network load balancer."""
    elb_listeners: Items[Listener] = ()
    """Listeners of a network load balancer."""
    health_checks: ClassicHealthCheck | None = None
    """Health check of a classic one."""
    listeners: Items[ClassicListener] = ()
    """Listeners of a classic one."""
    load_balancer_ip_address_type: Annotated[
        Literal["ipv4", "dualstack", "dualstack-without-public-ipv4"] | None, Field(alias="loadBalancerIPAddressType")
    ] = None
    """Its address families."""
    load_balancer_type: Literal["classic", "elb", "alb", "nlb"] | None = None
    """Its type."""
    name: str | None = None
    """Its name."""
    scheme: str | None = None
    """Whether it has public addresses."""
    security_group_ids: Annotated[Items[str], Field(alias="securityGroupIds")] = ()
    """Its security groups."""
    subnet_ids: Annotated[Items[str], Field(alias="subnetIds")] = ()
    """Its subnets."""
    tags: Tags = Field(default_factory=dict)
    """Its tags."""


class SecurityGroup(ApiModel):
    """A security group in the cloud."""

    id: str
    """Its id."""
    ingress_rule: Items[IngressRule] = ()
    """What it lets in."""
    name: str
    """Its name."""
    tags: Tags = Field(default_factory=dict)
    """Its tags."""


class NetworkStatus(ApiModel):
    """The network in the cloud."""

    api_server_elb: Annotated[LoadBalancer | None, Field(alias="apiServerElb")] = None
    """The load balancer in front of the control plane."""
    nat_gateways_ips: Annotated[Items[str], Field(alias="natGatewaysIPs")] = ()
    """Public addresses of the NAT gateways."""
    secondary_api_server_elb: Annotated[LoadBalancer | None, Field(alias="secondaryAPIServerELB")] = None
    """The second load balancer in front of the control plane."""
    security_groups: dict[str, SecurityGroup] = Field(default_factory=dict)
    """The security groups, by role."""


class AWSClusterStatus(ApiModel):
    """The observed state."""

    ready: bool = False
    """True once the infrastructure has been complete for the first time; never false again."""
    phase: str | None = None
    """``Progressing``, ``Ready``, ``Blocked``, ``Paused`` or ``Deleting``: the conditions in one word, for people."""
    initialization: Initialization | None = None
    """The same for Cluster API's v1beta2 contract."""
    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """The generation of the spec that was last reconciled."""
    bastion: Instance | None = None
    """The bastion."""
    failure_domains: dict[str, FailureDomain] = Field(default_factory=dict)
    """The zones in which machines can be."""
    network_status: NetworkStatus | None = None
    """The network."""
    resources: Items[ResourceSummary] = ()
    """Every resource of the cluster in one list, in the order in which they are created."""
    identity: Identity | None = None
    """The identity of the owner of the resources: a copy, read only if the journal was lost."""
    conditions: Items[Condition] = ()
    """Conditions; ``Ready`` summarizes the others."""
