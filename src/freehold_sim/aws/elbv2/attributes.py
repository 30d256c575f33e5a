"""Attributes of load balancers and target groups: names, defaults and values, as AWS documents them.

https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_LoadBalancerAttribute.html,
.../API_TargetGroupAttribute.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.elbv2.common import BALANCER, TARGET_GROUP, find


@dataclass(frozen=True, slots=True)
class Attribute:
    """The value of a new resource, and the values that can be set: words and numbers, any text if there are none."""

    default: str
    values: tuple[str | range, ...] = ()

    def takes(self, value: str) -> bool:
        return not self.values or any(
            value.isdecimal() and int(value) in each if isinstance(each, range) else value == each
            for each in self.values
        )


def _switch(default: bool) -> Attribute:
    return Attribute("true" if default else "false", ("true", "false"))


def _logs(name: str) -> dict[str, Attribute]:
    return {
        f"{name}.s3.enabled": _switch(False),
        f"{name}.s3.bucket": Attribute(""),
        f"{name}.s3.prefix": Attribute(""),
    }


_DAY, _WEEK = "86400", 604_800
_OFF_OR_SHARE = ("off", range(1, 101))
_TARGETS = range(1, 1_000_000)
"""AWS names no most: it is the number of targets."""
_ALL = {
    **_logs("access_logs"),
    "deletion_protection.enabled": _switch(False),
    "ipv6.deny_all_igw_traffic": _switch(False),
    "zonal_shift.config.enabled": _switch(False),
}
BALANCERS: Mapping[str, Mapping[str, Attribute]] = {
    "network": {
        **_ALL,
        "load_balancing.cross_zone.enabled": _switch(False),
        "dns_record.client_routing_policy": Attribute(
            "any_availability_zone",
            ("availability_zone_affinity", "partial_availability_zone_affinity", "any_availability_zone"),
        ),
        "secondary_ips.auto_assigned.per_subnet": Attribute("0", (range(8),)),
    },
    "application": {
        **_ALL,
        **_logs("connection_logs"),
        **_logs("health_check_logs"),
        "load_balancing.cross_zone.enabled": Attribute("true", ("true",)),
        "idle_timeout.timeout_seconds": Attribute("60", (range(1, 4001),)),
        "client_keep_alive.seconds": Attribute("3600", (range(60, _WEEK + 1),)),
        "routing.http2.enabled": _switch(True),
        "routing.http.drop_invalid_header_fields.enabled": _switch(False),
        "routing.http.desync_mitigation_mode": Attribute("defensive", ("monitor", "defensive", "strictest")),
        "routing.http.preserve_host_header.enabled": _switch(False),
        "routing.http.x_amzn_tls_version_and_cipher_suite.enabled": _switch(False),
        "routing.http.xff_client_port.enabled": _switch(False),
        "routing.http.xff_header_processing.mode": Attribute("append", ("append", "preserve", "remove")),
        "waf.fail_open.enabled": _switch(False),
    },
}
_HEALTH = "target_group_health.{}.minimum_healthy_targets.{}"
_GROUP = {
    "deregistration_delay.timeout_seconds": Attribute("300", (range(3601),)),
    "stickiness.enabled": _switch(False),
    "load_balancing.cross_zone.enabled": Attribute(
        "use_load_balancer_configuration", ("true", "false", "use_load_balancer_configuration")
    ),
    _HEALTH.format("dns_failover", "count"): Attribute("1", ("off", _TARGETS)),
    _HEALTH.format("dns_failover", "percentage"): Attribute("off", _OFF_OR_SHARE),
    _HEALTH.format("unhealthy_state_routing", "count"): Attribute("1", (_TARGETS,)),
    _HEALTH.format("unhealthy_state_routing", "percentage"): Attribute("off", _OFF_OR_SHARE),
}
_GROUP_HTTP = {
    **_GROUP,
    "stickiness.type": Attribute("lb_cookie", ("lb_cookie", "app_cookie")),
    "stickiness.lb_cookie.duration_seconds": Attribute(_DAY, (range(1, _WEEK + 1),)),
    "stickiness.app_cookie.cookie_name": Attribute(""),
    "stickiness.app_cookie.duration_seconds": Attribute(_DAY, (range(1, _WEEK + 1),)),
    "slow_start.duration_seconds": Attribute("0", (range(1), range(30, 901))),
    "load_balancing.algorithm.type": Attribute(
        "round_robin", ("round_robin", "least_outstanding_requests", "weighted_random")
    ),
    "load_balancing.algorithm.anomaly_mitigation": Attribute("off", ("on", "off")),
}
_TERMINATES = "target_health_state.unhealthy.connection_termination.enabled"
_DRAINS = "target_health_state.unhealthy.draining_interval_seconds"


def group_attributes(protocol: str, target_type: str) -> Mapping[str, Attribute]:
    """Return what target groups of a protocol and a type of targets have."""
    if protocol in {"HTTP", "HTTPS"}:
        return _GROUP_HTTP
    on_udp = protocol in {"UDP", "TCP_UDP"}
    return {
        **_GROUP,
        "stickiness.type": Attribute("source_ip", ("source_ip",)),
        "preserve_client_ip.enabled": Attribute("true", ("true",)) if on_udp else _switch(target_type != "ip"),
        "proxy_protocol_v2.enabled": _switch(False),
        "deregistration_delay.connection_termination.enabled": _switch(on_udp),
        _TERMINATES: Attribute("false", ("false",)) if on_udp else _switch(True),
        _DRAINS: Attribute("0", (range(360_001),)),
    }


def defaults(attributes: Mapping[str, Attribute]) -> dict[str, str]:
    return {key: each.default for key, each in attributes.items()}


def balancer_defaults(kind: str, *, public: bool) -> dict[str, str]:
    return {**defaults(BALANCERS[kind]), "ipv6.deny_all_igw_traffic": "false" if public else "true"}


def _listed(attributes: Mapping[str, str]) -> dict[str, Any]:
    return {"Attributes": [{"Key": key, "Value": value} for key, value in attributes.items()]}


def _describe(kind: str, parameter: str, call: Call) -> dict[str, Any]:
    return _listed(find(call, kind, call.params[parameter])["attributes"])


def _changes(call: Call, noun: str, attributes: Mapping[str, Attribute]) -> dict[str, str]:
    """Return what the call changes; refuse a name or a value that AWS does not have for the resource."""
    changes = {each.get("Key", ""): each.get("Value", "") for each in call.params["Attributes"]}
    for key, value in changes.items():
        if key not in attributes:
            raise Refused("ValidationError", f"{noun} attribute key '{key}' is not recognized")
        if not attributes[key].takes(value):
            raise Refused("ValidationError", f"{noun} attribute key '{key}' does not take the value '{value}'")
    return changes


def modify_balancer(call: Call) -> dict[str, Any]:
    record = find(call, BALANCER, call.params["LoadBalancerArn"])
    changes = _changes(call, "Load balancer", BALANCERS[record["view"]["Type"]])
    record["attributes"].update(changes)
    return _listed(changes)


def modify_group(call: Call) -> dict[str, Any]:
    """Change a target group; one that cuts connections to unhealthy targets has no time in which they drain.

    How AWS refuses it: https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4648
    """
    record = find(call, TARGET_GROUP, call.params["TargetGroupArn"])
    view = record["view"]
    changes = _changes(call, "Target group", group_attributes(view["Protocol"], view["TargetType"]))
    wanted = {**record["attributes"], **changes}
    if wanted.get(_TERMINATES) == "true" and wanted.get(_DRAINS, "0") != "0":
        raise Refused("InvalidConfigurationRequest", f"You cannot have both {_TERMINATES} and a {_DRAINS} above 0")
    record["attributes"] = wanted
    return _listed(changes)


OPERATIONS: tuple[Operation, ...] = (
    reads("DescribeLoadBalancerAttributes", lambda call: _describe(BALANCER, "LoadBalancerArn", call),
          "LoadBalancerArn"),
    writes("ModifyLoadBalancerAttributes", modify_balancer, "LoadBalancerArn Attributes"),
    reads("DescribeTargetGroupAttributes", lambda call: _describe(TARGET_GROUP, "TargetGroupArn", call),
          "TargetGroupArn"),
    writes("ModifyTargetGroupAttributes", modify_group, "TargetGroupArn Attributes"),
)  # fmt: skip
