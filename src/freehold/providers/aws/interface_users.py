"""Owners of the network interfaces in a subnet or a security group: they are cut off when its routes or rules go."""

from __future__ import annotations

import re

from freehold.engine.drivers import User
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation
from freehold.providers.aws.reading import location_of

_NAT_GATEWAY = re.compile(r"Interface for NAT Gateway (nat-[0-9a-f]+)")
_BALANCER = re.compile(r"ELB (\S+)")
"""Descriptions that services give to their interfaces (https://repost.aws/knowledge-center/elb-find-load-balancer-IP,
https://repost.aws/knowledge-center/vpc-find-owner-unknown-ip-addresses)."""


async def find_users(client: AwsClient, selector: str, ident: str) -> list[User]:
    """Return the users of the interfaces that the filter ``selector`` finds. Raises CloudError."""
    filters = [{"Name": selector, "Values": [ident]}]
    subject = f"those of {ident}"
    rows = await client.read_list("ec2", "describe_network_interfaces", "NetworkInterfaces", subject, Filters=filters)
    place = await location_of(client)
    return sorted({_user(row, place) for row in rows})


def _user(row: Json, place: AwsLocation) -> User:
    """Return the owner of the interface, else the interface itself."""
    about = row.get("Description", "")
    if machine := row.get("Attachment", {}).get("InstanceId"):
        return User(f"instance {machine}", machine)
    if gateway := _NAT_GATEWAY.fullmatch(about):
        return User(f"NAT gateway {gateway[1]}", gateway[1])
    if balancer := _BALANCER.fullmatch(about):
        return User(f"load balancer {balancer[1]}", _balancer_id(balancer[1], place))
    interface = row["NetworkInterfaceId"]
    return User(f"network interface {interface}" + (f" ({about})" if about else ""), interface)


def _balancer_id(named: str, place: AwsLocation) -> str:
    """Return the name of a classic load balancer, the ARN of others."""
    if "/" not in named:
        return named
    return str(Arn(place.partition, "elasticloadbalancing", place.region, place.account, f"loadbalancer/{named}"))
