"""What is special about each network kind of AWS: parts, attributes, refusals. Common: tests/conformance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import IPv6Network
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.drivers import User
from freehold.engine.kinds import Kind
from freehold.engine.resources import Birth, NodeKey, Observed, Part, Ref, State, Want
from freehold.providers.aws.kinds import (
    egress_only_gateway,
    elastic_ip,
    internet_gateway,
    nat_gateway,
    route_table,
    subnet,
    vpc,
)
from freehold_sim.aws.settings import Assumptions, Settings
from freehold_sim.aws.world import scope_of
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION, AwsAccount
from harness.simulated_aws import ACCOUNT

BIRTH = Birth("token", "fabcdefg", frozenset({r"freehold.dev/birth=fabcdefg"}))
EVERYWHERE = "0.0.0.0/0"


class Network(AwsAccount):
    """A simulated account with the kinds under test."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        modules: tuple[Any, ...] = (
            vpc, subnet, internet_gateway, egress_only_gateway, elastic_ip, nat_gateway, route_table,
        )  # fmt: skip
        self.kinds: dict[str, Kind] = {kind.name: kind for kind in (module.kind(self.api) for module in modules)}

    async def make(self, kind: str, **request: Any) -> Observed:
        return await self.kinds[kind].driver.create({"name": kind, **request}, BIRTH)

    async def look(self, kind: str, ident: str) -> Observed:
        return (await self.kinds[kind].driver.observe([Ref(ident)]))[ident]

    async def inside(self, kind: str, ident: str) -> set[tuple[str, str]]:
        return {(str(part), part.behavior) for part in (await self.look(kind, ident)).parts or ()}

    async def add(self, kind: str, ident: str, part: Part) -> None:
        driver = self.kinds[kind].parts.driver
        assert driver is not None
        await driver.add_part(Ref(ident), part)

    async def remove(self, kind: str, ident: str, part: Part) -> None:
        driver = self.kinds[kind].parts.driver
        assert driver is not None
        await driver.remove_part(Ref(ident), part)

    async def delete(self, kind: str, ident: str) -> None:
        await self.kinds[kind].driver.delete(Ref(ident))

    def count(self, operation: str) -> int:
        return self.served().count(f"ec2.{operation}")


@pytest.fixture
def account() -> Network:
    return Network()


# -- parts ----------------------------------------------------------------------------------------------------


def _block(account: Network) -> tuple[str, str, Part]:
    return "vpc", account.vpc(), Part(vpc.CIDR, "10.1.0.0/16")


def _block6(account: Network) -> tuple[str, str, Part]:
    network = account.vpc(AmazonProvidedIpv6CidrBlock=True)
    (row,) = account.ec2.describe_vpcs(VpcIds=[network])["Vpcs"][0]["Ipv6CidrBlockAssociationSet"]
    _, _, block, *_ = IPv6Network(row["Ipv6CidrBlock"]).subnets(new_prefix=64)
    return "subnet", account.subnet(network), Part(subnet.IPV6_CIDR, str(block))


def _attachment(account: Network) -> tuple[str, str, Part]:
    gateway = account.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    return "internet-gateway", gateway, Part(internet_gateway.ATTACHMENT, account.vpc())


def _route(account: Network) -> tuple[str, str, Part]:
    network = account.vpc()
    gateway = account.gateway(network)
    return "route-table", _table(account, network), Part(route_table.ROUTE, EVERYWHERE, behavior=gateway)


def _route6(account: Network) -> tuple[str, str, Part]:
    network = account.vpc(AmazonProvidedIpv6CidrBlock=True)
    made = account.ec2.create_egress_only_internet_gateway(VpcId=network, ClientToken="t")
    gateway = made["EgressOnlyInternetGateway"]["EgressOnlyInternetGatewayId"]
    return "route-table", _table(account, network), Part(route_table.ROUTE, "::/0", behavior=gateway)


def _association(account: Network) -> tuple[str, str, Part]:
    network = account.vpc()
    return "route-table", _table(account, network), Part(route_table.ASSOCIATION, account.subnet(network))


