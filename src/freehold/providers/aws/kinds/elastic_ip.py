"""Kind ``elastic-ip``: an address, held by a NAT gateway, a load balancer or an instance.

Request: ``name`` (for messages). It has neither client token nor natural key, and the reply of its create no tags.
"""

from __future__ import annotations

from freehold.engine.kinds import AttributeRules, CreateRules, DeleteRules, Kind, NameRules, ReadRules
from freehold.engine.resources import Request, State
from freehold.providers.aws import delete_blockers
from freehold.providers.aws.calls import ApiClient, Json
from freehold.providers.aws.decoded import Place, Seen
from freehold.providers.aws.ec2 import Ec2Driver, Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Read
from freehold.providers.aws.tags.native_tags import tag_map


def decode(body: Json, place: Place) -> Seen:
    ident = body["AllocationId"]
    return Seen(
        id=ident,
        arn=place.ec2("elastic-ip", ident),
        state=State.READY,
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "address": body.get("PublicIp", ""),
            "association": body.get("AssociationId", ""),
            "pool": body.get("PublicIpv4Pool", ""),
            "held_by": body.get("InstanceId") or body.get("NetworkInterfaceId") or "",
        },
    )


READ = Read("describe_addresses", "Addresses", "allocation-id", decode, page=0)


def _may_be(request: Request, seen: Seen) -> bool:
    """Ours is given to something only when it is on record, and is of Amazon's own pool."""
    return not seen.attributes["association"] and seen.attributes["pool"] in ("", "amazon")


def _params(request: Request) -> Json:
    return {"Domain": "vpc"}


SHAPE = Shape(
    FACTS["elastic-ip"], READ, "allocate_address", "", "release_address", "AllocationId", _params,
    shows_tags=False, holders=delete_blockers.holding_address, may_be=_may_be,
)  # fmt: skip


def kind(client: ApiClient) -> Kind:
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
