"""The endpoint of an AWSCluster: the port that the load balancer has, open for as long as clients use it."""

from __future__ import annotations

from typing import Any

from freehold.providers.objects.gate import ClusterApiMode, ClusterContext, FoundCluster, Presence
from freehold_sim.aws.strangers import Strangers
from freehold_sim.faults import Effect, Fault
from harness.aws_cluster import AwsHarness, aws_cluster

OWNER = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "demo", "uid": "1"}


def let_in(harness: AwsHarness) -> set[int]:
    """The ports that the group of the load balancer lets in."""
    answer = Strangers(harness.cloud).call("ec2", "DescribeSecurityGroups", {})
    (group,) = [each for each in answer["SecurityGroups"] if each["GroupName"] == "demo-apiserver-lb"]
    return {each["FromPort"] for each in group["IpPermissions"]}


def test_a_port_without_a_host_is_replaced_by_the_one_that_the_load_balancer_listens_on() -> None:
    harness = AwsHarness(aws_cluster(controlPlaneEndpoint={"host": "", "port": 443}))
    harness.up()
    (listener,) = harness.status()["networkStatus"]["apiServerElb"]["listeners"]
    assert harness.object.raw["spec"]["controlPlaneEndpoint"]["port"] == listener["port"]
    assert harness.object.raw["spec"]["controlPlaneEndpoint"]["host"]


def test_the_port_of_the_endpoint_stays_open_when_the_port_of_the_cluster_changes() -> None:
    """The endpoint cannot change, and its listener stays: nobody could reach the API server any more."""
    cluster: dict[str, Any] = {
        "apiVersion": OWNER["apiVersion"],
        "kind": "Cluster",
        "metadata": {"name": "demo", "namespace": "default", "uid": "1"},
        "spec": {"clusterNetwork": {"apiServerPort": 443}},
    }
    around = ClusterContext(ClusterApiMode.AUTO, Presence.PRESENT, owner=FoundCluster(cluster))
    manifest = aws_cluster()
    manifest["metadata"]["ownerReferences"] = [OWNER]
    harness = AwsHarness(manifest, around=around)
    harness.up()
    assert let_in(harness) == {443}
    cluster["spec"]["clusterNetwork"]["apiServerPort"] = 8443
    harness.for_a_while(1800)
    assert let_in(harness) == {443, 8443}
    assert harness.ready()


def test_a_network_load_balancer_in_a_network_with_ipv6_has_both_sorts_of_addresses() -> None:
    spec = {"controlPlaneLoadBalancer": {"loadBalancerType": "nlb"}, "network": {"vpc": {"ipv6": {}}}}
    harness = AwsHarness(aws_cluster(**spec))
    harness.up()
    (balancer,) = Strangers(harness.cloud).call("elbv2", "DescribeLoadBalancers", {})["LoadBalancers"]
    assert balancer["IpAddressType"] == "dualstack"
    harness.down()


def test_a_create_that_is_never_answered_says_what_came_instead() -> None:
    harness = AwsHarness()
    refusal = Fault(Effect.ERROR_BEFORE, "elb.CreateLoadBalancer", count=None, status=503)
    harness.cloud.faults.add(refusal)
    said = set()
    for _ in range(10):
        harness.for_a_while(60)
        said.add(harness.condition("LoadBalancerReady").get("message", ""))
    settling = [each for each in said if "a create may still take effect" in each]
    assert settling
    assert all("could not create" in each for each in settling)
