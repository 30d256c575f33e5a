"""The network of an ``AWSCluster``: VPC, subnets, and the rules of its security groups.

Names, defaults and enums are upstream's, so that every object that upstream accepts is accepted and keeps its fields.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api.base import ApiModel, Int64, Items, build_extensions, build_validations
from freehold.api.rules import LIST_LIMIT, TEXT_LIMIT
from freehold.providers.aws.types import rules as aws_rules

Tags = dict[str, str]
Cidr = Annotated[str, Field(max_length=TEXT_LIMIT)]
Cidrs = Annotated[Items[Cidr], Field(max_length=LIST_LIMIT)]
Protocol = Literal["-1", "4", "tcp", "udp", "icmp", "58", "50"]
CarrierGateway = Annotated[str, Field(json_schema_extra=build_validations(aws_rules.CARRIER_GATEWAY))]
FallbackOrder = Annotated[
    Literal["amazon-pool", "none"], Field(json_schema_extra=build_validations(aws_rules.FALLBACK_ORDER))
]
GroupRole = Literal["bastion", "node", "controlplane", "apiserver-lb", "lb", "node-eks-additional"]


class IngressRule(ApiModel):
    """Traffic that a security group lets in."""

    cidr_blocks: Cidrs = ()
    """IPv4 ranges that the traffic may come from. Not together with security groups."""
    description: str
    """What the rule is for."""
    from_port: Int64
    """First port; for ICMP the type."""
    ipv6_cidr_blocks: Annotated[Cidrs, Field(alias="ipv6CidrBlocks")] = ()
    """IPv6 ranges that the traffic may come from. Not together with security groups."""
    nat_gateways_ips_source: Annotated[bool | None, Field(alias="natGatewaysIPsSource")] = None
    """Whether the traffic may come from the addresses of the cluster's NAT gateways, and from nowhere else."""
    protocol: Protocol
    """``tcp``, ``udp``, ``icmp``, or the number of a protocol: 4 (IP in IP), 50 (ESP), 58 (ICMPv6), -1 (all)."""
    source_security_group_ids: Annotated[Items[str], Field(alias="sourceSecurityGroupIds")] = ()
    """Security groups that the traffic may come from, by id."""
    source_security_group_roles: Items[GroupRole] = ()
    """Security groups of this cluster that the traffic may come from, by role. Without any source it is the control
    plane's."""
    to_port: Int64
    """Last port; for ICMP the code."""


class WantedIngressRule(IngressRule):
    """Traffic that a security group shall let in."""

    RULES = aws_rules.INGRESS_RULES


IngressRules = Annotated[Items[WantedIngressRule], Field(max_length=LIST_LIMIT)]


class CNIIngressRule(ApiModel):
    """Traffic of the container network, between control plane and nodes."""

    description: str
    """What the rule is for."""
    from_port: Int64
    """First port."""
    protocol: str
    """As in the other rules."""
    to_port: Int64
    """Last port."""


class CNISpec(ApiModel):
    """What the container network needs."""

    cni_ingress_rules: Items[CNIIngressRule] = ()
    """Traffic between control plane and nodes."""


class IPAMPool(ApiModel):
    """A pool of Amazon VPC IP Address Manager."""

    id: str | None = None
    """Its id."""
    name: str | None = None
    """Its name."""
    netmask_length: Int64 | None = None
    """Length of the prefix to take from it."""


class ElasticIPPool(ApiModel):
    """Public addresses of the user's own."""

    RULES = aws_rules.ADDRESS_POOL_RULES

    public_ipv4_pool: Annotated[str, Field(max_length=30)] | None = None
    """Id of the pool, ``ipv4pool-ec2-…``."""
    public_ipv4_pool_fallback_order: FallbackOrder | None = None
    """What happens when the pool is empty."""


class IPv6(ApiModel):
    """IPv6 in the VPC. An empty object asks Amazon for a range."""

    RULES = aws_rules.IPV6_RULES

    cidr_block: Cidr | None = None
    """A range of the user's own; needs ``poolId``."""
    egress_only_internet_gateway_id: Annotated[str | None, Field(alias="egressOnlyInternetGatewayId")] = None
    """Filled in by upstream."""
    ipam_pool: IPAMPool | None = None
    """Take the range from an IPAM pool."""
    pool_id: Annotated[str | None, Field(alias="poolId")] = None
    """The pool that ``cidrBlock`` is in."""


class VpcCidrBlock(ApiModel):
    """One more range of the VPC."""

    RULES = (aws_rules.SECONDARY_RANGE,)

    ipv4_cidr_block: Annotated[Cidr, Field(min_length=1)]
    """The range."""


