"""The values of what an AWSCluster wants, in a normal form: equal for every spelling of one plan.

Nothing here knows the cloud. What only the cloud can answer (the range of a given VPC, addresses of NAT gateways) has a
name instead of a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import StrEnum


class Role(StrEnum):
    """The security groups of a cluster, by upstream's names."""

    BASTION = "bastion"
    NODE = "node"
    CONTROL_PLANE = "controlplane"
    API_SERVER_LB = "apiserver-lb"
    LB = "lb"
    """For the load balancers of Services: the in-cluster cloud provider adds rules to it."""
    EKS_NODE = "node-eks-additional"
    """For the machines of a cluster whose control plane is EKS, beside EKS's own group."""


class SourceKind(StrEnum):
    """What traffic comes from."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"
    GROUP = "group"
    """A security group of this cluster, by role."""
    GROUP_ID = "group-id"
    NAT_GATEWAYS = "nat-gateways"
    """The public addresses of the NAT gateways that are ours."""
    VPC = "vpc"
    """The IPv4 ranges of a given VPC, all of them: its subnets, and so what is in them, may be in any."""
    VPC_IPV6 = "vpc-ipv6"


@dataclass(frozen=True, order=True)
class Source:
    """Where traffic comes from. ``value``: range, role or id; empty where the kind says all.

    ``field`` is where the spec says so, for messages; it is no part of the cluster plan.
    """

    kind: SourceKind
    value: str = ""
    field: str = dataclass_field(default="", compare=False)


@dataclass(frozen=True, order=True)
class TrafficRule:
    """Traffic that a security group lets in: one protocol, one range of ports, one source.

    Ports are -1 where the protocol has none. In AWS two rules that differ in nothing but ``description`` are one.
    """

    protocol: str
    from_port: int
    to_port: int
    source: Source
    description: str = ""


@dataclass(frozen=True)
class Group:
    """A security group. ``given`` is its id where the spec overrides it: no rules are put into it then.

    Those of ``lb`` are what network load balancers need on control-plane machines, in the group that can have it.
    """

    role: Role
    name: str
    given: str = ""
    rules: tuple[TrafficRule, ...] = ()


@dataclass(frozen=True)
class Vpc:
    """The VPC. With ``given``, its id, the rest is empty: nothing of it is ours."""

    given: str = ""
    name: str = ""
    cidr: str = ""
    secondary: tuple[str, ...] = ()
    ipv6: bool = False


@dataclass(frozen=True)
class PlannedSubnet:
    """A subnet. ``logical`` is its name for life; with ``given``, its id, the rest is what the cloud told.

    ``for_pods``: its tag keeps load balancers, NAT gateways and machines out. ``tags`` are the spec's for it alone.
    ``ipv6`` is its range where the spec gives one; else ``ipv6_number`` says which /64 of the VPC's range it gets,
    None for a subnet without IPv6.
    """

    logical: str
    given: str = ""
    name: str = ""
    zone: str = ""
    cidr: str = ""
    public: bool = False
    ipv6: str = ""
    ipv6_number: int | None = None
    for_pods: bool = False
    tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class NatGateway:
    """The way out of the private subnets of one zone. ``subnet`` is the public one that it is in, by logical name."""

    zone: str
    subnet: str

    @property
    def logical(self) -> str:
        """Return its name for life: a NAT gateway cannot move to another subnet."""
        return f"{self.zone}@{self.subnet}"

    @staticmethod
    def parse_name(logical: str) -> NatGateway:
        """Read it from its name."""
        zone, _, subnet = logical.partition("@")
        return NatGateway(zone, subnet)


@dataclass(frozen=True, order=True)
class PlannedHealthCheck:
    """When a machine behind a load balancer counts as healthy. Times in seconds."""

    protocol: str
    port: int
    path: str
    interval: int
    timeout: int
    healthy: int
    unhealthy: int


@dataclass(frozen=True, order=True)
class PlannedListener:
    """A port of a load balancer. ``ip_type`` is the address family of its target group, empty for a classic one."""

    port: int
    target_port: int
    health: PlannedHealthCheck
    ip_type: str = ""


class BalancerType(StrEnum):
    """What can be in front of an API server."""

    CLASSIC = "classic"
    NETWORK = "nlb"


class Scheme(StrEnum):
    """Whether a load balancer has public addresses."""

    INTERNET_FACING = "internet-facing"
    INTERNAL = "internal"


@dataclass(frozen=True)
class PlannedLoadBalancer:
    """A load balancer.

    ``subnets`` are logical names or ids, one in each zone; empty in a given VPC where the spec names none: which of its
    subnets are public is for the cloud to tell. ``zones`` are those of the subnets, empty where one's is not known: a
    load balancer passes nothing to machines of other zones. ``groups`` are ids beside the group of role
    ``apiserver-lb``.
    """

    key: str
    type: BalancerType
    name: str
    scheme: Scheme
    listeners: tuple[PlannedListener, ...]
    subnets: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    cross_zone: bool = False
    preserve_client_ip: bool = False
    dualstack: bool = False
    zones: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedBastion:
    """A machine with a public address. ``ami`` is empty where the newest image is looked up.

    ``subnet`` is a logical name, empty in a given VPC. ``key_name`` is empty for a machine without a key.
    """

    instance_type: str
    ami: str
    key_name: str
    subnet: str


@dataclass(frozen=True)
class Bucket:
    """A bucket for bootstrap data. ``presigned`` is the life of a URL in Go's notation; the profiles are then empty."""

    name: str
    control_plane_profile: str = ""
    node_profiles: tuple[str, ...] = ()
    presigned: str = ""


@dataclass(frozen=True)
class CallerIdentity:
    """With which identity AWS is called."""

    kind: str
    name: str


@dataclass(frozen=True)
class PlannedFailureDomain:
    """A zone for machines. ``control_plane``: a load balancer in front of the control plane is there."""

    zone: str
    control_plane: bool


@dataclass(frozen=True)
class ClusterPlan:
    """Everything that one AWSCluster wants. Tuples are sorted: order in the spec says nothing, but that the first
    listed of several subnets of a zone is taken.

    ``given_nat_addresses`` are those of the NAT gateways that routes of a given VPC lead to, where rules name them.
    ``failure_domains`` is empty in a given VPC of which the cloud has told nothing. ``tags`` are (key, value).
    """

    region: str
    partition: str
    identity: CallerIdentity
    vpc: Vpc
    subnets: tuple[PlannedSubnet, ...]
    nat_gateways: tuple[NatGateway, ...]
    groups: tuple[Group, ...]
    load_balancers: tuple[PlannedLoadBalancer, ...]
    bastion: PlannedBastion | None = None
    bucket: Bucket | None = None
    tags: tuple[tuple[str, str], ...] = ()
    failure_domains: tuple[PlannedFailureDomain, ...] = ()
    given_nat_addresses: tuple[str, ...] = ()

    @property
    def created_vpc(self) -> bool:
        """Return whether the network is ours to create."""
        return not self.vpc.given
