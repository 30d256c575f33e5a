"""Network interfaces: those of callers, and those that other services keep in a subnet.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-eni.html
"""

from ipaddress import IPv6Network
from typing import Any

from freehold_sim.aws.call import Call, Operation, Refused, Token, not_served, reads, writes
from freehold_sim.aws.ec2.cidrs import free_address
from freehold_sim.aws.ec2.describing import describes
from freehold_sim.aws.ec2.kinds import create, find, full, new_id, show, tags_for
from freehold_sim.aws.ec2.resources import INSTANCE, INTERFACE, SECURITY_GROUP, SUBNET
from freehold_sim.aws.world import Record, World, scope_of


def groups_of(call: Call, vpc: str, idents: list[str] | None, launched_in: str = "") -> list[dict[str, str]]:
    """Return security groups as an interface shows them; the default group of the VPC if none are named.

    `launched_in` is the subnet of a launch, which has words of its own for a group of another VPC.
    """
    if not idents:
        found = [row for row in call.where("security-group", VpcId=vpc) if row["view"]["GroupName"] == "default"]
    else:
        found = [find(call, SECURITY_GROUP, ident) for ident in dict.fromkeys(idents)]
    for group in found:
        if group["view"]["VpcId"] != vpc and launched_in:
            text = f"Security group {group['id']} and subnet {launched_in} belong to different networks."
            raise Refused("InvalidParameter", text)
        if group["view"]["VpcId"] != vpc:
            text = f"You have specified two resources that belong to different networks: {group['id']} and {vpc}"
            raise Refused("InvalidParameterValue", text)
    what = "Instance" if call.operation in {"RunInstances", "ModifyInstanceAttribute"} else "Interface"
    full(
        call, len(found) - 1, call.settings.quotas.groups_per_interface, "security groups of an interface",
        f"SecurityGroupsPer{what}LimitExceeded",
    )  # fmt: skip
    return [{"GroupId": group["id"], "GroupName": group["view"]["GroupName"]} for group in found]


def domain(region: str) -> str:
    """Return what private names end with (https://docs.aws.amazon.com/vpc/latest/userguide/vpc-dns.html)."""
    return "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"


def check_ipv6(given: dict[str, Any], subnet: Record) -> None:
    """Refuse IPv6 addresses of an interface that its subnet does not have."""
    count = _ipv6_count(given, subnet)
    if count and not subnet["view"]["Ipv6CidrBlockAssociationSet"]:
        text = f"The subnet '{subnet['id']}' has no IPv6 CIDR block, so that no IPv6 address can be assigned"
        raise Refused("InvalidParameterValue", text)
    if given.get("PrimaryIpv6") and not count:
        raise Refused("InvalidParameterCombination", "A primary IPv6 address needs an interface with an IPv6 address")


def _ipv6_count(given: dict[str, Any], subnet: Record) -> int:
    """Return how many addresses are asked for; a subnet may give one unasked."""
    return int(given.get("Ipv6AddressCount", subnet["view"]["AssignIpv6AddressOnCreation"]))


def ipv6_of(call: Call, given: dict[str, Any], subnet: Record) -> list[dict[str, Any]]:
    """Return new IPv6 addresses of an interface, as it shows them."""
    count = _ipv6_count(given, subnet)
    blocks = [IPv6Network(row["Ipv6CidrBlock"]) for row in subnet["view"]["Ipv6CidrBlockAssociationSet"]]
    texts = [str(blocks[0][int(call.world.new_hex(16), 16)]) for _ in range(count)]
    primary = given.get("PrimaryIpv6", False)
    return [{"Ipv6Address": text, "IsPrimaryIpv6": primary and not index} for index, text in enumerate(texts)]


