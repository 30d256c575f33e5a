"""Kind ``subnet``: a block of a VPC in one zone. Its IPv6 block is a part, added by us or given at its birth.

Request: ``name`` (for messages), ``vpc_id``, ``zone``, ``cidr``, ``ipv6_cidr`` (optional: the block to be born with,
which is a wanted part too), and the attributes that can be changed: ``map_public_ip_on_launch``,
``assign_ipv6_address_on_creation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network

from freehold.engine.drivers import User
from freehold.engine.errors import CloudError, Invalid, NotReady
from freehold.engine.kinds import AttributeRules, CreateRules, DeleteRules, Kind, NameRules, PartRules, ReadRules
from freehold.engine.resources import Birth, Observed, Part, Ref, Request
from freehold.providers.aws import delete_blockers, interface_users, reading
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import (
    AwsLocation,
    DecodedResource,
    active_associations,
    canonical_ipv6_block,
    state_of,
)
from freehold.providers.aws.ec2 import IN_VPC, Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read
from freehold.providers.aws.tags.native_tags import tag_map

IPV6_CIDR = "subnet-ipv6-cidr"
_IPV6 = "assign_ipv6_address_on_creation"
CONFLICT, OUTSIDE = "InvalidSubnet.Conflict", "InvalidSubnet.Range"
_ATTRIBUTES = {"map_public_ip_on_launch": "MapPublicIpOnLaunch", _IPV6: "AssignIpv6AddressOnCreation"}


def decode(body: Json, place: AwsLocation) -> DecodedResource | None:
    state = state_of(body["State"])
    if state is None:
        return None
    ident = body["SubnetId"]
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("subnet", ident),
        state=state,
        vendor_state=body["State"],
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "vpc_id": body["VpcId"],
            "zone": body["AvailabilityZone"],
            "cidr": body.get("CidrBlock", ""),
            **{name: bool(body.get(member)) for name, member in _ATTRIBUTES.items()},
        },
        parts=frozenset(
            Part(IPV6_CIDR, canonical_ipv6_block(row["Ipv6CidrBlock"]), id=row["AssociationId"])
            for row in active_associations(body.get("Ipv6CidrBlockAssociationSet", ()), "Ipv6CidrBlockState")
        ),
    )


READ = Ec2Read("describe_subnets", "Subnets", "subnet-id", decode)


class SubnetDriver(Ec2Driver):
    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. Raises Invalid with the subnets that have its block already.

        Raises NotReady while the VPC is still being given the range of its block.
        """
        try:
            return await super().create(request, birth)
        except Invalid as refused:
            if refused.code == OUTSIDE and await self._has_range_for(request):
                message = f"a range is being added to {request['vpc_id']}: {refused.message}. It is asked again"
                raise NotReady(message, code=refused.code, request_id=refused.request_id) from refused
            if refused.code != CONFLICT:
                raise
            raise await self._explain_conflict(request, refused) from refused

    async def _has_range_for(self, request: Request) -> bool:
        """Return whether its blocks are in ranges that the VPC has or is being given.

        EC2 refuses a subnet in a range that is being added like one outside of all ranges; the range may be ready by
        now.
        """
        filters = [{"Name": "vpc-id", "Values": [request["vpc_id"]]}]
        try:
            rows = await self._client.read_list("ec2", "describe_vpcs", "Vpcs", request["vpc_id"], Filters=filters)
        except CloudError:
            return False
        ranges = [
            ip_network(each[member])
            for row in rows
            for member in ("CidrBlock", "Ipv6CidrBlock")
            for each in active_associations(row.get(f"{member}AssociationSet", ()), f"{member}State")
            if each.get(member)
        ]
        return all(_is_within(block, ranges) for block in _blocks(request))

    async def _explain_conflict(self, request: Request, refused: Invalid) -> CloudError:
        """Return the refusal with the subnets in conflict, which EC2 does not name."""
        try:
            there = await self.neighbours(Ref(str(request["vpc_id"])))
        except CloudError:
            return refused
        return _conflict_error(request, there, refused.request_id) or refused

    async def neighbours(self, home: Ref) -> Sequence[Observed]:
        return [seen.to_observed() for seen in await reading.read_by_filter(self._client, READ, "vpc-id", [home.id])]

    def refusal(self, request: Request, neighbours: Sequence[Observed]) -> CloudError | None:
        return _conflict_error(request, neighbours)

    async def update(self, ref: Ref, changes: Request) -> None:
        """Send one attribute a call, as EC2 takes them, and ``_IPV6`` last: it needs an IPv6 block.

        Raises NotReady while a block is being added.
        """
        for name, value in sorted(changes.items(), key=lambda each: each[0] == _IPV6):
            switch = {_ATTRIBUTES[name]: {"Value": bool(value)}}
            try:
                await self._client.write("ec2", "modify_subnet_attribute", ref.id, SubnetId=ref.id, **switch)
            except Invalid as refused:
                if name != _IPV6 or not await self._has_pending_block(ref):
                    raise
                message = f"{ref.id} is being given its IPv6 block: {refused.message}. It is asked again"
                raise NotReady(message, code=refused.code, request_id=refused.request_id) from refused

    async def _has_pending_block(self, ref: Ref) -> bool:
        """Return whether an IPv6 block is being added, which :attr:`Observed.parts` shows like a ready one."""
        filters = [{"Name": "subnet-id", "Values": [ref.id]}]
        rows = await self._client.read_list("ec2", "describe_subnets", "Subnets", ref.id, Filters=filters)
        blocks = [block for row in rows for block in row.get("Ipv6CidrBlockAssociationSet", ())]
        return any(block["Ipv6CidrBlockState"]["State"] == "associating" for block in blocks)

    async def users(self, ref: Ref) -> Sequence[User]:
        return await interface_users.find_users(self._client, "subnet-id", ref.id)

    async def add_part(self, ref: Ref, part: Part) -> None:
        await self._add(ref, part, "associate_subnet_cidr_block", SubnetId=ref.id, Ipv6CidrBlock=part.natural_key)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        await self._remove_association(ref, part, "disassociate_subnet_cidr_block")


