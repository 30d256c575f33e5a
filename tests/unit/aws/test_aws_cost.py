"""What is not asked and not tried of AWS, because it is known, and what is asked all the same."""

from __future__ import annotations

from typing import Any

import pytest
from test_aws_cluster import Cluster

from freehold.engine import errors
from freehold.engine.resources import Ref
from freehold.providers.aws.attribute_cache import AttributeCache
from freehold.providers.aws.kinds import classic_load_balancer, network_load_balancer
from freehold_sim.faults import Effect, Fault
from harness.aws_account import AwsAccount
from harness.aws_drivers import Drivers, birth
from harness.aws_passes import Life

SHAPES = {"classic": {}, "nlb": {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}}}


async def _up(spec: dict[str, Any]) -> Life:
    cluster = Cluster(**spec)
    await cluster.up()
    cluster.life.later(300.0)
    return cluster.life


def _refused(life: Life) -> list[str]:
    calls = life.account.cloud.calls
    return [call.operation for call in calls if call.actor == "api" and call.mutating and call.status >= 400]


@pytest.mark.parametrize("spec", SHAPES.values(), ids=SHAPES.keys())
async def test_no_delete_is_sent_that_the_interfaces_of_a_load_balancer_refuse(spec: dict[str, Any]) -> None:
    """They stay for minutes, hold subnets, a group and the internet gateway, and are asked for together."""
    life = await _up(spec)
    before = len(life.account.cloud.calls)
    await life.down()
    looks = [call.operation for call in life.account.cloud.calls[before:]].count("ec2.DescribeNetworkInterfaces")
    assert _refused(life) == []
    assert 1 <= looks <= 8
    assert life.standing() == {}


async def test_a_process_that_starts_while_interfaces_are_left_tries_no_delete_either() -> None:
    life = await _up({})
    while not any(call.operation == "elb.DeleteLoadBalancer" for call in life.account.cloud.calls):
        await life.one_release()
    life.die()
    await life.down()
    assert _refused(life) == []
    assert life.standing() == {}


async def test_interfaces_that_may_not_be_read_are_found_out_by_trying() -> None:
    """Without the permission the delete takes more calls, and ends."""
    life = await _up({})
    life.account.cloud.faults.add(_denied("ec2.DescribeNetworkInterfaces"))
    await life.down()
    assert life.standing() == {}


def _denied(operation: str) -> Fault:
    return Fault(Effect.DENIED, operation, count=None)


async def test_a_new_load_balancer_has_the_attributes_that_aws_gives_it(account: AwsAccount) -> None:
    """They are not read: the create made it, as its birth mark says."""
    _, subnets = account.network()
    drivers = Drivers(account, network_load_balancer.kind)
    drivers.sent()
    made = await drivers.create(_nlb(subnets))
    assert made.attributes["attributes"] == {"load_balancing.cross_zone.enabled": "false"}
    assert "elbv2.describe_load_balancer_attributes" not in drivers.sent()


async def test_one_that_was_there_is_asked_for_its_attributes(account: AwsAccount) -> None:
    """A create with its name and settings answers with it, whoever has changed it since."""
    _, subnets = account.network()
    drivers = Drivers(account, network_load_balancer.kind)
    theirs = await drivers.create(_nlb(subnets), birth("fstranger"))
    changed = [{"Key": "load_balancing.cross_zone.enabled", "Value": "true"}]
    account.elbv2.modify_load_balancer_attributes(LoadBalancerArn=theirs.id, Attributes=changed)
    account.session.attribute_cache = AttributeCache(account.clock.now)
    answer = await drivers.create(_nlb(subnets))
    assert answer.id == theirs.id
    assert answer.attributes["attributes"] == {"load_balancing.cross_zone.enabled": "true"}


def _nlb(subnets: list[str]) -> dict[str, Any]:
    attributes = {"load_balancing.cross_zone.enabled": "false"}
    return {"name": "one", "scheme": "internal", "subnets": subnets, "security_groups": [], "attributes": attributes}


@pytest.mark.parametrize("effect", [Effect.ERROR_BEFORE, Effect.REPLY_LOST], ids=["no effect", "with effect"])
async def test_after_a_change_without_an_answer_the_attributes_are_read(account: AwsAccount, effect: Effect) -> None:
    _, subnets = account.network()
    drivers = Drivers(account, classic_load_balancer.kind)
    listener = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}
    request = {"name": "one", "scheme": "internal", "subnets": subnets, "security_groups": [], "listeners": [listener]}
    made = await drivers.create(request)
    drivers.fault(effect, "elb.ModifyLoadBalancerAttributes")
    with pytest.raises(errors.CloudError):
        await drivers.driver.update(Ref(made.id), {"idle_timeout": 600})
    seen = (await drivers.there(made.id)).attributes["idle_timeout"]
    assert seen == (60 if effect is Effect.ERROR_BEFORE else 600)


async def test_after_a_change_that_was_taken_they_are_known(account: AwsAccount) -> None:
    _, subnets = account.network()
    drivers = Drivers(account, network_load_balancer.kind)
    made = await drivers.create(_nlb(subnets))
    wanted = {"attributes": {"load_balancing.cross_zone.enabled": "true"}}
    await drivers.driver.update(Ref(made.id), wanted)
    drivers.sent()
    assert (await drivers.there(made.id)).attributes["attributes"] == wanted["attributes"]
    assert drivers.sent() == ["elbv2.describe_load_balancers"]


async def test_a_route_table_does_not_wait_for_the_nat_gateway() -> None:
    """Which takes a minute and a half: its route does, and is there as soon as the gateway is."""
    cluster = Cluster()
    await cluster.up()
    operations = [call.operation for call in cluster.account.cloud.calls]
    last_table = max(at for at, each in enumerate(operations) if each == "ec2.CreateRouteTable")
    polls = [at for at, each in enumerate(operations) if each == "ec2.DescribeNatGateways"]
    assert last_table < polls[0]
    assert operations.count("ec2.CreateRoute") == 6
