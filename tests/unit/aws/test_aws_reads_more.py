"""Reads of load balancers, endpoints, instances, buckets and zones on a simulated AWS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from freehold.engine import errors
from freehold.engine.resources import State
from freehold.providers.aws import balancing, reading
from freehold.providers.aws.decoded import AwsLocation
from freehold.providers.aws.kinds import (
    classic_load_balancer,
    egress_only_gateway,
    instance,
    listener,
    network_load_balancer,
    s3_bucket,
    target_group,
    vpc_endpoint,
)
from freehold.providers.aws.zones import Zone, read_zones
from freehold_sim.faults import Effect, Fault
from harness.aws_account import REGION, AwsAccount
from harness.simulated_aws import ACCOUNT, OTHER_KEY, tagged

PLACE = AwsLocation("aws", REGION, ACCOUNT)
TAGS = [{"Key": "team", "Value": "a"}]
PORT = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}


class Balancers:
    """A classic and a network load balancer, a target group and a listener, each with the tag ``team``."""

    def __init__(self, account: AwsAccount) -> None:
        self.account = account
        self.vpc, self.subnets = account.network()
        account.elb.create_load_balancer(LoadBalancerName="one", Listeners=[PORT], Subnets=self.subnets, Tags=TAGS)
        self.network = account.elbv2.create_load_balancer(
            Name="two", Type="network", Subnets=self.subnets, Tags=TAGS, Scheme="internal"
        )["LoadBalancers"][0]["LoadBalancerArn"]
        self.group = account.target_group(self.vpc, Tags=TAGS)
        self.listener = account.elbv2.create_listener(
            LoadBalancerArn=self.network, Protocol="TCP", Port=6443, Tags=TAGS,
            DefaultActions=[{"Type": "forward", "TargetGroupArn": self.group}],
        )["Listeners"][0]["ListenerArn"]  # fmt: skip

    @property
    def each(self) -> dict[str, tuple[balancing.BalancingRead, str]]:
        return {
            "classic": (classic_load_balancer.READ, "one"),
            "network": (network_load_balancer.READ, self.network),
            "target group": (target_group.READ, self.group),
            "listener": (listener.READ, self.listener),
        }


KINDS = ["classic", "network", "target group", "listener"]
MISSING = {
    "classic": "gone",
    "network": f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:loadbalancer/net/gone/0123456789abcdef",
    "target group": f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:targetgroup/gone/0123456789abcdef",
    "listener": f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:listener/net/gone/0123456789abcdef/0123456789abcdef",
}


@pytest.fixture
def balancers(account: AwsAccount) -> Balancers:
    return Balancers(account)


@pytest.mark.parametrize("kind", KINDS)
async def test_it_is_read_by_one_call_and_its_tags_by_another(balancers: Balancers, kind: str) -> None:
    read, ident = balancers.each[kind]
    bare = (await balancing.read_by_id(balancers.account.api, read, [ident])).values()
    (seen,) = await balancing.fill_in_tags(balancers.account.api, list(bare))
    assert (seen.id, seen.tags) == (ident, {"team": "a"})
    balancers.account.clock.advance(60)
    listed = balancers.account.tagging.get_resources(TagFilters=[{"Key": "team"}])["ResourceTagMappingList"]
    assert seen.arn in [row["ResourceARN"] for row in listed]
    assert len([call for call in balancers.account.sent() if not call.startswith("sts.")]) == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_a_read_that_fails_is_not_empty(balancers: Balancers, kind: str) -> None:
    read, ident = balancers.each[kind]
    api = balancers.account.api
    found = list((await balancing.read_by_id(api, read, [ident])).values())
    balancers.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, "*.DescribeTags"))
    with pytest.raises(errors.Unavailable):
        await balancing.fill_in_tags(api, found)
    balancers.account.cloud.faults.add(Fault(Effect.ERROR_BEFORE, f"{read.service}.*"))
    with pytest.raises(errors.Unavailable):
        await balancing.read_by_id(api, read, [ident])


async def test_a_list_shows_all_of_the_region(make_account: Callable[..., AwsAccount]) -> None:
    balancers = Balancers(make_account(page_size=1))
    for number in range(2):
        balancers.account.balancer(balancers.subnets, f"more-{number}")
    found = await balancing.read_all(balancers.account.api, network_load_balancer.READ)
    assert {seen.attributes["name"] for seen in found} == {"two", "more-0", "more-1"}


async def test_a_classic_load_balancer_shows_its_parts(balancers: Balancers) -> None:
    found = await balancing.read_by_id(balancers.account.api, classic_load_balancer.READ, ["one"])
    assert {(str(part), part.behavior) for part in found["one"].parts} == {
        ("classic-listener 6443", "TCP to TCP 6443"),
        *((f"balancer-subnet {subnet}", "") for subnet in balancers.subnets),
    }
    assert found["one"].attributes["health_check"]["Target"] == "TCP:6443"
    assert found["one"].attributes["address"].startswith("one-")


async def test_a_network_load_balancer_becomes_active(balancers: Balancers) -> None:
    states = []
    for later in (0, 200):
        balancers.account.clock.advance(later)
        found = await balancing.read_by_id(balancers.account.api, network_load_balancer.READ, [balancers.network])
        states.append(found[balancers.network].state)
    assert states == [State.PENDING, State.READY]
    assert found[balancers.network].attributes["subnets"] == sorted(balancers.subnets)
    assert found[balancers.network].attributes["scheme"] == "internal"


@pytest.mark.parametrize(
    ("code", "state"),
    [("active_impaired", State.READY), ("failed", State.FAILED), ("of_the_future", State.PENDING)],
)
def test_a_network_load_balancer_in_a_state_that_nobody_knows_is_not_ready(code: str, state: State) -> None:
    """Its address becomes the endpoint of the cluster, for life."""
    body = {"LoadBalancerArn": MISSING["network"], "LoadBalancerName": "gone", "State": {"Code": code}}
    assert network_load_balancer.decode(body, PLACE).state is state


async def test_a_target_group_without_listener_shows_that(balancers: Balancers) -> None:
    """One of those that CAPA loses."""
    alone = balancers.account.target_group(balancers.vpc, "alone")
    found = await balancing.read_by_id(balancers.account.api, target_group.READ, [alone, balancers.group])
    assert found[alone].attributes["balancers"] == []
    assert found[balancers.group].attributes["balancers"] == [balancers.network]


async def test_the_targets_of_a_group(balancers: Balancers) -> None:
    account = balancers.account
    machine = account.instance(balancers.subnets[0])
    account.elbv2.register_targets(TargetGroupArn=balancers.group, Targets=[{"Id": machine, "Port": 6443}])
    assert await balancing.read_targets(account.api, balancers.group) == [{"Id": machine, "Port": 6443}]
    account.clock.advance(60)
    account.elbv2.deregister_targets(TargetGroupArn=balancers.group, Targets=[{"Id": machine, "Port": 6443}])
    assert await balancing.read_targets(account.api, balancers.group) == []


async def test_the_listeners_of_a_load_balancer(balancers: Balancers) -> None:
    api = balancers.account.api
    (bare,) = await balancing.list_listeners_if_present(api, listener.READ, balancers.network)
    (seen,) = await balancing.fill_in_tags(api, [bare])
    assert (seen.id, seen.tags, seen.attributes["port"]) == (balancers.listener, {"team": "a"}, 6443)
    assert await balancing.list_listeners_if_present(api, listener.READ, MISSING["network"]) == []


# -- EC2 --------------------------------------------------------------------------------------------------------


async def test_an_egress_only_gateway_is_found_although_it_has_no_filter(account: AwsAccount) -> None:
    network = account.vpc()
    made = account.ec2.create_egress_only_internet_gateway(
        VpcId=network, ClientToken="t", TagSpecifications=tagged("egress-only-internet-gateway", team="a")
    )
    ident = made["EgressOnlyInternetGateway"]["EgressOnlyInternetGatewayId"]
    found = await reading.read_by_id(account.api, egress_only_gateway.READ, [ident, "eigw-00000000000000000"])
    assert set(found) == {ident}
    assert found[ident].tags == {"team": "a"}
    assert found[ident].attributes == {"vpc_id": network}


@pytest.mark.parametrize("state", ["detaching", "detached", None])
def test_an_egress_only_gateway_that_is_being_detached_is_on_its_way_out(state: str | None) -> None:
    """A route to it would be a black hole.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InternetGatewayAttachment.html
    """
    attached = [{"VpcId": "vpc-1", "State": state}] if state else []
    body = {"EgressOnlyInternetGatewayId": "eigw-1", "Attachments": attached}
    seen = egress_only_gateway.decode(body, PLACE)
    assert (seen.state, seen.attributes) == (State.DELETING, {"vpc_id": ""})


async def test_an_endpoint_shows_its_route_tables(account: AwsAccount) -> None:
    network = account.vpc()
    table = account.ec2.create_route_table(VpcId=network)["RouteTable"]["RouteTableId"]
    made = account.ec2.create_vpc_endpoint(
        VpcId=network, ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[table], ClientToken="t"
    )
    ident = made["VpcEndpoint"]["VpcEndpointId"]
    seen = (await reading.read_by_id(account.api, vpc_endpoint.READ, [ident]))[ident]
    assert {str(part) for part in seen.parts} == {f"endpoint-route-table {table}"}
    assert (seen.state, seen.attributes["service_name"]) == (State.READY, "com.amazonaws.us-east-1.s3")


@pytest.mark.parametrize(
    ("word", "state"),
    [("Available", State.READY), ("Pending", State.PENDING), ("Rejected", State.FAILED), ("Deleting", State.DELETING)],
)
def test_the_states_of_an_endpoint_come_in_capitals_too(word: str, state: State) -> None:
    """https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_VpcEndpoint.html"""
    seen = vpc_endpoint.decode({"VpcEndpointId": "vpce-1", "VpcId": "v", "ServiceName": "s", "State": word}, PLACE)
    assert seen is not None and seen.state is state


async def test_an_instance_from_launch_to_the_end(account: AwsAccount) -> None:
    """A stopped one is there; a terminated one is listed for an hour, and is not."""
    _, subnets = account.network()
    ident = account.instance(subnets[0], TagSpecifications=tagged("instance", team="a"))
    running = (await reading.read_by_id(account.api, instance.READ, [ident, "i-00000000000000000"]))[ident]
    assert (running.state, running.tags, running.attributes["subnet_id"]) == (State.READY, {"team": "a"}, subnets[0])
    account.ec2.stop_instances(InstanceIds=[ident])
    account.clock.advance(60)
    assert (await reading.read_by_id(account.api, instance.READ, [ident]))[ident].vendor_state == "stopped"
    account.ec2.terminate_instances(InstanceIds=[ident])
    account.clock.advance(100)
    assert await reading.read_by_id(account.api, instance.READ, [ident]) == {}
    assert ident in str(account.ec2.describe_instances())


async def test_the_zones_of_a_region(account: AwsAccount) -> None:
    found = [Zone(f"us-east-1{letter}", "availability-zone", usable=True) for letter in "abcdef"]
    assert await read_zones(account.api) == tuple(found)


# -- S3 ---------------------------------------------------------------------------------------------------------


async def test_a_bucket_is_there_with_its_tags_or_not(account: AwsAccount) -> None:
    account.s3.create_bucket(Bucket="our-bucket", CreateBucketConfiguration={"Tags": TAGS})
    seen = await s3_bucket.read_bucket(account.api, "our-bucket")
    assert seen is not None
    assert (seen.arn, seen.tags) == ("arn:aws:s3:::our-bucket", {"team": "a"})
    assert await s3_bucket.read_bucket(account.api, "no-such-bucket") is None


async def test_a_bucket_of_another_account_is_there(account: AwsAccount) -> None:
    """It is not absent: its name is taken."""
    account.client("s3", OTHER_KEY).create_bucket(Bucket="their-bucket")
    with pytest.raises(errors.Denied, match="their-bucket"):
        await s3_bucket.read_bucket(account.api, "their-bucket")


async def test_the_objects_of_a_bucket_are_read_to_the_end(make_account: Callable[..., AwsAccount]) -> None:
    account = make_account(page_size=1)
    account.s3.create_bucket(Bucket="our-bucket")
    assert [key async for key in s3_bucket.iterate_keys(account.api, "our-bucket")] == []
    for key in "xyz":
        account.s3.put_object(Bucket="our-bucket", Key=key, Body=b"y")
    assert [key async for key in s3_bucket.iterate_keys(account.api, "our-bucket")] == ["x", "y", "z"]
    with pytest.raises(errors.NotFound):
        _ = [key async for key in s3_bucket.iterate_keys(account.api, "no-such-bucket")]


def test_a_listener_that_does_not_forward_has_no_target_group() -> None:
    body: dict[str, Any] = {"ListenerArn": "a", "LoadBalancerArn": "b", "DefaultActions": [{"Type": "redirect"}]}
    assert listener.decode(body, PLACE).attributes["target_groups"] == []
