"""Target groups. A name stands for one group with the same settings.

https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
"""

from typing import Any

from freehold_sim.aws import balancing
from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.elbv2.attributes import defaults, group_attributes
from freehold_sim.aws.elbv2.common import BALANCER, LISTENER, TARGET_GROUP, arn, check_name, find, paged, selected
from freehold_sim.aws.world import Record

TCP_PROTOCOLS = ("TCP", "TLS", "UDP", "TCP_UDP")
HTTP_PROTOCOLS = ("HTTP", "HTTPS")
_HEALTH = ("HealthCheckProtocol", "HealthCheckPort", "HealthCheckEnabled", "HealthCheckPath",
           "HealthCheckIntervalSeconds", "HealthCheckTimeoutSeconds", "HealthyThresholdCount",
           "UnhealthyThresholdCount", "Matcher")  # fmt: skip
_SETTINGS = ("Protocol", "Port", "VpcId", "TargetType", *_HEALTH)


def create_group(call: Call) -> dict[str, Any]:
    """Create a target group, or return the one that has the same name and settings."""
    params, name = call.params, call.params["Name"]
    check_name(name, "Target group")
    tags = balancing.tags_of(call, params.get("Tags", []))
    kind = params.get("TargetType", "instance")
    if kind not in {"instance", "ip"}:
        raise not_served(f"target groups of type {kind}")
    for needed in ("Protocol", "Port", "VpcId"):
        if needed not in params:
            raise Refused("ValidationError", f"{needed} must be specified")
    if params["Protocol"] not in (*TCP_PROTOCOLS, *HTTP_PROTOCOLS):
        raise not_served(f"target groups of protocol {params['Protocol']}")
    if call.get("vpc", params["VpcId"]) is None:
        raise Refused("ValidationError", f"The VPC ID '{params['VpcId']}' is not found")
    settings = {
        "Protocol": params["Protocol"], "Port": params["Port"], "VpcId": params["VpcId"], "TargetType": kind,
        "IpAddressType": params.get("IpAddressType", "ipv4"), **_health(params),
    }  # fmt: skip
    if held := call.where(TARGET_GROUP, TargetGroupName=name):
        same = all(held[0]["view"].get(key) == value for key, value in settings.items())
        if call.settings.assumptions.balancer_tags_are_settings:
            same = same and held[0]["tags"] == tags
        if not same:
            text = f"A target group with the same name '{name}' exists, but with different settings"
            raise Refused("DuplicateTargetGroupName", text)
        return {"TargetGroups": [_shown(call, held[0])]}
    full(call, len(call.all(TARGET_GROUP)), call.settings.quotas.target_groups, "target groups")
    ident = arn(call, f"targetgroup/{name}/{call.world.new_hex(16)}")
    view = {"TargetGroupArn": ident, "TargetGroupName": name, **settings}
    attributes = defaults(group_attributes(params["Protocol"], kind))
    group = call.add(TARGET_GROUP, ident, view, ident, tags=tags, attributes=attributes, targets={})
    return {"TargetGroups": [_shown(call, group)]}


def _health(params: dict[str, Any]) -> dict[str, Any]:
    """Return the health check: as asked for, else the service's defaults."""
    on_tcp = params["Protocol"] in TCP_PROTOCOLS
    protocol = params.get("HealthCheckProtocol", "TCP" if on_tcp else "HTTP")
    defaults: dict[str, Any] = {
        "HealthCheckProtocol": protocol, "HealthCheckPort": "traffic-port", "HealthCheckEnabled": True,
        "HealthCheckIntervalSeconds": 30, "HealthCheckTimeoutSeconds": 10 if protocol == "TCP" else 5,
        "HealthyThresholdCount": 5, "UnhealthyThresholdCount": 2,
    }  # fmt: skip
    if protocol in HTTP_PROTOCOLS:
        defaults.update(HealthCheckPath="/", Matcher={"HttpCode": "200-399" if on_tcp else "200"})
    elif protocol != "TCP":
        raise Refused("InvalidConfigurationRequest", f"Health checks cannot use the protocol {protocol}")
    elif "HealthCheckPath" in params or "Matcher" in params:
        raise Refused("InvalidConfigurationRequest", "A TCP health check has neither a path nor a matcher")
    found = {**defaults, **{key: params[key] for key in _HEALTH if key in params}}
    longest = found["HealthCheckIntervalSeconds"] - (0 if on_tcp else 1)
    if found["HealthCheckTimeoutSeconds"] > longest:
        # Equal ones are refused for application load balancers only (aws-cdk#16445, aws-cdk#26031).
        text = "Health check interval must be greater than the timeout."
        raise Refused("ValidationError", text)
    return found


def _shown(call: Call, group: Record) -> dict[str, Any]:
    return {**group["view"], "LoadBalancerArns": balancers_of(call, group)}


def balancers_of(call: Call, group: Record) -> list[str]:
    """Return the ARNs of the load balancers whose listeners forward to a group."""
    found = [
        row["view"]["LoadBalancerArn"]
        for row in call.all(LISTENER)
        if any(action.get("TargetGroupArn") == group["id"] for action in row["view"]["DefaultActions"])
    ]
    return list(dict.fromkeys(found))


def describe_groups(call: Call) -> dict[str, Any]:
    rows = selected(call, TARGET_GROUP, "TargetGroupArns", "Names", "TargetGroupName", "TargetGroupNotFound")
    views = [_shown(call, record) for record in rows]
    if "LoadBalancerArn" in call.params:
        balancer = find(call, BALANCER, call.params["LoadBalancerArn"])["id"]
        kept = [(row, view) for row, view in zip(rows, views, strict=True) if balancer in view["LoadBalancerArns"]]
        rows, views = [row for row, _ in kept], [view for _, view in kept]
    return paged(call, "TargetGroups", rows, views)


def modify_group(call: Call) -> dict[str, Any]:
    group = find(call, TARGET_GROUP, call.params["TargetGroupArn"])
    held = {key: group["view"][key] for key in _HEALTH if key in group["view"]}
    changed = {key: call.params[key] for key in _HEALTH if key in call.params}
    if changed.get("HealthCheckProtocol", held["HealthCheckProtocol"]) != held["HealthCheckProtocol"]:
        held = {key: value for key, value in held.items() if key not in {"HealthCheckPath", "Matcher"}}
    group["view"].update(_health({"Protocol": group["view"]["Protocol"], **held, **changed}))
    return {"TargetGroups": [_shown(call, group)]}


def delete_group(call: Call) -> dict[str, Any]:
    """Delete a target group; one that does not exist counts as deleted."""
    group = call.get(TARGET_GROUP, call.params["TargetGroupArn"])
    if group is None:
        return {}
    if balancers_of(call, group) or call.now < group.get("held_until", 0.0):
        text = f"Target group '{group['id']}' is currently in use by a listener or a rule"
        raise Refused("ResourceInUse", text)
    call.world.remove(group, call.now)
    return {}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateTargetGroup", create_group, f"Name {' '.join(_SETTINGS)} IpAddressType Tags"),
    reads("DescribeTargetGroups", describe_groups, "TargetGroupArns Names LoadBalancerArn Marker PageSize"),
    writes("ModifyTargetGroup", modify_group, f"TargetGroupArn {' '.join(_HEALTH)}"),
    writes("DeleteTargetGroup", delete_group, "TargetGroupArn"),
)
