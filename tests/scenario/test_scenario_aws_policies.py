"""The policies of deploy/iam are enough for the life of a cluster, and allow nothing that nobody needs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session

from freehold.api import names
from freehold.collection.policy import Volumes
from freehold.collection.things import CollectionTask
from freehold.engine.errors import Denied
from freehold.engine.port import Call, InlinePort
from freehold.providers.aws.identities import AssumedRole
from freehold.providers.aws.kind_facts import NOT_SENT, operations_of
from freehold.providers.aws.permissions.policies import iam_action
from freehold.providers.aws.session import AwsSession
from freehold_sim.aws.cloud import SimulatedAWS
from freehold_sim.mount import mount_client
from harness.aws_account import KEYS, REGION
from harness.aws_clients import SharedClients
from harness.aws_cluster import STORAGE, AwsHarness, aws_cluster
from harness.cloud_controllers import everything
from harness.collected import ground_of, left, user_of
from harness.simulated_aws import ACCOUNT, TRUST

POLICIES = Path(__file__).parents[2] / "deploy/iam"
COLLECTED = "with everything that its workloads made"
LIVES: dict[str, dict[str, Any]] = {
    COLLECTED: {},
    "classic": {},
    "network load balancer, bastion and bucket": {
        "controlPlaneLoadBalancer": {"loadBalancerType": "nlb", "additionalListeners": [{"port": 22623}]},
        "bastion": {"enabled": True},
        "sshKeyName": "",
        "s3Bucket": {"name": "boot", "controlPlaneIAMInstanceProfile": "cp", "nodesIAMInstanceProfiles": ["nodes"]},
    },
    "IPv6 with an egress-only gateway": {
        "network": {"vpc": {"ipv6": {}, "secondaryCidrBlocks": [{"ipv4CidrBlock": "10.1.0.0/16"}]}}
    },
}
NOT_IN_A_LIFE: dict[str, str] = {
    "the spec is changed, or somebody else changes the resource": """
        ec2:AssociateSubnetCidrBlock ec2:DeleteRoute ec2:DisassociateSubnetCidrBlock ec2:DisassociateVpcCidrBlock
        ec2:ModifyNetworkInterfaceAttribute ec2:ModifyVpcEndpoint ec2:ReplaceRoute
        elasticloadbalancing:ApplySecurityGroupsToLoadBalancer elasticloadbalancing:AttachLoadBalancerToSubnets
        elasticloadbalancing:CreateLoadBalancerListeners elasticloadbalancing:DeleteLoadBalancerListeners
        elasticloadbalancing:DetachLoadBalancerFromSubnets elasticloadbalancing:ModifyListener
        elasticloadbalancing:ModifyTargetGroup elasticloadbalancing:SetSecurityGroups
        elasticloadbalancing:SetSubnets""",
    "AWS asks for it beside the permission of a call's own name: creates with tags, TagResources, UntagResources": """
        ec2:CreateTags elasticloadbalancing:AddTags s3:PutBucketTagging s3:TagResource s3:UntagResource""",
    "AWS asks for it where the account has no load balancer yet": "iam:CreateServiceLinkedRole",
    "tags that the spec, or CloudMetadata, asks for no more": """
        ec2:DeleteTags elasticloadbalancing:RemoveTags tag:UntagResources""",
    "CloudMetadata tags roles, and where the tagging API is denied secrets and EKS clusters": """
        eks:ListTagsForResource eks:TagResource eks:UntagResource iam:ListRoleTags iam:TagRole iam:UntagRole
        secretsmanager:DescribeSecret secretsmanager:TagResource secretsmanager:UntagResource""",
    "machines have secrets, tests/unit/aws/test_aws_bootstrap_secret.py": """
        secretsmanager:CreateSecret secretsmanager:DeleteSecret secretsmanager:ListSecrets""",
    "clusters of EKS live with exactly these policies in tests/unit/aws/test_aws_eks_engine.py": """
        eks:AssociateAccessPolicy eks:AssociateEncryptionConfig eks:CreateAccessEntry eks:CreateAddon eks:CreateCluster
        eks:DeleteAccessEntry eks:DeleteAddon eks:DeleteCluster eks:DescribeAccessEntry eks:DescribeAddon
        eks:DescribeAddonVersions eks:DescribeCluster eks:DescribeClusterVersions eks:DescribeUpdate
        eks:DisassociateAccessPolicy eks:ListAccessEntries eks:ListAddons eks:ListAssociatedAccessPolicies
        eks:ListClusters eks:ListFargateProfiles eks:ListNodegroups eks:UpdateAccessEntry eks:UpdateAddon
        eks:UpdateClusterConfig eks:UpdateClusterVersion iam:GetInstanceProfile kms:CreateGrant kms:DescribeKey""",
    "the tagging API is denied, or a bucket may not be read": "s3:ListAllMyBuckets",
    "read in one of six looks": "ec2:DescribeVpcAttribute",
    "prune asks who uses it; a machine of the control plane asks for itself": """
        elasticloadbalancing:DescribeTargetHealth""",
    "machines, which are another kind of object (tests/unit/aws/test_aws_machine_passes.py)": """
        ec2:DescribeImages ec2:DescribeInstanceTypes elasticloadbalancing:DeregisterInstancesFromLoadBalancer
        elasticloadbalancing:DeregisterTargets elasticloadbalancing:DescribeInstanceHealth
        elasticloadbalancing:RegisterInstancesWithLoadBalancer elasticloadbalancing:RegisterTargets iam:PassRole""",
    "control planes of EKS, which are another kind of object (tests/unit/aws/test_aws_iam.py)": """
        iam:AttachRolePolicy iam:CreateOpenIDConnectProvider iam:CreateRole iam:DeleteOpenIDConnectProvider
        iam:DeleteRole iam:DeleteRolePermissionsBoundary iam:DetachRolePolicy iam:GetOpenIDConnectProvider iam:GetRole
        iam:ListAttachedRolePolicies iam:ListInstanceProfilesForRole iam:ListOpenIDConnectProviderTags
        iam:ListOpenIDConnectProviders iam:ListRolePolicies iam:ListRoles iam:PutRolePermissionsBoundary
        iam:TagOpenIDConnectProvider iam:UntagOpenIDConnectProvider iam:UpdateAssumeRolePolicy""",
    "a group that the cluster's controllers made has a rule for what goes out that names another one": """
        ec2:RevokeSecurityGroupEgress""",
}
"""Actions of the policies that no life below sends, by what needs them."""


class Watched(InlinePort):
    """Keeps what was denied, also where that is made good otherwise."""

    def __init__(self) -> None:
        self.denied: list[str] = []

    async def send(self, call: Call) -> Any:
        try:
            return await super().send(call)
        except Denied as refused:
            self.denied.append(f"{call.api}.{call.operation}: {refused.message}")
            raise


class Restricted(AwsHarness):
    """The operator acts as a role that has the three policies of deploy/iam and nothing else."""

    def __init__(self, **spec: Any) -> None:
        self.watched = Watched()
        super().__init__(aws_cluster(**spec), gates=STORAGE, port=lambda: self.watched)

    def new_cloud(self) -> SimulatedAWS:
        cloud = SimulatedAWS(self.clock, wall=self.clock)
        session = get_session()
        session.set_credentials(KEYS.access_key, "secret")
        iam = session.create_client("iam", region_name=REGION)
        mount_client(iam, cloud)
        iam.create_role(RoleName="freehold", AssumeRolePolicyDocument=TRUST)
        for path in sorted(POLICIES.glob("*.json")):
            made = iam.create_policy(PolicyName=path.stem, PolicyDocument=path.read_text(encoding="utf-8"))
            iam.attach_role_policy(RoleName="freehold", PolicyArn=made["Policy"]["Arn"])
        cloud.calls.clear()
        return cloud

    def new_session(self) -> AwsSession:
        role = AssumedRole(f"arn:aws:iam::{ACCOUNT}:role/freehold", KEYS)
        return SharedClients(self.cloud, REGION, role, wall=lambda: self.wall.now())


@cache
def life(name: str) -> Restricted:
    """From nothing to Ready, at rest until everything has been read again, and gone."""
    harness = Restricted(**LIVES[name])
    harness.up()
    for seconds in (600, 7200):
        harness.clock.advance(seconds)
        harness.settle(1)
    assert harness.ready()
    if name == COLLECTED:
        everything(user_of(harness), ground_of(harness))
        annotations = {
            names.EXTERNAL_RESOURCE_TASKS_ANNOTATION: ",".join(CollectionTask),
            names.GC_VOLUMES_ANNOTATION: str(Volumes.SNAPSHOT),
        }  # fmt: skip
        harness.object.patch({"metadata": {"annotations": annotations}})
    harness.down()
    return harness


def sent(harness: Restricted) -> set[tuple[str, str]]:
    """Service and operation of each call."""
    parts = (call.operation.partition(".") for call in harness.calls())
    return {(service, operation) for service, _, operation in parts}


@pytest.mark.parametrize("name", LIVES)
def test_nothing_is_denied_and_every_operation_is_in_the_table(name: str) -> None:
    harness = life(name)
    assert harness.watched.denied == []
    assert {each for each in sent(harness) if each[1] not in operations_of(each[0])} == set()
    assert {operation for _, operation in sent(harness)}.isdisjoint(NOT_SENT)


def test_every_action_of_the_policies_is_sent_or_something_else_needs_it() -> None:
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in POLICIES.glob("*.json")]
    granted = {action for each in documents for statement in each["Statement"] for action in statement["Action"]}
    used = {iam_action(*each) for name in LIVES for each in sent(life(name))}
    assert granted - used == set(" ".join(NOT_IN_A_LIFE.values()).split())


def test_a_role_collects_with_the_marks_of_the_cluster_alone() -> None:
    """Where a role is used AWS refuses deletes of what lacks our uuid: collected ones have a condition of their own."""
    assert {row["kind"] for row in left(life(COLLECTED))} == {"snapshot", "role", "policy"}
