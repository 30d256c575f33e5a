"""Listeners, with one action that forwards to a target group. A port stands for one listener.

https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateListener.html
"""

from typing import Any

from freehold_sim.aws import balancing
from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.ec2.kinds import full
from freehold_sim.aws.elbv2.common import BALANCER, LISTENER, TARGET_GROUP, arn, find, paged
from freehold_sim.aws.elbv2.target_groups import HTTP_PROTOCOLS, TCP_PROTOCOLS, balancers_of
from freehold_sim.aws.world import Record


def create_listener(call: Call) -> dict[str, Any]:
    """Create a listener, or return the one that has the same port and settings."""
    balancer = find(call, BALANCER, call.params["LoadBalancerArn"])
    tags = balancing.tags_of(call, call.params.get("Tags", []))
    for needed in ("Port", "Protocol"):
        if needed not in call.params:
            raise Refused("ValidationError", f"A listener {needed.lower()} must be specified")
    wanted = _settings(call, balancer, call.params)
    held = call.where(LISTENER, LoadBalancerArn=balancer["id"])
    for row in held:
        if row["view"]["Port"] == wanted["Port"]:
            if all(row["view"][key] == value for key, value in wanted.items()):
                return {"Listeners": [row["view"]]}
            raise Refused("DuplicateListener", "A listener already exists on this port for this load balancer")
    full(call, len(held), call.settings.quotas.listeners_per_balancer, "listeners of a load balancer")
    path = balancer["id"].partition("loadbalancer/")[2]
    ident = arn(call, f"listener/{path}/{call.world.new_hex(16)}")
    view = {"ListenerArn": ident, "LoadBalancerArn": balancer["id"], **wanted}
    return {"Listeners": [call.add(LISTENER, ident, view, ident, tags=tags)["view"]]}


def _settings(call: Call, balancer: Record, params: dict[str, Any]) -> dict[str, Any]:
    protocol = params["Protocol"]
    allowed = TCP_PROTOCOLS if balancer["view"]["Type"] == "network" else HTTP_PROTOCOLS
    if protocol not in allowed:
        kind = balancer["view"]["Type"]
        raise Refused("ValidationError", f"Listener protocol '{protocol}' is not supported for {kind} load balancers")
    if protocol in {"TLS", "HTTPS"}:
        raise not_served(f"listeners of protocol {protocol}")
    actions = params["DefaultActions"]
    if len(actions) != 1:
        raise Refused("TooManyActions" if actions else "ValidationError", "A listener has exactly one default action")
    return {
        "Port": params["Port"],
        "Protocol": protocol,
        "DefaultActions": [_action(call, balancer, actions[0], protocol)],
    }


def _action(call: Call, balancer: Record, action: dict[str, Any], protocol: str) -> dict[str, Any]:
    if action["Type"] != "forward":
        raise not_served(f"listener actions of type {action['Type']}")
    if "TargetGroupArn" not in action:
        raise Refused("ValidationError", "A target group ARN must be specified")
    group = find(call, TARGET_GROUP, action["TargetGroupArn"])
    same_layer = (group["view"]["Protocol"] in TCP_PROTOCOLS) == (protocol in TCP_PROTOCOLS)
    if not same_layer:
        text = f"Listener protocol '{protocol}' is not supported with target group '{group['id']}'"
        raise Refused("IncompatibleProtocols", text)
    if any(other != balancer["id"] for other in balancers_of(call, group)):
        text = f"The following target groups cannot be associated with more than one load balancer: {group['id']}"
        raise Refused("TargetGroupAssociationLimit", text)
    if group["view"]["VpcId"] != balancer["view"]["VpcId"]:
        raise Refused("InvalidConfigurationRequest", "The target group and the load balancer are in different VPCs")
    forward = {"TargetGroups": [{"TargetGroupArn": group["id"], "Weight": 1}]}
    return {"Type": "forward", "TargetGroupArn": group["id"], "ForwardConfig": forward}


def describe_listeners(call: Call) -> dict[str, Any]:
    if ("LoadBalancerArn" in call.params) == ("ListenerArns" in call.params):
        raise Refused("ValidationError", "You must specify either listener ARNs or a load balancer ARN")
    if "ListenerArns" in call.params:
        rows = [find(call, LISTENER, ident) for ident in call.params["ListenerArns"]]
    else:
        balancer = find(call, BALANCER, call.params["LoadBalancerArn"])
        rows = [row for row in call.where(LISTENER, LoadBalancerArn=balancer["id"]) if call.sees(row)]
    return paged(call, "Listeners", rows, [row["view"] for row in rows])


def modify_listener(call: Call) -> dict[str, Any]:
    listener = find(call, LISTENER, call.params["ListenerArn"])
    view = listener["view"]
    balancer = find(call, BALANCER, view["LoadBalancerArn"])
    held = {key: view[key] for key in ("Port", "Protocol", "DefaultActions")}
    changed = {key: call.params[key] for key in held if key in call.params}
    wanted = _settings(call, balancer, {**held, **changed})
    for row in call.where(LISTENER, LoadBalancerArn=balancer["id"]):
        if row is not listener and row["view"]["Port"] == wanted["Port"]:
            raise Refused("DuplicateListener", "A listener already exists on this port for this load balancer")
    view.update(wanted)
    return {"Listeners": [view]}


def delete_listener(call: Call) -> dict[str, Any]:
    call.world.remove(find(call, LISTENER, call.params["ListenerArn"]), call.now)
    return {}


_SETTINGS = "Port Protocol DefaultActions.Type DefaultActions.TargetGroupArn"
OPERATIONS: tuple[Operation, ...] = (
    writes("CreateListener", create_listener, f"LoadBalancerArn {_SETTINGS} Tags"),
    reads("DescribeListeners", describe_listeners, "LoadBalancerArn ListenerArns Marker PageSize"),
    writes("ModifyListener", modify_listener, f"ListenerArn {_SETTINGS}"),
    writes("DeleteListener", delete_listener, "ListenerArn"),
)