def _table(account: Network, network: str) -> str:
    return str(account.ec2.create_route_table(VpcId=network)["RouteTable"]["RouteTableId"])


PARTS: Mapping[str, Callable[[Network], tuple[str, str, Part]]] = {
    "block of a vpc": _block,
    "ipv6 block of a subnet": _block6,
    "attachment": _attachment,
    "route": _route,
    "ipv6 route": _route6,
    "association": _association,
}
each_part = pytest.mark.parametrize("prepare", PARTS.values(), ids=list(PARTS))


@each_part
async def test_a_part_is_added_and_removed(account: Network, prepare: Callable[..., Any]) -> None:
    """What its resource shows is what was wanted, so the next look finds nothing to do."""
    kind, host, part = prepare(account)
    await account.add(kind, host, part)
    assert await account.inside(kind, host) == {(str(part), part.behavior)}
    await account.remove(kind, host, part)
    assert await account.inside(kind, host) == set()


@each_part
async def test_the_writes_of_a_part_may_be_sent_again(account: Network, prepare: Callable[..., Any]) -> None:
    """After a lost reply, or a look that was behind."""
    kind, host, part = prepare(account)
    for _ in range(2):
        await account.add(kind, host, part)
    (there,) = (await account.look(kind, host)).parts or ()
    for _ in range(2):
        await account.remove(kind, host, there)
    assert await account.inside(kind, host) == set()


@each_part
async def test_a_refusal_for_another_reason_is_told(account: Network, prepare: Callable[..., Any]) -> None:
    kind, host, part = prepare(account)
    account.cloud.faults.add(Fault(Effect.DENIED, "ec2.[AC][rst][est]*"))
    with pytest.raises(errors.Denied):
        await account.add(kind, host, part)
    assert await account.inside(kind, host) == set()


async def test_a_block_that_overlaps_is_refused(account: Network) -> None:
    """Only the very same block is there already."""
    network = account.vpc()
    with pytest.raises(errors.Invalid):
        await account.add("vpc", network, Part(vpc.CIDR, "10.0.1.0/24"))


async def test_a_block_goes_after_the_subnets_in_it(account: Network) -> None:
    network = account.vpc()
    await account.add("vpc", network, Part(vpc.CIDR, "10.1.0.0/16"))
    account.clock.advance(5)
    account.ec2.create_subnet(VpcId=network, CidrBlock="10.1.0.0/24")
    with pytest.raises(errors.InUse):
        await account.remove("vpc", network, Part(vpc.CIDR, "10.1.0.0/16"))


async def test_a_route_is_changed_in_place(account: Network) -> None:
    """No moment without a way out."""
    kind, table, part = _route(account)
    await account.add(kind, table, part)
    network = (await account.look("route-table", table)).attributes["vpc_id"]
    nat = account.nat(account.subnet(network))
    changer = account.kinds[kind].parts.changer
    assert changer is not None
    await changer.change_part(Ref(table), Part(route_table.ROUTE, EVERYWHERE, behavior=nat))
    assert await account.inside(kind, table) == {(f"route {EVERYWHERE}", nat)}
    assert account.count("DeleteRoute") == 0


async def test_a_route_of_somebody_else_is_not_taken_for_ours(account: Network) -> None:
    """It came between the look and the add, and leads to another place."""
    kind, table, part = _route(account)
    network = (await account.look("route-table", table)).attributes["vpc_id"]
    nat = account.nat(account.subnet(network))
    account.ec2.create_route(RouteTableId=table, DestinationCidrBlock=EVERYWHERE, NatGatewayId=nat)
    with pytest.raises(errors.NameTaken):
        await account.add(kind, table, part)
    assert await account.inside(kind, table) == {(f"route {EVERYWHERE}", nat)}


