"""``IBMPowerVSCluster`` v1beta2: the spec.

Field names, defaults, enums and patterns are upstream's (its CRD is test data in ``tests/data/upstream``), so
that every object that upstream accepts is accepted here and keeps all its fields. Three differences, all
permissive: ``network`` and ``serviceInstanceID`` are optional, as upstream's defaulting makes them; ``tags`` is
that of docs/reference/requirements.md T18; status has more fields. The additional requirements of the annotation
``create-infra`` cannot be schema rules (CEL cannot read annotations): the reconciler reports them in a condition.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api import patterns
from freehold.api.base import ApiModel, ApiRule, Items
from freehold.api.endpoint import APIEndpoint
from freehold.api.rules import LIST_LIMIT
from freehold.providers.ibm.api_names import TAG_PREFIX
from freehold.providers.ibm.powervs.types import rules as powervs_rules
from freehold.providers.ibm.powervs.types.status import IBMPowerVSClusterStatus
from freehold.providers.ibm.powervs.types.vpc import (
    Place,
    Subnet,
    VPCLoadBalancerSpec,
    VPCResourceReference,
    VPCSecurityGroup,
)

TAG_LENGTH_LIMIT = 128
"""The limit of IBM Cloud: a user tag ``key:value`` has 1 to 128 characters in total.

