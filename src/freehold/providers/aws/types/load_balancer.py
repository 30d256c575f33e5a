"""The load balancers in front of the control plane of an ``AWSCluster``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from freehold.api import patterns
from freehold.api.base import ApiModel, Int64, Items, Port, build_extensions
from freehold.api.rules import LIST_LIMIT
from freehold.providers.aws.types import rules as aws_rules
from freehold.providers.aws.types.network import IngressRules

Interval = Annotated[Int64, Field(ge=5, le=300)]
Timeout = Annotated[Int64, Field(ge=2, le=120)]
Count = Annotated[Int64, Field(ge=2, le=10)]
IPType = Literal["ipv4", "ipv6"]


class HealthCheck(ApiModel):
    """When a control-plane machine counts as healthy."""

    interval_seconds: Interval | None = None
    """Seconds between two checks; 10 when omitted."""
    threshold_count: Count | None = None
    """Successes in a row after which a machine is healthy; 5 when omitted."""
    timeout_seconds: Timeout | None = None
    """Seconds after which a check has failed; 5 when omitted."""
    unhealthy_threshold_count: Count | None = None
    """Failures in a row after which a machine is not healthy; 3 when omitted."""


class ListenerHealthCheck(HealthCheck):
    """When a control-plane machine counts as healthy on one more port."""

    path: str | None = None
    """Path that is asked for, with HTTP and HTTPS."""
    port: str | None = None
    """Port that is checked; the listener's when omitted."""
    protocol: Literal["TCP", "HTTP", "HTTPS"] | None = None
    """Protocol of the check; the listener's when omitted."""


class AdditionalListener(ApiModel):
    """One more port of a network load balancer."""

    health_check: ListenerHealthCheck | None = None
    """When a machine counts as healthy."""
    port: Port
    """The port, of the listener and of the machines."""
    protocol: Literal["TCP"] = "TCP"
    """Protocol of the listener."""
    target_group_ip_type: Annotated[IPType | None, Field(alias="targetGroupIPType")] = None
    """Address family of the machines; as for the API server's port when omitted."""


class AWSLoadBalancerSpec(ApiModel):
    """One load balancer."""

    RULES = aws_rules.LOAD_BALANCER_RULES

    additional_listeners: Annotated[
        Items[AdditionalListener],
        Field(
            max_length=LIST_LIMIT,
            json_schema_extra=build_extensions(list_type="map", list_map_keys=["port"]),
        ),
    ] = ()
    """More ports, of a network load balancer only."""
    additional_security_groups: Items[str] = ()
    """Ids of existing security groups, beside the one that is created."""
    cross_zone_load_balancing: bool | None = None
    """Whether each zone of the load balancer sends to the machines of all zones."""
    disable_hosts_rewrite: bool | None = None
    """For machines behind a network load balancer: do not write its name into their hosts file."""
    dns_resolution_check: Annotated[Literal["None", "Enabled"] | None, Field(alias="dnsResolutionCheck")] = None
    """Whether to wait until the name of the load balancer resolves."""
    health_check: HealthCheck | None = None
    """When a machine counts as healthy."""
    health_check_protocol: Literal["TCP", "SSL", "HTTP", "HTTPS", "TLS", "UDP"] | None = None
    """Protocol of the check of the API server's port; TCP when omitted."""
    ingress_rules: IngressRules = ()
    """Traffic that the load balancer lets in; all on the API server's port when omitted."""
    load_balancer_type: Literal["classic", "elb", "alb", "nlb", "disabled"] = "classic"
    """``classic``, ``nlb``, or ``disabled`` where the endpoint is somebody else's."""
    name: Annotated[str, Field(max_length=32, pattern=patterns.AWS_LOAD_BALANCER_NAME)] | None = None
    """Its name, unique in the region. Must not change."""
    preserve_client_ip: Annotated[bool | None, Field(alias="preserveClientIP")] = None
    """Whether machines see the addresses of clients; their port is then open to all."""
    scheme: Literal["internet-facing", "internal"] = "internet-facing"
    """Whether it has public addresses. Must not change."""
    subnets: Items[str] = ()
    """Ids of subnets that it is in; those of the cluster when omitted."""
    target_group_ip_type: Annotated[IPType | None, Field(alias="targetGroupIPType")] = None
    """Address family of the machines: ipv6 where the VPC has IPv6, else ipv4. Must not change."""
