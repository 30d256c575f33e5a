"""Whether an AWSCluster has the address families that it was made with.

Subnets could be given blocks of IPv6 later. A target group has one family for life, and the load balancer that leads to
it is the endpoint of the cluster (https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-target-groups.html).
"""

from __future__ import annotations

from collections.abc import Iterator

from freehold.providers.aws.cluster.facts import Facts
from freehold.providers.aws.types.cluster import AWSClusterSpec
from freehold.providers.aws.types.network import VPCSpec
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.spec_problems import Problem

_FIELD = "spec.network.vpc.ipv6"


def check(spec: AWSClusterSpec, facts: Facts) -> Iterator[Problem]:
    """Of a VPC of the cluster's own. Which families a given one is used for, the API server keeps alone."""
    vpc = (spec.network and spec.network.vpc) or VPCSpec()
    own = facts.recorded.vpc
    if not own or (vpc.id and vpc.id != own):
        return
    if facts.recorded.ipv6 and vpc.ipv6 is None:
        yield Problem(_FIELD, f"{own} was made with IPv6, which cannot be taken away from a cluster; write ipv6: {{}}")
    elif vpc.ipv6 is not None and facts.own_vpc_has_ipv6 == Answer(False):
        yield Problem(
            _FIELD,
            f"{own} was made without IPv6, which cannot be added to a cluster; remove it, or make another cluster",
        )