class VPCSpec(ApiModel):
    """The VPC: given by its id, or created."""

    RULES = aws_rules.VPC_RULES

    availability_zone_selection: Literal["Ordered", "Random"] = "Ordered"
    """Which zones get subnets where the region has more than ``availabilityZoneUsageLimit``: the first by name, or any;
    which ones these are does not change later."""
    availability_zone_usage_limit: Annotated[int, Field(ge=1)] = 3
    """In how many zones subnets are created."""
    carrier_gateway_id: Annotated[CarrierGateway | None, Field(alias="carrierGatewayId")] = None
    """Filled in by upstream, for Wavelength zones."""
    cidr_block: Cidr | None = None
    """Range of the VPC that is created; 10.0.0.0/16 when omitted."""
    elastic_ip_pool: Annotated[ElasticIPPool | None, Field(alias="elasticIpPool")] = None
    """Public addresses of the user's own, for NAT gateways and load balancers."""
    empty_routes_default_vpc_security_group: Annotated[
        bool | None, Field(alias="emptyRoutesDefaultVPCSecurityGroup")
    ] = None
    """Take all rules out of the default security group of the VPC."""
    id: Annotated[str, Field(max_length=TEXT_LIMIT)] | None = None
    """The id of an existing VPC. It is used as it is and never changed or deleted; ``subnets`` then names its subnets.
    When omitted, a VPC is created."""
    internet_gateway_id: Annotated[str | None, Field(alias="internetGatewayId")] = None
    """Filled in by upstream."""
    ipam_pool: IPAMPool | None = None
    """Take the range from an IPAM pool."""
    ipv6: IPv6 | None = None
    """IPv6 beside IPv4."""
    private_dns_hostname_type_on_launch: Literal["ip-name", "resource-name"] | None = None
    """How instances in the subnets are named in DNS."""
    secondary_cidr_blocks: Annotated[Items[VpcCidrBlock], Field(max_length=LIST_LIMIT)] = ()
    """More ranges for the VPC that is created."""
    subnet_schema: Literal["PreferPrivate", "PreferPublic"] = "PreferPrivate"
    """Which subnets get the larger part of the range."""
    tags: Tags = Field(default_factory=dict)
    """Tags of the VPC."""


class SubnetSpec(ApiModel):
    """One subnet: an existing one by its id, or one to create."""

    RULES = aws_rules.SUBNET_RULES

    availability_zone: Annotated[str, Field(max_length=TEXT_LIMIT)] | None = None
    """Its zone, for example ``us-east-1a``."""
    cidr_block: Cidr | None = None
    """Its IPv4 range."""
    id: str
    """The id of an existing subnet (``subnet-0123456789abcdef0``), or any other name for one to create."""
    ipv6_cidr_block: Annotated[Cidr | None, Field(alias="ipv6CidrBlock")] = None
    """Its IPv6 range, a /64."""
    is_ipv6: Annotated[bool | None, Field(alias="isIpv6")] = None
    """Whether it has an IPv6 range."""
    is_public: bool | None = None
    """Whether its route to the internet is the internet gateway; else it is the NAT gateway of its zone."""
    nat_gateway_id: Annotated[str | None, Field(alias="natGatewayId")] = None
    """Filled in by upstream."""
    parent_zone_name: str | None = None
    """The zone that a local zone belongs to."""
    resource_id: Annotated[str | None, Field(alias="resourceID")] = None
    """Filled in by upstream."""
    route_table_id: Annotated[str | None, Field(alias="routeTableId")] = None
    """Filled in by upstream."""
    tags: Tags = Field(default_factory=dict)
    """Tags of the subnet."""
    zone_type: Literal["availability-zone", "local-zone", "wavelength-zone"] | None = None
    """What kind of zone it is in."""


class NetworkSpec(ApiModel):
    """The network of the cluster."""

    RULES = aws_rules.NETWORK_RULES

    additional_control_plane_ingress_rules: Annotated[Items[WantedIngressRule], Field(max_length=LIST_LIMIT)] = ()
    """More traffic that the control plane lets in."""
    additional_node_ingress_rules: IngressRules = ()
    """More traffic that the nodes let in."""
    cni: CNISpec | None = None
    """What the container network needs; Calico's when omitted."""
    node_port_ingress_rule_cidr_blocks: Cidrs = ()
    """IPv4 ranges that may reach NodePort services; all when omitted."""
    security_group_overrides: dict[str, str] = Field(default_factory=dict)
    """Existing security groups by role, to be used instead of created ones; with an existing VPC only. They are never
    changed or deleted."""
    subnets: Annotated[
        Items[SubnetSpec],
        Field(
            max_length=LIST_LIMIT,
            json_schema_extra=build_extensions(list_type="map", list_map_keys=["id"]),
        ),
    ] = ()
    """Subnets. When omitted, a public and a private one in each of the chosen zones."""
    vpc: VPCSpec | None = None
    """The VPC; created when omitted."""
