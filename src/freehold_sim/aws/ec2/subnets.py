"""Subnets, and the zones that they lie in.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSubnet.html
"""

from ipaddress import IPv6Network
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, writes
from freehold_sim.aws.ec2 import zones
from freehold_sim.aws.ec2.cidrs import RESERVED, cidr, cidr6, overlap
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import arn_of, create, dependency, find, full, new_id, one_of, show, tags_for
from freehold_sim.aws.ec2.resources import SUBNET, VPC
from freehold_sim.aws.world import Record


def create_subnet(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "subnet")["subnet"]
    vpc = find(call, VPC, call.params["VpcId"])
    if "CidrBlock" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter cidrBlock")
    block = _block(call, vpc)
    siblings = call.where("subnet", VpcId=vpc["id"])
    full(call, len(siblings), call.settings.quotas.subnets_per_vpc, "subnets of a VPC")
    zone = zones.of_request(call)
    view = {
        "VpcId": vpc["id"], "State": "available", "CidrBlock": block, "OwnerId": call.account,
        "AvailabilityZone": zone, "AvailabilityZoneId": zones.zone_id(call, zone), "DefaultForAz": False,
        "MapPublicIpOnLaunch": False, "MapCustomerOwnedIpOnLaunch": False, "AssignIpv6AddressOnCreation": False,
        "Ipv6CidrBlockAssociationSet": [], "EnableDns64": False, "Ipv6Native": False,
        "PrivateDnsNameOptionsOnLaunch": {
            "HostnameType": "ip-name", "EnableResourceNameDnsARecord": False, "EnableResourceNameDnsAAAARecord": False,
        },
    }  # fmt: skip
    six = _block6(call, vpc, siblings) if "Ipv6CidrBlock" in call.params else None
    subnet = create(call, SUBNET, view, tags, used=[])
    view = subnet["view"]
    view["SubnetArn"] = arn_of(call, "subnet", subnet["id"])
    if six:
        view["Ipv6CidrBlockAssociationSet"].append(_association6(call, six))
    return {"Subnet": _shown(call, subnet)}


def _block(call: Call, vpc: Record) -> str:
    block = cidr(call.params["CidrBlock"], "cidrBlock")
    blocks = vpc["view"]["CidrBlockAssociationSet"]
    held = [row["CidrBlock"] for row in blocks if row["CidrBlockState"]["State"] == "associated"]
    if not 16 <= block.prefixlen <= 28 or not any(block.subnet_of(cidr(each, "cidrBlock")) for each in held):
        raise Refused("InvalidSubnet.Range", f"The CIDR '{block}' is invalid.")
    if any(overlap(str(block), row["view"]["CidrBlock"]) for row in call.where("subnet", VpcId=vpc["id"])):
        raise Refused("InvalidSubnet.Conflict", f"The CIDR '{block}' conflicts with another subnet")
    return str(block)


def _block6(call: Call, vpc: Record, siblings: list[Record]) -> str:
    block = cidr6(call.params["Ipv6CidrBlock"], "ipv6CidrBlock")
    held = [row["Ipv6CidrBlock"] for row in vpc["view"]["Ipv6CidrBlockAssociationSet"]]
    if block.prefixlen != 64 or not any(block.subnet_of(IPv6Network(each)) for each in held):
        raise Refused("InvalidSubnet.Range", f"The IPv6 CIDR '{block}' is invalid.")
    taken = [each["Ipv6CidrBlock"] for row in siblings for each in row["view"]["Ipv6CidrBlockAssociationSet"]]
    if str(block) in taken:
        raise Refused("InvalidSubnet.Conflict", f"The IPv6 CIDR '{block}' conflicts with another subnet")
    return str(block)


def _association6(call: Call, block: str) -> dict[str, Any]:
    ident = new_id(call, "subnet-cidr-assoc")
    return {"AssociationId": ident, "Ipv6CidrBlock": block, "Ipv6CidrBlockState": {"State": "associated"}}


