"""Route tables, routes and associations.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateRoute.html
"""

from ipaddress import ip_network
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, writes
from freehold_sim.aws.ec2.cidrs import cidr, cidr6
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import Kind, create, dependency, find, full, new_id, one_of, show, tags_for
from freehold_sim.aws.ec2.resources import (
    EGRESS_ONLY_GATEWAY,
    INSTANCE,
    INTERFACE,
    INTERNET_GATEWAY,
    NAT_GATEWAY,
    ROUTE_TABLE,
    SUBNET,
    VPC,
)
from freehold_sim.aws.world import Record

_TARGETS: dict[str, Kind] = {
    "GatewayId": INTERNET_GATEWAY,
    "NatGatewayId": NAT_GATEWAY,
    "EgressOnlyInternetGatewayId": EGRESS_ONLY_GATEWAY,
    "NetworkInterfaceId": INTERFACE,
    "InstanceId": INSTANCE,
}
_DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock")


def create_main(call: Call, vpc: Record) -> None:
    """Create the main route table that comes with a VPC."""
    table = create(call, ROUTE_TABLE, {"VpcId": vpc["id"], "OwnerId": call.account}, main=True)
    association = _association(call, table, main=True)
    table["view"].update(Associations=[association], Routes=[], PropagatingVgws=[])


def create_table(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "route-table")["route-table"]
    vpc = find(call, VPC, call.params["VpcId"])
    held = len(call.where("route-table", VpcId=vpc["id"]))
    full(call, held, call.settings.quotas.route_tables_per_vpc, "route tables of a VPC")
    view = {"VpcId": vpc["id"], "OwnerId": call.account, "Associations": [], "Routes": [], "PropagatingVgws": []}
    return _reply(call, [create(call, ROUTE_TABLE, view, tags, main=False)])


def _reply(call: Call, made: list[Record]) -> dict[str, Any]:
    reply = {"RouteTable": shown(call, made[0])}
    return {**reply, "ClientToken": call.params["ClientToken"]} if "ClientToken" in call.params else reply


def shown(call: Call, table: Record) -> dict[str, Any]:
    """Return what EC2 shows of a route table, with the routes of its VPC, and whether each route's target is there."""
    vpc = call.world.table(call.scope, "vpc").get(table["view"]["VpcId"])
    local: list[dict[str, Any]] = []
    if vpc is not None:
        for key, name in (("CidrBlock", "DestinationCidrBlock"), ("Ipv6CidrBlock", "DestinationIpv6CidrBlock")):
            for row in vpc["view"][f"{key}AssociationSet"]:
                local.append({name: row[key], "GatewayId": "local", "Origin": "CreateRouteTable", "State": "active"})
    routes = [{**route, "State": _state(call, table, route)} for route in table["view"]["Routes"]]
    return {**show(table, ROUTE_TABLE), "Routes": [*local, *routes]}


def _state(call: Call, table: Record, route: dict[str, Any]) -> str:
    """Return `active`, or `blackhole` if the target has gone or does not serve the VPC."""
    name = next(key for key in (*_TARGETS, "GatewayId") if key in route)
    if str(route[name]).startswith("vpce-"):
        return "active"
    target = call.world.table(call.scope, _TARGETS[name].name).get(route[name])
    if target is None:
        return "blackhole"
    view = target["view"]
    if name == "NatGatewayId":
        return "active" if view["State"] in {"pending", "available"} else "blackhole"
    if name == "GatewayId":
        attached = any(attachment["VpcId"] == table["view"]["VpcId"] for attachment in view["Attachments"])
        return "active" if attached else "blackhole"
    if name == "InstanceId":
        return "active" if view["State"]["Name"] == "running" else "blackhole"
    return "active"


