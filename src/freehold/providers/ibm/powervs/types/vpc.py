"""The VPC side of ``IBMPowerVSCluster``: references, subnets, load balancers, security groups."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from freehold.api import patterns
from freehold.api.base import ApiModel, ApiRule, Int64, Items, Port, build_extensions
from freehold.api.rules import TEXT_LIMIT
from freehold.providers.ibm.powervs.types import rules as powervs_rules

VPCName = Annotated[str, Field(min_length=1, max_length=63, pattern=patterns.VPC_NAME)]
VPCId = Annotated[str, Field(min_length=1, max_length=64, pattern=patterns.VPC_ID)]
NonEmpty = Annotated[str, Field(min_length=1)]
Place = Annotated[str, Field(max_length=TEXT_LIMIT)]
TransportProtocol = Literal["http", "https", "tcp", "udp"]

ID_OR_NAME = ApiRule(
    "has(self.id) || has(self.name)", "give an id or a name", lambda it: it.id is not None or it.name is not None
)


class VPCResourceReference(ApiModel):
    """The VPC, by id or by name, and its region."""

    RULES = powervs_rules.VPC_RULES

    id: VPCId | None = None
    """The id of an existing VPC. It is used as it is and never changed or deleted."""
    name: VPCName | None = None
    """The name to look up; the resource is created if it does not exist."""
    region: Place | None = None
    """VPC region, for example ``us-south``. Required when the infrastructure is to be created."""


class Subnet(ApiModel):
    """One subnet of the VPC."""

    RULES = powervs_rules.SUBNET_RULES

    cidr: Place | None = None
    """Address range of a subnet to create, in an address prefix that the VPC has in the zone. It stays for life: a
    later change is reported. 256 addresses of the zone's prefix when omitted."""
    id: VPCId | None = None
    """The id of an existing subnet. It is used as it is and never changed or deleted."""
    name: VPCName | None = None
    """The name to look up; the resource is created if it does not exist. ``<cluster>-vpcsubnet-<index>`` when
    omitted."""
    zone: Place | None = None
    """Zone of a subnet to create, for example ``us-south-1``; chosen once and kept when omitted."""


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
    values: Annotated[Items[str], Field(json_schema_extra=build_extensions(list_type="atomic"))] = ()
    """The values for ``In`` and ``NotIn``."""


class LabelSelector(ApiModel):
    """Selects objects by their labels; all requirements must match."""

    model_config = ConfigDict(json_schema_extra=build_extensions(map_type="atomic"))

    match_expressions: Annotated[
        Items[LabelSelectorRequirement], Field(json_schema_extra=build_extensions(list_type="atomic"))
    ] = ()
    """Requirements with operators."""
    match_labels: dict[str, str] = Field(default_factory=dict)
    """Required labels and their values."""


class AdditionalListenerSpec(ApiModel):
    """An additional port of a load balancer."""

    default_pool_name: VPCName | None = None
    """The pool that the listener forwards to."""
    port: Port
    """The port of the listener."""
    protocol: TransportProtocol | None = None
    """``tcp`` when omitted."""
    selector: LabelSelector | None = None
    """The machines behind the listener, by their labels."""


class VPCLoadBalancerHealthMonitorSpec(ApiModel):
    """Health check of the members of a pool."""

    delay: Annotated[Int64, Field(ge=2, le=60)]
    """Seconds between checks."""
    port: Port | None = None
    """The port to check; the member's port when omitted."""
    retries: Annotated[Int64, Field(ge=1, le=10)]
    """Number of failed checks after which a member is unhealthy."""
    timeout: Annotated[Int64, Field(ge=1, le=59)]
    """Seconds to wait for a response."""
    type: Literal["http", "https", "tcp"]
    """Protocol of the check."""
    url_path: Annotated[str, Field(pattern=patterns.URL_PATH)] | None = None
    """URL path to request with ``http`` and ``https``."""


class VPCLoadBalancerBackendPoolSpec(ApiModel):
    """A pool of members."""

    algorithm: Literal["least_connections", "round_robin", "weighted_round_robin"]
    """Load balancing algorithm."""
    health_monitor: VPCLoadBalancerHealthMonitorSpec
    """Health check of the members."""
    name: VPCName | None = None
    """Name of the pool."""
    protocol: TransportProtocol
    """Protocol between load balancer and members."""


