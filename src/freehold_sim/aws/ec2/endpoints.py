"""VPC endpoints: gateway endpoints live in route tables, interface endpoints keep an interface in each subnet.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVpcEndpoint.html
"""

import json
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, not_served, writes
from freehold_sim.aws.ec2 import interfaces
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import create, find, full, show, tags_for
from freehold_sim.aws.ec2.resources import ENDPOINT, ROUTE_TABLE, SUBNET, VPC
from freehold_sim.aws.world import Record, World, scope_of

_GATEWAY_SERVICES = {"s3": "pl-63a5400a", "dynamodb": "pl-02cd2c6b"}
_EVERYTHING = {
    "Version": "2008-10-17",
    "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}],
}


def create_endpoint(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "vpc-endpoint")["vpc-endpoint"]
    vpc = find(call, VPC, call.params["VpcId"])
    kind, service = call.params.get("VpcEndpointType", "Gateway"), _service(call)
    held = [row for row in call.where("vpc-endpoint", VpcId=vpc["id"]) if row["view"]["State"] != "deleted"]
    full(call, len(held), call.settings.quotas.endpoints_per_vpc, "VPC endpoints of a VPC")
    view = {
        "VpcEndpointType": kind, "VpcId": vpc["id"], "ServiceName": call.params["ServiceName"], "State": "available",
        "PolicyDocument": call.params.get("PolicyDocument", json.dumps(_EVERYTHING)), "RouteTableIds": [],
        "SubnetIds": [], "Groups": [], "PrivateDnsEnabled": call.params.get("PrivateDnsEnabled", kind == "Interface"),
        "RequesterManaged": False, "NetworkInterfaceIds": [], "DnsEntries": [], "CreationTimestamp": call.now,
        "OwnerId": call.account,
    }  # fmt: skip
    if kind == "Gateway":
        endpoint = _create_gateway(call, vpc, service, view, tags)
    elif kind == "Interface":
        endpoint = _create_interface(call, vpc, service, view, tags)
    else:
        raise not_served(f"VPC endpoints of type {kind}")
    return _reply(call, [endpoint])


def _service(call: Call) -> str:
    name = call.params.get("ServiceName", "")
    service = str(name).removeprefix(f"com.amazonaws.{call.region}.")
    if service == name or not service:
        raise Refused("InvalidServiceName", f"The Vpc Endpoint Service '{name}' does not exist")
    return service


def _create_gateway(call: Call, vpc: Record, service: str, view: dict[str, Any], tags: dict[str, str]) -> Record:
    if service not in _GATEWAY_SERVICES:
        text = f"The service {service} does not support gateway endpoints"
        raise Refused("InvalidParameter", text)
    tables = [_table(call, vpc, service, ident) for ident in call.params.get("RouteTableIds", [])]
    endpoint = create(call, ENDPOINT, view, tags, service=service)
    for table in tables:
        _add_route(table, endpoint)
    endpoint["view"]["RouteTableIds"] = [table["id"] for table in tables]
    return endpoint


def _table(call: Call, vpc: Record, service: str, ident: str) -> Record:
    table = find(call, ROUTE_TABLE, ident)
    if table["view"]["VpcId"] != vpc["id"]:
        text = f"Route table {ident} and network {vpc['id']} belong to different networks"
        raise Refused("InvalidParameterValue", text)
    prefix = _GATEWAY_SERVICES[service]
    if any(route.get("DestinationPrefixListId") == prefix for route in table["view"]["Routes"]):
        text = f"route table {ident} already has a route with destination-prefix-list-id {prefix}"
        raise Refused("RouteAlreadyExists", text)
    return table


def _add_route(table: Record, endpoint: Record) -> None:
    prefix = _GATEWAY_SERVICES[endpoint["service"]]
    route = {"DestinationPrefixListId": prefix, "GatewayId": endpoint["id"], "Origin": "CreateRoute"}
    table["view"]["Routes"].append(route)


