"""What a classic load balancer consists of: listeners, health check, attributes, subnets, groups, instances."""

import re
from typing import Any

from freehold_sim.aws import balancing
from freehold_sim.aws.call import Call, Operation, Refused, reads, writes
from freehold_sim.aws.elb.balancers import LISTENERS, find, join, listener
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
    for row in call.params["Instances"]:
        balancer["registered"].setdefault(row["InstanceId"], call.now)
    return _shown(balancer)


def deregister(call: Call) -> dict[str, Any]:
    balancer = find(call, call.params["LoadBalancerName"])
    for row in call.params["Instances"]:
        balancer["registered"].pop(row.get("InstanceId"), None)
    return _shown(balancer)


def _shown(balancer: Record) -> dict[str, Any]:
    balancer["view"]["Instances"] = [{"InstanceId": ident} for ident in balancer["registered"]]
    return {"Instances": balancer["view"]["Instances"]}


_IN_PROGRESS = ("ELB", "Instance registration is still in progress.")
_FAILED = ("Instance", "Instance has failed at least the UnhealthyThreshold number of health checks consecutively.")


def describe_health(call: Call) -> dict[str, Any]:
    balancer = find(call, call.params["LoadBalancerName"])
    asked = [row.get("InstanceId", "") for row in call.params.get("Instances", [])]
    rows = []
    for ident in asked or balancer["registered"]:
        if ident not in balancer["registered"]:
            raise Refused("InvalidInstance", f"Could not find EC2 instance {ident}.")
        instance = call.world.table(call.scope, "instance").get(ident)
        running = instance is not None and instance["view"]["State"]["Name"] == "running"
        begun = running and call.now >= balancer["registered"][ident] + call.settings.delays.target_healthy
        healthy = begun and not (instance and instance.get("fails_checks"))
        reason, text = ("N/A", "N/A") if healthy else _FAILED if begun else _IN_PROGRESS
        rows.append({
            "InstanceId": ident, "State": "InService" if healthy else "OutOfService", "ReasonCode": reason,
            "Description": text,
        })  # fmt: skip
    return {"InstanceStates": rows}


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
