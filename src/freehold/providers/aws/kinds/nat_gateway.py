"""Kind ``nat-gateway``: in one subnet, with one address. It is shown as ``deleted`` for an hour.

Request: ``name`` (for messages), ``subnet_id``, ``allocation_id``. Its create fails where the VPC has no internet
gateway. EC2 deletes it although routes use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freehold.engine.drivers import User
from freehold.engine.kinds import CreateRules, DeleteRules, Kind, NameRules, ReadRules
from freehold.engine.resources import Observed, Ref, Request, State
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource, epoch, state_of
from freehold.providers.aws.ec2 import IN_SUBNET, Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read
from freehold.providers.aws.tags.native_tags import tag_map


def decode(body: Json, place: AwsLocation) -> DecodedResource | None:
    state = state_of(body["State"])
    if state is None:
        return None
    ident = body["NatGatewayId"]
    addresses = body.get("NatGatewayAddresses", ())
    allocations = [row["AllocationId"] for row in addresses if row.get("AllocationId")]
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("natgateway", ident),
        state=state,
        vendor_state=body["State"],
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "vpc_id": body.get("VpcId", ""),
            "subnet_id": body.get("SubnetId", ""),  # a regional gateway is in no subnet
            "connectivity": body.get("ConnectivityType", "public"),
            "allocation_id": allocations[0] if allocations else "",
            "addresses": tuple(row["PublicIp"] for row in addresses if row.get("PublicIp")),
        },
        created_at=epoch(body.get("CreateTime")),
        message=_failure_message(body),
    )


def _failure_message(body: Json) -> str:
    """Return AWS's reason, if any. AWS removes a failed one by itself
    (https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html)."""
    said = body.get("FailureMessage", "")
    return f"{said.rstrip('.')}. AWS removes it within about an hour, and it is made again then" if said else ""


READ = Ec2Read("describe_nat_gateways", "NatGateways", "nat-gateway-id", decode, filters="Filter")


class NatGatewayDriver(Ec2Driver):
    """A driver. A failed gateway counts as gone once EC2 took its delete, though EC2 may show it until it removes it.

    The cloud refuses the deletes of what it may still hold (docs/reference/aws.md#failed-nat-gateways).
    """

    def __init__(self, client: AwsClient, shape: Ec2Shape) -> None:
        super().__init__(client, shape)
        self._deleted: set[str] = set()

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        found = await super().observe(refs)
        return {ident: seen for ident, seen in found.items() if not self._is_deleted_failure(seen)}

    async def delete(self, ref: Ref) -> None:
        await super().delete(ref)
        self._deleted.add(ref.id)

    def _is_deleted_failure(self, seen: Observed) -> bool:
        return seen.state is State.FAILED and seen.id in self._deleted

    async def users(self, ref: Ref) -> Sequence[User]:
        return await self._find_routes_to(ref, "route.nat-gateway-id")


def _may_be_ours(request: Request, seen: DecodedResource) -> bool:
    return str(seen.attributes["allocation_id"]) == str(request["allocation_id"])


def _params(request: Request) -> Json:
    return {"SubnetId": request["subnet_id"], "AllocationId": request["allocation_id"]}


SHAPE = Ec2Shape(
    FACTS["nat-gateway"], READ, "create_nat_gateway", "NatGateway", "delete_nat_gateway", "NatGatewayId", _params,
    parent=IN_SUBNET, may_be_ours=_may_be_ours,
)  # fmt: skip


def kind(client: AwsClient) -> Kind:
    driver = NatGatewayDriver(client, SHAPE)
    return aws_kind(
        "nat-gateway",
        driver,
        requires=("vpc", "internet-gateway", "subnet", "elastic-ip"),
        naming=NameRules(has_no_name=True),
        creation=CreateRules(find_untagged=driver),
        deletion=DeleteRules(after_collection=True, usage=driver),
        reads=ReadRules(listing=driver),
    )
