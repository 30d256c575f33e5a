"""The permissions that we need, generated from the operations in use (docs/reference/aws.md#permissions).

Three policies, so that three roles can have them, and the deletes that AWS can bind to one owner's tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from freehold.providers.aws.kind_facts import (
    COLLECTED_DELETES,
    COLLECTION_READS,
    COLLECTION_WRITES,
    KINDS,
    OTHER_OPERATIONS,
    TAG_OPERATIONS,
)

NAMES_END = "-iam-service-role"
"""The end of the names of EKS clusters' roles (control_plane.names)."""

_PREFIXES: Mapping[str, str] = {
    "elb": "elasticloadbalancing",
    "elbv2": "elasticloadbalancing",
    "resourcegroupstaggingapi": "tag",
}
_S3: Mapping[str, str] = {
    "ListBuckets": "ListAllMyBuckets",
    "ListObjectsV2": "ListBucket",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
    "DeleteBucketLifecycle": "PutLifecycleConfiguration",
}
"""Permissions of S3 that are not named after their operation."""


def iam_action(service: str, operation: str) -> str:
    """Return the permission: ``ec2:CreateVpc`` for the operation ``CreateVpc`` of botocore's service ``ec2``."""
    if service == "s3":
        operation = _S3.get(operation, operation)
    return f"{_PREFIXES.get(service, service)}:{operation}"


IMPLIED = frozenset({"s3:TagResource", "s3:UntagResource", "s3:PutBucketTagging"})
"""Permissions that our operations need besides those of their names: a bucket is created with tags, and TagResources
needs the permission of the resource's own service (docs/reference/aws.md#permissions)."""
_LINKED = ["eks.amazonaws.com", "elasticloadbalancing.amazonaws.com", "spot.amazonaws.com"]
_SERVICE_ROLES: Mapping[str, Any] = {
    "Effect": "Allow",
    "Action": ["iam:CreateServiceLinkedRole"],
    "Resource": "*",
    "Condition": {"StringEquals": {"iam:AWSServiceName": _LINKED}},
}
"""The first load balancer of an account makes its service's role (kubernetes-sigs/cluster-api-provider-aws#422), the
first spot instance another one
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html), and so does the
first EKS cluster (https://docs.aws.amazon.com/eks/latest/userguide/using-service-linked-roles-eks.html)."""
_UPSTREAM_ROLES = "arn:*:iam::*:role/*.cluster-api-provider-aws.sigs.k8s.io"
_EKS_ROLES = f"arn:*:iam::*:role/*{NAMES_END}"
_EKS_ISSUERS = "arn:*:iam::*:oidc-provider/oidc.eks.*"
_PASSED_ROLES: Mapping[str, Any] = {
    "Effect": "Allow",
    "Action": ["iam:PassRole"],
    "Resource": [_UPSTREAM_ROLES, _EKS_ROLES],
    "Condition": {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "eks.amazonaws.com"]}},
}
"""An instance profile hands its role to a machine, and a cluster gets one: those of clusterawsadm, as upstream's
policy, and those of EKS clusters that are ours, no others. Whoever may pass any role may do what any role may.

https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html"""
_ATTACH = "iam:AttachRolePolicy"
_CLUSTER_POLICIES: Mapping[str, Any] = {
    "Effect": "Allow",
    "Action": [_ATTACH],
    "Resource": _EKS_ROLES,
    "Condition": {"ArnLike": {"iam:PolicyARN": "arn:*:iam::aws:policy/AmazonEKSClusterPolicy"}},
}
"""Whoever may attach any policy to a role whose trust he may change has all rights
(docs/reference/aws.md#roles-of-eks-clusters)."""
_KEYS: Mapping[str, Any] = {
    "Effect": "Allow",
    "Action": ["kms:CreateGrant"],
    "Resource": "*",
    "Condition": {"ForAnyValue:StringLike": {"kms:ResourceAliases": "alias/cluster-api-provider-aws-*"}},
}
"""EKS encrypts Secrets with a key by a grant that it makes as its caller; of keys with an alias as upstream asks for
(kubernetes-sigs/cluster-api-provider-aws#2447)."""

