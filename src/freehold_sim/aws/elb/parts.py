"""What a classic load balancer consists of: listeners, health check, attributes, subnets, groups, instances."""

import re
from typing import Any

from freehold_sim.aws import balancing
from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.elb.balancers import LISTENERS, find, join, listener
from freehold_sim.aws.health_checks import Check, answers_of, health
from freehold_sim.aws.world import Record

_TARGET = re.compile(r"(TCP|SSL):\d{1,5}|(HTTP|HTTPS):\d{1,5}/.*")


def create_listeners(call: Call) -> dict[str, Any]:
    rows = find(call, call.params["LoadBalancerName"])["view"]["ListenerDescriptions"]
    added = []
    for given in call.params["Listeners"]:
        wanted = listener(given)
        same_port = [r["Listener"] for r in rows if r["Listener"]["LoadBalancerPort"] == wanted["LoadBalancerPort"]]
        if same_port and same_port[0] != wanted:
            text = f"A listener already exists for the port {wanted['LoadBalancerPort']} with other settings"
            raise Refused("DuplicateListener", text)
        if not same_port:
            added.append({"Listener": wanted, "PolicyNames": []})
    rows.extend(added)
    return {}


def delete_listeners(call: Call) -> dict[str, Any]:
    rows = find(call, call.params["LoadBalancerName"])["view"]["ListenerDescriptions"]
    rows[:] = [row for row in rows if row["Listener"]["LoadBalancerPort"] not in call.params["LoadBalancerPorts"]]
    return {}


def configure_health(call: Call) -> dict[str, Any]:
    balancer, check = find(call, call.params["LoadBalancerName"]), call.params["HealthCheck"]
    if not _TARGET.fullmatch(check["Target"]):
        raise Refused("ValidationError", f"HealthCheck Target '{check['Target']}' is invalid")
    if check["Timeout"] >= check["Interval"]:
        raise Refused("ValidationError", "HealthCheck timeout must be less than interval")
    balancer["view"]["HealthCheck"] = dict(check)
    return {"HealthCheck": check}


def describe_attributes(call: Call) -> dict[str, Any]:
    return {"LoadBalancerAttributes": find(call, call.params["LoadBalancerName"])["attributes"]}


def modify_attributes(call: Call) -> dict[str, Any]:
    balancer, changes = find(call, call.params["LoadBalancerName"]), call.params["LoadBalancerAttributes"]
    timeout = changes.get("ConnectionSettings", {}).get("IdleTimeout", 60)
    if not 1 <= timeout <= 4000:
        raise Refused("InvalidConfigurationRequest", f"The idle timeout {timeout} is not between 1 and 4000 seconds")
    for name, value in changes.items():
        balancer["attributes"][name] = {**balancer["attributes"][name], **value}
    return {"LoadBalancerName": balancer["id"], "LoadBalancerAttributes": changes}


def attach_subnets(call: Call) -> dict[str, Any]:
    balancer = find(call, call.params["LoadBalancerName"])
    view = balancer["view"]
    subnets = balancing.subnets_of(call, [*view["Subnets"], *call.params["Subnets"]])
    groups = balancing.groups_of(call, view["VPCId"], view["SecurityGroups"])
    for subnet in subnets:
        if subnet["id"] not in view["Subnets"]:
            join(call, balancer, subnet, groups)
    return {"Subnets": view["Subnets"]}


def detach_subnets(call: Call) -> dict[str, Any]:
    balancer, gone = find(call, call.params["LoadBalancerName"]), call.params["Subnets"]
    view = balancer["view"]
    kept = [ident for ident in view["Subnets"] if ident not in gone]
    if not kept:
        raise Refused("InvalidConfigurationRequest", "A load balancer keeps at least one subnet")
    balancing.withdraw(call, balancer, gone)
    view["Subnets"] = kept
    view["AvailabilityZones"] = [row["view"]["AvailabilityZone"] for row in balancing.subnets_of(call, kept)]
    return {"Subnets": kept}


def apply_groups(call: Call) -> dict[str, Any]:
    balancer, wanted = find(call, call.params["LoadBalancerName"]), call.params["SecurityGroups"]
    if not wanted:
        raise Refused("InvalidConfigurationRequest", "A load balancer keeps at least one security group")
    groups = balancing.groups_of(call, balancer["view"]["VPCId"], wanted)
    balancing.set_groups(call, balancer, groups)
    balancer["view"]["SecurityGroups"] = [group["GroupId"] for group in groups]
    return {"SecurityGroups": balancer["view"]["SecurityGroups"]}


def register(call: Call) -> dict[str, Any]:
    balancer = find(call, call.params["LoadBalancerName"])
    for row in call.params["Instances"]:
        instance = call.get("instance", row.get("InstanceId"))
        if instance is None or instance["view"]["State"]["Name"] in {"shutting-down", "terminated"}:
            raise Refused("InvalidInstance", f"Could not find EC2 instance {row.get('InstanceId')}.")
        if instance["view"]["VpcId"] != balancer["view"]["VPCId"]:
            text = f"EC2 instance {instance['id']} is not in the same VPC as ELB."
            raise Refused("InvalidInstance", text)
    for row in call.params["Instances"]:
        balancer["registered"].setdefault(row["InstanceId"], call.now)
        _draining(balancer).pop(row["InstanceId"], None)
    return _shown(balancer)


