"""VPCs: their attributes and CIDR blocks, and what comes with them (main route table, default security group).

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVpc.html
"""

from copy import deepcopy
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, not_served, reads, writes
from freehold_sim.aws.ec2 import dhcp_options, route_tables, security_groups
from freehold_sim.aws.ec2.cidrs import cidr, cidr6, overlap
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import create, dependency, find, full, new_id, one_of, show, tags_for
from freehold_sim.aws.ec2.resources import VPC
from freehold_sim.aws.world import Record, World

_ATTRIBUTES = {
    "enableDnsSupport": "EnableDnsSupport",
    "enableDnsHostnames": "EnableDnsHostnames",
    "enableNetworkAddressUsageMetrics": "EnableNetworkAddressUsageMetrics",
}


_RESTRICTIONS = "https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html"
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
_NEVER = "169.254.0.0/16"
_BENCHMARKS, _DEFAULT_VPCS = "198.19.0.0/16", "172.31.0.0/16"


def _is_restricted(block: str, first: str, held: list[str]) -> bool:
    """Return whether the table of AWS's page restricts a further block. `first` is that of the VPC's creation.

    https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html#add-cidr-block-restrictions
    """
    inside, of_first = _private_range(block), _private_range(first)
    if overlap(block, _NEVER) or (overlap(block, _BENCHMARKS) and not overlap(first, _BENCHMARKS)):
        return True
    if inside and inside != of_first:
        return True
    if of_first == _PRIVATE[1] and overlap(block, _DEFAULT_VPCS):
        return True
    return overlap(block, "10.0.0.0/16") and any(overlap(each, "10.0.0.0/15") for each in held)


def _private_range(block: str) -> str:
    return next((each for each in _PRIVATE if overlap(block, each)), "")


def create_vpc(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "vpc")["vpc"]
    if call.params.get("InstanceTenancy", "default") != "default":
        raise not_served(f"the tenancy {call.params['InstanceTenancy']} of VPCs")
    if "CidrBlock" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter cidrBlock")
    block = str(_vpc_block(call.params["CidrBlock"]))
    full(call, len(call.all("vpc")), call.settings.quotas.vpcs, "VPCs")
    view = {
        "OwnerId": call.account, "InstanceTenancy": "default", "IsDefault": False, "State": "pending",
        "CidrBlock": block, "DhcpOptionsId": dhcp_options.DEFAULT_ID, "Ipv6CidrBlockAssociationSet": [],
        "CidrBlockAssociationSet": [_association(call, block, "associated")],
    }  # fmt: skip
    attributes = {"EnableDnsSupport": True, "EnableDnsHostnames": False, "EnableNetworkAddressUsageMetrics": False}
    vpc = create(call, VPC, view, tags, attributes=attributes)
    if call.params.get("AmazonProvidedIpv6CidrBlock"):
        vpc["view"]["Ipv6CidrBlockAssociationSet"].append(_association6(call, "associated"))
    call.world.schedule(call.takes(call.settings.delays.create_vpc), vpc, {"State": "available"})
    route_tables.create_main(call, vpc)
    security_groups.create_default(call, vpc)
    return {"Vpc": show(vpc, VPC)}


def _vpc_block(text: str) -> Any:
    block = cidr(text, "cidrBlock")
    if not 16 <= block.prefixlen <= 28:
        raise Refused("InvalidVpc.Range", f"The CIDR '{text}' is invalid.")
    return block


def _association(call: Call, block: str, state: str) -> dict[str, Any]:
    ident = new_id(call, "vpc-cidr-assoc")
    return {"AssociationId": ident, "CidrBlock": block, "CidrBlockState": {"State": state}}


def _association6(call: Call, state: str) -> dict[str, Any]:
    number = call.world.serial()
    return {
        "AssociationId": new_id(call, "vpc-cidr-assoc"), "NetworkBorderGroup": call.region, "Ipv6Pool": "Amazon",
        "Ipv6CidrBlock": str(cidr6(f"2600:1f18:{number // 256 % 65536:x}:{number % 256:02x}00::/56", "ipv6CidrBlock")),
        "Ipv6CidrBlockState": {"State": state},
    }  # fmt: skip


def delete_vpc(call: Call) -> dict[str, Any]:
    vpc = find(call, VPC, call.params["VpcId"])
    if _has_dependents(call, vpc):
        raise dependency(f"The vpc '{vpc['id']}' has dependencies and cannot be deleted.")
    for kind in ("route-table", "security-group"):
        for record in call.where(kind, VpcId=vpc["id"]):
            for rule in record.get("rules", ()):
                call.world.table(call.scope, "security-group-rule").pop(rule, None)
            call.world.remove(record, call.now)
    call.world.remove(vpc, call.now)
    return {}


def _has_dependents(call: Call, vpc: Record) -> bool:
    """Whether something must go before the VPC: all but its main route table and its default security group."""
    ident = vpc["id"]
    if call.where("subnet", VpcId=ident) or call.where("network-interface", VpcId=ident):
        return True
    if any(row["view"]["GroupName"] != "default" for row in call.where("security-group", VpcId=ident)):
        return True
    if any(not row["main"] for row in call.where("route-table", VpcId=ident)):
        return True
    if any(row["view"]["State"] != "deleted" for row in call.where("vpc-endpoint", VpcId=ident)):
        return True
    gateways = (*call.all("internet-gateway"), *call.all("egress-only-internet-gateway"))
    return any(attachment["VpcId"] == ident for row in gateways for attachment in row["view"]["Attachments"])


