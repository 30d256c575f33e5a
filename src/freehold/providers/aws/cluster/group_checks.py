"""Checks of the security groups of others that an AWSCluster names, by what the cloud says of them.

It is asked before anything is created. Later on each says so where it is used, and holds up nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.normalize import wanted_roles
from freehold.providers.aws.cluster.rules import ingress_rules
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.objects.cloud_answers import Answer
from freehold.providers.objects.spec_problems import SpecProblem

Checks = Iterator[SpecProblem]


@dataclass(frozen=True)
class NamedGroup:
    """``field`` names the group ``id``. ``joined``: interfaces of the cluster's VPC are to be in it.

    They can be in groups of their VPC only; a rule may name a group of a VPC that is connected with it
    (https://docs.aws.amazon.com/vpc/latest/peering/vpc-peering-security-groups.html).
    """

    field: str
    id: str
    joined: bool


def named_groups(spec: AWSClusterSpec) -> Iterator[NamedGroup]:
    """Yield the groups in the order of the docs. Overrides are for a given VPC, and for groups that the cluster has."""
    network = spec.network
    if network and network.vpc and network.vpc.id:
        roles = {role.value for role in wanted_roles(spec)}
        for role, ident in network.security_group_overrides.items():
            if role in roles:
                yield NamedGroup(f"spec.network.securityGroupOverrides[{role}]", ident, joined=True)
    for field, _, rule in ingress_rules(spec):
        for index, ident in enumerate(rule.source_security_group_ids):
            yield NamedGroup(f"{field}.sourceSecurityGroupIds[{index}]", ident, joined=False)
    balancers = (
        ("spec.controlPlaneLoadBalancer", spec.control_plane_load_balancer),
        ("spec.secondaryControlPlaneLoadBalancer", spec.secondary_control_plane_load_balancer),
    )
    for field, balancer in balancers:
        for index, ident in enumerate(balancer.additional_security_groups if balancer else ()):
            yield NamedGroup(f"{field}.additionalSecurityGroups[{index}]", ident, joined=True)


def check(spec: AWSClusterSpec, facts: AWSClusterFacts) -> Checks:
    """Check groups before anything is made. Later the VPC may not be on record, and the cloud is not asked."""
    if not isinstance(facts.groups, Answer) or not facts.nothing_made:
        return
    vpc = (spec.network.vpc.id if spec.network and spec.network.vpc else "") or ""
    for each in named_groups(spec):
        there = facts.groups.value.get(each.id)
        if there is None:
            yield SpecProblem(each.field, f"there is no security group {each.id} in {spec.region}; correct the id")
        elif each.joined and there != vpc:
            yield SpecProblem(each.field, in_another_vpc(each.id, there, vpc))


def in_another_vpc(group: str, there: str, vpc: str) -> str:
    """Say that a group is in VPC ``there``. ``vpc`` is the cluster's, empty where it is created."""
    if not vpc:
        return f"{group} is in VPC {there}, and the cluster's is created; remove it, or set spec.network.vpc.id"
    return f"{group} is in VPC {there}, and the cluster's is {vpc}; give a group of that one"