def deregister(call: Call) -> dict[str, Any]:
    balancer = find(call, call.params["LoadBalancerName"])
    drains = balancer["attributes"]["ConnectionDraining"]
    for row in call.params["Instances"]:
        held = balancer["registered"].pop(row.get("InstanceId"), None)
        if held is not None and drains["Enabled"]:
            _draining(balancer)[row["InstanceId"]] = call.now + drains["Timeout"]
    return _shown(balancer)


def _draining(balancer: Record) -> dict[str, float]:
    """Return what is being deregistered, with the time when that ends."""
    found: dict[str, float] = balancer.setdefault("draining", {})
    return found


def _shown(balancer: Record) -> dict[str, Any]:
    balancer["view"]["Instances"] = [{"InstanceId": ident} for ident in balancer["registered"]]
    return {"Instances": balancer["view"]["Instances"]}


def describe_health(call: Call) -> dict[str, Any]:
    balancer = find(call, call.params["LoadBalancerName"])
    draining = {ident for ident, end in _draining(balancer).items() if call.now < end}
    for ident in [ident for ident in balancer["registered"] if _has_ended(call, ident)]:
        del balancer["registered"][ident]
        _shown(balancer)
    asked = [row.get("InstanceId", "") for row in call.params.get("Instances", [])]
    rows = []
    for ident in asked or (*balancer["registered"], *draining):
        if ident not in balancer["registered"] and ident not in draining:
            raise Refused("InvalidInstance", f"Could not find EC2 instance {ident}.")
        state, reason, text = _health(call, balancer, ident)
        rows.append({"InstanceId": ident, "State": state, "ReasonCode": reason, "Description": text})
    return {"InstanceStates": rows}


def _has_ended(call: Call, ident: str) -> bool:
    """Whether an instance was terminated: the load balancer deregisters it by itself."""
    instance = call.world.table(call.scope, "instance").get(ident)
    return instance is None or instance["view"]["State"]["Name"] == "terminated"


def _health(call: Call, balancer: Record, ident: str) -> tuple[str, str, str]:
    """Return state, reason and description of an instance.

    https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_InstanceState.html
    """
    if ident not in balancer["registered"]:
        return "InService", "N/A", "Instance deregistration currently in progress."
    instance = call.world.table(call.scope, "instance")[ident]
    if instance["view"]["State"]["Name"] != "running":
        return "OutOfService", "Instance", "Instance is in stopped state."
    if instance["view"]["Placement"]["AvailabilityZone"] not in balancer["view"]["AvailabilityZones"]:
        text = "Instance is in the EC2 Availability Zone for which LoadBalancer is not configured to route traffic to."
        return "OutOfService", "Instance", text
    given = balancer["view"]["HealthCheck"]
    check = Check(given["Interval"], given["HealthyThreshold"], given["HealthyThreshold"], given["UnhealthyThreshold"])
    since = balancer["registered"][ident] + call.settings.delays.register_target
    match health(check, since, answers_of(instance), call.now):
        case "initial":
            return "OutOfService", "ELB", "Instance registration is still in progress."
        case "unhealthy":
            text = "Instance has failed at least the UnhealthyThreshold number of health checks consecutively."
            return "OutOfService", "Instance", text
    return "InService", "N/A", "N/A"


_ATTRIBUTES = ("CrossZoneLoadBalancing", "AccessLog", "ConnectionDraining", "ConnectionSettings")
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateLoadBalancerListeners", create_listeners, f"LoadBalancerName {LISTENERS}"),
    writes("DeleteLoadBalancerListeners", delete_listeners, "LoadBalancerName LoadBalancerPorts"),
    writes("ConfigureHealthCheck", configure_health, "LoadBalancerName HealthCheck"),
    reads("DescribeLoadBalancerAttributes", describe_attributes, "LoadBalancerName"),
    writes("ModifyLoadBalancerAttributes", modify_attributes,
           f"LoadBalancerName {' '.join(f'LoadBalancerAttributes.{name}' for name in _ATTRIBUTES)}"),
    writes("AttachLoadBalancerToSubnets", attach_subnets, "LoadBalancerName Subnets"),
    writes("DetachLoadBalancerFromSubnets", detach_subnets, "LoadBalancerName Subnets"),
    writes("ApplySecurityGroupsToLoadBalancer", apply_groups, "LoadBalancerName SecurityGroups"),
    writes("RegisterInstancesWithLoadBalancer", register, "LoadBalancerName Instances"),
    writes("DeregisterInstancesFromLoadBalancer", deregister, "LoadBalancerName Instances"),
    reads("DescribeInstanceHealth", describe_health, "LoadBalancerName Instances"),
)  # fmt: skip
