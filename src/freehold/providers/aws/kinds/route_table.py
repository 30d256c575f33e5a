"""Kind ``route-table``: its routes and its associations with subnets are parts.

Request: ``name`` (for messages), ``vpc_id``. A route is named by its destination; its behavior is the id of its target,
which is changed in place. An association is named by the id of its subnet. As in CAPA, routes of others stay.
Associations are all ours: they refuse the delete of the table.

Routes that come with something else are no parts: those within the VPC, those that a VPN gateway propagates, and those
to gateway endpoints, which the endpoint adds and removes.
"""

from __future__ import annotations

from freehold.engine.errors import Invalid, NameTaken
from freehold.engine.kinds import CreateRules, DeleteRules, Kind, NameRules, PartRules, ReadRules
from freehold.engine.resources import Part, Ref, Request, State
from freehold.providers.aws import reading
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource, active_associations
from freehold.providers.aws.ec2 import IN_VPC, Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read
from freehold.providers.aws.tags.native_tags import tag_map

ROUTE, ASSOCIATION = "route", "route-table-association"
DESTINATIONS = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
TARGETS = (
    "GatewayId",
    "NatGatewayId",
    "EgressOnlyInternetGatewayId",
    "TransitGatewayId",
    "VpcPeeringConnectionId",
    "CarrierGatewayId",
    "LocalGatewayId",
    "CoreNetworkArn",
    "NetworkInterfaceId",
    "InstanceId",
)
"""Members with a route's target. A route to an instance shows its interface too, so the interface comes first."""
_BY_PREFIX = {
    "nat": "NatGatewayId",
    "eigw": "EgressOnlyInternetGatewayId",
    "tgw": "TransitGatewayId",
    "pcx": "VpcPeeringConnectionId",
    "cagw": "CarrierGatewayId",
    "lgw": "LocalGatewayId",
    "eni": "NetworkInterfaceId",
    "i": "InstanceId",
}
"""The member of TARGETS by the prefix of an id; ids with other prefixes are gateways."""


def decode(body: Json, place: AwsLocation) -> DecodedResource:
    ident = body["RouteTableId"]
    associations = active_associations(body.get("Associations", ()), "AssociationState")
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("route-table", ident),
        state=State.READY,
        tags=tag_map(body.get("Tags", ())),
        attributes={"vpc_id": body["VpcId"], "main": any(row.get("Main") for row in associations)},
        parts=frozenset(
            [*(_route(row) for row in body.get("Routes", ()) if _is_made_here(row))]
            + [_association(row) for row in associations if row.get("SubnetId")]
        ),
    )


def _is_made_here(row: Json) -> bool:
    target = row.get("GatewayId", "")
    return row.get("Origin", "CreateRoute") == "CreateRoute" and target != "local" and not target.startswith("vpce-")


def _route(row: Json) -> Part:
    """Return the part of a route, named by its destination; it keeps its target while it is a black hole."""
    name = next(name for name in DESTINATIONS if row.get(name))
    target = next((row[name] for name in TARGETS if row.get(name)), "")
    return Part(ROUTE, row[name], request={name: row[name]}, behavior=target)


def _association(row: Json) -> Part:
    return Part(ASSOCIATION, row["SubnetId"], id=row["RouteTableAssociationId"])


READ = Ec2Read("describe_route_tables", "RouteTables", "route-table-id", decode, page=100)


class RouteTableDriver(Ec2Driver):
    async def add_part(self, ref: Ref, part: Part) -> None:
        if part.kind == ROUTE:
            await self._add(ref, part, "create_route", RouteTableId=ref.id, **to_destination(part), **to_target(part))
            return
        subnet = part.natural_key
        try:
            await self._add(ref, part, "associate_route_table", RouteTableId=ref.id, SubnetId=subnet)
        except (NameTaken, Invalid) as refused:
            there = await reading.read_by_filter(self._client, READ, "association.subnet-id", [subnet])
            if not there:
                raise
            text = f"{subnet} is associated with the route table {there[0].id}: disassociate it from that"
            raise NameTaken(text, code=refused.code, holder=there[0].id) from refused

    async def change_part(self, ref: Ref, part: Part) -> None:
        """Change the target of a route."""
        route = {"RouteTableId": ref.id, **to_destination(part), **to_target(part)}
        await self._client.write("ec2", "replace_route", f"{part} of {ref.id}", **route)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        if part.kind == ROUTE:
            await self._remove(ref, part, "delete_route", RouteTableId=ref.id, **to_destination(part))
        else:
            await self._remove_association(ref, part, "disassociate_route_table")


def to_destination(route: Part) -> dict[str, str]:
    to = route.natural_key
    name = DESTINATIONS[2 if to.startswith("pl-") else 1 if ":" in to else 0]
    return {name: to}


def to_target(route: Part) -> dict[str, str]:
    prefix = route.behavior.partition("-")[0]
    name = "CoreNetworkArn" if prefix.startswith("arn:") else _BY_PREFIX.get(prefix, "GatewayId")
    return {name: route.behavior}


def _may_be_ours(request: Request, seen: DecodedResource) -> bool:
    """Return whether it has no association: ours is associated only once it is on record."""
    return not seen.attributes["main"] and not any(part.kind == ASSOCIATION for part in seen.parts)


def _params(request: Request) -> Json:
    return {"VpcId": request["vpc_id"]}


SHAPE = Ec2Shape(
    FACTS["route-table"], READ, "create_route_table", "RouteTable", "delete_route_table", "RouteTableId", _params,
    parent=IN_VPC, may_be_ours=_may_be_ours,
)  # fmt: skip


def kind(client: AwsClient) -> Kind:
    driver = RouteTableDriver(client, SHAPE)
    associations = frozenset({ASSOCIATION})
    return aws_kind(
        "route-table",
        driver,
        requires=("vpc", "subnet", "internet-gateway", "egress-only-gateway", "nat-gateway"),
        naming=NameRules(has_no_name=True),
        creation=CreateRules(find_untagged=driver),
        parts=PartRules(exclusive=associations, holding=associations, driver=driver, changer=driver),
        deletion=DeleteRules(after_collection=True, gone_at_once=True),
        reads=ReadRules(listing=driver),
    )
