"""The rules of ``AWSManagedControlPlane`` (:mod:`freehold.api.rules`): what upstream's webhook and EKS refuse.

https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/main/controlplane/eks/webhooks
"""

from __future__ import annotations

from typing import Final

from freehold.api.base import ApiRule
from freehold.providers.aws.types.rules import REGION_RULE, TAG_RULES

VERSION_PATTERN: Final = r"^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.?(\.0|[1-9][0-9]*)?$"
"""Upstream's."""

CONTROL_PLANE_RULES: Final[tuple[ApiRule, ...]] = (REGION_RULE, *TAG_RULES)
OBJECT_RULES: Final[tuple[ApiRule, ...]] = ()
