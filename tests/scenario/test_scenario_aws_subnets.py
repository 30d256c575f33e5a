"""AWSCluster: subnets come and go, and load balancers, ranges and what is surplus follow."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.controllers.plan.plan import PlanAction
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import planned
from harness.aws_pruning import LISTED, answers, approve, change, harness, present


def another(way: str, zone: str = "a", name: str = "0-first") -> dict[str, Any]:
    """One more in a zone that has one already; by its name it comes first."""
    block = "10.0.70.0/24" if way == "pub" else "10.0.71.0/24"
    return {"id": name, "availabilityZone": f"us-east-1{zone}", "cidrBlock": block, "isPublic": way == "pub"}


def inside(cluster: AwsHarness) -> list[str]:
    return list(cluster.status()["networkStatus"]["apiServerElb"]["subnetIds"])


@pytest.mark.parametrize("type_", ("classic", "nlb"))
@pytest.mark.parametrize("scheme", ("internet-facing", "internal"))
def test_one_more_subnet_moves_no_load_balancer(type_: str, scheme: str) -> None:
    """It stays where it is: its addresses would change, and AWS lets it into one subnet of a zone."""
    cluster = harness(
        network={"subnets": LISTED}, controlPlaneLoadBalancer={"loadBalancerType": type_, "scheme": scheme}
    )
    before = inside(cluster)
    way = "pub" if scheme == "internet-facing" else "pri"
    change(cluster, network={"subnets": [*LISTED, another(way)]})
    assert cluster.ready() and inside(cluster) == before


@pytest.mark.parametrize("zones", (1, 2))
def test_a_classic_load_balancer_moves_within_its_zone(zones: int) -> None:
    """It leaves the one before it goes into the other, and is never in none."""
    listed = [*LISTED[: 2 * zones], another("pub", name="pub-a2")]
    places = ["pub-a", "pub-b"][:zones]
    cluster = harness(network={"subnets": listed}, controlPlaneLoadBalancer={"subnets": places})
    change(cluster, controlPlaneLoadBalancer={"subnets": ["pub-a2", *places[1:]]})
    told = cluster.conditions()["LoadBalancerReady"]
    if zones == 1:
        assert "Let it stay in subnet-" in told, "AWS does not allow it, and the person hears what to do"
    else:
        assert cluster.ready(), told
    cluster.down()
    assert present(cluster) == set()


def test_what_a_load_balancer_has_left_can_be_pruned() -> None:
    """It depended on it once."""
    cluster = harness(network={"subnets": LISTED})
    change(cluster, network={"subnets": LISTED[:2]})
    approve(cluster)
    found = answers(cluster)
    assert all(answer.endswith("is gone") for answer in found.values()), found
    assert "subnet/pub-b" in found


def test_a_plan_says_that_a_strangers_subnet_has_the_range_as_the_condition_does() -> None:
    """Only EC2's answer to the create tells the pass; a plan sends none, so it reads what is in the VPC."""
    cluster = harness(network={"subnets": LISTED})
    vpc = next(row["id"] for row in cluster.resources() if row["kind"] == "vpc")
    wanted = another("pub")
    request = {"VpcId": vpc, "CidrBlock": wanted["cidrBlock"], "AvailabilityZone": wanted["availabilityZone"]}
    theirs = Strangers(cluster.cloud).create("ec2", "CreateSubnet", request)["id"]
    cluster.object.patch({"spec": {"network": {"subnets": [*LISTED, wanted]}}})
    (row,) = [row for row in planned(cluster).rows if row.action is PlanAction.REFUSE]
    assert f"{wanted['cidrBlock']} of VPC {vpc} is taken by subnet {theirs}" in row.reason
    cluster.for_a_while(400)
    assert row.reason in cluster.condition("SubnetsReady")["message"]


def test_a_pass_that_makes_a_subnet_reads_the_subnets_once() -> None:
    cluster = AwsHarness(aws_cluster(network={"subnets": LISTED}))
    cluster.up()
    known = len(cluster.calls())
    cluster.object.patch({"spec": {"network": {"subnets": [*LISTED, another("pub")]}}})
    cluster.pass_once()
    sent = [call.operation for call in cluster.calls()[known:]]
    assert (sent.count("ec2.DescribeSubnets"), sent.count("ec2.CreateSubnet")) == (1, 1)


