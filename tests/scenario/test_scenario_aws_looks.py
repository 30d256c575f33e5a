"""A look that somebody asks for sees all of the object in AWS, also what other passes read once an hour."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold.controllers.observation_log import LookOutcome
from freehold.kube.resources import key_of
from freehold_sim.aws.strangers import Strangers
from harness.aws_account import TARGET_ATTRIBUTES
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import GivenVpc, own
from harness.standing import standing

ONE_ZONE = {"vpc": {"availabilityZoneUsageLimit": 1}}
BALANCERS = {"classic": {}, "nlb": {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}}}


def at_rest(**spec: Any) -> AwsHarness:
    harness = standing(AwsHarness, aws_cluster(network=ONE_ZONE, **spec))
    harness.for_a_while(1800.0)
    return harness


def asked_look(harness: AwsHarness) -> LookOutcome | None:
    """One pass a minute later, as ``up`` asks beside a server; what it says of itself."""
    key = key_of(harness.object.raw)
    harness.clock.advance(60.0)
    harness.process.look_log.request_look(key)
    harness.pass_once()
    look = harness.process.look_log.find_last(key)
    return look.outcome if look else None


def test_host_names_that_somebody_switched_off_are_on_again_after_the_look() -> None:
    harness = at_rest()
    (vpc,) = own(harness, "vpc")
    call = Strangers(harness.cloud).call
    call("ec2", "ModifyVpcAttribute", {"VpcId": vpc["id"], "EnableDnsHostnames": {"Value": False}})
    assert asked_look(harness) is LookOutcome.FULL_LOOK
    said = call("ec2", "DescribeVpcAttribute", {"VpcId": vpc["id"], "Attribute": "enableDnsHostnames"})
    assert said["EnableDnsHostnames"]["Value"] is True


def test_an_idle_timeout_that_somebody_changed_is_back_after_the_look() -> None:
    harness, name = at_rest(), "demo-apiserver"
    call = Strangers(harness.cloud).call
    wrong = {"LoadBalancerAttributes": {"ConnectionSettings": {"IdleTimeout": 60}}}
    call("elb", "ModifyLoadBalancerAttributes", {"LoadBalancerName": name, **wrong})
    assert asked_look(harness) is LookOutcome.FULL_LOOK
    said = call("elb", "DescribeLoadBalancerAttributes", {"LoadBalancerName": name})
    assert said["LoadBalancerAttributes"]["ConnectionSettings"]["IdleTimeout"] == 600


def test_attributes_of_the_second_generation_are_back_after_the_look() -> None:
    harness = at_rest(**BALANCERS["nlb"])
    call = Strangers(harness.cloud).call
    (balancer,) = call("elbv2", "DescribeLoadBalancers", {})["LoadBalancers"]
    (group,) = call("elbv2", "DescribeTargetGroups", {})["TargetGroups"]
    crossing = {"Key": "load_balancing.cross_zone.enabled"}
    arn, group_arn = balancer["LoadBalancerArn"], group["TargetGroupArn"]
    before = (_attributes(call, arn, "LoadBalancer"), _attributes(call, group_arn, "TargetGroup"))
    flipped = {"true": "false", "false": "true"}[before[0][crossing["Key"]]]
    call(
        "elbv2",
        "ModifyLoadBalancerAttributes",
        {"LoadBalancerArn": arn, "Attributes": [{**crossing, "Value": flipped}]},
    )
    kept = {"Key": "preserve_client_ip.enabled"}
    other = {"true": "false", "false": "true"}[before[1][kept["Key"]]]
    call(
        "elbv2", "ModifyTargetGroupAttributes", {"TargetGroupArn": group_arn, "Attributes": [{**kept, "Value": other}]}
    )
    assert asked_look(harness) is LookOutcome.FULL_LOOK
    assert (_attributes(call, arn, "LoadBalancer"), _attributes(call, group_arn, "TargetGroup")) == before


def test_connections_to_an_api_server_that_turns_unhealthy_are_drained_and_not_cut() -> None:
    """Also in a group that was made with AWS's default, which cuts them."""
    harness = at_rest(**BALANCERS["nlb"])
    call = Strangers(harness.cloud).call
    (group,) = call("elbv2", "DescribeTargetGroups", {})["TargetGroups"]
    arn = group["TargetGroupArn"]
    assert TARGET_ATTRIBUTES.items() <= _attributes(call, arn, "TargetGroup").items()
    cutting = [
        {"Key": "target_health_state.unhealthy.draining_interval_seconds", "Value": "0"},
        {"Key": "target_health_state.unhealthy.connection_termination.enabled", "Value": "true"},
    ]
    call("elbv2", "ModifyTargetGroupAttributes", {"TargetGroupArn": arn, "Attributes": cutting})
    assert asked_look(harness) is LookOutcome.FULL_LOOK
    assert TARGET_ATTRIBUTES.items() <= _attributes(call, arn, "TargetGroup").items()


def _attributes(call: Any, arn: str, of: str) -> dict[str, str]:
    rows = call("elbv2", f"Describe{of}Attributes", {f"{of}Arn": arn})["Attributes"]
    return {row["Key"]: row["Value"] for row in rows}


def test_a_given_network_is_asked_anew() -> None:
    """A subnet that the spec names has gone since: the answer of before counts for five minutes else."""
    harness = AwsHarness()
    given = GivenVpc.create(harness)
    harness.object.patch({"spec": {"network": given.network()}})
    harness.up()
    gone = given.subnets["private-b"]
    given.strangers.call("ec2", "DeleteSubnet", {"SubnetId": gone})
    asked_look(harness)
    said = harness.condition(names.SPEC_VALID)
    assert said["status"] == "False" and gone in said["message"]


def test_what_is_asked_while_it_is_paused_is_seen_when_it_goes_on() -> None:
    """The look that counts is the first one after the pause."""
    harness = at_rest()
    (vpc,) = own(harness, "vpc")
    call = Strangers(harness.cloud).call
    call("ec2", "ModifyVpcAttribute", {"VpcId": vpc["id"], "EnableDnsHostnames": {"Value": False}})
    harness.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: ""}}})
    assert asked_look(harness) is LookOutcome.STATUS_ONLY
    harness.object.patch({"metadata": {"annotations": {names.PAUSED_ANNOTATION: None}}})
    harness.pass_once()
    look = harness.process.look_log.find_last(key_of(harness.object.raw))
    assert look is not None and look.outcome is LookOutcome.FULL_LOOK
    said = call("ec2", "DescribeVpcAttribute", {"VpcId": vpc["id"], "Attribute": "enableDnsHostnames"})
    assert said["EnableDnsHostnames"]["Value"] is True


@pytest.mark.parametrize("spec", BALANCERS.values(), ids=BALANCERS.keys())
def test_the_passes_after_it_read_no_more_than_those_before(spec: dict[str, Any]) -> None:
    harness = at_rest(**spec)
    before = reads_in(harness, 1800.0)
    asked_look(harness)
    harness.for_a_while(600.0)
    assert reads_in(harness, 1800.0) <= before


def reads_in(harness: AwsHarness, seconds: float) -> int:
    known = len(harness.calls())
    harness.for_a_while(seconds)
    return len(harness.calls()) - known
