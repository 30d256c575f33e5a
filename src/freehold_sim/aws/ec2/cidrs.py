"""CIDR blocks: parsing as EC2 does it, and free addresses in a subnet."""

from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network
from itertools import chain

from freehold_sim.aws.call import Refused


def cidr(text: str, parameter: str) -> IPv4Network:
    """Return an IPv4 block, with host bits cleared as EC2 does it."""
    try:
        if "/" not in text:
            raise ValueError
        return IPv4Network(text, strict=False)
    except ValueError:
        problem = f"Value ({text}) for parameter {parameter} is invalid. This is not a valid CIDR block."
        raise Refused("InvalidParameterValue", problem) from None


def cidr6(text: str, parameter: str) -> IPv6Network:
    try:
        return IPv6Network(text, strict=False)
    except ValueError:
        problem = f"Value ({text}) for parameter {parameter} is invalid. This is not a valid IPv6 CIDR block."
        raise Refused("InvalidParameterValue", problem) from None


def overlap(one: str, other: str) -> bool:
    left, right = ip_network(one), ip_network(other)
    return left.version == right.version and left.overlaps(right)


def _address(text: str) -> IPv4Address:
    try:
        return IPv4Address(text)
    except ValueError:
        problem = f"Value ({text}) for parameter privateIpAddress is invalid."
        raise Refused("InvalidParameterValue", problem) from None


RESERVED = 5
"""Addresses of a subnet that AWS keeps: the first four and the last."""


def free_address(block: str, used: list[str], wanted: str | None = None) -> str:
    """Return a free address of a subnet, or the one that is wanted."""
    network = IPv4Network(block)
    taken = set(used)
    first, last = int(network.network_address) + 4, int(network.broadcast_address)
    if wanted is not None:
        if not first <= int(_address(wanted)) < last:
            raise Refused("InvalidParameterValue", "Address does not fall within the subnet's address range")
        if wanted in taken:
            raise Refused("InvalidIPAddress.InUse", f"Address {wanted} is in use.")
        return wanted
    start = first + len(used)
    for number in chain(range(start, last), range(first, start)):
        text = str(network.network_address + (number - int(network.network_address)))
        if text not in taken:
            return text
    problem = f"There are not enough free addresses in subnet {block} to satisfy the requested number of instances."
    raise Refused("InsufficientFreeAddressesInSubnet", problem)
