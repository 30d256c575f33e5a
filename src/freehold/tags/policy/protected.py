"""Keys that no metadata object may touch, keys that are ignored by choice, and resources that are exempt.

Protected are the keys of the cloud itself, and every key that lets somebody's collector delete a resource: whoever may
write tags could otherwise make Freehold, CAPA or an in-cluster controller take a stranger's load balancer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.resources import TaggedResource

_RESERVED: Final = ("aws:", "eks:")
"""Reserved by AWS, in any case (https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html)."""

_DOMAINS: Final = (
    "freehold.dev",  # our marks on AWS (ADR 5)
    "x-k8s.io",  # our marks on IBM Cloud (ADR 5), Cluster API
    "k8s.io",  # sigs.k8s.io/cluster-api-provider-aws/…, k8s.io/cluster-autoscaler/…
    "kubernetes.io",  # kubernetes.io/cluster/…, kubernetes.io/service-name
    "k8s.aws",  # elbv2.k8s.aws/cluster, ingress.k8s.aws/…, service.k8s.aws/…, karpenter.k8s.aws/…
    "k8s.amazonaws.com",  # node.k8s.amazonaws.com/…: interfaces of the VPC CNI
    "csi.aws.com",  # ebs.csi.aws.com/cluster, efs.csi.aws.com/cluster
    "karpenter.sh",
)
_KEYS: Final = ("kubernetescluster", "csivolumename", "csivolumesnapshotname")
"""Names from before keys had domains: the cloud provider's KubernetesCluster, the EBS CSI driver's CSIVolumeName."""

_OF_DOMAIN: Final = re.compile(rf"(?:^|\.)(?:{'|'.join(map(re.escape, _DOMAINS))})(?:[/.:]|$)")
"""A domain or one below it. A dot may follow instead of a slash: IBM Cloud's tags have no slash (ADR 5)."""

EXEMPT_VALUE: Final = "ignore"
"""The value of the tag by which somebody exempts a resource from every metadata object."""


class KeyAccess(StrEnum):
    """Whether a metadata object may touch a key."""

    ALLOWED = "Allowed"
    PROTECTED = "Protected"
    IGNORED = "Ignored"


@dataclass(frozen=True)
class IgnoreList:
    """Keys that no operation touches, by configuration."""

    keys: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ("openshift.io/",)


def is_reserved(key: str) -> bool:
    """Say whether it is a key of the cloud itself: it is refused and does not count against the limit."""
    return key.lower().startswith(_RESERVED[0])


@lru_cache(maxsize=4096)
def access(cloud: TagDialect, key: str, ignored: IgnoreList) -> KeyAccess:
    """Protection is compared without case and outer spaces, as the schema does: no other spelling slips through."""
    lowered = _fold_case(key.strip())
    if lowered.startswith(_RESERVED) or lowered in _KEYS or _OF_DOMAIN.search(lowered):
        return KeyAccess.PROTECTED
    spelled = cloud.canonical(key)
    listed = spelled in set(map(cloud.canonical, ignored.keys))
    prefixed = spelled.startswith(tuple(map(cloud.canonical, ignored.prefixes)))
    return KeyAccess.IGNORED if listed or prefixed else KeyAccess.ALLOWED


def _fold_case(text: str) -> str:
    """Fold each character to one character, as ``(?i)`` of the schema's regular expressions does.

    Source: https://pkg.go.dev/unicode#SimpleFold. ``casefold`` alone also makes two letters of some, as of a ligature.
    """
    return "".join(folded if len(folded := each.casefold()) == 1 else each for each in text)


def is_exempt(resource: TaggedResource) -> bool:
    """Say whether somebody exempts the resource from every metadata object."""
    return EXEMPT_VALUE in resource.tags.get(resource.cloud.exempt_key, frozenset())