def _create_interface(call: Call, vpc: Record, service: str, view: dict[str, Any], tags: dict[str, str]) -> Record:
    subnets = [find(call, SUBNET, ident) for ident in call.params.get("SubnetIds", [])]
    for subnet in subnets:
        if subnet["view"]["VpcId"] != vpc["id"]:
            text = f"The subnet {subnet['id']} is not in the VPC {vpc['id']}"
            raise Refused("InvalidSubnetId.NotFound", text)
    zones = [subnet["view"]["AvailabilityZone"] for subnet in subnets]
    if len(set(zones)) < len(zones):
        text = "DuplicateSubnetsInSameZone"
        raise Refused(text, "Found another VPC endpoint subnet in the availability zone of one of the subnets")
    groups = interfaces.groups_of(call, vpc["id"], call.params.get("SecurityGroupIds"))
    view.update(State="pending", SubnetIds=[subnet["id"] for subnet in subnets], Groups=groups)
    endpoint = create(call, ENDPOINT, view, tags, service=service)
    for subnet in subnets:
        text = f"VPC Endpoint Interface {endpoint['id']}"
        made = interfaces.place(call, subnet, text, groups=groups, requester="amazon-vpc", kind="vpc_endpoint")
        endpoint["view"]["NetworkInterfaceIds"].append(made["id"])
    state = "failed" if call.fails else "available"
    call.world.schedule(call.takes(call.settings.delays.create_endpoint), endpoint, {"State": state})
    return endpoint


def _reply(call: Call, made: list[Record]) -> dict[str, Any]:
    reply = {"VpcEndpoint": show(made[0], ENDPOINT)}
    return {**reply, "ClientToken": call.params["ClientToken"]} if "ClientToken" in call.params else reply


def modify_endpoint(call: Call) -> dict[str, Any]:
    endpoint = find(call, ENDPOINT, call.params["VpcEndpointId"])
    view, params = endpoint["view"], call.params
    vpc = find(call, VPC, view["VpcId"])
    added = [_table(call, vpc, endpoint["service"], ident) for ident in params.get("AddRouteTableIds", [])]
    for ident in params.get("RemoveRouteTableIds", []):
        _drop_route(find(call, ROUTE_TABLE, ident), endpoint)
        view["RouteTableIds"] = [held for held in view["RouteTableIds"] if held != ident]
    for table in added:
        _add_route(table, endpoint)
        view["RouteTableIds"].append(table["id"])
    if "PolicyDocument" in params:
        view["PolicyDocument"] = params["PolicyDocument"]
    return {"Return": True}


def _drop_route(table: Record, endpoint: Record) -> None:
    rows = table["view"]["Routes"]
    rows[:] = [route for route in rows if route.get("GatewayId") != endpoint["id"]]


def delete_endpoints(call: Call) -> dict[str, Any]:
    failed = []
    for position, ident in enumerate(call.params["VpcEndpointIds"]):
        endpoint = call.get("vpc-endpoint", ident)
        if endpoint is None or call.fails_at(position):
            missing = endpoint is None
            code = ENDPOINT.not_found if missing else "InternalError"
            text = f"The Vpc Endpoint Id '{ident}' does not exist" if missing else "Please try again."
            failed.append({"ResourceId": ident, "Error": {"Code": code, "Message": text}})
        else:
            _delete(call, endpoint)
    return {"Unsuccessful": failed}


def _delete(call: Call, endpoint: Record) -> None:
    for table in call.where("route-table", VpcId=endpoint["view"]["VpcId"]):
        _drop_route(table, endpoint)
    if endpoint["view"]["VpcEndpointType"] == "Gateway":
        call.world.remove(endpoint, call.now)
    elif endpoint["view"]["State"] != "deleting":
        call.world.redirect(endpoint, State="deleting")
        when = call.takes(call.settings.delays.delete_endpoint)
        call.world.schedule(when, endpoint, None, "release-endpoint")


def release(world: World, endpoint: Record, now: float) -> None:
    """Timer effect: the interfaces of an endpoint go with it."""
    rows = world.table(scope_of(endpoint["account"], endpoint["region"]), "network-interface")
    for ident in endpoint["view"]["NetworkInterfaceIds"]:
        if ident in rows:
            interfaces.remove(world, rows[ident], now)


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateVpcEndpoint", create_endpoint,
           "VpcId VpcEndpointType ServiceName PolicyDocument RouteTableIds SubnetIds SecurityGroupIds "
           "PrivateDnsEnabled ClientToken TagSpecifications",
           Token("ClientToken", "vpc-endpoint", _reply)),
    describes("DescribeVpcEndpoints", ENDPOINT, "VpcEndpointIds", "VpcEndpoints"),
    writes("ModifyVpcEndpoint", modify_endpoint,
           "VpcEndpointId AddRouteTableIds RemoveRouteTableIds PolicyDocument"),
    writes("DeleteVpcEndpoints", delete_endpoints, "VpcEndpointIds"),
)  # fmt: skip
