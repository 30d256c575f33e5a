"""Reasons why a delete is refused, for people: EC2's ``DependencyViolation`` names no resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from freehold.engine.drivers import User
from freehold.engine.errors import CloudError, Denied, InUse
from freehold.providers.aws.calls import AwsClient, Json

MOST_NAMED = 5


class BlockerSearch(NamedTuple):
    """A list in which a blocking resource may be; ``selects`` keeps the rows that block."""

    operation: str
    items: str
    ident: str
    filters: Mapping[str, str]
    selects: Callable[[Json], bool] = lambda row: True


def interface_search(filters: Mapping[str, str]) -> BlockerSearch:
    return BlockerSearch("describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId", filters)


def subnet_searches(subnet: str) -> tuple[BlockerSearch, ...]:
    return (interface_search({"subnet-id": subnet}),)


def public_address_searches(vpc: str) -> tuple[BlockerSearch, ...]:
    """Return the search for interfaces with a public address: they prevent the detachment of an internet gateway."""
    return (interface_search({"vpc-id": vpc, "association.public-ip": "*"}),)


def address_searches(allocation: str) -> tuple[BlockerSearch, ...]:
    """Return the search for the interface that has an elastic IP."""
    return (interface_search({"association.allocation-id": allocation}),)


def vpc_searches(vpc: str) -> tuple[BlockerSearch, ...]:
    """Return the searches for what prevents a VPC's delete. Its main route table and default group go with it."""
    inside = {"vpc-id": vpc}
    return (
        BlockerSearch("describe_subnets", "Subnets", "SubnetId", inside),
        BlockerSearch(
            "describe_security_groups", "SecurityGroups", "GroupId", inside, lambda row: row["GroupName"] != "default"
        ),
        BlockerSearch("describe_route_tables", "RouteTables", "RouteTableId", inside, lambda row: not _is_main(row)),
        BlockerSearch(
            "describe_internet_gateways", "InternetGateways", "InternetGatewayId", {"attachment.vpc-id": vpc}
        ),
        BlockerSearch("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId", inside),
        interface_search(inside),
        # This list has no filter by VPC: docs/reference/aws.md.
        BlockerSearch(
            "describe_egress_only_internet_gateways", "EgressOnlyInternetGateways", "EgressOnlyInternetGatewayId", {},
            lambda row: any(each.get("VpcId") == vpc for each in row.get("Attachments", ())),
        ),
    )  # fmt: skip


async def balancer_interfaces(client: AwsClient, name: str) -> tuple[str, ...]:
    """Return the interfaces that a load balancer leaves in its subnets for minutes after its delete.

    Their description has the name of a classic load balancer, and for others the end of the ARN
    (https://repost.aws/knowledge-center/elb-find-load-balancer-IP).
    """
    return await described_interfaces(client, f"ELB {name}")


async def described_interfaces(client: AwsClient, description: str) -> tuple[str, ...]:
    """Return the interfaces that a service made, by their description.

    Empty where they may not be read: then the deletes of what they block are tried, and refused, until the interfaces
    are gone.
    """
    filters = [{"Name": "description", "Values": [description]}]
    operation, items = "describe_network_interfaces", "NetworkInterfaces"
    try:
        rows = await client.read_list("ec2", operation, items, f"those of {description}", Filters=filters)
    except Denied:
        return ()
    found = sorted(str(row["NetworkInterfaceId"]) for row in rows)
    more = len(found) - MOST_NAMED
    return (*found[:MOST_NAMED], *([f"{more} more"] if more > 0 else []))


def _is_main(table: Json) -> bool:
    return any(row.get("Main") for row in table.get("Associations", ()))


async def find_all(client: AwsClient, searches: Iterable[BlockerSearch]) -> list[User]:
    """Return what all these searches find. Raises CloudError."""
    found = []
    for search in searches:
        rows = await _read_rows(client, search)
        found += [User(_describe(row, search.ident), str(row[search.ident])) for row in rows]
    return found


async def _read_rows(client: AwsClient, search: BlockerSearch) -> list[Json]:
    filters = [{"Name": name, "Values": [value]} for name, value in search.filters.items()]
    asked = {"Filters": filters} if filters else {}
    subject = f"what holds {', '.join(search.filters.values()) or 'it'}"
    rows = await client.read_list("ec2", search.operation, search.items, subject, **asked)
    return [row for row in rows if search.selects(row)]


async def name_blockers(client: AwsClient, refused: InUse, searches: tuple[BlockerSearch, ...]) -> InUse:
    """Return the refusal with what the first successful search found; unchanged where nothing can be read."""
    try:
        for search in searches:
            if found := [_describe(row, search.ident) for row in await _read_rows(client, search)]:
                more = len(found) - MOST_NAMED
                return refused.held_by(", ".join(found[:MOST_NAMED]) + (f" and {more} more" if more > 0 else ""))
    except CloudError:
        return refused
    return refused


def _describe(row: Json, ident: str) -> str:
    about = row.get("Description", "")
    return f"{row[ident]} ({about})" if about else str(row[ident])
