"""Kind ``elastic-ip``: an address, held by a NAT gateway, a load balancer or an instance.

Request: ``name`` (for messages). It has neither client token nor natural key, and the reply of its create no tags.
"""

from __future__ import annotations

from collections.abc import Sequence

from freehold.clouds.aws import holders, reading
from freehold.clouds.aws.calls import ApiClient, Json
from freehold.clouds.aws.ec2 import Ec2Driver, Shape
from freehold.clouds.aws.kind_facts import FACTS
from freehold.clouds.aws.native_tags import tag_map
from freehold.clouds.aws.reading import Read
from freehold.clouds.aws.seen import Place, Seen
from freehold.clouds.aws.traits import aws_kind
from freehold.lifecycle.kinds import Kind
from freehold.lifecycle.resources import Observed, Request, State


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
            "held_by": body.get("InstanceId") or body.get("NetworkInterfaceId") or "",
        },
    )


READ = Read("describe_addresses", "Addresses", "allocation-id", decode, page=0)


class ElasticIpDriver(Ec2Driver):
    async def untagged(self, request: Request) -> Sequence[Observed]:
        """Held by nothing: ours is given to something when it is on record."""
        found = await reading.all_of(self._client, READ)
        return [seen.observed() for seen in found if not (seen.tags or seen.attributes["association"])]


def _params(request: Request) -> Json:
    return {"Domain": "vpc"}


SHAPE = Shape(
    FACTS["elastic-ip"], READ, "allocate_address", "", "release_address", "AllocationId", _params,
    shows_tags=False, holders=holders.holding_address,
)  # fmt: skip


def kind(client: ApiClient) -> Kind:
    driver = ElasticIpDriver(client, SHAPE)
    return aws_kind(
        "elastic-ip",
        driver,
        outputs=frozenset({"address"}),
        listing=driver,
        nameless=True,
        gone_at_once=True,
        untagged=driver,
    )