def place(
    call: Call,
    subnet: Record,
    description: str,
    *,
    groups: list[dict[str, str]] | None = None,
    requester: str = "",
    kind: str = "interface",
    tags: dict[str, str] | None = None,
    wanted: str | None = None,
    ipv6: list[dict[str, Any]] | None = None,
    status: str = "in-use",
) -> Record:
    """Create an interface in a subnet. `requester` is the service that manages it, "" for the caller's own."""
    address = free_address(subnet["view"]["CidrBlock"], subnet["used"], wanted)
    subnet["used"].append(address)
    name = f"ip-{address.replace('.', '-')}.{domain(call.region)}"
    view = {
        "VpcId": subnet["view"]["VpcId"], "SubnetId": subnet["id"], "Description": description, "Status": status,
        "AvailabilityZone": subnet["view"]["AvailabilityZone"], "OwnerId": call.account, "InterfaceType": kind,
        "MacAddress": _mac(call), "PrivateIpAddress": address, "PrivateDnsName": name, "Groups": groups or [],
        "RequesterManaged": bool(requester), "SourceDestCheck": kind == "interface", "Ipv6Addresses": ipv6 or [],
        "PrivateIpAddresses": [{"Primary": True, "PrivateIpAddress": address, "PrivateDnsName": name}],
    }  # fmt: skip
    if requester:
        view["RequesterId"] = requester
    return create(call, INTERFACE, view, tags)


def _mac(call: Call) -> str:
    digits = call.world.new_hex(10)
    return ":".join(["02", *(digits[at : at + 2] for at in range(0, 10, 2))])


def remove(world: World, interface: Record, now: float) -> None:
    """Remove an interface and give its addresses back."""
    give_back(world, interface, now)
    world.remove(interface, now)


def give_back(world: World, interface: Record, now: float) -> None:
    """Give the addresses of an interface back to its subnet and to the account; a timer effect too."""
    scope = scope_of(interface["account"], interface["region"])
    subnet = world.table(scope, "subnet").get(interface["view"]["SubnetId"])
    if subnet is not None and interface["view"]["PrivateIpAddress"] in subnet["used"]:
        subnet["used"].remove(interface["view"]["PrivateIpAddress"])
    release_address(world, interface)


def release_address(world: World, interface: Record) -> None:
    """Take the elastic address off an interface, if it has one."""
    interface["view"].pop("Association", None)
    for address in world.table(scope_of(interface["account"], interface["region"]), "elastic-ip").values():
        if address["view"].get("NetworkInterfaceId") == interface["id"]:
            for name in ("AssociationId", "NetworkInterfaceId", "NetworkInterfaceOwnerId", "PrivateIpAddress"):
                address["view"].pop(name, None)
            address["view"].pop("InstanceId", None)


def create_interface(call: Call) -> dict[str, Any]:
    tags = tags_for(call, "network-interface")["network-interface"]
    subnet = find(call, SUBNET, call.params["SubnetId"])
    full(call, len(call.all("network-interface")), call.settings.quotas.interfaces, "network interfaces")
    groups = groups_of(call, subnet["view"]["VpcId"], call.params.get("Groups"))
    check_ipv6(call.params, subnet)
    made = place(
        call, subnet, call.params.get("Description", ""), groups=groups, tags=tags, status="available",
        wanted=call.params.get("PrivateIpAddress"), ipv6=ipv6_of(call, call.params, subnet),
    )  # fmt: skip
    return _reply(call, [made])


def _reply(call: Call, made: list[Record]) -> dict[str, Any]:
    reply = {"NetworkInterface": show(made[0], INTERFACE)}
    return {**reply, "ClientToken": call.params["ClientToken"]} if "ClientToken" in call.params else reply


def delete_interface(call: Call) -> dict[str, Any]:
    interface = find(call, INTERFACE, call.params["NetworkInterfaceId"])
    _own(call, interface)
    if interface["view"]["Status"] != "available":
        text = f"Network interface '{interface['id']}' is currently in use."
        raise Refused("InvalidParameterValue", text)  # so AWS says it: gruntwork-io/cloud-nuke#431
    remove(call.world, interface, call.now)
    return {}


def _own(call: Call, interface: Record) -> None:
    if interface["view"]["RequesterManaged"]:
        raise Refused("AuthFailure", "You do not have permission to access the specified resource.", 401)


def modify_interface(call: Call) -> dict[str, Any]:
    interface = find(call, INTERFACE, call.params["NetworkInterfaceId"])
    _own(call, interface)
    view, params = interface["view"], call.params
    if "Groups" in params:
        view["Groups"] = groups_of(call, view["VpcId"], params["Groups"])
    if "SourceDestCheck" in params:
        view["SourceDestCheck"] = params["SourceDestCheck"].get("Value", True)
    if "Description" in params:
        view["Description"] = params["Description"].get("Value", "")
    _show_on_instance(call, view)
    return {}