NOT_BOUND = frozenset({"s3"})
"""Services whose deletes have no tag condition: a bucket has one only where its owner enabled it."""
_BOUND = tuple(kind for kind in KINDS if kind.service not in NOT_BOUND)
BOUND_ACTIONS = tuple(sorted({iam_action(kind.service, kind.delete) for kind in _BOUND}))
"""Deletes whose conditions know the tags of the resource, each looked up (docs/reference/aws.md#permissions)."""
Deletes = frozenset[tuple[str, str]]
"""Services and operations as botocore's clients name them: ``ec2``, ``delete_vpc``."""


def _as_methods(operations: Iterable[tuple[str, str]]) -> Deletes:
    return frozenset((service, re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()) for service, name in operations)


BOUND_DELETES = _as_methods((kind.service, kind.delete) for kind in _BOUND)
COLLECTED_ACTIONS = tuple(
    sorted({iam_action(service, name) for service, names in COLLECTED_DELETES.items() for name in names})
)
"""Deletes of what others made, bound to the marks of one cluster (docs/reference/aws.md#permissions)."""
COLLECTED_METHODS = _as_methods((service, name) for service, names in COLLECTED_DELETES.items() for name in names)


OWN_NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("secretsmanager:CreateSecret", "secretsmanager:DeleteSecret"),
        "arn:*:secretsmanager:*:*:secret:aws.cluster.x-k8s.io/*",
    ),
    **dict.fromkeys(
        (
            "iam:CreateRole",
            "iam:DeleteRole",
            "iam:DeleteRolePermissionsBoundary",
            "iam:DetachRolePolicy",
            "iam:PutRolePermissionsBoundary",
            "iam:UpdateAssumeRolePolicy",
        ),
        _EKS_ROLES,
    ),
    **dict.fromkeys(
        (
            "iam:CreateOpenIDConnectProvider",
            "iam:DeleteOpenIDConnectProvider",
            "iam:TagOpenIDConnectProvider",
            "iam:UntagOpenIDConnectProvider",
        ),
        _EKS_ISSUERS,
    ),
}
"""Permissions for resources of our own names only (docs/reference/aws.md#bootstrap-data, #roles-of-eks-clusters)."""


def reader_policy() -> dict[str, Any]:
    """Return the policy for all reads."""
    kinds = (iam_action(kind.service, name) for kind in KINDS for name in kind.read_operations)
    others = (
        iam_action(service, name)
        for table in (*OTHER_OPERATIONS, COLLECTION_READS)
        for service, names in table.items()
        for name in names
        if not _changes_tags(name)
    )
    parts = (iam_action(*each) for kind in KINDS for each in kind.part_reads)
    return _policy(*_allow({*kinds, *parts, *others}))


def creator_policy() -> dict[str, Any]:
    """Return the policy for creates, changes, parts and tags; for no delete of a resource."""
    kinds = (iam_action(kind.service, name) for kind in KINDS for name in kind.sent_writes if name != kind.delete)
    parts = (iam_action(*each) for kind in KINDS for each in kind.part_writes)
    tags = (iam_action(service, name) for service, names in TAG_OPERATIONS.items() for name in names)
    changes = (action for action in tags if _changes_tags(action.partition(":")[2]))
    collected = (iam_action(service, name) for service, names in COLLECTION_WRITES.items() for name in names)
    allowed = _allow({*kinds, *parts, *changes, *IMPLIED, *collected} - {_ATTACH})
    beside = (_SERVICE_ROLES, _PASSED_ROLES, _CLUSTER_POLICIES, _KEYS)
    return _policy(*allowed, *map(dict, beside))


def deleter_policy() -> dict[str, Any]:
    """Return the policy for deletes: of resources, of any owner, and of leftovers that are collected."""
    return _policy(*_allow({*(iam_action(kind.service, kind.delete) for kind in KINDS), *COLLECTED_ACTIONS}))


def _changes_tags(operation: str) -> bool:
    return "tag" in operation.casefold() and not operation.startswith(("Describe", "Get", "List"))


def _allow(actions: Iterable[str]) -> list[dict[str, Any]]:
    by_resource: dict[str, list[str]] = {}
    for action in sorted(actions):
        by_resource.setdefault(OWN_NAMES.get(action, "*"), []).append(action)
    return [{"Effect": "Allow", "Action": some, "Resource": where} for where, some in by_resource.items()]


def _policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}