def _shown(call: Call, subnet: Record) -> dict[str, Any]:
    size = cidr(subnet["view"]["CidrBlock"], "cidrBlock").num_addresses
    return {**show(subnet, SUBNET), "AvailableIpAddressCount": size - RESERVED - len(subnet["used"])}


def delete_subnet(call: Call) -> dict[str, Any]:
    subnet = find(call, SUBNET, call.params["SubnetId"])
    if call.where("network-interface", SubnetId=subnet["id"]):
        raise dependency(f"The subnet '{subnet['id']}' has dependencies and cannot be deleted.")
    for table in call.where("route-table", VpcId=subnet["view"]["VpcId"]):
        rows = table["view"]["Associations"]
        rows[:] = [row for row in rows if row.get("SubnetId") != subnet["id"]]
    call.world.remove(subnet, call.now)
    return {}


_SWITCHES = ("MapPublicIpOnLaunch", "AssignIpv6AddressOnCreation", "EnableDns64")


def modify_attribute(call: Call) -> dict[str, Any]:
    subnet = find(call, SUBNET, call.params["SubnetId"])
    name = one_of(call, _SWITCHES)
    value = call.params[name].get("Value", False)
    blocks = subnet["view"]["Ipv6CidrBlockAssociationSet"]
    held = any(row["Ipv6CidrBlockState"]["State"] == "associated" for row in blocks)
    if name == "AssignIpv6AddressOnCreation" and value and not held:
        text = f"Invalid value for assignIpv6AddressOnCreation: {subnet['id']} has no IPv6 CIDR block"
        raise Refused("InvalidParameterValue", text)
    subnet["view"][name] = value
    return {}


def associate_block6(call: Call) -> dict[str, Any]:
    subnet = find(call, SUBNET, call.params["SubnetId"])
    if "Ipv6CidrBlock" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter ipv6CidrBlock")
    vpc = find(call, VPC, subnet["view"]["VpcId"])
    block = _block6(call, vpc, call.where("subnet", VpcId=vpc["id"]))
    if subnet["view"]["Ipv6CidrBlockAssociationSet"]:
        raise Refused("InvalidSubnet.Conflict", f"The subnet {subnet['id']} has an IPv6 CIDR block already")
    made = _association6(call, block)
    subnet["view"]["Ipv6CidrBlockAssociationSet"].append(made)
    return {"SubnetId": subnet["id"], "Ipv6CidrBlockAssociation": made}


def disassociate_block6(call: Call) -> dict[str, Any]:
    ident = call.params["AssociationId"]
    for subnet in call.all("subnet"):
        for row in subnet["view"]["Ipv6CidrBlockAssociationSet"]:
            if row["AssociationId"] == ident:
                subnet["view"]["Ipv6CidrBlockAssociationSet"].remove(row)
                gone = {**row, "Ipv6CidrBlockState": {"State": "disassociating"}}
                return {"SubnetId": subnet["id"], "Ipv6CidrBlockAssociation": gone}
    text = f"The subnet CIDR block association ID '{ident}' does not exist"
    raise Refused("InvalidSubnetCidrBlockAssociationID.NotFound", text)


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateSubnet", create_subnet,
           "VpcId CidrBlock Ipv6CidrBlock AvailabilityZone AvailabilityZoneId TagSpecifications"),
    describes("DescribeSubnets", SUBNET, "SubnetIds", "Subnets", shown=_shown),
    writes("DeleteSubnet", delete_subnet, "SubnetId"),
    writes("ModifySubnetAttribute", modify_attribute, f"SubnetId {' '.join(_SWITCHES)}"),
    writes("AssociateSubnetCidrBlock", associate_block6, "SubnetId Ipv6CidrBlock"),
    writes("DisassociateSubnetCidrBlock", disassociate_block6, "AssociationId"),
)  # fmt: skip
