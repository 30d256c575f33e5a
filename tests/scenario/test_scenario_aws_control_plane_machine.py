"""A control-plane machine behind the load balancers of its cluster, through the real reconciler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from freehold.api import names
from freehold.providers.aws import api_names as aws_names
from freehold_sim.aws.strangers import Strangers
from harness.aws_cluster import AwsHarness
from harness.aws_machines import CLASSIC, NETWORK, Machines, ready_cluster

SECOND = {"name": "second", "scheme": "internal", "loadBalancerType": "nlb"}
FRONTS: Mapping[str, Any] = {
    "a classic load balancer": (CLASSIC, {}, 1),
    "a network load balancer": (NETWORK, {}, 1),
    "one with a listener more": ({**NETWORK, "additionalListeners": [{"port": 8132}]}, {}, 2),
    "two load balancers": (NETWORK, {"secondaryControlPlaneLoadBalancer": SECOND}, 2),
}


def serving(cluster: AwsHarness) -> dict[str, set[str]]:
    """The instances behind each target group and classic load balancer, without those that drain."""
    strangers, found = Strangers(cluster.cloud), dict[str, set[str]]()
    for group in strangers.call("elbv2", "DescribeTargetGroups", {})["TargetGroups"]:
        arn = group["TargetGroupArn"]
        rows = strangers.call("elbv2", "DescribeTargetHealth", {"TargetGroupArn": arn})["TargetHealthDescriptions"]
        found[arn] = {row["Target"]["Id"] for row in rows if row["TargetHealth"]["State"] != "draining"}
    for row in strangers.call("elb", "DescribeLoadBalancers", {})["LoadBalancerDescriptions"]:
        found[row["LoadBalancerName"]] = {each["InstanceId"] for each in row["Instances"]}
    return found


@pytest.mark.parametrize("front", FRONTS)
def test_a_control_plane_machine_is_behind_each_load_balancer_and_a_worker_behind_none(front: str) -> None:
    first, spec, groups = FRONTS[front]
    machines = Machines(ready_cluster(first, **spec))
    control_plane, worker = machines.add("cp", control_plane=True), machines.add("worker")
    machines.run_all(lambda: control_plane.ready() and worker.ready())
    behind = serving(machines.cluster)
    assert len(behind) == groups
    assert list(behind.values()) == [{control_plane.instance}] * groups
    assert control_plane.condition(aws_names.ELB_ATTACHED)["status"] == "True"
    assert worker.condition(aws_names.ELB_ATTACHED) == {}
