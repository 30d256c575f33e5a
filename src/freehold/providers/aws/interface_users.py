"""Who has network interfaces in a subnet or a security group: what is cut off when routes or rules go."""

from __future__ import annotations

import re

from freehold.engine.drivers import User
from freehold.providers.aws.arn import Arn
from freehold.providers.aws.calls import ApiClient, Json
from freehold.providers.aws.decoded import Place
from freehold.providers.aws.reading import place_of

_NAT_GATEWAY = re.compile(r"Interface for NAT Gateway (nat-[0-9a-f]+)")
_BALANCER = re.compile(r"ELB (\S+)")
"""What the services write into the description of theirs (https://repost.aws/knowledge-center/elb-find-load-balancer-IP,
https://repost.aws/knowledge-center/vpc-find-owner-unknown-ip-addresses)."""


async def of(client: ApiClient, selector: str, ident: str) -> list[User]:
    """Those whose interfaces a filter ``selector`` finds. Raises CloudError."""
    filters = [{"Name": selector, "Values": [ident]}]
    subject = f"those of {ident}"
    rows = await client.listed("ec2", "describe_network_interfaces", "NetworkInterfaces", subject, Filters=filters)
    place = await place_of(client)
    return sorted({_user(row, place) for row in rows})


def _user(row: Json, place: Place) -> User:
    """What the interface belongs to, else the interface itself."""
    about = row.get("Description", "")
    if machine := row.get("Attachment", {}).get("InstanceId"):
        return User(f"instance {machine}", machine)
    if gateway := _NAT_GATEWAY.fullmatch(about):
        return User(f"NAT gateway {gateway[1]}", gateway[1])
    if balancer := _BALANCER.fullmatch(about):
        return User(f"load balancer {balancer[1]}", _balancer_id(balancer[1], place))
    interface = row["NetworkInterfaceId"]
    return User(f"network interface {interface}" + (f" ({about})" if about else ""), interface)


def _balancer_id(named: str, place: Place) -> str:
    """A classic one by its name, others as in their ARN."""
    if "/" not in named:
        return named
    return str(Arn(place.partition, "elasticloadbalancing", place.region, place.account, f"loadbalancer/{named}"))