async def test_a_subnet_of_another_table_is_left_there(account: Network) -> None:
    """The message names the table, because EC2's does not."""
    kind, table, part = _association(account)
    network = (await account.look("route-table", table)).attributes["vpc_id"]
    other = _table(account, network)
    account.ec2.associate_route_table(RouteTableId=other, SubnetId=part.natural_key)
    with pytest.raises(errors.NameTaken, match=other) as caught:
        await account.add(kind, table, part)
    assert caught.value.holder == other
    assert await account.inside(kind, other) == {(str(part), "")}


async def test_a_vpc_with_another_gateway_is_told_with_it(account: Network) -> None:
    kind, gateway, part = _attachment(account)
    other = account.gateway(part.natural_key)
    with pytest.raises(errors.NameTaken, match=other):
        await account.add(kind, gateway, part)


async def test_a_gateway_that_is_attached_elsewhere_is_not_moved(account: Network) -> None:
    kind, gateway, part = _attachment(account)
    other = account.vpc("10.9.0.0/16")
    account.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=other)
    with pytest.raises(errors.NameTaken):
        await account.add(kind, gateway, part)
    assert await account.inside(kind, gateway) == {(f"attachment {other}", "")}


@pytest.mark.parametrize(
    ("target", "parameter"),
    [
        ("igw-1", "GatewayId"), ("vgw-1", "GatewayId"), ("nat-1", "NatGatewayId"), ("i-1", "InstanceId"),
        ("eigw-1", "EgressOnlyInternetGatewayId"), ("eni-1", "NetworkInterfaceId"), ("tgw-1", "TransitGatewayId"),
        ("pcx-1", "VpcPeeringConnectionId"), ("cagw-1", "CarrierGatewayId"), ("lgw-1", "LocalGatewayId"),
        ("arn:aws:networkmanager::1:core-network/c", "CoreNetworkArn"),
    ],
)  # fmt: skip
def test_the_parameter_that_a_target_goes_into(target: str, parameter: str) -> None:
    assert route_table.to_target(Part(route_table.ROUTE, EVERYWHERE, behavior=target)) == {parameter: target}


@pytest.mark.parametrize(
    ("to", "parameter"),
    [
        ("10.0.0.0/8", "DestinationCidrBlock"),
        ("::/0", "DestinationIpv6CidrBlock"),
        ("pl-1", "DestinationPrefixListId"),
    ],
)
def test_the_parameter_that_a_destination_goes_into(to: str, parameter: str) -> None:
    assert route_table.to_destination(Part(route_table.ROUTE, to)) == {parameter: to}


# -- attributes -----------------------------------------------------------------------------------------------


async def test_a_new_vpc_costs_no_read_of_its_attributes(account: Network) -> None:
    """A new VPC has support and no host names; what we wrote is known too."""
    made = await account.make("vpc", cidr="10.0.0.0/16")
    account.clock.advance(2)
    await account.kinds["vpc"].driver.update(Ref(made.id), {vpc.HOSTNAMES: True})
    seen = await account.look("vpc", made.id)
    assert (made.attributes[vpc.SUPPORT], made.attributes[vpc.HOSTNAMES]) == (True, False)
    assert (seen.attributes[vpc.SUPPORT], seen.attributes[vpc.HOSTNAMES]) == (True, True)
    assert account.count("DescribeVpcAttribute") == 0
    assert account.count("ModifyVpcAttribute") == 1


