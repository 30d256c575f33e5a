"""The VPC side of ``IBMPowerVSCluster``: references, subnets, load balancers, security groups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from freehold.api import patterns
from freehold.api.base import ApiModel, Int64, Items, Port, Rule, extensions

VPCName = Annotated[str, Field(min_length=1, max_length=63, pattern=patterns.VPC_NAME)]
VPCId = Annotated[str, Field(min_length=1, max_length=64, pattern=patterns.VPC_ID)]
NonEmpty = Annotated[str, Field(min_length=1)]
TransportProtocol = Literal["http", "https", "tcp", "udp"]

ID_OR_NAME = Rule(
    "has(self.id) || has(self.name)", "give an id or a name", lambda it: it.id is not None or it.name is not None
)


class VPCResourceReference(ApiModel):
    """The VPC, by id or by name, and its region."""

    id: VPCId | None = None
    """The id of an existing VPC. It is used as it is and never changed or deleted."""
    name: VPCName | None = None
    """The name to look for, and to create when nothing has it."""
    region: str | None = None
    """VPC region, for example ``us-south``. Needed when the infrastructure is to be created."""


class Subnet(ApiModel):
    """One subnet of the VPC."""

    cidr: str | None = None
    """Address range of a subnet to create; 256 addresses of the zone's prefix when omitted."""
    id: VPCId | None = None
    """The id of an existing subnet. It is used as it is and never changed or deleted."""
    name: VPCName | None = None
    """The name to look for, and to create when nothing has it; ``<cluster>-vpcsubnet-<index>`` when omitted."""
    zone: str | None = None
    """Zone of a subnet to create, for example ``us-south-1``; picked and kept when omitted."""


class VPCResource(ApiModel):
    """An existing VPC resource, by id or by name."""

    RULES = (ID_OR_NAME,)

    id: NonEmpty | None = None
    """Its id."""
    name: NonEmpty | None = None
    """Its name."""


class LabelSelectorRequirement(ApiModel):
    """One requirement of a label selector."""

    key: str
    """The label's key."""
    operator: str
    """``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``."""
    values: Annotated[Items[str], Field(json_schema_extra=extensions(list_type="atomic"))] = ()
    """The values for ``In`` and ``NotIn``."""


class LabelSelector(ApiModel):
    """Which objects are meant, by their labels; all requirements must hold."""

    model_config = ConfigDict(json_schema_extra=extensions(map_type="atomic"))

    match_expressions: Annotated[
        Items[LabelSelectorRequirement], Field(json_schema_extra=extensions(list_type="atomic"))
    ] = ()
    """Requirements with operators."""
    match_labels: dict[str, str] = Field(default_factory=dict)
    """Labels and the values that they must have."""


class AdditionalListenerSpec(ApiModel):
    """One more port of a load balancer."""

    default_pool_name: VPCName | None = None
    """The pool that the listener sends to."""
    port: Port
    """The port that is listened on."""
    protocol: TransportProtocol | None = None
    """``tcp`` when omitted."""
    selector: LabelSelector | None = None
    """The machines behind the listener, by their labels."""


class VPCLoadBalancerHealthMonitorSpec(ApiModel):
    """How the members of a pool are checked."""

    delay: Annotated[Int64, Field(ge=2, le=60)]
    """Seconds between checks."""
    port: Port | None = None
    """The port that is checked; the member's own when omitted."""
    retries: Annotated[Int64, Field(ge=1, le=10)]
    """Failed checks after which a member is out."""
    timeout: Annotated[Int64, Field(ge=1, le=59)]
    """Seconds to wait for an answer."""
    type: Literal["http", "https", "tcp"]
    """Protocol of the check."""
    url_path: Annotated[str, Field(pattern=patterns.URL_PATH)] | None = None
    """Path that is asked for with ``http`` and ``https``."""


class VPCLoadBalancerBackendPoolSpec(ApiModel):
    """A pool of members."""

    algorithm: Literal["least_connections", "round_robin", "weighted_round_robin"]
    """How a member is chosen."""
    health_monitor: VPCLoadBalancerHealthMonitorSpec
    """How the members are checked."""
    name: VPCName | None = None
    """Name of the pool."""
    protocol: TransportProtocol
    """Protocol between load balancer and members."""


class VPCLoadBalancerSpec(ApiModel):
    """One load balancer in the VPC."""

    additional_listeners: Annotated[
        Items[AdditionalListenerSpec], Field(json_schema_extra=extensions(list_type="map", list_map_keys=["port"]))
    ] = ()
    """Ports besides that of the API server."""
    backend_pools: Items[VPCLoadBalancerBackendPoolSpec] = ()
    """Pools besides those of the listeners."""
    id: VPCId | None = None
    """The id of an existing load balancer. It is used as it is and never changed or deleted."""
    name: VPCName | None = None
    """The name to look for, and to create when nothing has it."""
    public: bool = True
    """Public, or reachable from inside only."""
    security_groups: Items[VPCResource] = ()
    """Existing security groups to put on the load balancer."""
    subnets: Items[VPCResource] = ()
    """Existing subnets to put the load balancer in."""


