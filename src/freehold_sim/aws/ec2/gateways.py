"""Internet gateways and egress-only internet gateways.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DetachInternetGateway.html
"""

from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, writes
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import create, dependency, find, full, show, tags_for
from freehold_sim.aws.ec2.resources import EGRESS_ONLY_GATEWAY, INTERNET_GATEWAY, VPC
from freehold_sim.aws.world import Record


def create_gateway(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "internet-gateway")["internet-gateway"]
    full(call, len(call.all("internet-gateway")), call.settings.quotas.internet_gateways, "internet gateways")
    gateway = create(call, INTERNET_GATEWAY, {"Attachments": [], "OwnerId": call.account}, tags)
    return {"InternetGateway": show(gateway, INTERNET_GATEWAY)}


def attach_gateway(call: Call) -> dict[str, Any]:
    gateway = find(call, INTERNET_GATEWAY, call.params["InternetGatewayId"])
    vpc = find(call, VPC, call.params["VpcId"])
    if attachments := gateway["view"]["Attachments"]:
        text = f"resource {gateway['id']} is already attached to network {attachments[0]['VpcId']}"
        raise Refused("Resource.AlreadyAssociated", text)
    if any(a["VpcId"] == vpc["id"] for row in call.all("internet-gateway") for a in row["view"]["Attachments"]):
        text = f"Network {vpc['id']} already has an internet gateway attached"
        raise Refused("InvalidParameterValue", text)
    gateway["view"]["Attachments"] = [{"State": "available", "VpcId": vpc["id"]}]
    return {}


def detach_gateway(call: Call) -> dict[str, Any]:
    gateway = find(call, INTERNET_GATEWAY, call.params["InternetGatewayId"])
    vpc = find(call, VPC, call.params["VpcId"])
    if not any(attachment["VpcId"] == vpc["id"] for attachment in gateway["view"]["Attachments"]):
        text = f"resource {gateway['id']} is not attached to network {vpc['id']}"
        raise Refused("Gateway.NotAttached", text)
    if any("Association" in row["view"] for row in call.where("network-interface", VpcId=vpc["id"])):
        text = f"Network {vpc['id']} has some mapped public address(es)."
        raise dependency(f"{text} Please unmap those public address(es) before detaching the gateway.")
    gateway["view"]["Attachments"] = []
    return {}


def delete_gateway(call: Call) -> dict[str, Any]:
    gateway = find(call, INTERNET_GATEWAY, call.params["InternetGatewayId"])
    if gateway["view"]["Attachments"]:
        raise dependency(f"The internetGateway '{gateway['id']}' has dependencies and cannot be deleted.")
    call.world.remove(gateway, call.now)
    return {}


def create_egress_only(call: Call) -> dict[str, Any]:
    kind = EGRESS_ONLY_GATEWAY.name
    tags = tags_for(call, kind)[kind]
    vpc = find(call, VPC, call.params["VpcId"])
    full(call, len(call.all(kind)), call.settings.quotas.egress_only_gateways, "egress-only internet gateways")
    gateway = create(call, EGRESS_ONLY_GATEWAY, {"Attachments": [{"State": "attached", "VpcId": vpc["id"]}]}, tags)
    return _egress_only_reply(call, [gateway])


def _egress_only_reply(call: Call, made: list[Record]) -> dict[str, Any]:
    reply = {"EgressOnlyInternetGateway": show(made[0], EGRESS_ONLY_GATEWAY)}
    return {**reply, "ClientToken": call.params["ClientToken"]} if "ClientToken" in call.params else reply


def delete_egress_only(call: Call) -> dict[str, Any]:
    gateway = find(call, EGRESS_ONLY_GATEWAY, call.params["EgressOnlyInternetGatewayId"])
    call.world.remove(gateway, call.now)
    return {"ReturnCode": True}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateInternetGateway", create_gateway, "TagSpecifications"),
    describes("DescribeInternetGateways", INTERNET_GATEWAY, "InternetGatewayIds", "InternetGateways"),
    writes("AttachInternetGateway", attach_gateway, "InternetGatewayId VpcId"),
    writes("DetachInternetGateway", detach_gateway, "InternetGatewayId VpcId"),
    writes("DeleteInternetGateway", delete_gateway, "InternetGatewayId"),
    writes("CreateEgressOnlyInternetGateway", create_egress_only, "VpcId ClientToken TagSpecifications",
           Token("ClientToken", EGRESS_ONLY_GATEWAY.name, _egress_only_reply)),
    describes("DescribeEgressOnlyInternetGateways", EGRESS_ONLY_GATEWAY, "EgressOnlyInternetGatewayIds",
              "EgressOnlyInternetGateways"),
    writes("DeleteEgressOnlyInternetGateway", delete_egress_only, "EgressOnlyInternetGatewayId"),
)  # fmt: skip
