"""Kind ``security-group``: its rules are parts, each identified by its content.

A rule is one protocol, one range of ports and one peer, as AWS counts them; a permission of a reply may hold several.
https://docs.aws.amazon.com/vpc/latest/userguide/security-group-rules.html

Request: ``name``, ``description``, ``vpc_id``. Parts: :func:`rule_part`. Rules that let traffic in are all ours; those
that let it out are not, because AWS gives each new group one that lets everything out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from freehold.engine.drivers import User
from freehold.engine.errors import NotFound
from freehold.engine.kinds import DeleteRules, Kind, PartRules, ReadRules
from freehold.engine.resources import Birth, Observed, Part, Ref, Request, State, Want
from freehold.providers.aws import delete_blockers, errors, interface_users
from freehold.providers.aws.calls import AwsClient, Json
from freehold.providers.aws.decoded import AwsLocation, DecodedResource
from freehold.providers.aws.ec2 import IN_VPC, Ec2Driver, Ec2Shape
from freehold.providers.aws.kind_defaults import aws_kind
from freehold.providers.aws.kind_facts import FACTS
from freehold.providers.aws.reading import Ec2Read, location_of, read_by_filter
from freehold.providers.aws.tags import birth_tags
from freehold.providers.aws.tags.native_tags import FILTER_VALUES, chunks, tag_map

INGRESS, EGRESS = "ingress-rule", "egress-rule"
_PEERS = (
    ("IpRanges", "CidrIp"),
    ("Ipv6Ranges", "CidrIpv6"),
    ("PrefixListIds", "PrefixListId"),
    ("UserIdGroupPairs", "GroupId"),
)


def decode(body: Json, place: AwsLocation) -> DecodedResource:
    ident = body["GroupId"]
    return DecodedResource(
        id=ident,
        arn=place.ec2_arn("security-group", ident),
        state=State.READY,
        tags=tag_map(body.get("Tags", ())),
        attributes={
            "name": body["GroupName"],
            "description": body.get("Description", ""),
            "vpc_id": body.get("VpcId", ""),
        },
        parts=frozenset(
            part
            for kind, rows in ((INGRESS, body.get("IpPermissions", ())), (EGRESS, body.get("IpPermissionsEgress", ())))
            for row in rows
            for part in rule_parts(kind, row, place.account)
        ),
    )


def rule_parts(kind: str, permission: Json, account: str) -> Iterator[Part]:
    """Yield the rules of one permission, each with the permission that authorizes or revokes it alone.

    A group of another account is named with that account.
    """
    ports = {
        name: permission[name] for name in ("IpProtocol", "FromPort", "ToPort") if permission.get(name) is not None
    }
    for peers, member in _PEERS:
        for peer in permission.get(peers, ()):
            other = peer.get("UserId", account)
            named = {member: peer[member], **({"UserId": other} if other != account else {})}
            peer_name = "/".join(reversed(list(named.values())))
            yield Part(kind, f"{_traffic(permission)} {peer_name}", request={**ports, peers: [named]})


def _traffic(permission: Json) -> str:
    """Return the traffic in words: ``tcp 6443``, ``udp 30000-32767``, ``icmp 8/-1`` (type and code), ``all``."""
    protocol, low, high = permission["IpProtocol"], permission.get("FromPort"), permission.get("ToPort")
    if protocol == "-1":
        return "all"
    if protocol in ("icmp", "icmpv6"):
        return f"{protocol} {low}/{high}"
    if low is None or (low, high) in ((-1, -1), (0, 65535)):
        return str(protocol)
    return f"{protocol} {low}" if low == high else f"{protocol} {low}-{high}"


def rule_part(
    kind: str,
    protocol: str,
    from_port: int = -1,
    to_port: int = -1,
    *,
    cidr: str = "",
    cidr6: str = "",
    prefix_list: str = "",
    group: str = "",
    description: str = "",
) -> Part:
    """Return a wanted rule, with the natural key that the same rule has when it is read. Exactly one peer is given.

    Ports are -1 where the protocol has none; an ICMP rule has its type and code there. Descriptions of existing rules
    are not compared.
    """
    given = {"CidrIp": cidr, "CidrIpv6": cidr6, "PrefixListId": prefix_list, "GroupId": group}
    (peer,) = ((peers, member) for peers, member in _PEERS if given[member])
    ports = {} if protocol == "-1" else {"FromPort": from_port, "ToPort": to_port}
    named = {peer[1]: given[peer[1]], **({"Description": description} if description else {})}
    request = {"IpProtocol": protocol, **ports, peer[0]: [named]}
    return Part(kind, f"{_traffic(request)} {given[peer[1]]}", request=request)


READ = Ec2Read("describe_security_groups", "SecurityGroups", "group-id", decode)


class AwsSecurityGroupDriver(Ec2Driver):
    """A driver. Names are unique in a VPC. A group is ready at once and gone at once."""

    async def create(self, request: Request, birth: Birth) -> Observed:
        """Create it. The reply shows id and tags; the rest is as requested, with AWS's rule for outgoing traffic."""
        asked = {"GroupName": request["name"], "Description": request["description"], "VpcId": request["vpc_id"]}
        place = await location_of(self._client)
        tags = birth_tags.tag_specifications(birth, "security-group")
        body = await self._client.write(
            "ec2", "create_security_group", request["name"], **asked, TagSpecifications=tags
        )
        everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
        return decode({**asked, **body, "IpPermissionsEgress": everything}, place).to_observed()

    async def _list_candidates(self, homes: Collection[str]) -> list[DecodedResource]:
        """Return all groups of these VPCs: one of somebody else may have the name."""
        return [
            seen
            for some in chunks(sorted(homes), FILTER_VALUES)
            for seen in await read_by_filter(self._client, READ, "vpc-id", some)
        ]

    def _matches_want(self, seen: DecodedResource, want: Want) -> bool:
        same_vpc = seen.attributes["vpc_id"] == want.request["vpc_id"]
        return super()._matches_want(seen, want) or (same_vpc and seen.name == want.name)

    async def users(self, ref: Ref) -> Sequence[User]:
        return await interface_users.find_users(self._client, "group-id", ref.id)

    # -- rules ----------------------------------------------------------------------------------------------------

    async def add_part(self, ref: Ref, part: Part) -> None:
        await self.add_parts(ref, [part])

    async def remove_part(self, ref: Ref, part: Part) -> None:
        await self.remove_parts(ref, [part])

    async def add_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        """Add rules, one call a direction. Where one rule exists, none is added; then each gets a call of its own."""
        for kind, some in _by_direction(parts):
            try:
                await self._send(f"authorize_security_group_{_WAYS[kind]}", ref, some)
            except errors.PartExists:
                for part in some if len(some) > 1 else ():
                    await self.add_parts(ref, [part])

    async def remove_parts(self, ref: Ref, parts: Sequence[Part]) -> None:
        """Remove rules, one call for each direction; where one rule is gone already, each gets its own call."""
        for kind, some in _by_direction(parts):
            try:
                await self._send(f"revoke_security_group_{_WAYS[kind]}", ref, some)
            except NotFound as missing:
                if missing.code != _NO_SUCH_RULE:
                    raise
                for part in some if len(some) > 1 else ():
                    await self.remove_parts(ref, [part])

    async def _send(self, operation: str, ref: Ref, parts: Sequence[Part]) -> None:
        permissions = [dict(part.request) for part in parts]
        await self._client.write("ec2", operation, ref.id, GroupId=ref.id, IpPermissions=permissions)


