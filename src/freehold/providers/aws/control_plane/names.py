"""What an AWSManagedControlPlane is called in EKS and IAM where the spec names nothing: as upstream calls it.

Source: https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/pkg/eks/eks.go
"""

from __future__ import annotations

import hashlib
from typing import Final

from freehold.providers.aws.cluster.names import BASE_36

EKS_NAME_LIMIT: Final = 100
"""Characters of an EKS cluster's name (https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html).

A name of as many is shortened, as upstream does.
"""
EKS_NAME_PATTERN: Final = "[0-9A-Za-z][A-Za-z0-9_-]*"
_PREFIX = "capa_"
_SHORT = 32
_ROLE_SUFFIX = "-iam-service-role"
_ROLE_NAME_LIMIT = 64
"""Characters of a role's name (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html)."""

DEFAULT_ROLE: Final = "eks-controlplane.cluster-api-provider-aws.sigs.k8s.io"
"""The role that ``clusterawsadm bootstrap iam`` makes in an account."""
DEFAULT_NODE_ROLE: Final = "nodes.cluster-api-provider-aws.sigs.k8s.io"
"""The role and instance profile of nodes that it makes."""


def build_eks_name(name: str, namespace: str) -> str:
    """Build the name of the EKS cluster of an object without ``eksClusterName``."""
    whole = f"{namespace}_{name.replace('.', '_')}"
    return whole if len(whole) < EKS_NAME_LIMIT else _PREFIX + _hash(whole, _SHORT - len(_PREFIX))


def build_role_name(cluster: str) -> str:
    """Build the name of the role that is made for a cluster; upstream's, shortened where IAM refuses it."""
    name = f"{cluster}{_ROLE_SUFFIX}"
    if len(name) <= _ROLE_NAME_LIMIT:
        return name
    return f"{_PREFIX}{_hash(cluster, _SHORT - len(_PREFIX))}{_ROLE_SUFFIX}"


def _hash(text: str, length: int) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=length).digest()
    return "".join(BASE_36[byte % 36] for byte in digest)