def test_a_second_range_is_asked_for_before_the_first_subnet() -> None:
    """EC2 takes some seconds for it, and refuses a subnet in it before."""
    subnets = [LISTED[0], {**LISTED[1], "cidrBlock": "10.1.1.0/24"}]
    cluster = harness(network={"vpc": {"secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}]}, "subnets": subnets})
    sent = [call.operation for call in cluster.calls(mutating=True)]
    assert sent.index("ec2.AssociateVpcCidrBlock") < sent.index("ec2.CreateSubnet")


def test_a_range_with_a_subnet_of_ours_in_it_waits_for_a_prune() -> None:
    """EC2 would refuse each time. Plan and condition say by which subnet, and what frees the range."""
    subnets = [LISTED[0], {**LISTED[1], "cidrBlock": "10.1.1.0/24"}]
    more = [{"ipv4CidrBlock": "10.1.0.0/16"}]
    cluster = harness(network={"vpc": {"secondaryCidrBlocks": more}, "subnets": subnets})
    inside_it = next(r["id"] for r in cluster.resources() if r["kind"] == "subnet" and "private" in r["name"])
    before = len(cluster.calls(mutating=True))
    cluster.object.patch({"spec": {"network": {"vpc": {"secondaryCidrBlocks": None}, "subnets": subnets[:1]}}})
    (row,) = [row for row in planned(cluster).rows if row.action is PlanAction.REFUSE]
    assert row.reason == (
        "spec.network.vpc.secondaryCidrBlocks[10.1.0.0/16]: vpc-cidr 10.1.0.0/16 cannot go while subnet/pri-a "
        f"({inside_it}) is in it, which is ours and the spec no longer wants; freehold prune demo -n default deletes "
        "that"
    )
    cluster.for_a_while(1500.0)
    assert not [call for call in cluster.calls(mutating=True)[before:] if "Disassociate" in call.operation]
    assert row.reason in cluster.conditions()["VpcReady"]
    approve(cluster, "subnet", "route-table", "nat-gateway", "elastic-ip")
    answers(cluster)
    assert cluster.ready()


def test_of_two_ranges_the_one_that_nothing_is_in_goes_and_is_not_ours_any_more() -> None:
    subnets = [LISTED[0], {**LISTED[1], "cidrBlock": "10.1.1.0/24"}]
    held, free = "10.1.0.0/16", "10.2.0.0/16"
    more = [{"ipv4CidrBlock": each} for each in (held, free)]
    cluster = harness(network={"vpc": {"secondaryCidrBlocks": more}, "subnets": subnets})
    cluster.object.patch({"spec": {"network": {"vpc": {"secondaryCidrBlocks": None}, "subnets": subnets[:1]}}})
    cluster.for_a_while(600.0)
    (vpc,) = [row["id"] for row in cluster.resources() if row["kind"] == "vpc"]
    assert _ranges(cluster, vpc) == {"10.0.0.0/16", held}
    cluster.cloud.strangers.call("ec2", "AssociateVpcCidrBlock", {"VpcId": vpc, "CidrBlock": free})
    cluster.for_a_while(1500.0)
    assert _ranges(cluster, vpc) == {"10.0.0.0/16", held, free}


def _ranges(cluster: AwsHarness, vpc: str) -> set[str]:
    (found,) = cluster.cloud.strangers.call("ec2", "DescribeVpcs", {"VpcIds": [vpc]})["Vpcs"]
    there = (each for each in found["CidrBlockAssociationSet"] if each["CidrBlockState"]["State"] == "associated")
    return {each["CidrBlock"] for each in there}


@pytest.mark.parametrize("block", (LISTED[3]["cidrBlock"], "10.0.3.128/25"))
def test_a_range_that_surplus_holds_is_freed_by_a_prune(block: str) -> None:
    """EC2 would refuse the new subnet. Plan and condition say by which of the object's own, and what frees it."""
    cluster = harness(network={"subnets": LISTED})
    held = next(row["id"] for row in cluster.status()["resources"] if row["name"].startswith("pri-b"))
    new = {**LISTED[3], "id": "pri-c", "cidrBlock": block}
    cluster.object.patch({"spec": {"network": {"subnets": [*LISTED[:3], new]}}})
    (row,) = [row for row in planned(cluster).rows if row.logical == "pri-c" and row.kind == "subnet"]
    assert row.action is PlanAction.REFUSE
    assert block in row.reason and held in row.reason and "freehold prune demo -n default" in row.reason
    before = len(cluster.calls(mutating=True))
    cluster.for_a_while(1500.0)
    assert not [call for call in cluster.calls(mutating=True)[before:] if call.operation == "ec2.CreateSubnet"]
    assert row.reason in cluster.conditions()["SubnetsReady"]
    approve(cluster)
    found = answers(cluster)
    assert found["subnet/pri-b"].endswith("is gone") and cluster.ready()


@pytest.mark.parametrize(
    ("taken", "restarted"), [("10.0.40.128/25", False), ("10.0.40.192/26", True), ("10.0.40.0/24", False)]
)
def test_a_range_that_a_stranger_holds_is_said_by_plan_and_condition_alike(taken: str, restarted: bool) -> None:
    """Somebody made a subnet in our VPC. A plan hears it from a read, the pass from EC2's refusal."""
    cluster = harness(network={"subnets": LISTED[:2]})
    (vpc,) = [row["id"] for row in cluster.resources() if row["kind"] == "vpc"]
    strangers = Strangers(cluster.cloud)
    request = {"VpcId": vpc, "CidrBlock": taken, "AvailabilityZone": "us-east-1c"}
    theirs = strangers.create("ec2", "CreateSubnet", request)["id"]
    if restarted:
        cluster.start_process()
    cluster.object.patch(
        {"spec": {"network": {"subnets": [*LISTED[:3], {**LISTED[3], "cidrBlock": "10.0.40.128/25"}]}}}
    )
    before = len(cluster.calls(mutating=True))
    (row,) = [row for row in planned(cluster).rows if row.action is PlanAction.REFUSE]
    assert (row.kind, row.logical) == ("subnet", "pri-b")
    assert f"10.0.40.128/25 of VPC {vpc} is taken by subnet {theirs}" in row.reason
    assert "Delete that subnet, or give another block in spec.network" in row.reason
    assert len(cluster.calls(mutating=True)) == before, "a plan writes nothing"
    cluster.for_a_while(300.0)
    assert row.reason in cluster.conditions()["SubnetsReady"]
    strangers.delete(theirs)
    (row,) = [row for row in planned(cluster).rows if (row.kind, row.logical) == ("subnet", "pri-b")]
    assert row.action is PlanAction.CREATE
    cluster.for_a_while(1500.0)
    assert cluster.ready()


def test_a_plan_reads_the_subnets_of_a_vpc_once_for_all_that_are_to_be_made_in_it() -> None:
    cluster = AwsHarness(aws_cluster(network={"subnets": LISTED[:2]}))
    cluster.up()
    more = [{**LISTED[1], "id": f"more-{n}", "cidrBlock": f"10.0.{n}.0/24"} for n in range(20, 26)]
    cluster.object.patch({"spec": {"network": {"subnets": [*LISTED[:2], *more]}}})
    before = len(cluster.calls())
    plan = planned(cluster)
    assert len([row for row in plan.rows if row.action is PlanAction.CREATE and row.kind == "subnet"]) == len(more)
    asked = [call for call in cluster.calls()[before:] if call.operation == "ec2.DescribeSubnets"]
    assert len(asked) <= 3, "those on record, those with birth tags, those in the way"
    before = len(cluster.calls())
    cluster.for_a_while(1500.0)
    asked = [call for call in cluster.calls()[before:] if call.operation in ("ec2.DescribeSubnets", "ec2.CreateSubnet")]
    made = max(place for place, call in enumerate(asked) if call.operation == "ec2.CreateSubnet")
    assert cluster.ready() and made <= len(more), "a pass creates without asking first"


@pytest.mark.parametrize("changed", ({"cidrBlock": "10.0.60.0/24"}, {"availabilityZone": "us-east-1c"}))
def test_what_nobody_can_change_in_the_cloud_is_said_so(changed: dict[str, str]) -> None:
    """A subnet has its range and its zone for life."""
    cluster = harness(network={"subnets": LISTED})
    entries = [{**each, **changed} if each["id"] == "pri-b" else each for each in LISTED]
    if "availabilityZone" in changed:
        entries.append({**LISTED[2], "id": "pub-c", "cidrBlock": "10.0.61.0/24", **changed})
    cluster.object.patch({"spec": {"network": {"subnets": entries}}})
    (row,) = [row for row in planned(cluster).rows if row.action is PlanAction.LEAVE and row.kind == "subnet"]
    assert "change it in the cloud" not in row.reason
    assert "in the cloud: write into the spec what is there, or delete the resource" in row.reason


@pytest.mark.parametrize("listed", [(), ("10.1.0.0/16",)], ids=["none listed", "one listed"])
def test_a_range_that_somebody_else_added_stays_and_goes_with_nobody(listed: tuple[str, ...]) -> None:
    """Those of a VPC of ours are not all ours: a person may widen it for what is theirs."""
    wanted = {"secondaryCidrBlocks": [{"ipv4CidrBlock": each} for each in listed]} if listed else {}
    cluster = harness(network={"vpc": wanted, "subnets": LISTED[:2]})
    (vpc,) = [row["id"] for row in cluster.resources() if row["kind"] == "vpc"]
    cluster.cloud.strangers.call("ec2", "AssociateVpcCidrBlock", {"VpcId": vpc, "CidrBlock": "10.9.0.0/16"})
    cluster.for_a_while(1500.0)
    assert _ranges(cluster, vpc) == {"10.0.0.0/16", "10.9.0.0/16", *listed}
    assert cluster.ready()