async def test_one_reading_of_the_attributes_serves_for_some_looks(account: Network) -> None:
    """A deep look costs one read for each VPC; a change by a person is seen after an hour at most."""
    network = account.vpc()
    account.ec2.modify_vpc_attribute(VpcId=network, EnableDnsHostnames={"Value": True})
    seen = [(await account.look("vpc", network)).attributes[vpc.HOSTNAMES] for _ in range(vpc.PASSES_A_READING)]
    assert (seen, account.count("DescribeVpcAttribute")) == ([True] * vpc.PASSES_A_READING, 1)
    account.ec2.modify_vpc_attribute(VpcId=network, EnableDnsHostnames={"Value": False})
    assert (await account.look("vpc", network)).attributes[vpc.HOSTNAMES] is False


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, False)])
@pytest.mark.parametrize("before", [(True, True), (True, False), (False, False)])
async def test_attributes_are_changed_in_an_order_that_ec2_takes(
    account: Network, before: tuple[bool, bool], wanted: tuple[bool, bool]
) -> None:
    """Host names need support: it goes on first, and off last."""
    network, driver = account.vpc(), account.kinds["vpc"].driver
    for support, hostnames in (before, wanted):
        await driver.update(Ref(network), {vpc.SUPPORT: support, vpc.HOSTNAMES: hostnames})
    fresh = vpc.kind(account.api).driver
    attributes = (await fresh.observe([Ref(network)]))[network].attributes
    assert (attributes[vpc.SUPPORT], attributes[vpc.HOSTNAMES]) == wanted


async def test_the_attributes_of_other_peoples_vpcs_are_not_listed(account: Network) -> None:
    """A list is read for many objects: each attribute would be a call."""
    account.vpc()
    ours = await account.make("vpc", cidr="10.1.0.0/16")
    driver = vpc.kind(account.api).reads.listing
    assert driver is not None
    rows = {row.observed.id: row.observed.attributes for row in await driver.read_rows("us-east-1")}
    assert {ident for ident, attributes in rows.items() if vpc.HOSTNAMES in attributes} == {ours.id}


async def test_a_vpc_whose_attributes_cannot_be_found_is_not_absent(account: Network) -> None:
    """The list has just shown it: another replica is behind."""
    with pytest.raises(errors.Unavailable):
        await vpc.DnsAttributes(account.api).read("vpc-00000000000000000")


async def test_a_vpc_with_ipv6_shows_its_block(account: Network) -> None:
    made = await account.make("vpc", cidr="10.0.0.0/16", ipv6=True)
    account.clock.advance(2)
    seen = await account.look("vpc", made.id)
    assert seen.attributes["ipv6"] is True
    assert seen.attributes["ipv6_cidrs"][0].endswith("/56")


def test_a_vpc_waits_for_its_ipv6_block() -> None:
    """Subnets are cut from it; while it is on its way, EC2 may not show it."""
    body: dict[str, Any] = {
        "VpcId": "vpc-1", "CidrBlock": "10.0.0.0/16", "State": "available",
        "Ipv6CidrBlockAssociationSet": [{"AssociationId": "a", "Ipv6CidrBlockState": {"State": "associating"}}],
    }  # fmt: skip
    seen = vpc.decode(body, vpc.AwsLocation("aws", "us-east-1", "1" * 12))
    assert seen is not None
    assert (seen.state, seen.attributes["ipv6_cidrs"]) == (State.PENDING, ())


async def test_a_subnet_is_born_with_its_ipv6_block_and_gives_addresses_of_it(account: Network) -> None:
    _, _, part = _block6(account)
    network = account.ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    made = await account.make(
        "subnet", vpc_id=network, zone="us-east-1b", cidr="10.0.7.0/24", ipv6_cidr=part.natural_key
    )  # fmt: skip
    switches = {"map_public_ip_on_launch": True, "assign_ipv6_address_on_creation": True}
    await account.kinds["subnet"].driver.update(Ref(made.id), switches)
    seen = await account.look("subnet", made.id)
    assert await account.inside("subnet", made.id) == {(str(part), "")}
    assert {name: seen.attributes[name] for name in switches} == switches


SWITCHES = {"map_public_ip_on_launch": True, "assign_ipv6_address_on_creation": True}


async def test_a_subnet_without_ipv6_block_is_refused_the_addresses_of_one(account: Network) -> None:
    """Not taken as done. The attribute that needs no block is changed before."""
    kind, ident, part = _block6(account)
    driver = account.kinds[kind].driver
    with pytest.raises(errors.Invalid):
        await driver.update(Ref(ident), SWITCHES)
    seen = (await account.look(kind, ident)).attributes
    assert [seen[name] for name in SWITCHES] == [True, False]
    await account.add(kind, ident, part)
    await driver.update(Ref(ident), {"assign_ipv6_address_on_creation": True})
    seen = (await account.look(kind, ident)).attributes
    assert [seen[name] for name in SWITCHES] == [True, True]


