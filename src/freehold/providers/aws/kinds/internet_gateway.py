"""Kind ``internet-gateway``: its attachment to a VPC is a part. It has neither client token nor natural key.

Request: ``name`` (for messages). The part is named by the id of the VPC. A gateway has one attachment, which is ours.
NAT gateways need it, and it refuses the delete of both ends.
"""

from __future__ import annotations

from freehold.engine.errors import InUse, Invalid, NameTaken
from freehold.engine.kinds import CreateRules, DeleteRules, Kind, NameRules, PartRules, ReadRules
from freehold.engine.resources import Part, Ref, Request, State
from freehold.providers.aws import delete_blockers, reading
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource
from freehold.providers.aws.ec2 import Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read
from freehold.providers.aws.tags.native_tags import tag_map

ATTACHMENT = "attachment"
_LEAVING = frozenset({"detaching", "detached"})


def decode(body: Json, place: AwsLocation) -> DecodedResource:
    """Decode a row. It has no state: it is ready at once and gone at once. Its attachments say ``available``."""
    ident = body["InternetGatewayId"]
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("internet-gateway", ident),
        state=State.READY,
        tags=tag_map(body.get("Tags", ())),
        parts=frozenset(
            Part(ATTACHMENT, row["VpcId"]) for row in body.get("Attachments", ()) if row.get("State") not in _LEAVING
        ),
    )


READ = Ec2Read("describe_internet_gateways", "InternetGateways", "internet-gateway-id", decode)


class InternetGatewayDriver(Ec2Driver):
    async def add_part(self, ref: Ref, part: Part) -> None:
        vpc = part.natural_key
        try:
            await self._add(ref, part, "attach_internet_gateway", InternetGatewayId=ref.id, VpcId=vpc)
        except (NameTaken, Invalid) as refused:
            there = await reading.read_by_filter(self._client, READ, "attachment.vpc-id", [vpc])
            if not there:
                raise
            text = f"{vpc} has the internet gateway {there[0].id}: detach that, or give its VPC by id in the spec"
            raise NameTaken(text, code=refused.code, holder=there[0].id) from refused

    async def remove_part(self, ref: Ref, part: Part) -> None:
        try:
            await self._remove(
                ref, part, "detach_internet_gateway", InternetGatewayId=ref.id, VpcId=part.natural_key
            )  # fmt: skip
        except InUse as refused:
            raise await delete_blockers.name_blockers(
                self._client, refused, delete_blockers.public_address_searches(part.natural_key)
            ) from refused


def _may_be_ours(request: Request, seen: DecodedResource) -> bool:
    """Return whether it is detached: ours is attached only once it is on record."""
    return not seen.parts


def _params(request: Request) -> Json:
    return {}


SHAPE = Ec2Shape(
    FACTS["internet-gateway"], READ, "create_internet_gateway", "InternetGateway", "delete_internet_gateway",
    "InternetGatewayId", _params, may_be_ours=_may_be_ours,
)  # fmt: skip


def kind(client: AwsClient) -> Kind:
    driver = InternetGatewayDriver(client, SHAPE)
    attachment = frozenset({ATTACHMENT})
    return aws_kind(
        "internet-gateway",
        driver,
        requires=("vpc",),
        naming=NameRules(has_no_name=True),
        creation=CreateRules(find_untagged=driver),
        parts=PartRules(exclusive=attachment, essential=attachment, holding=attachment, driver=driver),
        deletion=DeleteRules(after_collection=True, gone_at_once=True),
        reads=ReadRules(listing=driver),
    )
