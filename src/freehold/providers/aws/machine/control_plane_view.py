"""The resources that an AWSManagedControlPlane has for its machines, read from the stored object. Pure.

Its ids count as those of an AWSCluster do (:mod:`cluster_view`). The security group that EKS made for its cluster is on
no record of ours: EKS is asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from freehold.providers.aws.cluster.cluster_plan import Role
from freehold.providers.aws.control_plane.keys import CLUSTER
from freehold.providers.aws.control_plane.recorded import eks_name_of
from freehold.providers.aws.machine.cluster_view import (
    ClusterView,
    StoredIds,
    UnreadableView,
    build_view,
    read_stored,
    title_of,
)
from freehold.providers.aws.machine.facts import EksCluster
from freehold.providers.objects.vouching import Vouch


def read_control_plane(raw: Mapping[str, Any], vouch: Vouch) -> ClusterView | UnreadableView:
    """Read an AWSManagedControlPlane: none of its machines is behind a load balancer."""
    found = read_stored(raw, vouch)
    if isinstance(found, UnreadableView):
        return found
    eks = _find_eks(raw, found)
    if eks is None:
        return UnreadableView(f"{title_of(raw)} has no EKS cluster on its record yet")
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    view = build_view(raw, found)
    groups = {role: ident for role, ident in view.groups.items() if role == Role.EKS_NODE}
    return replace(view, groups=groups, version=str(status.get("version") or spec.get("version") or ""), eks=eks)


def _find_eks(raw: Mapping[str, Any], found: StoredIds) -> EksCluster | None:
    """Find the EKS cluster: on record, or of one that others manage the one of the name in its spec."""
    entry = found.counting.get(CLUSTER)
    if entry is not None:
        return EksCluster(entry.id.rpartition("/")[2], entry.incarnation)
    return EksCluster(eks_name_of(raw, {})) if found.managed else None
