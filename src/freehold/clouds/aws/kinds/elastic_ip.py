"""Kind ``elastic-ip``: an address, held by a NAT gateway, a load balancer or an instance.

Request: ``name`` (for messages). It has neither client token nor natural key, and the reply of its create no tags.
"""

from __future__ import annotations

from freehold.clouds.aws import holders
from freehold.clouds.aws.calls import ApiClient, Json
from freehold.clouds.aws.ec2 import Ec2Driver, Shape
from freehold.clouds.aws.kind_facts import FACTS
from freehold.clouds.aws.native_tags import tag_map
from freehold.clouds.aws.reading import Read
from freehold.clouds.aws.seen import Place, Seen
from freehold.clouds.aws.traits import aws_kind
from freehold.engine.kinds import Kind
from freehold.engine.resources import Request, State


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
    shows_tags=False, holders=holders.holding_address, may_be=_may_be,
)  # fmt: skip


def kind(client: ApiClient) -> Kind:
    driver = Ec2Driver(client, SHAPE)
    return aws_kind(
        "elastic-ip",
        driver,
        network=True,
        outputs=frozenset({"address"}),
        listing=driver,
        nameless=True,
        gone_at_once=True,
        stripped=driver,
    )