class VPCSecurityGroupPortRange(ApiModel):
    """Ports from the minimum to the maximum, both included."""

    RULES = (
        Rule(
            "self.maximumPort >= self.minimumPort",
            "give both ports, and a maximumPort that is not smaller than minimumPort",
            lambda ports: (
                None not in (ports.minimum_port, ports.maximum_port) and ports.maximum_port >= ports.minimum_port
            ),
        ),
    )

    maximum_port: Port | None = None
    """The last port."""
    minimum_port: Port | None = None
    """The first port."""


def _only(remote_type: str, field: str | None) -> Rule:
    """The rule that a remote of one type has the field of this type and no other."""
    fields = ("cidrSubnetName", "address", "securityGroupName")
    has = " && ".join(("" if name == field else "!") + f"has(self.{name})" for name in fields)

    def holds(remote: VPCSecurityGroupRuleRemote) -> bool:
        values = (remote.cidr_subnet_name, remote.address, remote.security_group_name)
        given = [name for name, value in zip(fields, values, strict=True) if value is not None]
        return remote.remote_type != remote_type or given == ([field] if field else [])

    wanted = f"set {field} and no other" if field else f"set none of {', '.join(fields)}"
    return Rule(f"self.remoteType != '{remote_type}' || ({has})", f"with remoteType {remote_type}, {wanted}", holds)


class VPCSecurityGroupRuleRemote(ApiModel):
    """Where traffic comes from or goes to."""

    RULES = (
        _only("any", None),
        _only("cidr", "cidrSubnetName"),
        _only("address", "address"),
        _only("sg", "securityGroupName"),
    )

    address: str | None = None
    """One address, with remoteType ``address``."""
    cidr_subnet_name: str | None = None
    """The subnet whose range is meant, with remoteType ``cidr``."""
    remote_type: Literal["any", "cidr", "address", "sg"]
    """What kind of remote this is."""
    security_group_name: str | None = None
    """The security group whose members are meant, with remoteType ``sg``."""


class VPCSecurityGroupRulePrototype(ApiModel):
    """The traffic that a rule allows; one rule of the cloud for each remote."""

    RULES = (
        Rule(
            "self.protocol == 'icmp' || (!has(self.icmpCode) && !has(self.icmpType))",
            "icmpCode and icmpType need protocol icmp",
            lambda it: it.protocol == "icmp" or (it.icmp_code is None and it.icmp_type is None),
        ),
        Rule(
            "self.protocol == 'tcp' || self.protocol == 'udp' || !has(self.portRange)",
            "portRange needs protocol tcp or udp",
            lambda it: it.protocol in ("tcp", "udp") or it.port_range is None,
        ),
    )

    icmp_code: Int64 | None = None
    """ICMP code, with protocol ``icmp``."""
    icmp_type: Int64 | None = None
    """ICMP type, with protocol ``icmp``."""
    port_range: VPCSecurityGroupPortRange | None = None
    """Ports, with protocol ``tcp`` or ``udp``; all when omitted."""
    protocol: Annotated[str, Field(pattern=patterns.IP_PROTOCOL)]
    """IP protocol, by the name that the VPC API gives it."""
    remotes: Items[VPCSecurityGroupRuleRemote]
    """Where the traffic comes from or goes to."""


class VPCSecurityGroupRule(ApiModel):
    """One rule of a security group."""

    RULES = (
        Rule(
            "has(self.destination) != has(self.source)",
            "give either source or destination",
            lambda it: (it.destination is None) != (it.source is None),
        ),
        Rule(
            "self.direction != 'inbound' || has(self.source)",
            "an inbound rule has a source, not a destination",
            lambda it: it.direction != "inbound" or it.source is not None,
        ),
        Rule(
            "self.direction != 'outbound' || has(self.destination)",
            "an outbound rule has a destination, not a source",
            lambda it: it.direction != "outbound" or it.destination is not None,
        ),
    )

    destination: VPCSecurityGroupRulePrototype | None = None
    """Where outbound traffic goes."""
    direction: Literal["inbound", "outbound"]
    """Seen from the resources in the group."""
    security_group_id: str | None = None
    """The id of the group, when it exists already."""
    source: VPCSecurityGroupRulePrototype | None = None
    """Where inbound traffic comes from."""


class VPCSecurityGroup(ApiModel):
    """A security group of the VPC, with its rules."""

    RULES = (ID_OR_NAME,)

    id: str | None = None
    """The id of an existing group. It is used as it is and never changed or deleted."""
    name: str | None = None
    """The name to look for, and to create when nothing has it."""
    rules: Items[VPCSecurityGroupRule] = ()
    """What the group allows."""
    tags: Items[str] = ()
    """Tags for the group alone, besides ``spec.tags``."""