def delete_table(call: Call) -> dict[str, Any]:
    table = find(call, ROUTE_TABLE, call.params["RouteTableId"])
    if table["view"]["Associations"]:
        raise dependency(f"The routeTable '{table['id']}' has dependencies and cannot be deleted.")
    for endpoint in call.all("vpc-endpoint"):
        held = endpoint["view"].get("RouteTableIds", [])
        endpoint["view"]["RouteTableIds"] = [ident for ident in held if ident != table["id"]]
    call.world.remove(table, call.now)
    return {}


def _route(call: Call, table: Record) -> dict[str, Any]:
    """Return the route that a request describes, with its target checked."""
    name = one_of(call, _DESTINATIONS)
    check = cidr if name == "DestinationCidrBlock" else cidr6
    destination = str(check(call.params[name], name))
    target = one_of(call, tuple(_TARGETS))
    kind = _TARGETS[target]
    record = call.get(kind.name, call.params[target])
    if record is None:
        code = {"GatewayId": "InvalidGatewayID.NotFound", "NatGatewayId": "InvalidNatGatewayID.NotFound"}
        text = f"The {kind.noun} '{call.params[target]}' does not exist"
        raise Refused(code.get(target, kind.not_found), text)
    _check_network(table, target, record)
    return {name: destination, target: record["id"], "Origin": "CreateRoute"}


def _check_network(table: Record, target: str, record: Record) -> None:
    view, vpc = record["view"], table["view"]["VpcId"]
    attached = [row["VpcId"] for row in view["Attachments"]] if "Attachments" in view else [view.get("VpcId")]
    if vpc not in attached:
        text = f"route table {table['id']} and network gateway {record['id']} belong to different networks"
        raise Refused("InvalidParameterValue", text)
    if target == "NatGatewayId" and view["State"] in {"deleting", "deleted", "failed"}:
        raise Refused("InvalidNatGatewayID.NotFound", f"The natGateway ID '{record['id']}' does not exist")


def _destination(route: dict[str, Any]) -> str:
    return str(next((route[name] for name in (*_DESTINATIONS, "DestinationPrefixListId") if name in route), ""))


def _held(call: Call, table: Record) -> dict[str, Any] | None:
    """Return the route to the destination that a request names."""
    name = one_of(call, _DESTINATIONS)
    check = cidr if name == "DestinationCidrBlock" else cidr6
    wanted = str(check(call.params[name], name))
    return next((row for row in table["view"]["Routes"] if _destination(row) == wanted), None)


def create_route(call: Call) -> dict[str, Any]:
    table = find(call, ROUTE_TABLE, call.params["RouteTableId"])
    route = _route(call, table)
    if _held(call, table) is not None:
        text = f"The route identified by {_destination(route)} already exists."
        raise Refused("RouteAlreadyExists", text)
    if _is_local(call, table, _destination(route)):
        text = f"The destination CIDR block {_destination(route)} is equal to or more specific than one of the VPC"
        raise Refused("InvalidParameterValue", text)
    full(call, len(table["view"]["Routes"]), call.settings.quotas.routes_per_table, "routes of a route table")
    table["view"]["Routes"].append(route)
    return {"Return": True}


def _is_local(call: Call, table: Record, destination: str) -> bool:
    vpc = call.world.table(call.scope, "vpc").get(table["view"]["VpcId"])
    blocks = [row["CidrBlock"] for row in vpc["view"]["CidrBlockAssociationSet"]] if vpc else []
    return destination in {str(ip_network(block)) for block in blocks}


def replace_route(call: Call) -> dict[str, Any]:
    table = find(call, ROUTE_TABLE, call.params["RouteTableId"])
    route, held = _route(call, table), _held(call, table)
    if held is None:
        text = f"There is no route defined for '{_destination(route)}' in the route table."
        raise Refused("InvalidParameterValue", f"{text} Use CreateRoute instead.")
    held.clear()
    held.update(route)
    return {}


def delete_route(call: Call) -> dict[str, Any]:
    table = find(call, ROUTE_TABLE, call.params["RouteTableId"])
    held = _held(call, table)
    if held is None:
        wanted = call.params[one_of(call, _DESTINATIONS)]
        text = f"no route with destination-cidr-block {wanted} in route table {table['id']}"
        raise Refused("InvalidRoute.NotFound", text)
    table["view"]["Routes"].remove(held)
    return {}


