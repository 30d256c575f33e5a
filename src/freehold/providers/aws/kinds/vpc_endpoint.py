"""Kind ``vpc-endpoint``: a gateway endpoint, whose route tables are parts.

Request: ``vpc_id``, ``service_name``, ``route_table_ids`` (it is born with them), and ``policy_document`` (as
:func:`policy_json.canonical_policy` spells it) where not everything is to be allowed. It has no name.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from freehold.engine.errors import NotFound
from freehold.engine.kinds import AttributeRules, CreateRules, DeleteRules, Kind, NameRules, PartRules, ReadRules
from freehold.engine.resources import Part, Ref, Request
from freehold.providers.aws import errors, policy_json
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource, state_of
from freehold.providers.aws.ec2 import IN_VPC, Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read
from freehold.providers.aws.tags.native_tags import tag_map

ROUTE_TABLE = "endpoint-route-table"


def decode(body: Json, place: AwsLocation) -> DecodedResource | None:
    """Decode a row. States may be in capitals: the model and the examples differ."""
    word = body["State"].lower()
    state = state_of("failed" if word in _FAILED else word)
    if state is None:
        return None
    ident = body["VpcEndpointId"]
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("vpc-endpoint", ident),
        state=state,
        vendor_state=body["State"],
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "vpc_id": body["VpcId"],
            "service_name": body["ServiceName"],
            "type": body.get("VpcEndpointType", ""),
            "policy_document": policy_json.canonical_policy(body.get("PolicyDocument", "")),
        },
        parts=frozenset(Part(ROUTE_TABLE, table) for table in body.get("RouteTableIds", ())),
        message=body.get("FailureReason", "") or body.get("LastError", {}).get("Message", ""),
    )


_FAILED = frozenset({"rejected", "expired", "failed"})
READ = Ec2Read("describe_vpc_endpoints", "VpcEndpoints", "vpc-endpoint-id", decode)


class VpcEndpointDriver(Ec2Driver):
    """A driver. A route table takes one endpoint of a service, so another owner's prevents ours."""

    async def update(self, ref: Ref, changes: Request) -> None:
        await self._modify(ref, PolicyDocument=changes["policy_document"])

    async def delete(self, ref: Ref) -> None:
        """Delete it. The reply is a success that names what was not deleted."""
        body = await self._client.write("ec2", "delete_vpc_endpoints", ref.id, VpcEndpointIds=[ref.id])
        for row in body.get("Unsuccessful", ()):
            raise self._client.refusal("ec2", "DeleteVpcEndpoints", "delete vpc endpoint", ref.id, row.get("Error", {}))

    async def add_part(self, ref: Ref, part: Part) -> None:
        """Add a route table. If it has an endpoint of the service already, the refusal does not say whose."""
        try:
            await self._modify(ref, AddRouteTableIds=[part.natural_key])
        except errors.PartExists:
            if part not in await self.parts(ref):
                raise

    async def remove_part(self, ref: Ref, part: Part) -> None:
        with suppress(NotFound):
            await self._modify(ref, RemoveRouteTableIds=[part.natural_key])

    async def _modify(self, ref: Ref, **changes: Any) -> None:
        await self._client.write("ec2", "modify_vpc_endpoint", ref.id, VpcEndpointId=ref.id, **changes)


def _may_be_ours(request: Request, seen: DecodedResource) -> bool:
    return (seen.attributes["service_name"], seen.attributes["type"]) == (str(request["service_name"]), "Gateway")


def _params(request: Request) -> Json:
    policy = {"PolicyDocument": request["policy_document"]} if "policy_document" in request else {}
    return {
        "VpcEndpointType": "Gateway",
        "VpcId": request["vpc_id"],
        "ServiceName": request["service_name"],
        "RouteTableIds": list(request["route_table_ids"]),
        **policy,
    }


_SHAPE = Ec2Shape(
    facts=FACTS["vpc-endpoint"],
    read=READ,
    create="create_vpc_endpoint",
    reply="VpcEndpoint",
    delete="delete_vpc_endpoints",
    ident="VpcEndpointIds",
    params=_params,
    parent=IN_VPC,
    may_be_ours=_may_be_ours,
)


def kind(client: AwsClient) -> Kind:
    driver = VpcEndpointDriver(client, _SHAPE)
    return aws_kind(
        "vpc-endpoint",
        driver,
        requires=("vpc", "route-table"),
        naming=NameRules(has_no_name=True),
        creation=CreateRules(find_untagged=driver),
        attributes=AttributeRules(mutable=frozenset({"policy_document"})),
        parts=PartRules(born_with=True, driver=driver),
        deletion=DeleteRules(after_collection=True),
        reads=ReadRules(listing=driver),
    )