def _show_on_instance(call: Call, view: dict[str, Any]) -> None:
    """Let an instance show the groups and the source check of its first interface."""
    attachment = view.get("Attachment", {})
    instance = call.world.table(call.scope, "instance").get(attachment.get("InstanceId", ""))
    if instance is not None and attachment["DeviceIndex"] == 0:
        instance["view"].update(SecurityGroups=view["Groups"], SourceDestCheck=view["SourceDestCheck"])


def describe_attribute(call: Call) -> dict[str, Any]:
    """Show one attribute: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeNetworkInterfaceAttribute.html"""
    interface = find(call, INTERFACE, call.params["NetworkInterfaceId"])
    view, name = interface["view"], call.params.get("Attribute")
    found: dict[str, dict[str, Any]] = {
        "description": {"Description": {"Value": view["Description"]}},
        "groupSet": {"Groups": view["Groups"]},
        "sourceDestCheck": {"SourceDestCheck": {"Value": view["SourceDestCheck"]}},
        "attachment": {"Attachment": view["Attachment"]} if "Attachment" in view else {},
    }
    if name is None:
        raise Refused("MissingParameter", "The request must contain the parameter attribute")
    if name not in found:
        raise not_served(f"the attribute {name} of network interfaces")
    return {"NetworkInterfaceId": interface["id"], **found[name]}


def attach_interface(call: Call) -> dict[str, Any]:
    interface = find(call, INTERFACE, call.params["NetworkInterfaceId"])
    instance = find(call, INSTANCE, call.params["InstanceId"])
    if interface["view"]["Status"] != "available":
        raise Refused("InvalidNetworkInterface.InUse", f"Interface: [{interface['id']}] in use.")
    attach(call, interface, instance, call.params["DeviceIndex"], ends_with_instance=False)
    return {"AttachmentId": interface["view"]["Attachment"]["AttachmentId"]}


def give_public_address(world: World, interface: Record) -> None:
    """Give an interface a public address of Amazon's, which goes when its instance stops."""
    number = world.serial()
    address = f"3.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}"
    interface["view"]["Association"] = {"PublicIp": address, "IpOwnerId": "amazon"}


def attach(call: Call, interface: Record, instance: Record, index: int, *, ends_with_instance: bool) -> None:
    """Attach an interface to an instance."""
    interface["view"]["Status"] = "in-use"
    interface["view"]["Attachment"] = {
        "AttachmentId": new_id(call, "eni-attach"), "AttachTime": call.now, "DeviceIndex": index,
        "DeleteOnTermination": ends_with_instance, "InstanceId": instance["id"], "InstanceOwnerId": call.account,
        "Status": "attached", "NetworkCardIndex": 0,
    }  # fmt: skip


def detach_interface(call: Call) -> dict[str, Any]:
    ident = call.params["AttachmentId"]
    for interface in call.all("network-interface"):
        attachment = interface["view"].get("Attachment", {})
        if attachment.get("AttachmentId") != ident:
            continue
        _own(call, interface)
        if attachment.get("DeviceIndex") == 0:
            text = "The network interface at device index 0 cannot be detached."
            raise Refused("OperationNotPermitted", text)
        del interface["view"]["Attachment"]
        interface["view"]["Status"] = "available"
        return {}
    raise Refused("InvalidAttachmentID.NotFound", f"The attachment ID '{ident}' does not exist")


OPERATIONS: tuple[Operation, ...] = (
    writes("CreateNetworkInterface", create_interface,
           "SubnetId Description Groups PrivateIpAddress Ipv6AddressCount ClientToken TagSpecifications",
           Token("ClientToken", "network-interface", _reply)),
    describes("DescribeNetworkInterfaces", INTERFACE, "NetworkInterfaceIds", "NetworkInterfaces"),
    reads("DescribeNetworkInterfaceAttribute", describe_attribute, "NetworkInterfaceId Attribute"),
    writes("DeleteNetworkInterface", delete_interface, "NetworkInterfaceId"),
    writes("ModifyNetworkInterfaceAttribute", modify_interface,
           "NetworkInterfaceId Groups SourceDestCheck Description"),
    writes("AttachNetworkInterface", attach_interface, "NetworkInterfaceId InstanceId DeviceIndex"),
    writes("DetachNetworkInterface", detach_interface, "AttachmentId"),
)  # fmt: skip
