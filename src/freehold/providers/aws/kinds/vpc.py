"""Kind ``vpc``: its blocks besides the first are parts. It has neither client token nor natural key.

Request: ``name`` (for messages), ``cidr``, ``ipv6`` (whether Amazon gives it a block; optional), and the attributes
that can be changed: ``enable_dns_support``, ``enable_dns_hostnames``. Only the parts that we added are ours; they are
essential, because subnets may lie in them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_network

from freehold.engine.drivers import Listed, User
from freehold.engine.errors import InUse, NotFound
from freehold.engine.keyed_codec import PREFIX
from freehold.engine.kinds import AttributeRules, CreateRules, DeleteRules, Kind, NameRules, PartRules, ReadRules
from freehold.engine.resources import Birth, Observed, Part, Ref, Request, State
from freehold.engine.tag_text import key_and_value
from freehold.providers.aws import delete_blockers, errors, interface_users, reading
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import (
    AwsLocation,
    DecodedResource,
    active_associations,
    canonical_ipv6_block,
    state_of,
)
from freehold.providers.aws.ec2 import Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read
from freehold.providers.aws.tags.native_tags import FILTER_VALUES, chunks, tag_map

CIDR = "vpc-cidr"
SUPPORT, HOSTNAMES = "enable_dns_support", "enable_dns_hostnames"
_ATTRIBUTES = {
    SUPPORT: ("enableDnsSupport", "EnableDnsSupport"),
    HOSTNAMES: ("enableDnsHostnames", "EnableDnsHostnames"),
}
"""The name of each in reads, and its member in writes and replies."""
_AT_BIRTH = {SUPPORT: True, HOSTNAMES: False}
"""Attributes of a new VPC: https://docs.aws.amazon.com/vpc/latest/userguide/vpc-dns.html#vpc-dns-support"""
PASSES_A_READING = 6
"""The passes that share one reading of the attributes: about an hour, at nine minutes a pass."""


def decode(body: Json, place: AwsLocation) -> DecodedResource | None:
    state = state_of(body["State"])
    if state is None:
        return None
    ident, first = body["VpcId"], body["CidrBlock"]
    blocks = active_associations(body.get("CidrBlockAssociationSet", ()), "CidrBlockState")
    ipv6 = active_associations(body.get("Ipv6CidrBlockAssociationSet", ()), "Ipv6CidrBlockState")
    coming = any(row.get("Ipv6CidrBlockState", {}).get("State") == "associating" for row in ipv6)
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("vpc", ident),
        state=State.PENDING if coming and state is State.READY else state,  # subnets need its IPv6 block
        vendor_state=body["State"],
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "cidr": first,
            "cidrs": (first, *sorted(row["CidrBlock"] for row in blocks if row["CidrBlock"] != first)),
            "ipv6": bool(ipv6),
            "ipv6_cidrs": tuple(canonical_ipv6_block(row["Ipv6CidrBlock"]) for row in ipv6 if row.get("Ipv6CidrBlock")),
            "tenancy": body.get("InstanceTenancy", ""),
            "default": bool(body.get("IsDefault")),
        },
        parts=frozenset(
            Part(CIDR, row["CidrBlock"], id=row["AssociationId"]) for row in blocks if row["CidrBlock"] != first
        ),
    )


READ = Ec2Read("describe_vpcs", "Vpcs", "vpc-id", decode)


class DnsAttributes:
    """The two DNS attributes, which no list shows and each of which costs a call.

    Only a person changes them, so one reading serves several passes.
    """

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._known: dict[str, tuple[Mapping[str, bool], int]] = {}

    def keep(self, ident: str, values: Mapping[str, bool]) -> None:
        """Keep values that our own write has set."""
        self._known[ident] = (values, PASSES_A_READING)

    def forget(self, ident: str) -> None:
        self._known.pop(ident, None)

    async def read(self, ident: str) -> Mapping[str, bool]:
        values, looks = self._known.get(ident, ({}, 0))
        if not looks:
            values, looks = await self._read_both(ident), PASSES_A_READING
        self._known[ident] = (values, looks - 1)
        return values

    async def _read_both(self, ident: str) -> Mapping[str, bool]:
        """Read both. Host names need support, so support is read only where they are off."""
        if await self._read_one(ident, HOSTNAMES):
            return {SUPPORT: True, HOSTNAMES: True}
        return {SUPPORT: await self._read_one(ident, SUPPORT), HOSTNAMES: False}

    async def _read_one(self, ident: str, name: str) -> bool:
        attribute, member = _ATTRIBUTES[name]
        try:
            body = await self._client.read("ec2", "describe_vpc_attribute", ident, VpcId=ident, Attribute=attribute)
        except NotFound as lagging:  # the list has just shown the VPC
            raise errors.ListNotFound(f"{lagging.message}. It is asked again", code=lagging.code) from lagging
        return bool(body[member]["Value"])