def _association(call: Call, table: Record, *, main: bool = False, subnet: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {
        "RouteTableAssociationId": new_id(call, "rtbassoc"), "RouteTableId": table["id"], "Main": main,
        "AssociationState": {"State": "associated"},
    }  # fmt: skip
    return {**made, "SubnetId": subnet} if subnet else made


def associate(call: Call) -> dict[str, Any]:
    table = find(call, ROUTE_TABLE, call.params["RouteTableId"])
    if "SubnetId" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter SubnetId")
    subnet = find(call, SUBNET, call.params["SubnetId"])
    if subnet["view"]["VpcId"] != table["view"]["VpcId"]:
        text = f"Route table {table['id']} and subnet {subnet['id']} belong to different networks"
        raise Refused("InvalidParameterValue", text)
    for row in call.where("route-table", VpcId=table["view"]["VpcId"]):
        if any(held.get("SubnetId") == subnet["id"] for held in row["view"]["Associations"]):
            text = f"the specified association for route table {table['id']} conflicts with an existing association"
            raise Refused("Resource.AlreadyAssociated", text)
    made = _association(call, table, subnet=subnet["id"])
    table["view"]["Associations"].append(made)
    return {"AssociationId": made["RouteTableAssociationId"], "AssociationState": {"State": "associated"}}


def _find_association(call: Call) -> tuple[Record, dict[str, Any]]:
    ident = call.params["AssociationId"]
    for table in call.all("route-table"):
        for row in table["view"]["Associations"]:
            if row["RouteTableAssociationId"] == ident:
                return table, row
    raise Refused("InvalidAssociationID.NotFound", f"The association ID '{ident}' does not exist")


def disassociate(call: Call) -> dict[str, Any]:
    table, row = _find_association(call)
    if row["Main"]:
        text = f"cannot disassociate the main route table association {row['RouteTableAssociationId']}"
        raise Refused("InvalidParameterValue", text)
    table["view"]["Associations"].remove(row)
    return {}


def replace_association(call: Call) -> dict[str, Any]:
    table, row = _find_association(call)
    other = find(call, ROUTE_TABLE, call.params["RouteTableId"])
    if other["view"]["VpcId"] != table["view"]["VpcId"]:
        text = f"route table {other['id']} and association {call.params['AssociationId']} belong to different networks"
        raise Refused("InvalidParameterValue", text)
    table["view"]["Associations"].remove(row)
    made = _association(call, other, main=row["Main"], subnet=row.get("SubnetId", ""))
    other["view"]["Associations"].append(made)
    if row["Main"]:
        table["main"], other["main"] = False, True
    return {"NewAssociationId": made["RouteTableAssociationId"], "AssociationState": {"State": "associated"}}


_ROUTE = f"RouteTableId {' '.join(_DESTINATIONS)}"
OPERATIONS: tuple[Operation, ...] = (
    writes(
        "CreateRouteTable",
        create_table,
        "VpcId ClientToken TagSpecifications",
        Token("ClientToken", "route-table", _reply),
    ),
    describes("DescribeRouteTables", ROUTE_TABLE, "RouteTableIds", "RouteTables", shown=shown),
    writes("DeleteRouteTable", delete_table, "RouteTableId"),
    writes("CreateRoute", create_route, f"{_ROUTE} {' '.join(_TARGETS)}"),
    writes("ReplaceRoute", replace_route, f"{_ROUTE} {' '.join(_TARGETS)}"),
    writes("DeleteRoute", delete_route, _ROUTE),
    writes("AssociateRouteTable", associate, "RouteTableId SubnetId"),
    writes("DisassociateRouteTable", disassociate, "AssociationId"),
    writes("ReplaceRouteTableAssociation", replace_association, "AssociationId RouteTableId"),
)