def modify_attribute(call: Call) -> dict[str, Any]:
    vpc = find(call, VPC, call.params["VpcId"])
    name = one_of(call, tuple(_ATTRIBUTES.values()))
    value = call.params[name].get("Value", False)
    if name == "EnableDnsSupport" and not value and vpc["attributes"]["EnableDnsHostnames"]:
        raise Refused("InvalidParameterCombination", "enableDnsHostnames needs enableDnsSupport")
    vpc["attributes"][name] = value
    return {}


def describe_attribute(call: Call) -> dict[str, Any]:
    vpc = find(call, VPC, call.params["VpcId"])
    name = _ATTRIBUTES[call.params["Attribute"]]
    return {"VpcId": vpc["id"], name: {"Value": vpc["attributes"][name]}}


def associate_block(call: Call) -> dict[str, Any]:
    vpc = find(call, VPC, call.params["VpcId"])
    view = vpc["view"]
    if call.params.get("AmazonProvidedIpv6CidrBlock"):
        if view["Ipv6CidrBlockAssociationSet"]:
            text = f"The network {vpc['id']} has an IPv6 CIDR block of Amazon already"
            raise Refused("InvalidVpc.Range", text)
        made = _association6(call, "associating")
        view["Ipv6CidrBlockAssociationSet"] = [made]
        path = "Ipv6CidrBlockAssociationSet.0.Ipv6CidrBlockState.State"
        call.world.schedule(call.now, vpc, {path: "associated"})
        return {"VpcId": vpc["id"], "Ipv6CidrBlockAssociation": made}
    if "CidrBlock" not in call.params:
        raise Refused("MissingParameter", "The request must contain the parameter cidrBlock")
    block = str(_vpc_block(call.params["CidrBlock"]))
    rows = view["CidrBlockAssociationSet"]
    if any(overlap(block, row["CidrBlock"]) for row in rows):
        raise Refused("InvalidVpc.Range", f"The CIDR '{block}' conflicts with another of the VPC.")
    if _is_restricted(block, view["CidrBlock"], [row["CidrBlock"] for row in rows]):
        text = (
            f"The CIDR '{block}' is restricted. Use a CIDR from the same private address range as the current VPC "
            f"CIDR, or use a publicly-routable CIDR. For additional restrictions, see {_RESTRICTIONS}"
        )
        raise Refused("InvalidVpc.Range", text)
    full(call, len(rows), call.settings.quotas.cidrs_per_vpc, "CIDR blocks of a VPC")
    rows.append(_association(call, block, "associating"))
    call.world.schedule(call.takes(call.settings.delays.associate_block), vpc, {}, "associate-blocks")
    return {"VpcId": vpc["id"], "CidrBlockAssociation": deepcopy(rows[-1])}


def associate(world: World, vpc: Record, now: float) -> None:
    """End the associations under way."""
    for row in vpc["view"]["CidrBlockAssociationSet"]:
        if row["CidrBlockState"]["State"] == "associating":
            row["CidrBlockState"]["State"] = "associated"


def disassociate_block(call: Call) -> dict[str, Any]:
    ident = call.params["AssociationId"]
    for vpc in call.all("vpc"):
        for name, key in (("CidrBlockAssociationSet", "CidrBlock"), ("Ipv6CidrBlockAssociationSet", "Ipv6CidrBlock")):
            for row in vpc["view"][name]:
                if row["AssociationId"] == ident:
                    return _disassociate(call, vpc, name, key, row)
    text = f"The vpc CIDR block association ID '{ident}' does not exist"
    raise Refused("InvalidVpcCidrBlockAssociationID.NotFound", text)


def _disassociate(call: Call, vpc: Record, name: str, key: str, row: dict[str, Any]) -> dict[str, Any]:
    block = row[key]
    if block == vpc["view"]["CidrBlock"]:
        text = f"The vpc CIDR block with association ID {row['AssociationId']} may not be disassociated."
        raise Refused("OperationNotPermitted", text)
    for subnet in call.where("subnet", VpcId=vpc["id"]):
        six = [each["Ipv6CidrBlock"] for each in subnet["view"]["Ipv6CidrBlockAssociationSet"]]
        if any(overlap(block, each) for each in (subnet["view"]["CidrBlock"], *six)):
            text = f"The vpc {vpc['id']} currently has a subnet within CIDR block {block}"
            raise Refused("DependencyViolation", text)
    vpc["view"][name].remove(row)
    state = {**row, f"{key}State": {"State": "disassociating"}}
    return {"VpcId": vpc["id"], name.removesuffix("Set"): state}


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateVpc", create_vpc, "CidrBlock AmazonProvidedIpv6CidrBlock InstanceTenancy TagSpecifications"),
    describes("DescribeVpcs", VPC, "VpcIds", "Vpcs"),
    writes("DeleteVpc", delete_vpc, "VpcId"),
    writes("ModifyVpcAttribute", modify_attribute, f"VpcId {' '.join(_ATTRIBUTES.values())}"),
    reads("DescribeVpcAttribute", describe_attribute, "VpcId Attribute"),
    writes("AssociateVpcCidrBlock", associate_block, "VpcId CidrBlock AmazonProvidedIpv6CidrBlock"),
    writes("DisassociateVpcCidrBlock", disassociate_block, "AssociationId"),
)
