"""Kind ``egress-only-gateway``: the IPv6 exit of one VPC. It is created attached.

Request: ``name`` (for messages), ``vpc_id``. EC2 deletes it although routes use it.
"""

from __future__ import annotations

from collections.abc import Sequence

from freehold.engine.drivers import User
from freehold.engine.kinds import CreateRules, DeleteRules, Kind, NameRules, ReadRules
from freehold.engine.resources import Ref, Request, State
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource
from freehold.providers.aws.ec2 import IN_VPC, Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read
from freehold.providers.aws.tags.native_tags import tag_map


def decode(body: Json, place: AwsLocation) -> DecodedResource:
    ident = body["EgressOnlyInternetGatewayId"]
    attached = [
        row["VpcId"] for row in body.get("Attachments", ()) if row.get("State") not in ("detaching", "detached")
    ]
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("egress-only-internet-gateway", ident),
        state=State.READY if attached else State.DELETING,
        tags=tag_map(body.get("Tags", ())),
        attributes={"vpc_id": attached[0] if attached else ""},
    )


# It has no filter by id, and an account has five of them by default.
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeEgressOnlyInternetGateways.html
READ = Ec2Read("describe_egress_only_internet_gateways", "EgressOnlyInternetGateways", "", decode, page=255)


class EgressOnlyGatewayDriver(Ec2Driver):
    async def users(self, ref: Ref) -> Sequence[User]:
        return await self._find_routes_to(ref, "route.egress-only-internet-gateway-id")


def _params(request: Request) -> Json:
    return {"VpcId": request["vpc_id"]}


SHAPE = Ec2Shape(
    FACTS["egress-only-gateway"], READ, "create_egress_only_internet_gateway", "EgressOnlyInternetGateway",
    "delete_egress_only_internet_gateway", "EgressOnlyInternetGatewayId", _params, parent=IN_VPC, parent_filter=False,
    may_be_ours=lambda request, seen: True,
)  # fmt: skip


def kind(client: AwsClient) -> Kind:
    driver = EgressOnlyGatewayDriver(client, SHAPE)
    return aws_kind(
        "egress-only-gateway",
        driver,
        requires=("vpc",),
        naming=NameRules(has_no_name=True),
        creation=CreateRules(find_untagged=driver),
        deletion=DeleteRules(after_collection=True, usage=driver),
        reads=ReadRules(listing=driver),
    )
