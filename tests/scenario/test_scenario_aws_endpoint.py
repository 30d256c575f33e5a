"""AWSCluster: the endpoint is an address for life, and a load balancer that is made anew has another one."""

from __future__ import annotations

import pytest

from freehold.api import names
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness, aws_cluster

BALANCERS = {
    "classic": ("elb", "DeleteLoadBalancer", "LoadBalancerName", "name"),
    "nlb": ("elbv2", "DeleteLoadBalancer", "LoadBalancerArn", "arn"),
}


def lost(cluster: AwsHarness, type_: str) -> None:
    """A stranger deletes the load balancer, and it is made anew."""
    service, operation, parameter, member = BALANCERS[type_]
    there = next(row for row in cluster.resources() if row["kind"] in ("classic-balancer", "balancer"))
    Strangers(cluster.cloud).call(service, operation, {parameter: there[member]})
    cluster.for_a_while(1200.0)


@pytest.mark.parametrize(("type_", "scheme"), [("classic", "internet-facing"), ("nlb", "internal")])
def test_a_cluster_with_the_address_of_a_lost_load_balancer_is_not_ready(type_: str, scheme: str) -> None:
    """Nobody reaches its API server."""
    cluster = AwsHarness(aws_cluster(controlPlaneLoadBalancer={"loadBalancerType": type_, "scheme": scheme}))
    cluster.up()
    host = cluster.object.raw["spec"]["controlPlaneEndpoint"]["host"]
    lost(cluster, type_)
    told = cluster.conditions()
    new = cluster.status()["networkStatus"]["apiServerElb"]["dnsName"]
    assert new != host
    for each in ("LoadBalancerReady", "Ready"):
        assert told[each].startswith("False") and f"its address is {new}" in told[each] and host in told[each]
    cluster.down()


def test_an_endpoint_of_ones_own_is_led_to_the_new_load_balancer() -> None:
    """Also if it is a load balancer of AWS: it is not ours, and what it leads to is its owner's to say."""
    host = "front-1.elb.us-east-1.amazonaws.com"
    cluster = AwsHarness(aws_cluster(controlPlaneEndpoint={"host": host, "port": 6443}))
    cluster.up()
    lost(cluster, "classic")
    assert cluster.ready() and cluster.object.raw["spec"]["controlPlaneEndpoint"]["host"] == host


@pytest.mark.parametrize("type_", BALANCERS)
def test_an_address_of_aws_tells_without_a_record_whose_it_was(type_: str) -> None:
    """It was lost while an earlier version served the cluster."""
    cluster = AwsHarness(aws_cluster(controlPlaneLoadBalancer={"loadBalancerType": type_}))
    cluster.up()
    lost(cluster, type_)
    cluster.object.patch({"metadata": {"annotations": {names.ENDPOINT_ANNOTATION: None}}})
    cluster.start_process()
    cluster.for_a_while(600.0)
    assert cluster.conditions()["LoadBalancerReady"].startswith("False")
