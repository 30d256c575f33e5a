"""The kinds that an AWSCluster uses, and the logical names of its resources (``providers.aws.kind_facts``)."""

from __future__ import annotations

from typing import Final

from freehold.engine.resources import NodeKey
from freehold.providers.aws.cluster.cluster_plan import BalancerType

SUBNET_KIND: Final = "subnet"
ELASTIC_IP_KIND: Final = "elastic-ip"
NAT_GATEWAY_KIND: Final = "nat-gateway"
ROUTE_TABLE_KIND: Final = "route-table"
GROUP_KIND: Final = "security-group"
CLASSIC_KIND: Final = "classic-load-balancer"
NETWORK_KIND: Final = "network-load-balancer"
TARGET_GROUP_KIND: Final = "target-group"
LISTENER_KIND: Final = "listener"

VPC: Final = NodeKey("vpc", "main")
INTERNET_GATEWAY: Final = NodeKey("internet-gateway", "main")
EGRESS_GATEWAY: Final = NodeKey("egress-only-gateway", "main")
S3_ENDPOINT: Final = NodeKey("vpc-endpoint", "s3")
BASTION: Final = NodeKey("instance", "bastion")
BUCKET: Final = NodeKey("s3-bucket", "main")


def key_of(balancer: BalancerType, key: str) -> NodeKey:
    """Return the key of a load balancer of this type."""
    return NodeKey(CLASSIC_KIND if balancer is BalancerType.CLASSIC else NETWORK_KIND, key)


def subnet(logical: str) -> NodeKey:
    """Return the key of a subnet, given or not."""
    return NodeKey(SUBNET_KIND, logical)


def route_table(subnet_: str) -> NodeKey:
    """Return the key of the route table of a subnet."""
    return NodeKey(ROUTE_TABLE_KIND, subnet_)


def group(role: str) -> NodeKey:
    """Return the key of the security group of a role."""
    return NodeKey(GROUP_KIND, role)
