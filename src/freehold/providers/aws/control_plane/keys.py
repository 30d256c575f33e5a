"""The logical names of what an AWSManagedControlPlane has beside its network (``cluster/keys.py``)."""

from __future__ import annotations

from typing import Final

from freehold.engine.resources import NodeKey

CLUSTER_KIND: Final = "eks-cluster"
ROLE_KIND: Final = "iam-role"
OIDC_KIND: Final = "oidc-provider"
ADDON_KIND: Final = "eks-addon"
ACCESS_ENTRY_KIND: Final = "eks-access-entry"

CLUSTER: Final = NodeKey(CLUSTER_KIND, "main")
ROLE: Final = NodeKey(ROLE_KIND, "control-plane")
OIDC: Final = NodeKey(OIDC_KIND, "main")


def addon(name: str) -> NodeKey:
    """Return the key of an addon."""
    return NodeKey(ADDON_KIND, name)


def access_entry(principal_arn: str) -> NodeKey:
    """Return the key of the access entry of a role or user: account, sort and name in its ARN."""
    return NodeKey(ACCESS_ENTRY_KIND, principal_arn.partition(":iam::")[2] or principal_arn)
