"""Network interfaces that RunInstances is asked for: checked before anything is made, then made one by one.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html
"""

from dataclasses import dataclass
from typing import Any

from freehold_sim.aws.call import Call, Refused, not_served
from freehold_sim.aws.ec2 import interfaces
from freehold_sim.aws.ec2.instance_types import InstanceType
from freehold_sim.aws.ec2.kinds import find
from freehold_sim.aws.ec2.resources import INTERFACE, SUBNET
from freehold_sim.aws.world import Record

SERVED = (
    "DeviceIndex SubnetId Groups AssociatePublicIpAddress DeleteOnTermination Description NetworkInterfaceId "
    "PrivateIpAddress Ipv6AddressCount PrimaryIpv6 InterfaceType"
)
"""The members of a network interface that RunInstances takes."""
OF_REQUEST = {
    "SubnetId": "SubnetId", "SecurityGroupIds": "Groups", "PrivateIpAddress": "PrivateIpAddress",
    "Ipv6AddressCount": "Ipv6AddressCount", "EnablePrimaryIpv6": "PrimaryIpv6",
}  # fmt: skip
"""Parameters of the request that describe its one interface, each with the member that says so of an interface."""


@dataclass(frozen=True)
class Card:
    """One interface to make or to attach. `public` is whether it gets a public IPv4 address."""

    index: int
    given: dict[str, Any]
    subnet: Record
    groups: list[dict[str, str]]
    public: bool


def planned(call: Call, kind: InstanceType, most: int) -> list[Card]:
    """Return the interfaces of each instance by device index, or refuse them as EC2 does."""
    given = call.params.get("NetworkInterfaces", [])
    if given:
        _check(call, given, kind, most)
    else:
        given = [{member: call.params[name] for name, member in OF_REQUEST.items() if name in call.params}]
    cards = sorted((_card(call, each, len(given)) for each in given), key=lambda card: card.index)
    if len({card.subnet["view"]["AvailabilityZone"] for card in cards}) > 1:
        text = "All network interfaces of an instance must be in the same Availability Zone"
        raise Refused("InvalidParameterCombination", text)
    if len({card.subnet["view"]["VpcId"] for card in cards}) > 1:
        raise not_served("interfaces of one instance in several VPCs")
    return cards


def _check(call: Call, given: list[dict[str, Any]], kind: InstanceType, most: int) -> None:
    """Messages: packer#2242, aws-cli#809, and AttachmentLimitExceeded of the error codes of EC2."""
    if any(name in call.params for name in OF_REQUEST):
        text = "Network interfaces and an instance-level subnet ID may not be specified on the same request"
        raise Refused("InvalidParameterCombination", text)
    if any("DeviceIndex" not in each for each in given):
        raise Refused("InvalidParameterValue", "Each network interface requires a device index.")
    indexes = [each["DeviceIndex"] for each in given]
    if len(set(indexes)) < len(indexes):
        raise Refused("InvalidParameterValue", "Each network interface requires a unique device index.")
    if 0 not in indexes:
        text = "When specifying network interfaces, you must include a device at index 0."
        raise Refused("InvalidParameterValue", text)
    if len(given) > kind.interfaces:
        raise Refused("AttachmentLimitExceeded", f"Interface count {len(given)} exceeds the limit for {kind.name}")
    if most > 1 and any("NetworkInterfaceId" in each for each in given):
        raise Refused("InvalidParameterCombination", "One network interface cannot serve several instances")
    if len(given) > 1 and any(each.get("AssociatePublicIpAddress") for each in given):
        text = "The associatePublicIPAddress parameter cannot be specified when launching with multiple network"
        raise Refused("InvalidParameterCombination", f"{text} interfaces.")


def _card(call: Call, given: dict[str, Any], count: int) -> Card:
    if given.get("InterfaceType", "interface") != "interface":
        raise not_served(f"interfaces of the type {given['InterfaceType']}")
    index = given.get("DeviceIndex", 0)
    if "NetworkInterfaceId" in given:
        interface = _held(call, given)
        subnet = find(call, SUBNET, interface["view"]["SubnetId"])
        return Card(index, given, subnet, interface["view"]["Groups"], public=False)
    if "SubnetId" not in given:
        raise Refused("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
    subnet = find(call, SUBNET, given["SubnetId"])
    groups = interfaces.groups_of(call, subnet["view"]["VpcId"], given.get("Groups"), subnet["id"])
    interfaces.check_ipv6(given, subnet)
    wanted = given.get("AssociatePublicIpAddress", subnet["view"]["MapPublicIpOnLaunch"])
    return Card(index, given, subnet, groups, public=bool(wanted and count == 1))


def _held(call: Call, given: dict[str, Any]) -> Record:
    """Return the interface that is there already; it keeps what it is."""
    if fixed := [name for name in ("SubnetId", "Groups", "PrivateIpAddress", "AssociatePublicIpAddress",
                                   "Ipv6AddressCount", "PrimaryIpv6") if name in given]:  # fmt: skip
        text = f"A network interface may not specify both a network interface ID and {', '.join(fixed)}"
        raise Refused("InvalidParameterCombination", text)
    interface = find(call, INTERFACE, given["NetworkInterfaceId"])
    if interface["view"]["Status"] != "available":
        text = f"Network interface '{interface['id']}' is currently in use."
        raise Refused("InvalidNetworkInterface.InUse", text)
    return interface


def attach(call: Call, instance: Record, card: Card, tags: dict[str, str]) -> None:
    """Give an instance the interface of a card."""
    given = card.given
    if "NetworkInterfaceId" in given:
        interface = find(call, INTERFACE, given["NetworkInterfaceId"])
    else:
        interface = interfaces.place(
            call, card.subnet, given.get("Description", ""), groups=card.groups, tags=tags,
            wanted=given.get("PrivateIpAddress"), ipv6=interfaces.ipv6_of(call, given, card.subnet),
        )  # fmt: skip
    ends = given.get("DeleteOnTermination", "NetworkInterfaceId" not in given)
    interfaces.attach(call, interface, instance, card.index, ends_with_instance=ends)
    instance["interfaces"].append(interface["id"])
    if card.public:
        interfaces.give_public_address(call.world, interface)
        instance["public"] = True