class VPCLoadBalancerSpec(ApiModel):
    """One load balancer in the VPC."""

    additional_listeners: Annotated[
        Items[AdditionalListenerSpec],
        Field(json_schema_extra=build_extensions(list_type="map", list_map_keys=["port"])),
    ] = ()
    """Ports in addition to that of the API server."""
    backend_pools: Items[VPCLoadBalancerBackendPoolSpec] = ()
    """Pools in addition to those of the listeners."""
    id: VPCId | None = None
    """The id of an existing load balancer. It is used as it is and never changed or deleted."""
    name: VPCName | None = None
    """The name to look up; the resource is created if it does not exist."""
    public: bool = True
    """True for a public load balancer, false for a private one."""
    security_groups: Items[VPCResource] = ()
    """Existing security groups to attach to the load balancer."""
    subnets: Items[VPCResource] = ()
    """Existing subnets to place the load balancer in."""


class VPCSecurityGroupPortRange(ApiModel):
    """Ports from the minimum to the maximum, both included."""

    RULES = (
        ApiRule(
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


def _only(remote_type: str, field: str | None) -> ApiRule:
    """Require that a remote of one type has the field of this type and no other."""
    fields = ("cidrSubnetName", "address", "securityGroupName")
    has = " && ".join(("" if name == field else "!") + f"has(self.{name})" for name in fields)

    def holds(remote: VPCSecurityGroupRuleRemote) -> bool:
        values = (remote.cidr_subnet_name, remote.address, remote.security_group_name)
        given = [name for name, value in zip(fields, values, strict=True) if value is not None]
        return remote.remote_type != remote_type or given == ([field] if field else [])

    wanted = f"set {field} and no other" if field else f"set none of {', '.join(fields)}"
    return ApiRule(f"self.remoteType != '{remote_type}' || ({has})", f"with remoteType {remote_type}, {wanted}", holds)


class VPCSecurityGroupRuleRemote(ApiModel):
    """Where traffic comes from or goes to."""

    RULES = (
        _only("any", None),
        _only("cidr", "cidrSubnetName"),
        _only("address", "address"),
        _only("sg", "securityGroupName"),
        powervs_rules.REMOTE_ADDRESS,
    )

    address: str | None = None
    """One address, with remoteType ``address``."""
    cidr_subnet_name: str | None = None
    """The subnet whose address range is used, with remoteType ``cidr``."""
    remote_type: Literal["any", "cidr", "address", "sg"]
    """Type of the remote."""
    security_group_name: str | None = None
    """The security group whose members are the remote, with remoteType ``sg``."""


class VPCSecurityGroupRulePrototype(ApiModel):
    """The traffic that a rule allows; the cloud gets one rule for each remote."""

    RULES = (
        ApiRule(
            "self.protocol == 'icmp' || (!has(self.icmpCode) && !has(self.icmpType))",
            "icmpCode and icmpType need protocol icmp",
            lambda it: it.protocol == "icmp" or (it.icmp_code is None and it.icmp_type is None),
        ),
        ApiRule(
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
    """IP protocol, by its name in the VPC API."""
    remotes: Items[VPCSecurityGroupRuleRemote]
    """Where the traffic comes from or goes to."""


class VPCSecurityGroupRule(ApiModel):
    """One rule of a security group."""

    RULES = (
        ApiRule(
            "has(self.destination) != has(self.source)",
            "give either source or destination",
            lambda it: (it.destination is None) != (it.source is None),
        ),
        ApiRule(
            "self.direction != 'inbound' || has(self.source)",
            "an inbound rule has a source, not a destination",
            lambda it: it.direction != "inbound" or it.source is not None,
        ),
        ApiRule(
            "self.direction != 'outbound' || has(self.destination)",
            "an outbound rule has a destination, not a source",
            lambda it: it.direction != "outbound" or it.destination is not None,
        ),
        ApiRule(
            # https://cloud.ibm.com/docs/vpc?topic=vpc-using-security-groups: rules of a group only allow.
            "!has(self.action) || self.action == 'allow'",
            "a security group cannot deny: it refuses what no rule allows; remove the rule, or write allow",
            lambda it: it.action != "deny",
            field=".action",
        ),
    )

    action: Literal["allow", "deny"] | None = None
    """``allow``, which is meant when omitted, too. Upstream's releases v0.8 to v0.15 require the field."""
    destination: VPCSecurityGroupRulePrototype | None = None
    """Where outbound traffic goes."""
    direction: Literal["inbound", "outbound"]
    """Direction of the traffic, relative to the resources in the group."""
    security_group_id: str | None = None
    """The id of the group, if it exists already."""
    source: VPCSecurityGroupRulePrototype | None = None
    """Where inbound traffic comes from."""


class VPCSecurityGroup(ApiModel):
    """A security group of the VPC, with its rules."""

    RULES = (ID_OR_NAME,)

    id: str | None = None
    """The id of an existing group. It is used as it is and never changed or deleted."""
    name: str | None = None
    """The name to look up; the resource is created if it does not exist."""
    rules: Items[VPCSecurityGroupRule] = ()
    """The rules of the group."""
    tags: Items[str] = ()
    """Tags for the group only, in addition to ``spec.tags``."""
