"""What is wrong with an AWSCluster each field of which is right: what the parts of its wish need of each other."""

from __future__ import annotations

from collections.abc import Iterator

from freehold.api.aws_cluster import AWSClusterSpec
from freehold.reconcilers.aws_cluster.facts import Facts
from freehold.reconcilers.aws_cluster.rule_input import ingress_rules
from freehold.reconcilers.aws_cluster.wish import ClusterWish
from freehold.reconcilers.findings import Problem

Checks = Iterator[Problem]


def check(spec: AWSClusterSpec, wish: ClusterWish, facts: Facts) -> Checks:
    """``wish`` is that of a ``spec`` in which :func:`input.check` found nothing."""
    yield from _nat_gateways(spec, wish)


def _nat_gateways(spec: AWSClusterSpec, wish: ClusterWish) -> Checks:
    """Upstream waits for their addresses for ever. The rules of a group that the spec gives nobody applies."""
    if wish.nat_gateways:
        return
    given = {group.role for group in wish.groups if group.given}
    if wish.created_vpc:
        none, mend = "without private subnets the cluster has", "remove it, or give ranges in cidrBlocks"
    else:
        none, mend = "in a given VPC the cluster has", "give the addresses of those of the VPC in cidrBlocks"
    for field, role, rule in ingress_rules(spec):
        if rule.nat_gateways_ips_source and role not in given:
            yield Problem(
                f"{field}.natGatewaysIPsSource", f"{none} no NAT gateways, so this rule lets nobody in; {mend}"
            )
