"""What ``clusterawsadm bootstrap iam`` puts into an account before Cluster API is used: roles with their profiles.

Source: https://cluster-api-aws.sigs.k8s.io/topics/iam-permissions
"""

import json
from collections.abc import Callable
from typing import Any

Calls = Callable[[str, dict[str, Any]], object]
"""Sends one operation of IAM with its parameters."""

SUFFIX = "cluster-api-provider-aws.sigs.k8s.io"
PROFILES = tuple(f"{name}.{SUFFIX}" for name in ("control-plane", "controllers", "nodes"))
EKS_ROLE = f"eks-controlplane.{SUFFIX}"
SECRETS = "arn:*:secretsmanager:*:*:secret:aws.cluster.x-k8s.io/*"


def bootstrap(send: Calls) -> None:
    """Create the roles and instance profiles. Machines may read and delete the secrets with their bootstrap data."""
    for name in PROFILES:
        send("CreateRole", {"RoleName": name, "AssumeRolePolicyDocument": _trust("ec2.amazonaws.com")})
        statement = {
            "Effect": "Allow",
            "Action": ["secretsmanager:DeleteSecret", "secretsmanager:GetSecretValue"],
            "Resource": [SECRETS],
        }
        policy = {"RoleName": name, "PolicyName": name, "PolicyDocument": _document(statement)}
        send("PutRolePolicy", policy)
        send("CreateInstanceProfile", {"InstanceProfileName": name})
        send("AddRoleToInstanceProfile", {"InstanceProfileName": name, "RoleName": name})
    send("CreateRole", {"RoleName": EKS_ROLE, "AssumeRolePolicyDocument": _trust("eks.amazonaws.com")})


def _trust(service: str) -> str:
    return _document({"Effect": "Allow", "Action": ["sts:AssumeRole"], "Principal": {"Service": [service]}})


def _document(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
