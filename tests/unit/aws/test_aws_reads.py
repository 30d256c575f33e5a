"""What each kind's decoding makes of the replies of a simulated AWS, and of replies that it never gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.resources import State
from freehold.providers.aws import reading
from freehold.providers.aws.decoded import AwsLocation, DecodedResource, state_of
from freehold.providers.aws.kinds import (
    elastic_ip,
    internet_gateway,
    nat_gateway,
    route_table,
    security_group,
    subnet,
    vpc,
)
from freehold_sim.aws.settings import Settings
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION, AwsAccount
from harness.simulated_aws import ACCOUNT, OTHER_ACCOUNT, tagged

PLACE = AwsLocation("aws", REGION, ACCOUNT)
READS = {
    "vpc": vpc.READ,
    "subnet": subnet.READ,
    "internet-gateway": internet_gateway.READ,
    "elastic-ip": elastic_ip.READ,
    "nat-gateway": nat_gateway.READ,
    "route-table": route_table.READ,
    "security-group": security_group.READ,
}


async def _one(account: AwsAccount, kind: str, ident: str) -> DecodedResource:
    return (await reading.read_by_id(account.api, READS[kind], [ident]))[ident]


def _make(account: AwsAccount) -> dict[str, str]:
    """One of each kind."""
    network, subnets = account.network()
    nat = account.nat(subnets[0])
    return {
        "vpc": network,
        "subnet": subnets[0],
        "internet-gateway": account.ec2.describe_internet_gateways()["InternetGateways"][0]["InternetGatewayId"],
        "elastic-ip": account.ec2.describe_addresses()["Addresses"][0]["AllocationId"],
        "nat-gateway": nat,
        "route-table": account.ec2.create_route_table(VpcId=network)["RouteTable"]["RouteTableId"],
        "security-group": account.group(network),
    }


# -- every kind -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", READS)
async def test_a_resource_is_read_by_its_id_with_its_tags(account: AwsAccount, kind: str) -> None:
    """Its ARN is the one under which the tagging API knows it: what is marked is what was read."""
    ident = _make(account)[kind]
    account.ec2.create_tags(Resources=[ident], Tags=[{"Key": "Name", "Value": "one"}, {"Key": "team", "Value": "a"}])
    seen = await _one(account, kind, ident)
    name = "group" if kind == "security-group" else "one"
    assert (seen.id, seen.name, seen.tags) == (ident, name, {"Name": "one", "team": "a"})
    account.clock.advance(60)
    listed = account.tagging.get_resources(TagFilters=[{"Key": "team"}])["ResourceTagMappingList"]
    assert [row["ResourceARN"] for row in listed] == [seen.arn]


@pytest.mark.parametrize("kind", READS)
async def test_nothing_is_asked_for_where_nothing_is_wanted(account: AwsAccount, kind: str) -> None:
    assert await reading.read_by_id(account.api, READS[kind], []) == {}
    assert account.sent() == []


@pytest.mark.parametrize("kind", READS)
async def test_a_read_that_fails_is_not_empty(account: AwsAccount, kind: str) -> None:
    account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "ec2.Describe*", status=500))
    with pytest.raises(errors.Unavailable):
        await reading.read_all(account.api, READS[kind])


@pytest.mark.parametrize("kind", READS)
async def test_a_list_shows_what_a_read_by_id_shows(make_account: Callable[..., AwsAccount], kind: str) -> None:
    """Also where the list comes in pages of one."""
    account = make_account(page_size=1)
    ident = _make(account)[kind]
    (listed,) = [seen for seen in await reading.read_all(account.api, READS[kind]) if seen.id == ident]
    assert listed == await _one(account, kind, ident)


async def test_many_ids_are_asked_for_in_few_calls(account: AwsAccount) -> None:
    """A filter takes 200 values."""
    network, missing = account.vpc(), [f"vpc-{number:017x}" for number in range(399)]
    assert set(await reading.read_by_id(account.api, vpc.READ, [network, *missing])) == {network}
    assert account.sent().count("ec2.describe_vpcs") == 2


async def test_what_a_filter_selects(account: AwsAccount) -> None:
    one, two = account.vpc(), account.vpc("10.1.0.0/16")
    mine, _ = account.subnet(one), account.ec2.create_subnet(VpcId=two, CidrBlock="10.1.0.0/24")
    assert [seen.id for seen in await reading.read_by_filter(account.api, subnet.READ, "vpc-id", [one])] == [mine]


@pytest.mark.parametrize(
    ("word", "state"),
    [("pending", State.PENDING), ("available", State.READY), ("failed", State.FAILED), ("deleting", State.DELETING),
     ("failed-insufficient-capacity", State.FAILED), ("deleted", None), ("brand-new", State.PENDING)],
)  # fmt: skip
def test_the_state_that_a_word_means(word: str, state: State | None) -> None:
    assert state_of(word) is state


# -- each kind ------------------------------------------------------------------------------------------------


async def test_a_vpc_shows_its_blocks(account: AwsAccount) -> None:
    made = account.ec2.create_vpc(CidrBlock="10.0.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]["VpcId"]
    assert (await _one(account, "vpc", made)).state is State.PENDING
    account.clock.advance(5)
    account.ec2.associate_vpc_cidr_block(VpcId=made, CidrBlock="10.1.0.0/16")
    seen = await _one(account, "vpc", made)
    assert seen.state is State.READY
    assert seen.attributes["cidr"] == "10.0.0.0/16"
    assert len(seen.attributes["ipv6_cidrs"]) == 1
    (part,) = seen.parts
    assert str(part) == "vpc-cidr 10.1.0.0/16"

    account.ec2.disassociate_vpc_cidr_block(AssociationId=part.id)
    assert (await _one(account, "vpc", made)).parts == frozenset()


async def test_a_subnet_shows_where_it_is(account: AwsAccount) -> None:
    network = account.vpc()
    ident = account.subnet(network, zone="b")
    account.ec2.modify_subnet_attribute(SubnetId=ident, MapPublicIpOnLaunch={"Value": True})
    seen = await _one(account, "subnet", ident)
    assert dict(seen.attributes) == {
        "vpc_id": network, "zone": "us-east-1b", "cidr": "10.0.0.0/24", "map_public_ip_on_launch": True,
        "assign_ipv6_address_on_creation": False,
    }  # fmt: skip


async def test_an_internet_gateway_shows_whether_it_is_attached(account: AwsAccount) -> None:
    """One that was created and not attached is what CAPA loses for ever."""
    network = account.vpc()
    ident = account.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    assert (await _one(account, "internet-gateway", ident)).parts == frozenset()
    account.ec2.attach_internet_gateway(InternetGatewayId=ident, VpcId=network)
    assert {str(part) for part in (await _one(account, "internet-gateway", ident)).parts} == {f"attachment {network}"}


@pytest.mark.parametrize(
    ("word", "parts"),
    [("available", 1), ("attached", 1), ("attaching", 1), ("detaching", 0), ("detached", 0)],
)
def test_an_attachment_that_is_leaving_is_none(word: str, parts: int) -> None:
    """EC2 says ``available``, its model ``attached`` (API_InternetGatewayAttachment)."""
    body = {"InternetGatewayId": "igw-1", "Attachments": [{"VpcId": "vpc-1", "State": word}]}
    assert len(internet_gateway.decode(body, PLACE).parts) == parts


async def test_an_address_shows_who_holds_it(account: AwsAccount) -> None:
    made = _make(account)
    seen = await _one(account, "elastic-ip", made["elastic-ip"])
    assert seen.attributes["held_by"].startswith("eni-")
    assert seen.attributes["address"]
    free = account.ec2.allocate_address(Domain="vpc")["AllocationId"]
    assert (await _one(account, "elastic-ip", free)).attributes["held_by"] == ""


async def test_a_nat_gateway_from_birth_to_the_end(account: AwsAccount) -> None:
    """A deleted one is listed for an hour, and is not there."""
    made = _make(account)
    states = [(await _one(account, "nat-gateway", made["nat-gateway"])).state]
    account.clock.advance(100)
    seen = await _one(account, "nat-gateway", made["nat-gateway"])
    account.ec2.delete_nat_gateway(NatGatewayId=seen.id)
    deleting = await _one(account, "nat-gateway", seen.id)
    account.clock.advance(100)
    assert [*states, seen.state, deleting.state] == [State.PENDING, State.READY, State.DELETING]
    assert seen.attributes["allocation_id"] == made["elastic-ip"]
    assert seen.attributes["subnet_id"] == made["subnet"]
    assert seen.created_at is not None
    assert await reading.read_by_id(account.api, nat_gateway.READ, [seen.id]) == {}
    assert seen.id in str(account.ec2.describe_nat_gateways())


async def test_a_route_table_shows_routes_and_associations_that_somebody_made(account: AwsAccount) -> None:
    made = _make(account)
    account.clock.advance(100)
    table, ec2 = made["route-table"], account.ec2
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=made["nat-gateway"])
    ec2.associate_route_table(RouteTableId=table, SubnetId=made["subnet"])
    ec2.create_vpc_endpoint(
        VpcId=made["vpc"], ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[table], ClientToken="t",
    )  # fmt: skip
    seen = await _one(account, "route-table", table)
    assert {(str(part), part.behavior) for part in seen.parts} == {
        ("route 0.0.0.0/0", made["nat-gateway"]),
        (f"route-table-association {made['subnet']}", ""),
    }
    assert dict(seen.attributes) == {"vpc_id": made["vpc"], "main": False}

    ec2.delete_nat_gateway(NatGatewayId=made["nat-gateway"])
    account.clock.advance(100)
    black_hole = {part.behavior for part in (await _one(account, "route-table", table)).parts if part.kind == "route"}
    assert black_hole == {made["nat-gateway"]}, "its target differs from one that took its place, and from nothing else"


async def test_the_main_route_table_is_told(account: AwsAccount) -> None:
    """It cannot be deleted, and goes with its VPC."""
    account.vpc()
    (main,) = await reading.read_all(account.api, route_table.READ)
    assert main.attributes["main"] is True
    assert main.parts == frozenset()


def test_routes_that_come_with_something_else_are_no_parts() -> None:
    body: dict[str, Any] = {
        "RouteTableId": "rtb-1",
        "VpcId": "vpc-1",
        "Routes": [
            {"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local", "Origin": "CreateRouteTable"},
            {"DestinationCidrBlock": "10.9.0.0/16", "GatewayId": "vgw-1", "Origin": "EnableVgwRoutePropagation"},
            {"DestinationPrefixListId": "pl-1", "GatewayId": "vpce-1", "Origin": "CreateRoute"},
            {"DestinationIpv6CidrBlock": "::/0", "EgressOnlyInternetGatewayId": "eigw-1", "Origin": "CreateRoute"},
            {"DestinationCidrBlock": "10.8.0.0/16", "InstanceId": "i-1", "NetworkInterfaceId": "eni-1"},
        ],
    }
    found = route_table.decode(body, PLACE).parts
    assert {(part.natural_key, part.behavior) for part in found} == {("::/0", "eigw-1"), ("10.8.0.0/16", "eni-1")}


async def test_a_security_group_shows_each_rule_and_how_to_take_it_out(account: AwsAccount) -> None:
    network = account.vpc()
    ident, other = account.group(network, "one"), account.group(network, "two")
    account.ec2.authorize_security_group_ingress(
        GroupId=ident,
        IpPermissions=[
            {
                "IpProtocol": "tcp", "FromPort": 6443, "ToPort": 6443,
                "IpRanges": [{"CidrIp": "10.0.0.0/8"}, {"CidrIp": "192.168.0.0/16", "Description": "office"}],
                "UserIdGroupPairs": [{"GroupId": other}],
            },
            {"IpProtocol": "udp", "FromPort": 30000, "ToPort": 32767, "Ipv6Ranges": [{"CidrIpv6": "::/0"}]},
            {"IpProtocol": "icmp", "FromPort": 8, "ToPort": -1, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]},
            {"IpProtocol": "4", "IpRanges": [{"CidrIp": "10.0.0.0/8"}]},
            {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": ident}]},
        ],
    )  # fmt: skip
    seen = await _one(account, "security-group", ident)
    assert {str(part) for part in seen.parts} == {
        "ingress-rule tcp 6443 10.0.0.0/8",
        "ingress-rule tcp 6443 192.168.0.0/16",
        f"ingress-rule tcp 6443 {other}",
        "ingress-rule udp 30000-32767 ::/0",
        "ingress-rule icmp 8/-1 0.0.0.0/0",
        "ingress-rule 4 10.0.0.0/8",
        f"ingress-rule all {ident}",
        "egress-rule all 0.0.0.0/0",
    }
    for part in seen.parts:
        direction = "ingress" if part.kind == "ingress-rule" else "egress"
        revoke = getattr(account.ec2, f"revoke_security_group_{direction}")
        assert revoke(GroupId=ident, IpPermissions=[part.request])["Return"] is True
    assert (await _one(account, "security-group", ident)).parts == frozenset()


def test_a_group_of_another_account_is_named_with_it() -> None:
    permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-1", "UserId": OTHER_ACCOUNT}]}
    (part,) = security_group.rule_parts("ingress-rule", permission, ACCOUNT)
    assert part.natural_key == f"all {OTHER_ACCOUNT}/sg-1"
    assert part.request["UserIdGroupPairs"] == [{"GroupId": "sg-1", "UserId": OTHER_ACCOUNT}]


async def test_tags_at_birth_are_shown_by_the_read_that_shows_the_resource() -> None:
    """Of a VPC, a gateway and an address nothing else tells a create of ours."""
    account = AwsAccount(Settings())
    made = account.ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=tagged("vpc", born="nonce"))
    ident = made["Vpc"]["VpcId"]
    assert (await _one(account, "vpc", ident)).tags == {"born": "nonce"}
    (found,) = await reading.read_by_filter(account.api, vpc.READ, "tag:born", ["nonce"])
    assert found.id == ident