async def test_a_subnet_whose_ipv6_block_is_on_its_way_is_asked_again(account: Network) -> None:
    """No person has anything to mend."""
    kind, ident, part = _block6(account)
    await account.add(kind, ident, part)
    (row,) = account.cloud.world.table(scope_of(ACCOUNT, REGION), "subnet")[ident]["view"][
        "Ipv6CidrBlockAssociationSet"
    ]
    row["Ipv6CidrBlockState"]["State"] = "associating"
    with pytest.raises(errors.NotReady, match="It is asked again"):
        await account.kinds[kind].driver.update(Ref(ident), SWITCHES)
    row["Ipv6CidrBlockState"]["State"] = "associated"
    await account.kinds[kind].driver.update(Ref(ident), SWITCHES)


async def test_what_is_no_subnet_is_not_one_that_waits_for_its_block(account: Network) -> None:
    with pytest.raises(errors.Invalid):
        await account.kinds["subnet"].driver.update(Ref("vpc-1"), {"assign_ipv6_address_on_creation": True})


async def test_a_birth_tag_in_another_vpc_is_not_that_of_our_create(account: Network) -> None:
    """Somebody copied it. Of egress-only gateways the whole region is read."""
    here, there = account.vpc(), account.vpc("10.1.0.0/16")
    made = await account.make("egress-only-gateway", vpc_id=here)
    copy = await account.kinds["egress-only-gateway"].driver.create(
        {"name": "copy", "vpc_id": there}, replace(BIRTH, token="another")
    )
    wants = [
        Want(NodeKey("egress-only-gateway", vpc_id), "", {"vpc_id": vpc_id}, frozenset({BIRTH.nonce}))
        for vpc_id in (here, there)
    ]
    found = await account.kinds["egress-only-gateway"].driver.find(wants)
    assert [[one.id for one in found[want.key]] for want in wants] == [[made.id], [copy.id]]


# -- what AWS refuses -----------------------------------------------------------------------------------------


async def test_a_vpc_names_what_is_in_it(account: Network) -> None:
    """EC2 says only that it has dependencies; it goes with its main table and default group."""
    network = account.vpc()
    for make in (
        lambda: account.subnet(network),
        lambda: account.group(network),
        lambda: _table(account, network),
        lambda: account.gateway(network),
    ):
        holder = make()
        with pytest.raises(errors.InUse) as caught:
            await account.delete("vpc", network)
        assert holder in caught.value.blocker
        _take_away(account, holder, network)
    await account.delete("vpc", network)
    assert network not in await account.kinds["vpc"].driver.observe([Ref(network)])


def _take_away(account: Network, ident: str, network: str) -> None:
    ec2 = account.ec2
    match ident.partition("-")[0]:
        case "subnet":
            ec2.delete_subnet(SubnetId=ident)
        case "sg":
            ec2.delete_security_group(GroupId=ident)
        case "rtb":
            ec2.delete_route_table(RouteTableId=ident)
        case "igw":
            ec2.detach_internet_gateway(InternetGatewayId=ident, VpcId=network)
            ec2.delete_internet_gateway(InternetGatewayId=ident)


async def test_a_subnet_names_the_interfaces_in_it(account: Network) -> None:
    """Those of a deleted load balancer stay for minutes."""
    _, subnets = account.network()
    account.instance(subnets[0])
    with pytest.raises(errors.InUse) as caught:
        await account.delete("subnet", subnets[0])
    assert caught.value.blocker.startswith("eni-")


