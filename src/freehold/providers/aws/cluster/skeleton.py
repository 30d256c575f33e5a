"""Rebuild the immutable spec fields of a lost AWSCluster, so that its manifest can be applied again.

What the API server does not let change (``types/early.py``) must be as the manifest has it: a load balancer, where a
spec that says nothing of it means another one, and the range of the VPC. Without the manifest the object would also
make one more load balancer beside one of another type.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.engine.tag_text import tag_map
from freehold.providers.aws.cluster.keys import CLASSIC_KIND, NETWORK_KIND, VPC
from freehold.providers.aws.cluster.load_balancers import PRIMARY
from freehold.providers.aws.cluster.names import DefaultNames
from freehold.providers.aws.cluster.wish import BalancerType, Scheme
from freehold.providers.aws.tags.capa_tags import cluster_of
from freehold.providers.aws.types.early import DEFAULT_VPC_RANGE

_TYPES = {CLASSIC_KIND: BalancerType.CLASSIC, NETWORK_KIND: BalancerType.NETWORK}


def skeleton(owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
    """Fields of the spec. Where the network is, whose it is and what else there is, only the manifest can say."""
    spec: dict[str, Any] = {}
    for key, seen in found:
        if key.logical == PRIMARY and key.kind in _TYPES and (fields := _balancer(owner, _TYPES[key.kind], seen)):
            spec["controlPlaneLoadBalancer"] = fields
        if key == VPC and seen.attributes["cidr"] != DEFAULT_VPC_RANGE:
            spec["network"] = {"vpc": {"cidrBlock": seen.attributes["cidr"]}}
    return spec


def _balancer(owner: Owner, type_: BalancerType, seen: Observed) -> dict[str, Any]:
    """Empty for one that a spec means which says nothing of it."""
    names = DefaultNames(owner.namespace, cluster_of(tag_map(seen.tags or ())) or owner.name)
    usual = names.network_balancer if type_ is BalancerType.NETWORK else names.classic_balancer
    named = {} if seen.attributes["name"] == usual else {"name": seen.attributes["name"]}
    scheme = Scheme(seen.attributes["scheme"])
    if not named and (type_, scheme) == (BalancerType.CLASSIC, Scheme.INTERNET_FACING):
        return {}
    return {"scheme": scheme.value, "loadBalancerType": type_.value, **named}
