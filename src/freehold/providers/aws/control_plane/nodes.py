"""The nodes of an EKS cluster, its addons and its access entries."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from freehold.engine.graph import Naming, Node, ReadyNodes
from freehold.engine.resources import Request
from freehold.providers.aws.cluster import keys as network_keys
from freehold.providers.aws.cluster.cluster_plan import Role
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.control_plane import keys
from freehold.providers.aws.control_plane.access import PlannedEntry
from freehold.providers.aws.control_plane.eks_plan import EKSPlan, PlannedAddon
from freehold.providers.aws.control_plane.oidc import oidc_node
from freehold.providers.aws.control_plane.role import role_arn
from freehold.providers.aws.kinds.eks_access_entry import policy_part
from freehold.providers.aws.tags.capa_tags import COMMON, CapaTags

_GROUP = network_keys.group(Role.EKS_NODE.value)
_CLUSTER_FIELDS: Final = {
    "version": "spec.version",
    "access_mode": "spec.accessConfig.authenticationMode",
    "encryption_key": "spec.encryptionConfig.provider",
}


def eks_nodes(plan: EKSPlan, tags: NodeTags) -> Iterator[Node]:
    """Yield the nodes in the order of the status. Role, subnets and group are others'."""
    own = tags.own(CapaTags(COMMON))
    yield _cluster(plan, own)
    if plan.oidc:
        yield oidc_node(plan.name, own)
    for addon in plan.addons:
        yield _addon(plan.name, addon, own)
    for entry in plan.access.entries:
        yield _entry(plan.name, entry, own)


def _cluster(plan: EKSPlan, tags: frozenset[str]) -> Node:
    subnets = frozenset(map(network_keys.subnet, plan.subnets))
    return Node(
        keys.CLUSTER,
        plan.name,
        partial(_request, plan),
        requires=frozenset({keys.ROLE, _GROUP}) | subnets,
        attribute_fields=_CLUSTER_FIELDS,
        tags=tags,
        name_taken_advice="set spec.eksClusterName to another name; a cluster that is there is never taken over",
    )


def _request(plan: EKSPlan, known: ReadyNodes) -> Request:
    """Make the request. What the spec leaves to EKS is as it is once there is a cluster."""
    there = known.get(keys.CLUSTER)
    is_ = there.attributes if there else {}
    request: dict[str, Any] = {
        "name": plan.name,
        "version": plan.version or is_.get("version", ""),
        "role_arn": role_arn(known),
        "subnets": sorted(known[network_keys.subnet(each)].id for each in plan.subnets),
        "security_groups": [known[_GROUP].id],
        "endpoint_public": plan.endpoint_public,
        "endpoint_private": plan.endpoint_private,
        "public_cidrs": list(plan.public_cidrs),
        "logging": list(plan.logging),
        "access_mode": plan.access.mode(str(is_.get("access_mode", ""))),
        "creator_admin": plan.creator_admin,
        "self_managed_addons": plan.self_managed_addons,
        "encryption_key": _key(plan.encryption_key, str(is_.get("encryption_key", ""))),
        "upgrade_policy": plan.upgrade_policy,
        "service_cidr": is_.get("service_cidr", plan.service_cidr),
    }
    return request


def _key(said: str, there: str) -> str:
    """Return the key. An alias leads to a key for life, and EKS shows its ARN."""
    return there if there and said.rpartition(":")[2].startswith("alias/") else said


def _addon(eks_name: str, addon: PlannedAddon, tags: frozenset[str]) -> Node:
    request: Request = {
        "cluster": eks_name,
        "name": addon.name,
        "version": addon.version,
        "configuration": addon.configuration,
        "role_arn": addon.role_arn,
        "resolve_conflicts": addon.conflicts,
        "preserve": addon.preserve,
    }
    return Node(
        keys.addon(addon.name),
        addon.name,
        lambda known: request,
        requires=frozenset({keys.CLUSTER}),
        field=addon.field,
        spec_noun="addon",
        tags=tags,
        name_taken_advice=f"somebody else installed it: remove it from spec.addons, or delete that one with "
        f"aws eks delete-addon --cluster-name {eks_name} --addon-name {addon.name} --preserve",
    )


def _entry(eks_name: str, entry: PlannedEntry, tags: frozenset[str]) -> Node:
    request: Request = {
        "cluster": eks_name,
        "principal_arn": entry.principal,
        "type": entry.type,
        "groups": list(entry.groups),
        "username": entry.username,
    }
    parts = frozenset(policy_part(*each) for each in entry.policies)
    return Node(
        keys.access_entry(entry.principal),
        entry.principal.split(":", 5)[-1],
        lambda known: request,
        naming=Naming.DEFAULT if entry.field else Naming.EXPLICIT,  # EKS makes one for the roles of its node groups
        requires=frozenset({keys.CLUSTER}),
        parts=lambda known: parts,
        field=entry.field,
        part_field=lambda part: f"{entry.field}.accessPolicies" if entry.field else "",
        spec_noun="access entry",
        tags=tags,
        name_taken_advice="somebody else made it: remove it from spec.accessEntries, or delete that one with "
        f"aws eks delete-access-entry --cluster-name {eks_name} --principal-arn {entry.principal}",
    )
