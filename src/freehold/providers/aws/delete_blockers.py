"""What stands in the way of a delete, for a person: EC2's ``DependencyViolation`` names nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from freehold.engine.drivers import User
from freehold.engine.errors import CloudError, Denied, InUse
from freehold.providers.aws.calls import ApiClient, Json

MOST_NAMED = 5


class Search(NamedTuple):
    """One list in which something may be found; ``selects`` says which of its rows are in the way."""

    operation: str
    items: str
    ident: str
    filters: Mapping[str, str]
    selects: Callable[[Json], bool] = lambda row: True


def interfaces(filters: Mapping[str, str]) -> Search:
    return Search("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId", filters)


def interfaces_in(subnet: str) -> tuple[Search, ...]:
    return (interfaces({"subnet-id": subnet}),)


def public_addresses_of(vpc: str) -> tuple[Search, ...]:
    """What an internet gateway cannot be detached from: interfaces with a public address."""
    return (interfaces({"vpc-id": vpc, "association.public-ip": "*"}),)


def holding_address(allocation: str) -> tuple[Search, ...]:
    """The interface that has an elastic IP."""
    return (interfaces({"association.allocation-id": allocation}),)


def inside_vpc(vpc: str) -> tuple[Search, ...]:
    """What is looked for in a VPC that cannot be deleted; its main route table and its default group go with it."""
    inside = {"vpc-id": vpc}
    return (
        Search("describe_subnets", "Subnets", "SubnetId", inside),
        Search(
            "describe_security_groups", "SecurityGroups", "GroupId", inside, lambda row: row["GroupName"] != "default"
        ),
        Search("describe_route_tables", "RouteTables", "RouteTableId", inside, lambda row: not _is_main(row)),
        Search(
            "describe_internet_gateways", "InternetGateways", "InternetGatewayId", {"attachment.vpc-id": vpc}
        ),
        Search("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId", inside),
        interfaces(inside),
        # No filter takes its VPC: docs/reference/aws.md.
        Search(
            "describe_egress_only_internet_gateways", "EgressOnlyInternetGateways", "EgressOnlyInternetGatewayId", {},
            lambda row: any(each.get("VpcId") == vpc for each in row.get("Attachments", ())),
        ),
    )  # fmt: skip


async def interfaces_of_balancer(client: ApiClient, name: str) -> tuple[str, ...]:
    """What a load balancer has in its subnets, and leaves there for minutes: classic by name, others as in their ARN.

    https://repost.aws/knowledge-center/elb-find-load-balancer-IP. None where they may not be read: the deletes of what
    they hold are tried, and refused, until they have gone.
    """
    filters = [{"Name": "description", "Values": [f"ELB {name}"]}]
    operation, items = "describe_network_interfaces", "NetworkInterfaces"
    try:
        rows = await client.listed("ec2", operation, items, f"those of ELB {name}", Filters=filters)
    except Denied:
        return ()
    found = sorted(str(row["NetworkInterfaceId"]) for row in rows)
    more = len(found) - MOST_NAMED
    return (*found[:MOST_NAMED], *([f"{more} more"] if more > 0 else []))


def _is_main(table: Json) -> bool:
    return any(row.get("Main") for row in table.get("Associations", ()))


async def all_of(client: ApiClient, searches: Iterable[Search]) -> list[User]:
    """Return what all of these searches find. Raises CloudError."""
    found = []
    for search in searches:
        rows = await _rows(client, search)
        found += [User(_told(row, search.ident), str(row[search.ident])) for row in rows]
    return found


async def _rows(client: ApiClient, search: Search) -> list[Json]:
    filters = [{"Name": name, "Values": [value]} for name, value in search.filters.items()]
    asked = {"Filters": filters} if filters else {}
    subject = f"what holds {', '.join(search.filters.values()) or 'it'}"
    rows = await client.listed("ec2", search.operation, search.items, subject, **asked)
    return [row for row in rows if search.selects(row)]


async def named(client: ApiClient, refused: InUse, searches: tuple[Search, ...]) -> InUse:
    """The refusal with what the first search found that found anything; as it was where none can be read."""
    try:
        for search in searches:
            if found := [_told(row, search.ident) for row in await _rows(client, search)]:
                more = len(found) - MOST_NAMED
                return refused.held_by(", ".join(found[:MOST_NAMED]) + (f" and {more} more" if more > 0 else ""))
    except CloudError:
        return refused
    return refused


def _told(row: Json, ident: str) -> str:
    about = row.get("Description", "")
    return f"{row[ident]} ({about})" if about else str(row[ident])