def _blocks_overlap(one: str, other: str) -> bool:
    if not (one and other):
        return False
    first, second = ip_network(one, strict=False), ip_network(other, strict=False)
    return first.version == second.version and first.overlaps(second)


def _blocks(request: Request) -> list[str]:
    return [block for block in (request["cidr"], request.get("ipv6_cidr")) if block]


def _is_within(block: str, ranges: Sequence[IPv4Network | IPv6Network]) -> bool:
    """Return whether a block is in one of the ranges, and of a size that a subnet can have
    (https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html)."""
    asked = ip_network(block, strict=False)
    fits = asked.prefixlen == 64 if asked.version == 6 else 16 <= asked.prefixlen <= 28
    return fits and any(_blocks_overlap(block, str(each)) and each.prefixlen <= asked.prefixlen for each in ranges)


def conflict_reason(request: Request, other: Observed) -> str:
    """Return the block of a request that ``other`` has, whole or in part; empty for none."""
    if other.attributes["vpc_id"] != request["vpc_id"]:
        return ""
    taken = [other.attributes["cidr"], *(part.natural_key for part in other.parts or () if part.kind == IPV6_CIDR)]
    return next((block for block in _blocks(request) if any(_blocks_overlap(block, each) for each in taken)), "")


def _conflict_error(request: Request, others: Sequence[Observed], request_id: str = "") -> Invalid | None:
    """Return the refusal that names the subnets in conflict; None if there is none."""
    holders_of_it = sorted(each.id for each in others if conflict_reason(request, each))
    if not holders_of_it:
        return None
    block = next(filter(None, (conflict_reason(request, each) for each in others)))
    named = f"{block} of VPC {request['vpc_id']} is taken by subnet {', '.join(holders_of_it)}"
    message = f"{named}. Delete that subnet, or give another block in spec.network"
    return Invalid(message, code=CONFLICT, request_id=request_id)


def _params(request: Request) -> Json:
    ipv6 = {"Ipv6CidrBlock": request["ipv6_cidr"]} if request.get("ipv6_cidr") else {}
    place = {"VpcId": request["vpc_id"], "AvailabilityZone": request["zone"]}
    return {**place, "CidrBlock": request["cidr"], **ipv6}


SHAPE = Ec2Shape(
    FACTS["subnet"], READ, "create_subnet", "Subnet", "delete_subnet", "SubnetId", _params,
    parent=IN_VPC, blockers=delete_blockers.subnet_searches,
)  # fmt: skip


def kind(client: AwsClient) -> Kind:
    driver = SubnetDriver(client, SHAPE)
    return aws_kind(
        "subnet",
        driver,
        requires=("vpc",),
        parent_kind="vpc",
        naming=NameRules(has_no_name=True),
        creation=CreateRules(conflict_reason=conflict_reason, neighbours=driver),
        attributes=AttributeRules(
            mutable=frozenset(_ATTRIBUTES), at_birth=lambda request: dict.fromkeys(_ATTRIBUTES, False)
        ),
        parts=PartRules(born_with=True, driver=driver),
        deletion=DeleteRules(after_collection=True, usage=driver, gone_at_once=True),
        reads=ReadRules(listing=driver),
    )
