"""The engine with the drivers of the network: a network from nothing to Ready and back, healed in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import IPv6Network
from typing import Any

import pytest

from freehold.engine.engine import ensure
from freehold.engine.graph import Graph, Node, ReadyNodes
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Ready
from freehold.engine.port import Effect
from freehold.engine.resources import NodeKey, Part
from freehold.engine.tag_text import text
from freehold.providers.aws.kinds import internet_gateway, route_table, subnet, vpc
from freehold_sim.aws.settings import Lags, Settings
from freehold_sim.faults import Effect as FaultEffect
from freehold_sim.faults import Fault
from harness.aws_account import AwsAccount
from harness.aws_passes import HOUR, OWNER, Life

VPC, GATEWAY = NodeKey("vpc", "main"), NodeKey("internet-gateway", "main")
ADDRESS, NAT = NodeKey("elastic-ip", "a"), NodeKey("nat-gateway", "a")
PUBLIC, PRIVATE = NodeKey("subnet", "public"), NodeKey("subnet", "private")
OUT, IN, EGRESS = (
    NodeKey("route-table", "public"),
    NodeKey("route-table", "private"),
    NodeKey("egress-only-gateway", "main"),
)
EVERYWHERE = "0.0.0.0/0"


def _node(key: NodeKey, request: Callable[[ReadyNodes], dict[str, Any]], *requires: NodeKey) -> Node:
    named = f"demo-{key.kind}"
    return Node(
        key, named, lambda known: {"name": named, **request(known)}, requires=frozenset(requires),
        tags=frozenset({text("Name", named)}),
    )  # fmt: skip


def _subnet(key: NodeKey, cidr: str) -> Node:
    def request(known: ReadyNodes) -> dict[str, Any]:
        public = {"map_public_ip_on_launch": key == PUBLIC}
        return {"vpc_id": known[VPC].id, "zone": "us-east-1a", "cidr": cidr, **public}

    return _node(key, request, VPC)


def _table(key: NodeKey, subnet: NodeKey, ways: Mapping[str, NodeKey]) -> Node:
    def parts(known: ReadyNodes) -> frozenset[Part]:
        routes = (Part(route_table.ROUTE, to, behavior=known[way].id) for to, way in ways.items())
        return frozenset({Part(route_table.ASSOCIATION, known[subnet].id), *routes})

    plain = _node(key, lambda known: {"vpc_id": known[VPC].id}, VPC, subnet, *ways.values())
    return replace(plain, parts=parts)


def _network() -> list[Node]:
    """One zone, out by IPv4 and IPv6; the private subnet is in a second block."""
    attributes = {vpc.SUPPORT: True, vpc.HOSTNAMES: True}
    main = _node(VPC, lambda known: {"cidr": "10.0.0.0/16", "ipv6": True, **attributes})
    gateway = _node(GATEWAY, lambda known: {}, VPC)
    nat = _node(
        NAT, lambda known: {"subnet_id": known[PUBLIC].id, "allocation_id": known[ADDRESS].id},
        VPC, GATEWAY, PUBLIC, ADDRESS,
    )  # fmt: skip
    return [
        replace(main, parts=lambda known: frozenset({Part(vpc.CIDR, "10.1.0.0/16")})),
        replace(gateway, parts=lambda known: frozenset({Part(internet_gateway.ATTACHMENT, known[VPC].id)})),
        _node(EGRESS, lambda known: {"vpc_id": known[VPC].id}, VPC),
        _node(ADDRESS, lambda known: {}),
        _subnet(PUBLIC, "10.0.0.0/24"),
        _subnet(PRIVATE, "10.1.0.0/24"),
        nat,
        _table(OUT, PUBLIC, {EVERYWHERE: GATEWAY}),
        _table(IN, PRIVATE, {EVERYWHERE: NAT, "::/0": EGRESS}),
    ]


@pytest.fixture
def life() -> Life:
    return Life(AwsAccount(Settings()), _network())


ONE_OF_EACH = {
    "vpc": 1, "subnet": 2, "internet-gateway": 1, "egress-only-internet-gateway": 1, "elastic-ip": 1, "natgateway": 1,
    "route-table": 2,
}  # fmt: skip


def _counts(life: Life) -> dict[str, int]:
    return {kind: len(idents) for kind, idents in life.standing().items()}


async def test_a_network_is_created_once_and_leaves_nothing(life: Life) -> None:
    done = await life.up()
    assert _counts(life) == ONE_OF_EACH
    assert [outcome.note for outcome in done.outcomes.values() if isinstance(outcome, Ready) and outcome.note] == []
    assert life.notes == []
    written = life.writes()  # one subnet is asked for twice: the range that it is in is being added
    assert sorted(operation for operation in written if operation != "tag_resources") == sorted(
        ["create_vpc", "modify_vpc_attribute", "associate_vpc_cidr_block", "create_internet_gateway",
         "attach_internet_gateway", "create_egress_only_internet_gateway", "allocate_address", "create_nat_gateway",
         *["create_subnet"] * 3, "modify_subnet_attribute", *["create_route_table"] * 2, *["create_route"] * 3,
         *["associate_route_table"] * 2]
    )  # fmt: skip
    before = len(life.account.port.calls)
    life.later(600.0)
    await life.up()
    assert life.writes() == written
    asked = [call.operation for call in life.account.port.calls[before:] if call.effect is not Effect.STORE]
    assert len(asked) <= 8, "a look: one read of each kind, and the index of tags"

    await life.down()
    assert life.standing() == {}


async def test_a_subnet_that_gets_an_ipv6_block_gives_addresses_of_it() -> None:
    """EC2 refuses that before the block is there: a refused change was taken as made, and the object was Ready."""
    main = _node(VPC, lambda known: {"cidr": "10.0.0.0/16", "ipv6": True})
    life = Life(AwsAccount(Settings()), [main, _subnet(PUBLIC, "10.0.0.0/24")])
    await life.up()
    life.graph = Graph([main, _with_block(_subnet(PUBLIC, "10.0.0.0/24"))])
    life.state.invalidate()
    await life.up()
    (row,) = life.account.ec2.describe_subnets()["Subnets"]
    assert row["AssignIpv6AddressOnCreation"] and row["Ipv6CidrBlockAssociationSet"]
    assert [call.operation for call in life.account.cloud.calls if call.status >= 400] == []


def _with_block(plain: Node) -> Node:
    def block(known: ReadyNodes) -> str:
        return str(next(IPv6Network(known[VPC].attributes["ipv6_cidrs"][0]).subnets(new_prefix=64)))

    def request(known: ReadyNodes) -> dict[str, Any]:
        return {**plain.request(known), "assign_ipv6_address_on_creation": True, "ipv6_cidr": block(known)}

    return replace(plain, request=request, parts=lambda known: frozenset({Part(subnet.IPV6_CIDR, block(known))}))


@pytest.mark.parametrize(
    "settings", [Settings(lags=Lags(new=30.0, non_monotonic=True)), Settings(page_size=1)], ids=["lag", "pages of one"]
)
async def test_reads_that_are_behind_or_come_in_pages_make_no_second_one(settings: Settings) -> None:
    """A fresh id is not found for a while: it is neither gone nor to be made again."""
    life = Life(AwsAccount(settings), _network())
    await life.up()
    assert _counts(life) == ONE_OF_EACH
    life.later(HOUR)
    life.die(Journal(OWNER))
    await life.up()
    assert _counts(life) == ONE_OF_EACH
    await life.down()
    assert life.standing() == {}


async def test_what_people_change_is_brought_back(life: Life) -> None:
    await life.up()
    ec2, ids = life.account.ec2, life.standing()
    table = life.journal.entries[IN].id
    ec2.replace_route(RouteTableId=table, DestinationCidrBlock=EVERYWHERE, GatewayId=ids["internet-gateway"][0])
    ec2.delete_route(RouteTableId=table, DestinationIpv6CidrBlock="::/0")
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="10.9.0.0/16", GatewayId=ids["internet-gateway"][0])
    ec2.modify_subnet_attribute(SubnetId=life.journal.entries[PUBLIC].id, MapPublicIpOnLaunch={"Value": False})
    ec2.modify_vpc_attribute(VpcId=ids["vpc"][0], EnableDnsHostnames={"Value": False})
    for _ in range(vpc.PASSES_A_READING + 1):
        life.later(600.0)
        await life.up()
    rows = ec2.describe_route_tables(RouteTableIds=[table])["RouteTables"][0]["Routes"]
    routes = {row.get("DestinationCidrBlock") or row["DestinationIpv6CidrBlock"]: row for row in rows}
    assert routes[EVERYWHERE]["NatGatewayId"] == ids["natgateway"][0]
    assert "EgressOnlyInternetGatewayId" in routes["::/0"]
    assert "10.9.0.0/16" in routes, "somebody else's route stays"
    (public,) = ec2.describe_subnets(SubnetIds=[life.journal.entries[PUBLIC].id])["Subnets"]
    assert public["MapPublicIpOnLaunch"] is True
    shown = ec2.describe_vpc_attribute(VpcId=ids["vpc"][0], Attribute="enableDnsHostnames")
    assert shown["EnableDnsHostnames"]["Value"] is True
    await life.down()
    assert life.standing() == {}


LOST = ["CreateVpc", "CreateSubnet", "CreateInternetGateway", "CreateEgressOnlyInternetGateway", "AllocateAddress",
        "CreateNatGateway", "CreateRouteTable"]  # fmt: skip
PARTS = ["AssociateVpcCidrBlock", "AttachInternetGateway", "CreateRoute", "AssociateRouteTable", "ModifyVpcAttribute"]
DELETES = ["DeleteVpc", "DeleteSubnet", "DetachInternetGateway", "DeleteInternetGateway", "ReleaseAddress",
           "DeleteNatGateway", "DisassociateRouteTable", "DeleteRouteTable",
           "DeleteEgressOnlyInternetGateway"]  # fmt: skip


WITHOUT_ANSWER = pytest.mark.parametrize(
    "effect", [FaultEffect.REPLY_LOST, FaultEffect.ERROR_BEFORE], ids=["reply lost", "not done"]
)


@WITHOUT_ANSWER
async def test_writes_without_an_answer_make_no_second_one(life: Life, effect: FaultEffect) -> None:
    """The first write of each sort gets none; in the families of crashes each call of a life alone."""
    for operation in (*LOST, *PARTS, *DELETES):
        life.account.cloud.faults.add(Fault(effect, f"ec2.{operation}", status=504))
    await life.up()
    assert _counts(life) == ONE_OF_EACH
    await life.down()
    assert {rule["operation"]: rule["hits"] for rule in life.account.cloud.faults.rules() if rule["hits"] != 1} == {}
    assert life.standing() == {}


async def up_to_a_lost_reply(life: Life, operation: str) -> None:
    """Run until the reply of the create is lost, and end the process with it."""
    life.account.cloud.faults.add(Fault(FaultEffect.REPLY_LOST, operation))
    end = life.clock.now() + HOUR
    while not life.account.cloud.faults.rules()[0]["hits"] and life.clock.now() < end:
        done = await ensure(life.deps, life.graph, life.journal, life.store, life.state)
        life.journal = done.journal
        life.later(max(done.after, 1.0))
    life.die()


@pytest.mark.parametrize("operation", LOST)
async def test_a_process_that_dies_with_the_reply_leaves_no_second_one(life: Life, operation: str) -> None:
    """What was made shows after a while only; the next process finds it, by its token or its birth tag."""
    await up_to_a_lost_reply(life, f"ec2.{operation}")
    await life.up()
    assert _counts(life) == ONE_OF_EACH
    await life.down()
    assert life.standing() == {}