class AwsVpcDriver(Ec2Driver):
    """A driver that adds the DNS attributes to every observation, and to rows with a mark of ours."""

    def __init__(self, client: AwsClient, shape: Ec2Shape) -> None:
        super().__init__(client, shape)
        self._dns = DnsAttributes(client)

    async def create(self, request: Request, birth: Birth) -> Observed:
        made = await super().create(request, birth)
        self._dns.keep(made.id, _AT_BIRTH)
        return replace(made, attributes={**made.attributes, **_AT_BIRTH})

    async def observe(self, refs: Sequence[Ref]) -> Mapping[str, Observed]:
        return {ident: await self._add_dns(seen) for ident, seen in (await super().observe(refs)).items()}

    async def read_rows(self, name: str) -> Sequence[Listed]:
        rows = await super().read_rows(name)
        return [
            replace(row, observed=await self._add_dns(row.observed)) if _is_marked(row.observed) else row
            for row in rows
        ]

    def forget(self, idents: Collection[str]) -> None:
        for ident in idents:
            self._dns.forget(ident)

    async def _add_dns(self, seen: Observed) -> Observed:
        return replace(seen, attributes={**seen.attributes, **await self._dns.read(seen.id)})

    async def update(self, ref: Ref, changes: Request) -> None:
        """Switch support on before host names, and off after them: EC2 takes one at a time and refuses other orders."""
        wanted = {name: bool(value) for name, value in changes.items()}
        for name in (SUPPORT, HOSTNAMES) if wanted.get(SUPPORT, True) else (HOSTNAMES, SUPPORT):
            if name in wanted:
                value = {_ATTRIBUTES[name][1]: {"Value": wanted[name]}}
                await self._client.write("ec2", "modify_vpc_attribute", ref.id, VpcId=ref.id, **value)
        known = await self._dns.read(ref.id)
        self._dns.keep(ref.id, {**known, **wanted})

    async def find_untagged(self, request: Request, tags: frozenset[str]) -> Sequence[Observed]:
        """Return those without subnets: ours has none before it is on record."""
        free = {seen.id: seen for seen in await super().find_untagged(request, tags)}
        for some in chunks(sorted(free), FILTER_VALUES):
            inside = [{"Name": "vpc-id", "Values": some}]
            subject = f"subnets of {', '.join(some)}"
            for row in await self._client.read_list("ec2", "describe_subnets", "Subnets", subject, Filters=inside):
                free.pop(row["VpcId"], None)
        return list(free.values())

    async def contents(self, ref: Ref) -> Sequence[User]:
        """Return its contents, interfaces by their owner: a person looks for the machine in it."""
        interfaces = delete_blockers.interface_search({}).operation
        searches = [each for each in delete_blockers.vpc_searches(ref.id) if each.operation != interfaces]
        found = await delete_blockers.find_all(self._client, searches)
        return [*found, *await interface_users.find_users(self._client, "vpc-id", ref.id)]

    async def _list_siblings(self, request: Request) -> list[DecodedResource]:
        """Return this account's VPCs with the range, except the default one and those that another account shares."""
        filters = {"cidr": [str(request["cidr"])], "is-default": ["false"], "owner-id": [await self._client.account()]}
        return await reading.read_by_filters(self._client, READ, filters, f"those of the range {request['cidr']}")

    async def add_part(self, ref: Ref, part: Part) -> None:
        await self._add(ref, part, "associate_vpc_cidr_block", VpcId=ref.id, CidrBlock=part.natural_key)

    async def remove_part(self, ref: Ref, part: Part) -> None:
        """Remove a range. Raises InUse with the subnets in it, which EC2 does not name."""
        try:
            await self._remove_association(ref, part, "disassociate_vpc_cidr_block")
        except InUse as refused:
            subject = f"subnets of {ref.id}"
            filters = [{"Name": "vpc-id", "Values": [ref.id]}]
            rows = await self._client.read_list("ec2", "describe_subnets", "Subnets", subject, Filters=filters)
            block = ip_network(part.natural_key)
            inside = sorted(row["SubnetId"] for row in rows if ip_network(row["CidrBlock"]).overlaps(block))
            if not inside:
                raise
            message = (
                f"{ref.id} keeps the range {part.natural_key} while {', '.join(inside)} is in it. Delete what is in "
                "it, of this cluster's own with `freehold prune`, or give the range in spec.network.vpc again"
            )
            raise InUse(message, code=refused.code, request_id=refused.request_id) from refused


def _is_marked(row: Observed) -> bool:
    return any(key_and_value(tag)[0].startswith(PREFIX) for tag in row.tags or ())


def _is_in_range(part: Part, kind: str, other: Observed) -> bool:
    """Return whether a subnet is in the range, which can then not be taken from the VPC
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DisassociateVpcCidrBlock.html)."""
    if part.kind != CIDR or kind != "subnet" or not other.attributes.get("cidr"):
        return False
    return ip_network(other.attributes["cidr"]).overlaps(ip_network(part.natural_key))


def _may_be_ours(request: Request, seen: DecodedResource) -> bool:
    """Return whether it has one range only: ours gets others only once it is on record."""
    alike = bool(request.get("ipv6")) is bool(seen.attributes["ipv6"])
    return alike and not seen.parts and seen.attributes["tenancy"] in ("", "default")


def _params(request: Request) -> Json:
    ipv6 = {"AmazonProvidedIpv6CidrBlock": True} if request.get("ipv6") else {}
    return {"CidrBlock": request["cidr"], **ipv6}


SHAPE = Ec2Shape(
    FACTS["vpc"], READ, "create_vpc", "Vpc", "delete_vpc", "VpcId", _params, blockers=delete_blockers.vpc_searches,
    may_be_ours=_may_be_ours,
)  # fmt: skip


def kind(client: AwsClient) -> Kind:
    driver = AwsVpcDriver(client, SHAPE)
    return aws_kind(
        "vpc",
        driver,
        naming=NameRules(has_no_name=True),
        creation=CreateRules(find_untagged=driver),
        attributes=AttributeRules(
            mutable=frozenset(_ATTRIBUTES),
            at_birth=lambda request: _AT_BIRTH,
            changeable=frozenset({"ipv6"}),
            outputs=frozenset({"ipv6_cidrs"}),
            output_lists=frozenset({"ipv6_cidrs"}),
        ),
        parts=PartRules(essential=frozenset({CIDR}), is_occupied=_is_in_range, driver=driver),
        deletion=DeleteRules(after_collection=True, holds_external=True, contents=driver, gone_at_once=True),
        reads=ReadRules(listing=driver, attribute_cache=driver),
    )