async def test_a_gateway_goes_after_its_attachment_and_that_after_public_addresses(account: Network) -> None:
    network, subnets = account.network()
    gateway = account.ec2.describe_internet_gateways()["InternetGateways"][0]["InternetGatewayId"]
    attachment = Part(internet_gateway.ATTACHMENT, network)
    nat = account.nat(subnets[0])
    account.clock.advance(100)
    with pytest.raises(errors.InUse):
        await account.delete("internet-gateway", gateway)
    with pytest.raises(errors.InUse) as caught:
        await account.remove("internet-gateway", gateway, attachment)
    assert nat in caught.value.blocker
    await account.delete("nat-gateway", nat)
    account.clock.advance(100)
    await account.remove("internet-gateway", gateway, attachment)
    await account.delete("internet-gateway", gateway)


async def test_an_address_goes_after_its_nat_gateway(account: Network) -> None:
    """EC2 says AuthFailure, as if we lacked a permission."""
    _, subnets = account.network()
    address = await account.make("elastic-ip")
    nat = await account.make("nat-gateway", subnet_id=subnets[0], allocation_id=address.id)
    with pytest.raises(errors.InUse) as caught:
        await account.delete("elastic-ip", address.id)
    assert nat.id in caught.value.blocker
    await account.delete("nat-gateway", nat.id)
    account.clock.advance(100)
    await account.delete("elastic-ip", address.id)


async def test_a_table_goes_after_its_associations(account: Network) -> None:
    kind, table, part = _association(account)
    await account.add(kind, table, part)
    with pytest.raises(errors.InUse):
        await account.delete(kind, table)
    await account.remove(kind, table, part)
    await account.delete(kind, table)


async def test_what_holds_it_is_left_out_where_it_may_not_be_read(account: Network) -> None:
    """The refusal itself is what matters."""
    network = account.vpc()
    account.subnet(network)
    account.cloud.faults.add(Fault(Effect.DENIED, "ec2.Describe*", count=None))
    with pytest.raises(errors.InUse) as caught:
        await account.delete("vpc", network)
    assert caught.value.blocker == ""


async def test_the_create_of_an_address_tells_the_tags_that_it_has_set(account: Network) -> None:
    """The reply does not show them: AWS sets them with the create, or makes nothing."""
    made = await account.make("elastic-ip")
    assert made.tags == BIRTH.marks
    assert (await account.look("elastic-ip", made.id)).tags == BIRTH.marks


async def test_two_subnets_of_one_block_are_refused(account: Network) -> None:
    """The block is a natural key, so a create that was cut off makes no second one."""
    network = account.vpc()
    request = {"vpc_id": network, "zone": "us-east-1a", "cidr": "10.0.0.0/24"}
    made = await account.make("subnet", **request)
    with pytest.raises(errors.Invalid):
        await account.make("subnet", **request)
    assert [row["SubnetId"] for row in account.ec2.describe_subnets()["Subnets"]] == [made.id]


@pytest.mark.parametrize("kind", ["nat-gateway", "egress-only-gateway"])
async def test_what_ec2_deletes_although_routes_lead_there_names_their_tables(account: Network, kind: str) -> None:
    """A person who lets a surplus one go is told of them."""
    network, subnets = account.network()
    if kind == "nat-gateway":
        made = account.nat(subnets[0])
        target = {"DestinationCidrBlock": EVERYWHERE, "NatGatewayId": made}
    else:
        made = (await account.make("egress-only-gateway", vpc_id=network)).id
        target = {"DestinationIpv6CidrBlock": "::/0", "EgressOnlyInternetGatewayId": made}
    usage = account.kinds[kind].deletion.usage
    assert usage is not None
    assert await usage.users(Ref(made)) == []
    table = _table(account, network)
    account.ec2.create_route(RouteTableId=table, **target)
    assert await usage.users(Ref(made)) == [User(f"route table {table}", table)]


async def test_a_nat_gateway_that_failed_says_why(account: Network) -> None:
    """Without an internet gateway in its VPC."""
    network = account.vpc()
    address = await account.make("elastic-ip")
    made = await account.make("nat-gateway", subnet_id=account.subnet(network), allocation_id=address.id)
    account.clock.advance(100)
    seen = await account.look("nat-gateway", made.id)
    assert seen.state is State.FAILED
    assert "no Internet gateway" in seen.vendor_state


