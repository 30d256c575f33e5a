"""The endpoint of an AWSCluster: the port that the load balancer has, open for as long as clients use it."""

from __future__ import annotations

from typing import Any

from freehold.reconcilers.gate import ClusterContext, FoundCluster, Mode, Presence
from freehold_sim.aws.strangers import Strangers
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
    around = ClusterContext(Mode.AUTO, Presence.PRESENT, owner=FoundCluster(cluster))
    manifest = aws_cluster()
    manifest["metadata"]["ownerReferences"] = [OWNER]
    harness = AwsHarness(manifest, around=around)
    harness.up()
    assert let_in(harness) == {443}
    cluster["spec"]["clusterNetwork"]["apiServerPort"] = 8443
    harness.for_a_while(1800)
    assert let_in(harness) == {443, 8443}
    assert harness.ready()
