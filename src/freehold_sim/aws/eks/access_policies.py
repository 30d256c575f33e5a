"""Access policies of EKS: permissions inside a cluster, by name.

https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
"""

from typing import Any

from freehold_sim.aws.call import Call
from freehold_sim.aws.eks.common import bad, listed, missing

CLUSTER_ADMIN = "AmazonEKSClusterAdminPolicy"
POLICIES = (
    "AmazonEKSAdminPolicy", "AmazonEKSAdminViewPolicy", "AmazonEKSAutoNodePolicy",
    "AmazonEKSBlockStorageClusterPolicy", "AmazonEKSBlockStoragePolicy", CLUSTER_ADMIN,
    "AmazonEKSComputeClusterPolicy", "AmazonEKSComputePolicy", "AmazonEKSEditPolicy", "AmazonEKSHybridPolicy",
    "AmazonEKSLoadBalancingClusterPolicy", "AmazonEKSLoadBalancingPolicy", "AmazonEKSNetworkingClusterPolicy",
    "AmazonEKSNetworkingPolicy", "AmazonEKSViewPolicy", "AmazonEMRJobPolicy",
)  # fmt: skip
"""Those of https://docs.aws.amazon.com/cli/latest/reference/eks/list-access-policies.html, without SageMaker's."""


def arn_of(partition: str, name: str) -> str:
    return f"arn:{partition}:eks::aws:cluster-access-policy/{name}"


def check(call: Call, arn: str) -> None:
    """Refuse a policy that there is not (the codes are assumed)."""
    if ":cluster-access-policy/" not in arn:
        raise bad("The policyArn parameter format is not valid")
    if arn not in {arn_of(call.partition, name) for name in POLICIES}:
        raise missing(f"The specified policyArn {arn} could not be found")


def list_policies(call: Call) -> dict[str, Any]:
    return listed(call, "accessPolicies", [{"name": name, "arn": arn_of(call.partition, name)} for name in POLICIES])
