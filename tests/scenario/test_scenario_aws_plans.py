"""A plan of an AWSCluster says what the next passes do: names that are taken, ranges in use, tags that go."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from freehold.controllers.plan.plan import Plan, PlanAction
from freehold_sim.faults import Effect, Fault
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import GivenVpc, changes, own, planned, writes
from harness.standing import standing

ROOT = Path(__file__).parents[2]


def test_a_plan_shows_that_a_stranger_has_the_name_of_the_load_balancer() -> None:
    """Names are unique in a region: all but the load balancer would be made, and then nothing would go on."""
    harness = AwsHarness()
    GivenVpc.create(harness).classic_balancer("demo-apiserver")
    harness.clock.advance(200)
    (row,) = [row for row in changes(planned(harness)) if row.kind == "classic-load-balancer"]
    assert row.action is PlanAction.REFUSE
    assert "set spec.controlPlaneLoadBalancer.name to another name" in row.reason
    harness.for_a_while(300)
    assert row.reason in harness.condition("LoadBalancerReady")["message"]


def test_a_load_balancer_of_a_stranger_is_not_used_where_the_spec_names_it_and_nobody_is_told_so() -> None:
    harness = AwsHarness(aws_cluster(controlPlaneLoadBalancer={"name": "theirs"}))
    GivenVpc.create(harness).classic_balancer("theirs")
    harness.for_a_while(300)
    said = harness.condition("LoadBalancerReady")
    assert said["reason"] == "NameTaken"
    assert "as it is" not in said["message"]
    assert own(harness, "classic-balancer") == []


def test_a_plan_shows_the_tags_that_go_from_a_given_subnet() -> None:
    """They go some passes after everything else is as wanted."""
    harness = AwsHarness(aws_cluster(additionalTags={"team": "x"}))
    given = GivenVpc.create(harness)
    harness.object.patch({"spec": {"network": given.network()}})
    harness.up()
    harness.for_a_while(1200)
    harness.object.patch({"spec": {"network": given.network("public-a", "public-b", "private-a")}})
    rows = [row for row in changes(planned(harness)) if row.action.changes]
    assert {row.action for row in rows} == {PlanAction.REMOVE_TAG}
    left = harness.cloud.resources()
    harness.for_a_while(1200)
    before = next(each["tags"] for each in left if each["id"] == given.subnets["private-b"])
    after = next(each["tags"] for each in harness.resources() if each["id"] == given.subnets["private-b"])
    assert len(before) - len(after) == len(rows)


def test_a_tag_whose_value_changes_is_shown_with_both_values() -> None:
    """AWS overwrites it: nothing is taken off, and whoever reads "add" looks for a second tag."""
    harness = AwsHarness(aws_cluster(additionalTags={"team": "x"}))
    harness.up()
    harness.object.patch({"spec": {"additionalTags": {"team": "y"}}})
    rows = [row for row in planned(harness).rows if row.action.changes]
    assert {(row.action, row.before, row.after) for row in rows} == {(PlanAction.CHANGE_TAG, "team=x", "team=y")}
    assert len(rows) == len(own(harness))


def test_deletions_are_listed_in_the_order_in_which_they_are_requested() -> None:
    harness = standing(AwsHarness)
    rows = planned(harness, deleting=True).rows
    deleted = [row.kind for row in rows if row.action is PlanAction.DELETE]
    turns = {kind: [turn for turn, each in enumerate(deleted) if each == kind] for kind in deleted}
    assert len(deleted) == 25
    for first, then in (("nat-gateway", "elastic-ip"), ("route-table", "subnet"), ("subnet", "vpc")):
        assert max(turns[first]) < min(turns[then])
    assert max(turns["nat-gateway"]) < max(turns["internet-gateway"]) < max(turns["vpc"])
    first_change = next(turn for turn, row in enumerate(rows) if row.action is PlanAction.DELETE)
    assert {row.action for row in rows[first_change:]} == {PlanAction.DELETE, PlanAction.REMOVE_PART}


def test_a_create_is_shown_with_its_values_and_names_of_what_does_not_exist_yet() -> None:
    spec = aws_cluster(bastion={"enabled": True, "allowedCIDRBlocks": ["192.0.2.0/24"]}, sshKeyName="")
    values = {row.name: dict(row.values) for row in planned(AwsHarness(spec)).rows if row.action is PlanAction.CREATE}
    assert values["demo-vpc"]["cidr"] == "10.0.0.0/16"
    assert values["demo-subnet-public-us-east-1a"].items() >= {"zone": "us-east-1a", "cidr": "10.0.0.0/20"}.items()
    assert values["demo-bastion"]["instance_type"] == "t2.micro"
    assert values["demo-apiserver"]["listeners"][0]["LoadBalancerPort"] == 6443
    assert "planned-" not in json.dumps(values)


def test_a_given_subnet_that_the_spec_dropped_is_not_shown_as_used() -> None:
    harness = AwsHarness()
    given = GivenVpc.create(harness)
    harness.object.patch({"spec": {"network": given.network()}})
    harness.up()
    harness.object.patch({"spec": {"network": given.network("public-a", "public-b", "private-a")}})
    shown = {row.id: row for row in planned(harness).rows if row.kind == "subnet" and not row.attribute}
    dropped = shown.pop(given.subnets["private-b"])
    assert dropped.action is PlanAction.KEEP and "surplus: the spec no longer names it" in dropped.reason
    assert {row.action for row in shown.values()} == {PlanAction.REUSE}


def test_an_endpoint_that_nobody_gives_is_told_by_a_plan_and_holds_up_no_create() -> None:
    """Upstream makes the network and waits: the load balancer that has the address may be made in it afterwards."""
    network = {"subnets": [{"id": "a", "availabilityZone": "us-east-1a", "cidrBlock": "10.0.0.0/24"}]}
    balancer = {"loadBalancerType": "disabled"}
    harness = AwsHarness(aws_cluster(network=network, controlPlaneLoadBalancer=balancer))
    (said,) = planned(harness).lacking
    assert said.startswith("spec.controlPlaneEndpoint.host: it is missing, and no load balancer of the cluster gives")
    harness.for_a_while(900)
    assert harness.condition("Ready")["message"] == said and own(harness, "vpc")
    assert planned(harness, deleting=True).lacking == ()
    harness.object.patch({"spec": {"controlPlaneEndpoint": {"host": "api.example.com", "port": 6443}}})
    assert planned(harness).lacking == ()
    harness.for_a_while(900)
    assert harness.ready()


def test_a_bastion_whose_key_nobody_named_says_where_it_is_named() -> None:
    harness = AwsHarness(aws_cluster(bastion={"enabled": True}))
    harness.for_a_while(900)
    assert "sshKeyName" in harness.condition("BastionHostReady")["message"]


def test_a_nat_gateway_that_failed_says_that_it_goes_by_itself() -> None:
    harness = AwsHarness()
    harness.cloud.faults.add(Fault(Effect.FAILED, "ec2.CreateNatGateway", count=1))
    harness.for_a_while(900)
    assert "AWS removes it within about an hour" in harness.condition("NatGatewaysReady")["message"]


def test_a_plan_of_a_vpc_with_ipv6_shows_that_its_range_is_not_known_yet() -> None:
    """Subnets and rules are made of the range that Amazon gives to the VPC."""
    network = {"vpc": {"ipv6": {}}}
    balancer = {"loadBalancerType": "nlb", "crossZoneLoadBalancing": True}
    harness = AwsHarness(aws_cluster(network=network, controlPlaneLoadBalancer=balancer))
    plan = planned(harness)
    rows = changes(plan)
    assert len([row for row in rows if row.kind == "subnet" and row.action is PlanAction.CREATE]) == 6
    rules = {row.attribute for row in rows if row.kind == "security-group"}
    assert "ingress-rule tcp 6443 (known after create)" in rules
    harness.up()
    assert not [row for row in changes(planned(harness)) if row.action.changes]
    _is_bound(plan, harness)


def test_a_plan_of_the_example_bounds_the_writes_of_its_creation() -> None:
    """With what the creates of a classic load balancer and of subnets cannot carry."""
    harness = AwsHarness(yaml.safe_load((ROOT / "examples" / "aws-cluster.yaml").read_text()))
    plan = planned(harness)
    harness.up()
    _is_bound(plan, harness)


def _is_bound(plan: Plan, harness: AwsHarness) -> None:
    """Of services just so; tags are counted by resource, and a call takes twenty."""
    sent, bound = writes(harness), dict(plan.writes)
    assert sent.pop("resourcegroupstaggingapi") <= bound.pop("resourcegroupstaggingapi")
    assert sent == bound, sorted(call.operation for call in harness.calls(mutating=True))
