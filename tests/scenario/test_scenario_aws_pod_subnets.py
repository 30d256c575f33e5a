"""Subnets for pods, and the order of listed subnets: where load balancers, NAT gateways and a bastion are."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api import names
from freehold_sim.aws.settings import Settings
from harness.aws_cluster import AwsHarness, aws_cluster
from harness.aws_network import GivenVpc, own, planned
from lab.aws import QUICK, ROOMY, QuickHarness
from lab.aws_neighbours import existing

PODS = {"sigs.k8s.io/cluster-api-provider-aws/association": "secondary"}
INTERNAL = {"scheme": "internal", "loadBalancerType": "nlb"}


def subnet(name: str, number: int, tags: dict[str, str] | None = None, *, public: bool = False) -> dict[str, Any]:
    """One in the first zone. Names in reverse: sorted by name, the last listed would come first."""
    place = {"availabilityZone": "us-east-1a", "cidrBlock": f"10.0.{number}.0/24"}
    return {"id": name, **place, "isPublic": public, "tags": tags or {}}


def started(subnets: list[dict[str, Any]], **spec: Any) -> QuickHarness:
    manifest = aws_cluster(network={"subnets": subnets}, **spec)
    return QuickHarness(manifest, Settings(delays=QUICK, quotas=ROOMY, limits={}))


def change(harness: AwsHarness, **spec: Any) -> None:
    harness.object.patch({"spec": spec})
    harness.for_a_while(700.0)


def inside(harness: AwsHarness) -> list[str]:
    """The spec's names of the subnets that the load balancer is in."""
    ids = harness.status()["networkStatus"]["apiServerElb"]["subnetIds"]
    rows = {row["id"]: row["name"] for row in harness.status()["resources"] if row["kind"] == "subnet"}
    return [rows[each] for each in ids]


def test_a_load_balancer_and_a_nat_gateway_are_in_no_subnet_for_pods() -> None:
    """As Giant Swarm's clusters have them, each kind in both ways: those for pods are listed first."""
    listed = [
        subnet("a-pods", 1, PODS),
        subnet("b-pods-out", 2, PODS, public=True),
        subnet("z-nodes", 3, {"role": "nodes"}),
        subnet("z-out", 4, public=True),
    ]
    harness = started(listed, controlPlaneLoadBalancer=INTERNAL, bastion={"enabled": True}, sshKeyName="")
    harness.up()
    assert inside(harness) == ["z-nodes"]
    rows = {row["id"]: row["name"] for row in harness.status()["resources"] if row["kind"] == "subnet"}
    (nat,) = harness.cloud.strangers.call("ec2", "DescribeNatGateways", {})["NatGateways"]
    (machine,) = harness.cloud.strangers.call("ec2", "DescribeInstances", {})["Reservations"]
    assert (rows[nat["SubnetId"]], rows[machine["Instances"][0]["SubnetId"]]) == ("z-out", "z-out")
    harness.down()
    assert list(existing(harness)) == []


def test_tags_of_one_subnet_are_on_it_alone_and_follow_the_spec() -> None:
    """The spec's own win over those of all resources, and over the cloud controller's, as upstream's do."""
    spec = {"additionalTags": {"team": "red", "tier": "all"}}
    tags = {"team": "blue", "kubernetes.io/role/internal-elb": "0", **PODS}
    harness = started([subnet("in", 1, tags), subnet("in2", 2), subnet("out", 3, public=True)], **spec)
    harness.up()
    (tagged,) = [row for row in own(harness, "subnet") if row["tags"]["team"] == "blue"]
    assert {**tags, "tier": "all"}.items() <= tagged["tags"].items()
    assert [row["tags"]["team"] for row in own(harness, "subnet")].count("red") == 2
    listed = [subnet("in", 1, {"stage": "prod"}), subnet("in2", 2), subnet("out", 3, public=True)]
    change(harness, network={"subnets": listed})
    (row,) = [row for row in own(harness, "subnet") if row["id"] == tagged["id"]]
    assert harness.ready() and row["tags"]["stage"] == "prod" and row["tags"]["team"] == "red"
    assert row["tags"]["kubernetes.io/role/internal-elb"] == "1" and not PODS.keys() & row["tags"].keys()


