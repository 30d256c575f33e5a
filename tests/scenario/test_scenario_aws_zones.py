"""Zones of an AWSCluster that is there: what becomes of one, or of their number, does not stop the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from freehold.controllers.plan.plan import PlanAction
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import own, planned
from harness.standing import standing

LISTED = [
    {"id": f"{reach}-{zone}", "availabilityZone": f"us-east-1{zone}", "cidrBlock": f"10.0.{number}.0/24", **more}
    for number, (reach, zone, more) in enumerate(
        (reach, zone, {"isPublic": True} if reach == "public" else {})
        for zone in "ab"
        for reach in ("public", "private")
    )
]


def test_a_zone_that_is_out_of_order_stops_no_healing_in_the_others() -> None:
    harness = standing(AwsHarness, aws_cluster(network={"subnets": LISTED}))
    harness.cloud.settings = replace(harness.cloud.settings, impaired=frozenset({"us-east-1b"}))
    harness.start_process()
    (table,) = [each for each in own(harness, "route-table") if each["name"] == "demo-rt-private-us-east-1a"]
    route = {"RouteTableId": table["id"], "DestinationCidrBlock": "0.0.0.0/0"}
    strangers = Strangers(harness.cloud)
    strangers.call("ec2", "DeleteRoute", route)
    harness.for_a_while(1800)
    answer = strangers.call("ec2", "DescribeRouteTables", {"RouteTableIds": [table["id"]]})
    routes = {each.get("DestinationCidrBlock") for each in answer["RouteTables"][0]["Routes"]}
    assert "0.0.0.0/0" in routes
    assert harness.ready()


def test_a_higher_limit_of_zones_than_there_is_room_for_is_told_and_changes_nothing() -> None:
    """The range of a VPC cannot change: the cluster would have to be made anew."""
    harness = standing(AwsHarness, aws_cluster(network={"vpc": {"availabilityZoneUsageLimit": 1}}))
    before = {each["arn"] for each in own(harness)}
    harness.object.patch({"spec": {"network": {"vpc": {"availabilityZoneUsageLimit": 3}}}})
    harness.for_a_while(700)
    assert harness.ready()
    assert {each["arn"] for each in own(harness)} == before
    assert "no room for subnets in more zones: the cluster stays in us-east-1a" in str(harness.conditions())


@pytest.mark.parametrize(
    "balancer", [{"scheme": "internal"}, {"loadBalancerType": "disabled"}], ids=["internal", "without load balancer"]
)
def test_a_closed_cluster_needs_no_public_subnet(balancer: dict[str, Any]) -> None:
    """As upstream: what it needs from outside comes through endpoints of the user."""
    subnets = [{"id": "pri-a", "availabilityZone": "us-east-1a", "cidrBlock": "10.0.1.0/24"}]
    spec = {"network": {"subnets": subnets}, "controlPlaneLoadBalancer": balancer}
    if "loadBalancerType" in balancer:
        spec["controlPlaneEndpoint"] = {"host": "api.example.org", "port": 6443}
    harness = AwsHarness(aws_cluster(**spec))
    found = planned(harness)
    assert found.problems == ()
    assert {row.action for row in found.rows if row.kind == "subnet"} == {PlanAction.CREATE}
    harness.up()
    harness.down()
