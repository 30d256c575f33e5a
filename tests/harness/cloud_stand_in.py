"""A stand-in for a cluster's cloud controller beside a running simulator: it calls AWS with an access key of its own.

The simulator must know the key: `{"access_keys": ACCESS_KEYS}` in its settings, or one of the keys that it has.
"""

from __future__ import annotations

from collections.abc import Mapping

import requests

from harness.cloud_actors import Actor, KeyHolder
from harness.cloud_actors import left as left_of
from harness.cloud_controllers import CloudProvider, Ground

KEY = "AKIACLOUDCONTROLLER1"
ACCESS_KEYS = {
    "AKIASIMULATED0000001": "111122223333",
    "AKIASIMULATED0000002": "444455556666",
    KEY: "111122223333",
}


def forgotten_services(simulator: str, cluster: str, key: str = KEY, vpc: str = "") -> CloudProvider:
    """Make what the controller makes for two Services that nobody deletes: a classic and a network load balancer."""
    actor = KeyHolder(f"{simulator}/aws", key)
    provider = CloudProvider(actor, ground_of(actor, cluster, vpc))
    provider.classic()
    provider.network()
    return provider


def ground_of(actor: Actor, cluster: str, vpc: str = "") -> Ground:
    """Find the network of a cluster by its tags, as the cloud provider does.

    The public subnets, one in a zone, and the one group that has the cluster's tag:
    https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/aws.go (findELBSubnets,
    findSecurityGroupForInstance). The provider knows its VPC from its machine; ``vpc`` says which of several.
    """
    mark = {"Name": "tag-key", "Values": [f"kubernetes.io/cluster/{cluster}"]}
    filters = [mark, *([{"Name": "vpc-id", "Values": [vpc]}] if vpc else [])]
    public = {"Name": "tag:kubernetes.io/role/elb", "Values": ["1", ""]}
    subnets = actor.call("ec2", "DescribeSubnets", Filters=[*filters, public])["Subnets"]
    by_zone = {row["AvailabilityZone"]: row for row in reversed(subnets)}
    vpcs = {row["VpcId"] for row in subnets}
    assert len(vpcs) == 1, f"the public subnets of cluster {cluster} are in {len(vpcs)} VPCs"
    groups = actor.call("ec2", "DescribeSecurityGroups", Filters=filters)["SecurityGroups"]
    nodes = [row["GroupId"] for row in groups if not row["GroupName"].startswith("k8s-")]
    idents = [by_zone[zone]["SubnetId"] for zone in sorted(by_zone)]
    return Ground(cluster, vpcs.pop(), idents, nodes[0] if len(nodes) == 1 else "")


def left(simulator: str, made: Mapping[str, str]) -> list[str]:
    """Return the names of what is still there in a simulator that runs."""
    rows = requests.get(f"{simulator}/_sim/resources?cloud=aws", timeout=60).json()["resources"]
    return left_of(rows, made)