_WAYS: Mapping[str, str] = {INGRESS: "ingress", EGRESS: "egress"}
_NO_SUCH_RULE = "InvalidPermission.NotFound"


def _by_direction(parts: Sequence[Part]) -> list[tuple[str, list[Part]]]:
    ways = ((kind, [part for part in parts if part.kind == kind]) for kind in _WAYS)
    return [(kind, some) for kind, some in ways if some]


def _blocker_searches(ident: str) -> tuple[delete_blockers.BlockerSearch, ...]:
    """Return the searches for interfaces in it, and for groups whose rules refer to it."""
    members, named = {"group-id": ident}, {"ip-permission.group-id": ident}
    return (
        delete_blockers.interface_search(members),
        delete_blockers.BlockerSearch(
            "describe_security_groups", "SecurityGroups", "GroupId", named, lambda row: row["GroupId"] != ident
        ),
    )


_SHAPE = Ec2Shape(
    facts=FACTS["security-group"],
    read=READ,
    create="create_security_group",
    reply="",
    delete="delete_security_group",
    ident="GroupId",
    params=dict,
    parent=IN_VPC,
    blockers=_blocker_searches,
)


def kind(client: AwsClient) -> Kind:
    driver = AwsSecurityGroupDriver(client, _SHAPE)
    return aws_kind(
        "security-group",
        driver,
        requires=("vpc",),
        parent_kind="vpc",
        parts=PartRules(
            exclusive=frozenset({INGRESS}),
            holding=frozenset({INGRESS, EGRESS}),
            driver=driver,
            batches=driver,
            independent=True,
        ),
        deletion=DeleteRules(after_collection=True, usage=driver, gone_at_once=True),
        reads=ReadRules(listing=driver),
    )
