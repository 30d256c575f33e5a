"""The collectors of AWS on a bare moto, which knows nothing of us, and how many deletes they have in flight."""

from __future__ import annotations

import asyncio
from typing import Any

from moto import mock_aws

from freehold.collection.policy import Collect, Volumes
from freehold.collection.sweep import Sweep
from freehold.collection.things import CollectionTask
from freehold.engine.clock import ManualClock
from freehold.engine.collection import Collected, Site
from freehold.engine.ownership import Owner
from freehold.engine.port import InlinePort, run_together
from freehold.providers.aws.calls import AwsClient
from freehold.providers.aws.collectors.survey import IN_FLIGHT, AwsSurvey
from freehold.providers.aws.identities import StaticKeys
from freehold.providers.aws.session import AwsSession
from freehold.providers.aws.tags.tagger import AwsTagger
from harness.cloud_actors import REGION, KeyHolder
from harness.cloud_controllers import Ground, everything

OWNER = Owner("0a1b2c3d-1111-4222-8333-444455556666", "AWSCluster", "default", "demo")
COLLECT = Collect(tuple(CollectionTask), Volumes.DELETE, "default")


class OnMoto(KeyHolder):
    """Another user of the account that moto keeps in this process."""

    def __init__(self) -> None:
        super().__init__(None, "key")


def _ground(user: OnMoto) -> Ground:
    vpc = user.call("ec2", "CreateVpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        user.call("ec2", "CreateSubnet", VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=f"{REGION}{zone}")
        for number, zone in enumerate("ab")
    ]
    return Ground("demo", vpc, [each["Subnet"]["SubnetId"] for each in subnets])


async def _collect(survey: AwsSurvey, clock: ManualClock, network: str) -> Collected:
    sweep = Sweep("demo", survey, clock)

    async def prove() -> Site:
        return Site(OWNER, network)

    async def ask() -> Collect:
        return COLLECT

    async def no_others(site: Site) -> tuple[str, ...]:
        return ()

    for _ in range(20):
        done = await sweep.step(prove, ask, no_others, refused=False)
        if done.done:
            return done
        clock.advance(300.0)
    raise AssertionError(done.outcomes)


def _left(user: OnMoto, vpc: str) -> dict[str, list[Any]]:
    inside = [{"Name": "vpc-id", "Values": [vpc]}]
    groups = user.call("ec2", "DescribeSecurityGroups", Filters=inside)["SecurityGroups"]
    return {
        "classic": user.call("elb", "DescribeLoadBalancers")["LoadBalancerDescriptions"],
        "balancers": user.call("elbv2", "DescribeLoadBalancers")["LoadBalancers"],
        "target groups": user.call("elbv2", "DescribeTargetGroups")["TargetGroups"],
        "groups": [row["GroupName"] for row in groups if row["GroupName"] != "default"],
        "interfaces": user.call("ec2", "DescribeNetworkInterfaces", Filters=inside)["NetworkInterfaces"],
        "volumes": user.call("ec2", "DescribeVolumes")["Volumes"],
    }


async def test_on_a_bare_moto_everything_of_the_cluster_goes() -> None:
    with mock_aws():
        user, clock = OnMoto(), ManualClock()
        ground = _ground(user)
        everything(user, ground)
        client = AwsClient(AwsSession(StaticKeys("key", "secret"), REGION), InlinePort())
        survey = AwsSurvey(client, AwsTagger(client, clock), asyncio.Semaphore(IN_FLIGHT))
        assert all(_left(user, ground.vpc).values())
        await _collect(survey, clock, ground.vpc)
        assert _left(user, ground.vpc) == {each: [] for each in _left(user, ground.vpc)}


async def test_no_more_deletes_are_in_flight_than_an_account_may_have() -> None:
    flying, most = 0, 0

    class Counting(InlinePort):
        async def all(self, work: Any) -> Any:
            return await run_together(work)

    async def delete() -> None:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0)  # lets the others begin
        flying -= 1

    client = AwsClient(AwsSession(StaticKeys("key", "secret"), REGION), Counting())
    turns = asyncio.Semaphore(IN_FLIGHT)
    first, second = (AwsSurvey(client, AwsTagger(client, ManualClock()), turns) for _ in range(2))
    await asyncio.gather(first.run_all([delete] * 50), second.run_all([delete] * 50))
    assert most == IN_FLIGHT == 8
