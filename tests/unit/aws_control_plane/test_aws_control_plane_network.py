"""The network of a control plane is planned as that of an AWSCluster, with other groups and two names in its tags."""

from __future__ import annotations

from typing import Any

from freehold.api.parse import parse_spec
from freehold.providers.aws.cluster.cluster_plan import Role
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.facts import AWSClusterFacts, Namesake
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.control_plane.network import EKSNetworkSpec, network_spec, nodes, plan_network
from freehold.providers.objects.adapter import RefusedSpec
from freehold.providers.objects.cloud_answers import Answer

NAMES = AWSClusterNames("default", "prod", "default_prod-control-plane")
FACTS = AWSClusterFacts(Answer(("eu-central-1a", "eu-central-1b", "eu-central-1c")), namesakes=Answer(()))


def plan(spec: dict[str, Any], facts: AWSClusterFacts = FACTS, secondary: str | None = None) -> Any:
    raw = {"metadata": {"name": "prod-control-plane", "namespace": "default"}, "spec": spec}
    parsed = parse_spec(EKSNetworkSpec, raw)
    object.__setattr__(parsed, "secondary_cidr_block", secondary)
    return plan_network(NAMES, raw, network_spec(parsed), facts, AWS_CLUSTER)  # type: ignore[arg-type]  # has the field set above


def decided(spec: dict[str, Any], facts: AWSClusterFacts = FACTS, secondary: str | None = None) -> Decided:
    found = plan({"region": "eu-central-1", **spec}, facts, secondary)
    assert isinstance(found, Decided), found
    return found


def test_control_plane_has_one_group_of_ours_and_no_load_balancer() -> None:
    found = decided({}).cluster_plan
    assert [group.role for group in found.groups] == [Role.EKS_NODE]
    assert found.groups[0].name == "prod-node-eks-additional"
    assert found.groups[0].rules == ()
    assert found.load_balancers == ()
    assert len(found.subnets) == 6


def test_bastion_may_reach_nodes() -> None:
    found = decided({"bastion": {"enabled": True, "ami": "ami-1"}}).cluster_plan
    rules = {group.role: [(rule.from_port, rule.source.value) for rule in group.rules] for group in found.groups}
    assert rules[Role.EKS_NODE] == [(22, "bastion")]


def test_rules_of_both_fields_are_for_the_nodes() -> None:
    rule = {"description": "x", "protocol": "tcp", "fromPort": 80, "toPort": 80, "cidrBlocks": ["10.9.0.0/16"]}
    more = {**rule, "fromPort": 90, "toPort": 90, "cidrBlocks": []}
    network = {"additionalControlPlaneIngressRules": [rule], "additionalNodeIngressRules": [more]}
    (group,) = decided({"network": network}).cluster_plan.groups
    found = [(each.from_port, each.source.value) for each in group.rules]
    assert found == [(80, "10.9.0.0/16"), (90, "node-eks-additional")]


def test_group_that_only_machines_of_a_control_plane_have_is_refused() -> None:
    rule = {"description": "x", "protocol": "tcp", "fromPort": 80, "toPort": 80}
    network = {"additionalNodeIngressRules": [{**rule, "sourceSecurityGroupRoles": ["controlplane"]}]}
    found = plan({"region": "eu-central-1", "network": network})
    assert isinstance(found, RefusedSpec)
    (problem,) = found.problems
    assert problem.field == "spec.network.additionalNodeIngressRules[0].sourceSecurityGroupRoles[0]"
    assert "choose among node-eks-additional" in problem.message


def test_secondary_range_is_one_of_the_vpc() -> None:
    assert decided({}, secondary="100.64.0.0/16").cluster_plan.vpc.secondary == ("100.64.0.0/16",)


def test_subnets_have_the_name_of_the_eks_cluster_for_its_controllers() -> None:
    by_key = {str(node.key): node for node in nodes(decided({}).cluster_plan, NAMES, FACTS)}
    tags = next(node.tags for key, node in by_key.items() if key.startswith("subnet/"))
    assert "kubernetes.io/cluster/default_prod-control-plane=owned" in tags
    assert "sigs.k8s.io/cluster-api-provider-aws/cluster/prod=owned" in tags
    assert not any("kubernetes.io/cluster/prod=" in tag for tag in tags)


def test_name_of_another_cluster_is_refused() -> None:
    other = Namesake("arn:aws:ec2:eu-central-1:1:vpc/vpc-1")
    found = plan({"region": "eu-central-1"}, AWSClusterFacts(FACTS.zones, namesakes=Answer((other,))))
    assert isinstance(found, RefusedSpec)
    assert found.reason == "NameTaken"


def test_name_that_only_a_cloud_controller_has_used_is_that_of_the_eks_cluster() -> None:
    """The advice names a tag that is there."""
    other = Namesake("arn:aws:ec2:eu-central-1:1:security-group/sg-1", by_cloud_provider=True)
    found = plan({"region": "eu-central-1"}, AWSClusterFacts(FACTS.zones, namesakes=Answer((other,))))
    assert isinstance(found, RefusedSpec)
    (problem,) = found.problems
    assert problem.message.startswith("'default_prod-control-plane' is the name of another cluster in eu-central-1")
    assert "change the tag kubernetes.io/cluster/default_prod-control-plane from owned to shared" in problem.message
