"""Attributes of load balancers and target groups.

https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_LoadBalancerAttribute.html
"""

from collections.abc import Mapping
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.elbv2.common import BALANCER, TARGET_GROUP, find

_ALL = {"deletion_protection.enabled": "false", "access_logs.s3.enabled": "false", "access_logs.s3.bucket": "",
        "access_logs.s3.prefix": ""}  # fmt: skip
_BALANCERS: Mapping[str, Mapping[str, str]] = {
    "network": {
        **_ALL,
        "load_balancing.cross_zone.enabled": "false",
        "ipv6.deny_all_igw_traffic": "false",
        "dns_record.client_routing_policy": "any_availability_zone",
    },
    "application": {
        **_ALL,
        "load_balancing.cross_zone.enabled": "true",
        "idle_timeout.timeout_seconds": "60",
        "client_keep_alive.seconds": "3600",
        "routing.http2.enabled": "true",
        "routing.http.drop_invalid_header_fields.enabled": "false",
        "routing.http.desync_mitigation_mode": "defensive",
        "routing.http.preserve_host_header.enabled": "false",
        "routing.http.xff_header_processing.mode": "append",
        "waf.fail_open.enabled": "false",
    },
}
_GROUP = {
    "deregistration_delay.timeout_seconds": "300",
    "stickiness.enabled": "false",
    "load_balancing.cross_zone.enabled": "use_load_balancer_configuration",
}
_GROUP_TCP = {
    **_GROUP,
    "stickiness.type": "source_ip",
    "preserve_client_ip.enabled": "true",
    "proxy_protocol_v2.enabled": "false",
    "deregistration_delay.connection_termination.enabled": "false",
    "target_health_state.unhealthy.connection_termination.enabled": "true",
}
_GROUP_HTTP = {
    **_GROUP,
    "stickiness.type": "lb_cookie",
    "stickiness.lb_cookie.duration_seconds": "86400",
    "slow_start.duration_seconds": "0",
    "load_balancing.algorithm.type": "round_robin",
}


def balancer_defaults(kind: str) -> dict[str, str]:
    return dict(_BALANCERS[kind])


def group_defaults(protocol: str) -> dict[str, str]:
    return dict(_GROUP_HTTP if protocol in {"HTTP", "HTTPS"} else _GROUP_TCP)


def _listed(attributes: Mapping[str, str]) -> dict[str, Any]:
    return {"Attributes": [{"Key": key, "Value": value} for key, value in attributes.items()]}


def _describe(kind: str, parameter: str, call: Call) -> dict[str, Any]:
    return _listed(find(call, kind, call.params[parameter])["attributes"])


def _modify(kind: str, parameter: str, call: Call) -> dict[str, Any]:
    record = find(call, kind, call.params[parameter])
    changes = {each.get("Key", ""): each.get("Value", "") for each in call.params["Attributes"]}
    for key, value in changes.items():
        if key not in record["attributes"]:
            raise Refused("InvalidConfigurationRequest", f"The attribute key '{key}' is not recognized")
        if key.endswith(".enabled") and value not in {"true", "false", "use_load_balancer_configuration"}:
            raise Refused("InvalidConfigurationRequest", f"'{value}' is not a value of the attribute '{key}'")
        if key.endswith("_seconds") and not value.isdigit():
            raise Refused("InvalidConfigurationRequest", f"'{value}' is not a value of the attribute '{key}'")
    record["attributes"].update(changes)
    return _listed(changes)


OPERATIONS: tuple[Operation, ...] = (
    reads("DescribeLoadBalancerAttributes", lambda call: _describe(BALANCER, "LoadBalancerArn", call),
          "LoadBalancerArn"),
    writes("ModifyLoadBalancerAttributes", lambda call: _modify(BALANCER, "LoadBalancerArn", call),
           "LoadBalancerArn Attributes"),
    reads("DescribeTargetGroupAttributes", lambda call: _describe(TARGET_GROUP, "TargetGroupArn", call),
          "TargetGroupArn"),
    writes("ModifyTargetGroupAttributes", lambda call: _modify(TARGET_GROUP, "TargetGroupArn", call),
           "TargetGroupArn Attributes"),
)  # fmt: skip
