"""Targets of a target group and their health.

https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetHealth.html
"""

from ipaddress import ip_address
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.elbv2.common import BALANCER, TARGET_GROUP, find
from freehold_sim.aws.elbv2.target_groups import HTTP_PROTOCOLS, balancers_of
from freehold_sim.aws.health_checks import Check, answers_of, health
from freehold_sim.aws.world import Record


def _key(target: dict[str, Any], group: Record) -> str:
    return f"{target['Id']}:{target.get('Port', group['view']['Port'])}"


def register(call: Call) -> dict[str, Any]:
    group = find(call, TARGET_GROUP, call.params["TargetGroupArn"])
    for target in call.params["Targets"]:
        _check(call, group, target)
    for target in call.params["Targets"]:
        held = group["targets"].get(_key(target, group))
        if held is None or held["draining_until"] is not None:
            port = target.get("Port", group["view"]["Port"])
            row = {"Id": target["Id"], "Port": port, "since": call.now, "draining_until": None}
            group["targets"][_key(target, group)] = row
    return {}


def _check(call: Call, group: Record, target: dict[str, Any]) -> None:
    if group["view"]["TargetType"] == "ip":
        try:
            ip_address(target["Id"])
        except ValueError:
            raise Refused("ValidationError", f"The IP address '{target['Id']}' is not a valid IPv4 address") from None
        return
    instance = call.get("instance", target["Id"])
    if instance is None:
        text = f"Instance ID '{target['Id']}' is not valid"
        raise Refused("InvalidTarget", text)
    if instance["view"]["State"]["Name"] != "running":
        text = f"The following targets are not in a running state and cannot be registered: '{target['Id']}'"
        raise Refused("InvalidTarget", text)
    if instance["view"]["VpcId"] != group["view"]["VpcId"]:
        text = f"The following targets are not in the target group VPC '{group['view']['VpcId']}': '{target['Id']}'"
        raise Refused("InvalidTarget", text)


def deregister(call: Call) -> dict[str, Any]:
    group = find(call, TARGET_GROUP, call.params["TargetGroupArn"])
    delay = float(group["attributes"]["deregistration_delay.timeout_seconds"])
    for target in call.params["Targets"]:
        rows = group["targets"]
        keys = (
            [_key(target, group)] if "Port" in target else [k for k, row in rows.items() if row["Id"] == target["Id"]]
        )
        for key in keys:
            if key in rows and rows[key]["draining_until"] is None:
                rows[key]["draining_until"] = call.now + delay
    return {}


def describe_health(call: Call) -> dict[str, Any]:
    group = find(call, TARGET_GROUP, call.params["TargetGroupArn"])
    rows = group["targets"]
    for key in [key for key, row in rows.items() if _has_gone(call, row)]:
        del rows[key]
    wanted = call.params.get("Targets")
    shown = []
    used = bool(balancers_of(call, group))
    for target in wanted if wanted is not None else list(rows.values()):
        row = rows.get(_key(target, group))
        identity = {"Id": target["Id"], "Port": target.get("Port", group["view"]["Port"])}
        check = str(identity["Port"])
        shown.append({"Target": identity, "HealthCheckPort": check, "TargetHealth": _health(call, group, row, used)})
    return {"TargetHealthDescriptions": shown}


def _has_gone(call: Call, row: dict[str, Any]) -> bool:
    """Whether a target has drained, or its instance ended: Elastic Load Balancing deregisters that by itself."""
    if row["draining_until"] is not None:
        return bool(row["draining_until"] <= call.now)
    instance = _instance(call, row)
    return row["Id"].startswith("i-") and (instance is None or instance["view"]["State"]["Name"] == "terminated")


def _instance(call: Call, row: dict[str, Any]) -> Record | None:
    """Return the instance of a target, also of one that is registered by its address."""
    instances = call.world.table(call.scope, "instance")
    if row["Id"] in instances:
        return instances[row["Id"]]
    return next((each for each in instances.values() if each["view"].get("PrivateIpAddress") == row["Id"]), None)


def _health(call: Call, group: Record, row: dict[str, Any] | None, used: bool) -> dict[str, str]:
    if row is None:
        return _state("unused", "Target.NotRegistered", "Target is not registered to the target group")
    if row["draining_until"] is not None:
        return _state("draining", "Target.DeregistrationInProgress", "Target deregistration is in progress")
    if not used:
        text = "Target group is not configured to receive traffic from the load balancer"
        return _state("unused", "Target.NotInUse", text)
    instance = _instance(call, row)
    if instance is not None and _is_out_of_zones(call, group, instance):
        text = "Target is in an Availability Zone that is not enabled for the load balancer"
        return _state("unused", "Target.NotInUse", text)
    if instance is not None and row["Id"] == instance["id"] and instance["view"]["State"]["Name"] != "running":
        return _state("unused", "Target.InvalidState", "Target is in the stopped or terminated state")
    since = row["since"] + call.settings.delays.register_target
    if call.now < since:
        return _state("initial", "Elb.RegistrationInProgress", "Target registration is in progress")
    answers = answers_of(instance) if instance is not None else [[since, True]]
    match health(_check_of(group["view"]), since, answers, call.now):
        case "initial":
            return _state("initial", "Elb.InitialHealthChecking", "Initial health checks in progress")
        case "unhealthy":
            return _state("unhealthy", "Target.FailedHealthChecks", "Health checks failed")
    return {"State": "healthy"}


def _is_out_of_zones(call: Call, group: Record, instance: Record) -> bool:
    balancers = call.world.table(call.scope, BALANCER)
    views = [balancers[ident]["view"] for ident in balancers_of(call, group) if ident in balancers]
    zones = {row["ZoneName"] for view in views for row in view["AvailabilityZones"]}
    return instance["view"]["Placement"]["AvailabilityZone"] not in zones


def _check_of(view: dict[str, Any]) -> Check:
    """Say how a new target is checked: that of an application load balancer once, of a network one as often as later.

    https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html; how long a
    network load balancer took: https://github.com/kubernetes/kubeadm/issues/3294
    """
    up = view["HealthyThresholdCount"]
    first = 1 if view["Protocol"] in HTTP_PROTOCOLS else up
    return Check(view["HealthCheckIntervalSeconds"], first, up, view["UnhealthyThresholdCount"])


def _state(name: str, reason: str, text: str) -> dict[str, str]:
    return {"State": name, "Reason": reason, "Description": text}


_TARGETS = "TargetGroupArn Targets.Id Targets.Port"
OPERATIONS: tuple[Operation, ...] = (
    writes("RegisterTargets", register, _TARGETS),
    writes("DeregisterTargets", deregister, _TARGETS),
    reads("DescribeTargetHealth", describe_health, _TARGETS),
)
