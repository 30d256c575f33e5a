"""Kind ``elastic-ip``: an address, held by a NAT gateway, a load balancer or an instance.

Request: ``name`` (for messages). It has neither client token nor natural key, and the reply of its create no tags.
"""

from __future__ import annotations

from freehold.engine.kinds import AttributeRules, CreateRules, DeleteRules, Kind, NameRules, ReadRules
from freehold.engine.resources import Request, State
from freehold.providers.aws import delete_blockers
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource
from freehold.providers.aws.ec2 import Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read
from freehold.providers.aws.tags.native_tags import tag_map


def decode(body: Json, place: AwsLocation) -> DecodedResource:
    ident = body["AllocationId"]
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("elastic-ip", ident),
        state=State.READY,
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "address": body.get("PublicIp", ""),
            "association": body.get("AssociationId", ""),
            "pool": body.get("PublicIpv4Pool", ""),
            "held_by": body.get("InstanceId") or body.get("NetworkInterfaceId") or "",
        },
    )


READ = Ec2Read("describe_addresses", "Addresses", "allocation-id", decode, page=0)


def _may_be_ours(request: Request, seen: DecodedResource) -> bool:
    """Return whether it is free and of Amazon's own pool: ours is associated only once it is on record."""
    return not seen.attributes["association"] and seen.attributes["pool"] in ("", "amazon")


def _params(request: Request) -> Json:
    return {"Domain": "vpc"}


SHAPE = Ec2Shape(
    FACTS["elastic-ip"], READ, "allocate_address", "", "release_address", "AllocationId", _params,
    shows_tags=False, blockers=delete_blockers.address_searches, may_be_ours=_may_be_ours,
)  # fmt: skip


def kind(client: AwsClient) -> Kind:
    driver = Ec2Driver(client, SHAPE)
    return aws_kind(
        "elastic-ip",
        driver,
        naming=NameRules(has_no_name=True),
        creation=CreateRules(find_untagged=driver),
        attributes=AttributeRules(outputs=frozenset({"address"})),
        deletion=DeleteRules(after_collection=True, gone_at_once=True),
        reads=ReadRules(listing=driver),
    )
