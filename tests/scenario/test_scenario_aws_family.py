"""A life of an AWSCluster whose manifest loses or gets IPv6: nothing of it is carried out by halves."""

from __future__ import annotations

from typing import Any

from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import planned

FIELD = "spec.network.vpc.ipv6"
NLB = {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}}
ONE_ZONE = {"availabilityZoneUsageLimit": 1}


def families(harness: AwsHarness) -> list[Any]:
    """What has an address family or rules for one."""
    asked = {
        "DescribeSubnets": "Subnets",
        "DescribeRouteTables": "RouteTables",
        "DescribeSecurityGroups": "SecurityGroups",
    }
    found = [Strangers(harness.cloud).call("ec2", operation, {})[rows] for operation, rows in asked.items()]
    return [*found, Strangers(harness.cloud).call("elbv2", "DescribeLoadBalancers", {})["LoadBalancers"]]


def test_a_cluster_keeps_ipv6_that_its_manifest_loses_and_goes_on_with_it() -> None:
    """Half of it would go: blocks, routes and rules, and not the family of the target groups behind the endpoint."""
    harness = AwsHarness(aws_cluster(**NLB, network={"vpc": {**ONE_ZONE, "ipv6": {}}}))
    harness.up()
    before = families(harness)
    harness.object.patch({"spec": {"network": {"vpc": {"ipv6": None}}}})  # as stored where no rule has seen it
    (problem,) = planned(harness).problems
    assert problem.startswith(f"{FIELD}: vpc-")
    harness.for_a_while(900)
    assert families(harness) == before
    condition = harness.condition("SpecValid")
    assert (condition["status"], condition["message"]) == ("False", problem)
    assert not harness.ready() and harness.status()["phase"] == "Blocked", "so that it can be written back"
    harness.object.patch({"spec": {"network": {"vpc": {"ipv6": {}}}}})
    harness.for_a_while(900)
    assert harness.ready() and families(harness) == before


def test_ipv6_is_not_added_to_a_cluster_that_was_made_without() -> None:
    harness = AwsHarness(aws_cluster(**NLB, network={"vpc": ONE_ZONE}))
    harness.up()
    before = families(harness)
    harness.object.patch({"spec": {"network": {"vpc": {"ipv6": {}}}}})
    (problem,) = planned(harness).problems
    harness.for_a_while(900)
    assert problem.startswith(f"{FIELD}: vpc-") and harness.condition("SpecValid")["message"] == problem
    assert families(harness) == before


def test_an_edit_before_anything_is_there_is_what_is_made() -> None:
    harness = AwsHarness(aws_cluster(**NLB, network={"vpc": ONE_ZONE}))
    assert planned(harness).problems == ()
    harness.object.patch({"spec": {"network": {"vpc": {"ipv6": {}}}}})
    harness.up()
    (balancer,) = families(harness)[-1]
    assert balancer["IpAddressType"] == "dualstack"
