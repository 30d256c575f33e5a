"""Registrations of one instance with target groups and classic load balancers, on a simulated AWS."""

from __future__ import annotations

import pytest

from freehold.engine import errors
from freehold.engine.resources import Part, Ref
from freehold.providers.aws.registrations import Registrations, registration_part
from freehold_sim.faults import Effect, Fault
from harness.aws_account import AwsAccount

LISTENER = {"Protocol": "TCP", "LoadBalancerPort": 6443, "InstanceProtocol": "TCP", "InstancePort": 6443}


class Front:
    """A target group that a network load balancer leads to, a classic one, and two machines."""

    def __init__(self, account: AwsAccount) -> None:
        self.account = account
        self.vpc, self.subnets = account.network()
        self.group = account.target_group(self.vpc)
        balancer = account.balancer(self.subnets)
        account.elbv2.create_listener(
            LoadBalancerArn=balancer, Protocol="TCP", Port=6443,
            DefaultActions=[{"Type": "forward", "TargetGroupArn": self.group}],
        )  # fmt: skip
        account.elb.create_load_balancer(LoadBalancerName="classic", Listeners=[LISTENER], Subnets=self.subnets[:1])
        self.ours, self.other = account.instance(self.subnets[0]), account.instance(self.subnets[0])
        self.registrations = Registrations(account.api)

    def targets(self) -> set[str]:
        """The machines that the group serves, of anybody."""
        rows = self.account.elbv2.describe_target_health(TargetGroupArn=self.group)["TargetHealthDescriptions"]
        return {row["Target"]["Id"] for row in rows if row["TargetHealth"]["State"] != "draining"}

    def behind_classic(self) -> set[str]:
        (shown,) = self.account.elb.describe_load_balancers()["LoadBalancerDescriptions"]
        return {row["InstanceId"] for row in shown["Instances"]}

    async def look(self, *parts: Part) -> dict[str, str]:
        """What is there, with why it waits."""
        found = await self.registrations.find_parts(Ref(self.ours), parts)
        return {part.natural_key: part.waits for part in found}


@pytest.fixture
def front(account: AwsAccount) -> Front:
    return Front(account)


@pytest.mark.parametrize("place", ["group", "classic"])
async def test_a_life_beside_a_machine_of_others(front: Front, place: str) -> None:
    part = registration_part(front.group if place == "group" else "classic")
    there, other = (front.targets if place == "group" else front.behind_classic), Ref(front.other)
    await front.registrations.add_part(other, part)
    assert await front.look(part) == {}
    for _ in range(2):  # the second time as after a lost reply
        await front.registrations.add_part(Ref(front.ours), part)
        assert there() == {front.ours, front.other}
    (waits,) = (await front.look(part)).values()
    assert "registration is" in waits
    front.account.clock.advance(400)  # ten checks of thirty seconds, by default
    assert await front.look(part) == {part.natural_key: ""}
    for _ in range(2):
        await front.registrations.remove_part(Ref(front.ours), part)
        assert there() == {front.other}
    assert await front.look(part) == {}


async def test_each_request_names_one_balancer_and_one_instance(front: Front) -> None:
    parts, ref = [registration_part(front.group), registration_part("classic")], Ref(front.ours)
    for part in parts:
        await front.registrations.add_part(ref, part)
    await front.registrations.find_parts(ref, parts)
    for part in parts:
        await front.registrations.remove_part(ref, part)
    sent = front.account.port.calls
    assert [call.operation for call in sent] == [
        "register_targets", "register_instances_with_load_balancer", "describe_target_health",
        "describe_instance_health", "deregister_targets", "deregister_instances_from_load_balancer",
    ]  # fmt: skip
    assert all(front.ours in call.subject and front.other not in f"{call.subject} {call.detail}" for call in sent)


async def test_what_was_taken_out_drains_for_as_long_as_the_group_says(front: Front) -> None:
    part, ref = registration_part(front.group), Ref(front.ours)
    await front.registrations.add_part(ref, part)
    assert await front.registrations.find_draining(ref, [part]) == {part}, "a read may lag behind the deregistration"
    await front.registrations.remove_part(ref, part)
    assert await front.registrations.find_draining(ref, [part]) == {part}
    front.account.clock.advance(301)
    assert await front.registrations.find_draining(ref, [part]) == frozenset()


async def test_a_classic_load_balancer_without_draining_lets_go_at_once(front: Front) -> None:
    part, ref = registration_part("classic"), Ref(front.ours)
    await front.registrations.add_part(ref, part)
    await front.registrations.remove_part(ref, part)
    assert await front.registrations.find_draining(ref, [part]) == frozenset()


async def test_a_load_balancer_that_is_gone_has_no_registration(front: Front) -> None:
    lost = registration_part(front.group.replace("/tg/", "/gone/")), registration_part("gone")
    assert await front.look(*lost) == {}
    for part in lost:
        await front.registrations.remove_part(Ref(front.ours), part)
        with pytest.raises(errors.NotFound):
            await front.registrations.add_part(Ref(front.ours), part)


async def test_a_machine_that_does_not_run_yet_is_asked_for_again(front: Front) -> None:
    front.account.ec2.stop_instances(InstanceIds=[front.ours])
    with pytest.raises(errors.NotReady):
        await front.registrations.add_part(Ref(front.ours), registration_part(front.group))


@pytest.mark.parametrize("operation", ["elbv2.DescribeTargetHealth", "elb.DescribeInstanceHealth"])
async def test_a_read_that_fails_is_never_an_absence(front: Front, operation: str) -> None:
    parts = [registration_part(front.group), registration_part("classic")]
    front.account.cloud.faults.add(Fault(Effect.DENIED, operation, count=None))
    with pytest.raises(errors.Denied):
        await front.look(*parts)
    with pytest.raises(errors.Denied):
        await front.registrations.find_draining(Ref(front.ours), parts)