async def test_a_create_whose_account_cannot_be_asked_for_is_not_sent(account: Network) -> None:
    """Asked for after the create, its failure would lose what was made."""
    account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "sts.*", status=503))
    with pytest.raises(errors.Unavailable):
        await account.make("vpc", cidr="10.0.0.0/16")
    assert account.ec2.describe_vpcs()["Vpcs"] == []


@pytest.mark.parametrize(
    ("kind", "target", "ident"),
    [
        ("vpc", "arn:aws:ec2:us-east-1:111122223333:vpc/vpc-1", "vpc-1"),
        ("vpc", "arn:aws:ec2:us-east-1:111122223333:subnet/subnet-1", ""),
        ("nat-gateway", "arn:aws:ec2:us-east-1:111122223333:natgateway/nat-1", "nat-1"),
        ("elastic-ip", "arn:aws:ec2:us-east-1:111122223333:elastic-ip/eipalloc-1", "eipalloc-1"),
        ("vpc", "crn:v1:of:another:cloud", ""),
        ("vpc", "", ""),
    ],
)
def test_the_id_in_the_target_of_a_mark(account: Network, kind: str, target: str, ident: str) -> None:
    """Targets come from tags and journals, which others may edit."""
    assert account.kinds[kind].driver.identify(target) == ident


async def test_a_block_that_somebody_has_taken_is_told_with_the_subnet_that_has_it() -> None:
    """EC2 says that there is one; to correct the manifest is not the only way, and the wish may be as it was."""
    network = Network()
    ident = network.vpc()
    theirs = network.subnet(ident, 0, "a")
    (row,) = network.ec2.describe_subnets(SubnetIds=[theirs])["Subnets"]
    with pytest.raises(errors.Invalid, match=f"is taken by subnet {theirs}. Delete that subnet"):
        await network.make("subnet", vpc_id=ident, zone="us-east-1b", cidr=row["CidrBlock"])


async def test_a_subnet_waits_for_the_range_that_it_is_in() -> None:
    """AWS refuses it as one outside of all ranges, which only a person could mend."""
    network = Network()
    ident = network.vpc()
    await network.add("vpc", ident, Part(vpc.CIDR, "100.64.0.0/16"))
    wish = {"vpc_id": ident, "zone": "us-east-1a", "cidr": "100.64.1.0/24"}
    with pytest.raises(errors.NotReady, match="a range is being added to"):
        await network.make("subnet", **wish)
    network.clock.advance(5)
    assert (await network.make("subnet", **wish)).state is State.READY


async def test_another_refusal_of_a_subnet_stays_as_it_is() -> None:
    network = Network()
    with pytest.raises(errors.Invalid) as refused:
        await network.make("subnet", vpc_id=network.vpc(), zone="us-east-1b", cidr="192.0.2.0/24")
    assert "taken" not in refused.value.message


@pytest.mark.parametrize("stays", (False, True))
async def test_a_nat_gateway_is_there_until_it_has_gone_or_has_failed_and_its_delete_was_taken(stays: bool) -> None:
    """While one is being deleted it has its address and its interface; one that has failed has nothing."""
    account = Network(Settings(assumptions=Assumptions(failed_nat_gateway_stays=stays)))
    _, subnets = account.network()
    works, fails = account.nat(subnets[0]), account.nat(account.subnet(account.vpc()))
    account.clock.advance(90)
    driver = account.kinds["nat-gateway"].driver
    refs = [Ref(works), Ref(fails)]
    seen = await driver.observe(refs)
    assert (seen[works].state, seen[fails].state) == (State.READY, State.FAILED)
    for ref in refs:
        await driver.delete(ref)
    shown = {ident: each.state for ident, each in (await driver.observe(refs)).items()}
    assert shown == {works: State.DELETING} | ({} if stays else {fails: State.DELETING})
    account.clock.advance(46)
    assert await driver.observe(refs) == {}
