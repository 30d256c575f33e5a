"""NAT gateways: pending, available, deleting, deleted; a deleted one stays listed for about an hour.

https://docs.aws.amazon.com/vpc/latest/userguide/vpc-nat-gateway.html, .../nat-gateway-troubleshooting.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, not_served, writes
from freehold_sim.aws.ec2 import addresses, interfaces
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import create, find, full, show, tags_for
from freehold_sim.aws.ec2.resources import ADDRESS, NAT_GATEWAY, SUBNET
from freehold_sim.aws.world import Record, World, scope_of

_OVER = ("deleted", "failed")


def create_gateway(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "natgateway")["natgateway"]
    if call.params.get("AvailabilityMode", "zonal") != "zonal":
        raise not_served("regional NAT gateways")
    if "SubnetId" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter SubnetId")
    subnet = find(call, SUBNET, call.params["SubnetId"])
    public = call.params.get("ConnectivityType", "public") == "public"
    address = _address(call) if public else None
    zone = subnet["view"]["AvailabilityZone"]
    held = [row for row in call.all("natgateway") if row["zone"] == zone and row["view"]["State"] not in _OVER]
    full(call, len(held), call.settings.quotas.nat_gateways_per_zone, "NAT gateways of an availability zone")
    view = {
        "VpcId": subnet["view"]["VpcId"], "SubnetId": subnet["id"], "State": "pending", "CreateTime": call.now,
        "ConnectivityType": "public" if public else "private", "NatGatewayAddresses": [],
    }  # fmt: skip
    gateway = create(call, NAT_GATEWAY, view, tags, zone=zone)
    interface = interfaces.place(
        call, subnet, f"Interface for NAT Gateway {gateway['id']}", requester="amazon-nat", kind="nat_gateway",
        wanted=call.params.get("PrivateIpAddress"),
    )  # fmt: skip
    shown = {
        "NetworkInterfaceId": interface["id"], "PrivateIp": interface["view"]["PrivateIpAddress"],
        "IsPrimary": True, "Status": "succeeded",
    }  # fmt: skip
    if address is not None:
        association = addresses.bind(call, address, interface)
        shown.update(AllocationId=address["id"], PublicIp=address["view"]["PublicIp"], AssociationId=association)
    gateway["view"]["NatGatewayAddresses"] = [shown]
    _finish(call, gateway, public)
    return _reply(call, [gateway])


def _address(call: Call) -> Record:
    if "AllocationId" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter AllocationId")
    address = find(call, ADDRESS, call.params["AllocationId"])
    if "AssociationId" in address["view"]:
        text = f"Elastic IP address [{address['id']}] is already associated"
        raise Refused("Resource.AlreadyAssociated", text)
    return address


def _finish(call: Call, gateway: Record, public: bool) -> None:
    """Schedule how the creation ends: available, or failed and gone an hour later."""
    when, delays = call.takes(call.settings.delays.create_nat_gateway), call.settings.delays
    vpc = gateway["view"]["VpcId"]
    attached = any(a["VpcId"] == vpc for row in call.all("internet-gateway") for a in row["view"]["Attachments"])
    if public and not attached:
        code, text = "Gateway.NotAttached", f"Network {vpc} has no Internet gateway attached"
    elif call.fails:
        code, text = "InternalError", "Network interface could not be created. Please try again."
    else:
        call.world.schedule(when, gateway, {"State": "available"})
        return
    failed = {"State": "failed", "FailureCode": code, "FailureMessage": text, "DeleteTime": when}
    call.world.schedule(when, gateway, failed, "release-nat-gateway")
    call.world.schedule(when + delays.nat_gateway_listed, gateway, None)


def _reply(call: Call, made: list[Record]) -> dict[str, Any]:
    reply = {"NatGateway": show(made[0], NAT_GATEWAY)}
    return {**reply, "ClientToken": call.params["ClientToken"]} if "ClientToken" in call.params else reply


def release(world: World, gateway: Record, now: float) -> None:
    """Timer effect: the gateway's interface goes and its address is free again."""
    rows = world.table(scope_of(gateway["account"], gateway["region"]), "network-interface")
    for shown in gateway["view"]["NatGatewayAddresses"]:
        if (interface := rows.get(shown["NetworkInterfaceId"])) is not None:
            interfaces.remove(world, interface, now)


def delete_gateway(call: Call) -> dict[str, Any]:
    gateway = find(call, NAT_GATEWAY, call.params["NatGatewayId"])
    stays = call.settings.assumptions.failed_nat_gateway_stays
    if gateway["view"]["State"] in {"pending", "available"} | (set() if stays else {"failed"}):
        delays = call.settings.delays
        when = call.takes(delays.delete_nat_gateway)
        call.world.redirect(gateway, State="deleting", DeleteTime=call.now)
        call.world.schedule(when, gateway, {"State": "deleted"}, "release-nat-gateway")
        call.world.schedule(when + delays.nat_gateway_listed, gateway, None)
    return {"NatGatewayId": gateway["id"]}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateNatGateway", create_gateway,
           "SubnetId AllocationId ClientToken TagSpecifications ConnectivityType PrivateIpAddress AvailabilityMode",
           Token("ClientToken", "natgateway", _reply)),
    describes("DescribeNatGateways", NAT_GATEWAY, "NatGatewayIds", "NatGateways", filters="Filter"),
    writes("DeleteNatGateway", delete_gateway, "NatGatewayId"),
)  # fmt: skip
