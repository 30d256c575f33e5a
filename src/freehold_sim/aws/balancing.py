"""What both generations of load balancers share: subnets, groups, tags, and interfaces that stay for a while."""

from collections.abc import Iterable, Mapping
from typing import Any

from freehold_sim.aws.call import Call, Refused
from freehold_sim.aws.ec2 import interfaces
from freehold_sim.aws.tagging import why_not_common
from freehold_sim.aws.world import Record

ARNS_PER_DESCRIPTION = 20
"""DescribeTags takes at most 20 names or ARNs, DescribeLoadBalancers of version 2 at most 20 ARNs."""


def tags_of(call: Call, given: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return a list of tags as a mapping, or refuse it as Elastic Load Balancing does."""
    tags: dict[str, str] = {}
    for tag in given:
        key, value = tag["Key"], tag.get("Value", "")
        if problem := why_not_common(key, value):
            raise Refused("ValidationError", problem)
        if key in tags:
            raise Refused("DuplicateTagKeys", f"The tag key {key} is given twice")
        tags[key] = value
    too_many_tags(call, tags)
    return tags


def too_many_tags(call: Call, tags: Mapping[str, str]) -> None:
    most = call.settings.quotas.tags
    if len(tags) > most:
        raise Refused("TooManyTags", f"The limit of {most} tags on a load balancer has been reached")


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def subnets_of(call: Call, idents: list[str]) -> list[Record]:
    """Return subnets of one VPC, each in a zone of its own."""
    found = []
    for ident in dict.fromkeys(idents):
        subnet = call.get("subnet", ident)
        if subnet is None:
            raise Refused("SubnetNotFound", f"The subnet ID '{ident}' does not exist")
        found.append(subnet)
    if len({subnet["view"]["VpcId"] for subnet in found}) > 1:
        raise Refused("InvalidConfigurationRequest", "All subnets must belong to the same VPC")
    zones = [subnet["view"]["AvailabilityZone"] for subnet in found]
    if len(set(zones)) < len(zones):
        text = "A load balancer cannot be attached to multiple subnets in the same Availability Zone"
        raise Refused("InvalidConfigurationRequest", text)
    return found


def check_reachable(call: Call, vpc: str) -> None:
    """Refuse an internet-facing load balancer in a VPC without an internet gateway."""
    for gateway in call.all("internet-gateway"):
        if any(attachment["VpcId"] == vpc for attachment in gateway["view"]["Attachments"]):
            return
    raise Refused("InvalidSubnet", f"VPC {vpc} has no internet gateway")


def groups_of(call: Call, vpc: str, idents: list[str]) -> list[dict[str, str]]:
    """Return security groups of a VPC as interfaces show them."""
    found = []
    for ident in dict.fromkeys(idents):
        group = call.get("security-group", ident)
        if group is None or group["view"]["VpcId"] != vpc:
            raise Refused("InvalidSecurityGroup", f"One or more security groups are invalid: {ident}")
        found.append({"GroupId": ident, "GroupName": group["view"]["GroupName"]})
    return found


def place(
    call: Call, balancer: Record, subnet: Record, groups: list[dict[str, str]], description: str, public: bool
) -> Record:
    """Put the interface of a load balancer into a subnet."""
    kind = "network_load_balancer" if description.startswith("ELB net/") else "interface"
    interface = interfaces.place(call, subnet, description, groups=groups, requester="amazon-elb", kind=kind)
    if public:
        number = call.world.serial()
        address = f"52.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}"
        interface["view"]["Association"] = {"PublicIp": address, "IpOwnerId": "amazon-elb"}
    balancer["interfaces"][subnet["id"]] = interface["id"]
    return interface


def set_groups(call: Call, balancer: Record, groups: list[dict[str, str]]) -> None:
    """Put the interfaces of a load balancer into other groups."""
    cards = call.world.table(call.scope, "network-interface")
    for ident in balancer["interfaces"].values():
        if ident in cards:
            cards[ident]["view"]["Groups"] = groups


def withdraw(call: Call, balancer: Record, subnets: Iterable[str]) -> None:
    """Take the load balancer out of subnets. Its interfaces stay there for a while, and hold subnets and groups."""
    cards = call.world.table(call.scope, "network-interface")
    when = call.takes(call.settings.delays.balancer_interfaces)
    for subnet in subnets:
        ident = balancer["interfaces"].pop(subnet, "")
        if ident in cards:
            call.world.schedule(when, cards[ident], None, "release-interface")
