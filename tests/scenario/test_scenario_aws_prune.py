"""AWSCluster: what somebody uses is pruned neither itself nor in what it needs to work."""

from __future__ import annotations

import asyncio

from freehold.controllers.plan.planner import plan_with_accounts
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness
from harness.aws_pruning import LISTED, answers, approve, change, harness, present

IMAGE = "ami-0a0000000000000c1"


def private_subnet_b(cluster: AwsHarness) -> str:
    found = [row for row in cluster.resources() if row["kind"] == "subnet" and "private-us-east-1b" in row["name"]]
    return str(found[0]["id"])


def test_a_subnet_with_a_machine_keeps_its_way_out() -> None:
    """Its route table would go before the subnet is refused: the machine is cut off, and nobody approved that."""
    cluster = harness(network={"subnets": LISTED})
    one = {"ImageId": IMAGE, "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
    machine = Strangers(cluster.cloud).create("ec2", "RunInstances", {**one, "SubnetId": private_subnet_b(cluster)})
    change(cluster, network={"subnets": LISTED[:2]})
    kinds = ("route-table", "nat-gateway", "elastic-ip", "subnet")
    before = present(cluster, *kinds)
    approve(cluster)
    found = answers(cluster)

    assert present(cluster, *kinds) == before
    assert all(answer.startswith("refused") for answer in found.values()), found
    assert found["subnet/pri-b"] == f"refused: it is in use: instance {machine['id']}"
    assert "it serves subnet/pri-b, which stays" in found["route-table/pri-b"]
    assert cluster.ready()


def test_the_way_out_alone_stays_too() -> None:
    """The subnet is in use, whether or not somebody wants to delete that."""
    cluster = harness(network={"subnets": LISTED})
    Strangers(cluster.cloud).create("ec2", "CreateNetworkInterface", {"SubnetId": private_subnet_b(cluster)})
    change(cluster, network={"subnets": LISTED[:2]})
    before = present(cluster, "route-table")
    approve(cluster, "route-table")
    found = answers(cluster)
    assert present(cluster, "route-table") == before
    assert "it serves subnet/pri-b, which stays: it is in use: network interface" in found["route-table/pri-b"]


def test_a_zone_that_nobody_uses_goes_whole_with_one_decision() -> None:
    """What uses a NAT gateway, its route tables, goes too: it waits for them, and nobody is asked twice."""
    cluster = harness(network={"subnets": LISTED}, controlPlaneLoadBalancer={"subnets": ["pub-a"]})
    change(cluster, network={"subnets": LISTED[:2]})
    approve(cluster)
    plan = asyncio.run(
        plan_with_accounts(
            AWS_CLUSTER, cluster.new_accounts(), cluster.wall, cluster.object.raw, cluster.rings.ring, cluster.around
        )
    )
    assert len([row for row in plan.rows if row.action == "delete"]) == 6
    found = answers(cluster)
    assert all(answer.endswith("is gone") for answer in found.values()), found
    assert len(found) == 6 and cluster.ready()


def test_the_listeners_of_the_endpoint_stay() -> None:
    """The load balancer is the endpoint: without them it is an address where nobody answers."""
    cluster = harness(controlPlaneLoadBalancer={"loadBalancerType": "nlb"})
    endpoint = cluster.object.raw["spec"].pop("controlPlaneEndpoint")  # as in an object from before the type was kept
    cluster.object.raw["spec"]["controlPlaneEndpoint"] = {"host": "api.example.com", "port": 6443}
    change(cluster, controlPlaneLoadBalancer={"loadBalancerType": "classic"}, bastion={"ami": endpoint["host"]})
    kinds = ("balancer", "target-group", "listener")
    before = present(cluster, *kinds)
    assert before
    for some in (("listener",), ()):
        approve(cluster, *some)
        found = answers(cluster)
        assert present(cluster, *kinds) == before
        assert all(answer.startswith("refused") for answer in found.values()), found
        assert "names it" in found["listener/primary:6443"]


def test_the_type_of_the_endpoints_load_balancer_does_not_change() -> None:
    """Where no rule of the API server refused it: the rules of the old one would go at once, and the endpoint stays."""
    cluster = harness(controlPlaneLoadBalancer={"loadBalancerType": "nlb"})
    before, writes = present(cluster), len(cluster.calls(mutating=True))
    change(cluster, controlPlaneLoadBalancer={"loadBalancerType": "classic"})
    assert present(cluster) == before and len(cluster.calls(mutating=True)) == writes
    host = cluster.object.raw["spec"]["controlPlaneEndpoint"]["host"]
    assert f"spec.controlPlaneLoadBalancer.loadBalancerType: the endpoint {host}" in cluster.conditions()["SpecValid"]
    cluster.down()
    assert present(cluster) == set()