@pytest.mark.parametrize("scheme", ["internet-facing", "internal"])
def test_what_is_there_stays_in_its_subnet_whatever_the_list_becomes(scheme: str) -> None:
    """Of a zone the first listed is taken. Then the list is turned round, and the one that is taken is for pods."""
    listed = [subnet(name, number, public=public) for number, (name, public) in enumerate(
        [("z-out", True), ("z-in", False), ("a-out", True), ("a-in", False)], 1,
    )]  # fmt: skip
    balancer = {"loadBalancerType": "nlb", "scheme": scheme}
    harness = started(listed, controlPlaneLoadBalancer=balancer, bastion={"enabled": True}, sshKeyName="")
    harness.up()
    assert inside(harness) == ["z-out" if scheme == "internet-facing" else "z-in"]
    before = {(row["kind"], row["id"]) for row in own(harness)}
    change(harness, network={"subnets": listed[::-1]})
    change(harness, network={"subnets": [{**each, "tags": PODS} for each in listed[:2]] + listed[2:]})
    assert harness.ready(), harness.conditions()
    assert {(row["kind"], row["id"]) for row in own(harness)} == before
    assert [row for row in harness.status()["resources"] if row["state"] != "Ready" or row.get("message")] == []


def test_a_load_balancer_for_which_no_subnet_is_left_is_a_sentence() -> None:
    listed = [subnet("in", 1, PODS), subnet("out", 2, PODS, public=True)]
    harness = started(listed, bastion={"enabled": True}, sshKeyName="")
    harness.for_a_while(300.0)
    said = harness.condition(names.SPEC_VALID)["message"]
    assert "spec.controlPlaneLoadBalancer.subnets: none is left for it" in said
    assert "spec.bastion.enabled: no public subnet is left" in said
    assert "zone 'us-east-1a' has no public subnet for a NAT gateway" in said and "take the tag off one" in said
    assert own(harness) == []


def test_a_strangers_subnet_for_pods_is_known_by_its_tag_in_aws_and_a_plan_names_the_others() -> None:
    """So upstream reads it. The spec may say the same where nobody has tagged the subnet."""
    harness = QuickHarness(aws_cluster(), Settings(delays=QUICK, quotas=ROOMY, limits={}))
    vpc = GivenVpc.create(harness)
    vpc.strangers.tag(vpc.subnets["private-a"], PODS)
    more = {"VpcId": vpc.id, "CidrBlock": "10.9.9.0/24", "AvailabilityZone": "us-east-1a"}
    last = vpc.strangers.create("ec2", "CreateSubnet", more)["id"]
    network = vpc.network("private-a", "private-b", "public-a")
    network["subnets"] += [{"id": last}]
    harness.object.patch({"spec": {"network": network, "controlPlaneLoadBalancer": INTERNAL}})
    harness.clock.advance(600.0)
    chosen = [vpc.subnets["private-b"], last]
    (row,) = [row for row in planned(harness).rows if row.kind == "network-load-balancer"]
    assert all(f"subnet {each}" in row.reason for each in chosen) and vpc.subnets["private-a"] not in row.reason
    harness.up()
    assert sorted(harness.status()["networkStatus"]["apiServerElb"]["subnetIds"]) == sorted(chosen)
    network["subnets"][1]["tags"] = {**PODS, "team": "x"}
    change(harness, network=network)
    said = harness.condition(names.FIELDS_SERVED)["message"]
    assert "spec.network.subnets[1].tags: not written" in said and "has no team with the value here" in said
    assert harness.ready() and sorted(harness.status()["networkStatus"]["apiServerElb"]["subnetIds"]) == sorted(chosen)