Source: docs/reference/ibm-cloud.md#global-tagging.
"""


class Tag(ApiModel):
    """One user tag, attached to every resource of the cluster as ``key:value``.

    IBM Cloud allows letters, digits, space and ``_ - . :`` in a tag, and ignores upper and lower case.
    """

    RULES = (
        ApiRule(
            "!has(self.value) || size(self.value) == 0 || size(self.key) + size(self.value) < 128",
            f"key and value together may have at most {TAG_LENGTH_LIMIT - 1} characters",
            lambda tag: not tag.value or len(tag.key) + len(tag.value) < TAG_LENGTH_LIMIT,
        ),
        ApiRule(
            f"!self.key.lowerAscii().startsWith('{TAG_PREFIX}')",
            f"keys that begin with {TAG_PREFIX} are reserved for ownership tags",
            lambda tag: not tag.key.lower().startswith(TAG_PREFIX),
        ),
    )

    key: Annotated[str, Field(min_length=1, max_length=TAG_LENGTH_LIMIT, pattern=patterns.TAG_KEY)]
    """Key of the tag, for example ``team``. Must not begin with a space or with the prefix of the
    ownership tags."""
    value: Annotated[str, Field(max_length=TAG_LENGTH_LIMIT - 2, pattern=patterns.TAG_VALUE)] | None = None
    """Value of the tag, for example ``payments``. If empty or omitted, the tag is the key alone."""


class IBMPowerVSResourceReference(ApiModel):
    """A resource to use or create, by id or by name."""

    id: Annotated[str, Field(min_length=1)] | None = None
    """The id of an existing resource. It is used as it is and never changed or deleted."""
    name: Annotated[str, Field(min_length=1)] | None = None
    """The name to look up; the resource is created if it does not exist."""
    regex: Annotated[str, Field(min_length=1)] | None = None
    """A pattern for names. Accepted and stored, but not used when the infrastructure is created."""


class DHCPServer(ApiModel):
    """The DHCP server of the workspace; it creates its own private network."""

    RULES = powervs_rules.DHCP_RULES

    cidr: Place | None = None
    """Address range of the private network; chosen by the cloud when omitted."""
    dns_server: Place = "1.1.1.1"
    """DNS server that the DHCP server announces."""
    id: str | None = None
    """The id of an existing DHCP server. It is used as it is and never changed or deleted."""
    name: Place | None = None
    """Name of the DHCP server; the network is then called ``DHCPSERVER<name>_Private``. The cluster's name
    when omitted. Letters, digits and dashes."""
    snat: bool = True
    """Whether machines in the private network access the internet through source NAT."""


class TransitGateway(ApiModel):
    """The gateway that connects the PowerVS workspace and the VPC."""

    global_routing: bool | None = None
    """True connects networks in different regions, false in one region only. When omitted, derived from the
    region of ``zone`` and ``vpc.region``."""
    id: str | None = None
    """The id of an existing gateway. It is used as it is; only its connections may be created."""
    name: Annotated[str, Field(min_length=1, max_length=63, pattern=patterns.GATEWAY_NAME)] | None = None
    """The name to look up; the resource is created if it does not exist."""


class CosInstance(ApiModel):
    """Object storage for machines that boot with Ignition. Created only when this field is set."""

    RULES = powervs_rules.BUCKET_RULES

    bucket_name: str | None = None
    """Name of the bucket."""
    bucket_region: Place | None = None
    """Region of the bucket."""
    name: Annotated[str, Field(min_length=3, max_length=63, pattern=patterns.COS_NAME)] | None = None
    """Name of the Cloud Object Storage instance."""


class Ignition(ApiModel):
    """How machines boot with Ignition."""

    version: Literal["2.3", "2.4", "3.0", "3.1", "3.2", "3.3", "3.4"] = "2.3"
    """Version of the Ignition data."""


class IBMPowerVSClusterSpec(ApiModel):
    """The desired infrastructure of the cluster."""

    RULES = powervs_rules.CLUSTER_RULES

    service_instance_id: str | None = None
    """Deprecated: use serviceInstance.id. The id of an existing PowerVS workspace."""
    network: IBMPowerVSResourceReference | None = None
    """The private network in the workspace. ``name`` is looked up as it is, then as
    ``DHCPSERVER<name>_Private``; when neither exists, a DHCP server of that name is created. When the field is
    omitted, a DHCP server is created from ``dhcpServer``. ``regex`` is not used."""
    dhcp_server: DHCPServer | None = None
    """Settings of the DHCP server to create, or the id of an existing one."""
    control_plane_endpoint: APIEndpoint | None = None
    """The endpoint of the API server of the cluster. Filled in from the public load balancer; a value
    that the user has set is never overwritten."""
    service_instance: IBMPowerVSResourceReference | None = None
    """The PowerVS workspace; ``<cluster>-serviceInstance`` is created when omitted. ``regex`` is not used."""
    zone: Place | None = None
    """PowerVS zone, for example ``dal10``. Required when the infrastructure is to be created; the zone must have
    a Power Edge Router."""
    resource_group: IBMPowerVSResourceReference | None = None
    """The resource group of everything that is created. ``name`` is required when the infrastructure is to be
    created; ``id`` and ``regex`` are not used."""
    vpc: VPCResourceReference | None = None
    """The VPC of the load balancer; ``<cluster>-vpc`` is created when neither id nor name is given.
    ``region`` is required when the infrastructure is to be created. An existing VPC is never changed: its default
    security group must let the port of the API server in, or the load balancer needs a group that does."""
    vpc_subnets: Annotated[Items[Subnet], Field(max_length=LIST_LIMIT)] = ()
    """Subnets of the VPC. When omitted, one in each zone of ``vpc.region``, named
    ``<cluster>-vpcsubnet-<zone>``."""
    vpc_security_groups: Items[VPCSecurityGroup] = ()
    """Security groups of the VPC, with their rules."""
    transit_gateway: TransitGateway | None = None
    """The gateway between workspace and VPC; ``<cluster>-transitgateway`` is created when omitted."""
    load_balancers: Annotated[Items[VPCLoadBalancerSpec], Field(max_length=LIST_LIMIT)] = ()
    """Load balancers in front of the machines; at least one must be public: the first public one is the endpoint. When
    omitted, one public ``<cluster>-loadbalancer``. An existing one is never changed: as the endpoint it must be public
    and listen on the port of the API server."""
    cos_instance: CosInstance | None = None
    """Object storage for Ignition; nothing is created when omitted. Acted on with feature gate
    BootstrapFormatIgnition, or where it was acted on before."""
    ignition: Ignition | None = None
    """How machines boot with Ignition. Accepted and stored; Freehold does not serve machines."""
    tags: Annotated[Items[Tag], Field(max_length=100)] = ()
    """User tags for every resource of the cluster, including existing ones that the spec names. On deletion the
    tags that Freehold attached are detached from those existing resources."""


class IBMPowerVSCluster(ApiModel):
    """The cloud infrastructure of one cluster on IBM Power Virtual Server."""

    spec: IBMPowerVSClusterSpec = Field(default_factory=IBMPowerVSClusterSpec)
    """The desired infrastructure of the cluster."""
    status: IBMPowerVSClusterStatus | None = None
    """The observed state; written by the operator."""
