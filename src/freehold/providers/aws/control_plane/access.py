"""Who may enter a cluster: its access mode, and the access entries that are wanted. Pure.

A spec that names no mode gets ``API_AND_CONFIG_MAP``: nodes then join by an access entry of their role, for which no
client of the workload cluster is needed. With ``config_map`` written out, what nodes need is for people to put into
aws-auth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from freehold.providers.aws.control_plane.facts import RoleAnswer
from freehold.providers.aws.control_plane.types.access import AccessEntry, AccessPolicyReference
from freehold.providers.aws.control_plane.types.spec import AWSManagedControlPlaneSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer

CONFIG_MAP: Final = "CONFIG_MAP"
BOTH: Final = "API_AND_CONFIG_MAP"
API: Final = "API"
"""EKS's words for the modes."""
NODES: Final = "EC2_LINUX"
"""EKS's word for the entry of a role of nodes."""
_NODE_NAME = "system:node:{{EC2PrivateDNSName}}"
_NODE_GROUPS = ("system:bootstrappers", "system:nodes")
"""https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html"""


PlannedPolicy = tuple[str, tuple[str, ...]]
"""An access policy by its ARN, and the namespaces in which it holds, none for the whole cluster."""


@dataclass(frozen=True)
class PlannedEntry:
    """An access entry. ``field`` is where the spec asks for it."""

    principal: str
    type: str
    groups: tuple[str, ...] = ()
    username: str = ""
    policies: tuple[PlannedPolicy, ...] = ()
    field: str = ""


@dataclass(frozen=True)
class AccessPlan:
    """The mode that the spec names, empty for none; the entries; and the roles of nodes.

    ``unknown`` is the answer that is missing to tell the roles of all nodes.
    """

    said: str
    entries: tuple[PlannedEntry, ...]
    node_roles: tuple[str, ...] = ()
    unknown: NoAnswer | None = None

    @property
    def uses_entries(self) -> bool:
        return self.said != CONFIG_MAP

    def mode(self, there: str = "") -> str:
        """Return the mode that is wanted. ``there`` is that of the living cluster, which EKS never lowers."""
        return self.said or (API if there == API else BOTH)


def plan_access(spec: AWSManagedControlPlaneSpec, answers: Mapping[str, RoleAnswer]) -> AccessPlan:
    """Plan the access. ``answers`` are the roles of nodes, by instance profile."""
    said = (spec.access_config and spec.access_config.authentication_mode) or ""
    roles = tuple(sorted({each.value for each in answers.values() if isinstance(each, Answer)}))
    unknown = next((each for _, each in sorted(answers.items()) if isinstance(each, NoAnswer)), None)
    if said.upper() == CONFIG_MAP:
        return AccessPlan(CONFIG_MAP, (), roles, unknown)
    listed = tuple(_plan_entry(index, each) for index, each in enumerate(spec.access_entries))
    named = {each.principal for each in listed}
    nodes = (PlannedEntry(role, NODES) for role in roles if role not in named)
    return AccessPlan(said.upper(), (*listed, *nodes), roles, unknown)


def _plan_entry(index: int, entry: AccessEntry) -> PlannedEntry:
    return PlannedEntry(
        entry.principal_arn,
        entry.type.upper(),
        tuple(sorted(entry.kubernetes_groups)),
        entry.username or "",
        tuple(sorted({_read_policy(each) for each in entry.access_policies})),
        f"spec.accessEntries[{index}]",
    )


def _read_policy(reference: AccessPolicyReference) -> PlannedPolicy:
    scope = reference.access_scope
    return reference.policy_arn, tuple(sorted(scope.namespaces or ())) if scope.type == "namespace" else ()


def profiles_of(machines: Iterable[Mapping[str, object]]) -> frozenset[str]:
    """Return the instance profiles that AWSMachines name."""
    specs = (each.get("spec") for each in machines)
    named = (spec.get("iamInstanceProfile") for spec in specs if isinstance(spec, Mapping))
    return frozenset(str(each) for each in named if each)


def explain_aws_auth(roles: Collection[str], eks_name: str, region: str) -> str:
    """Say what aws-auth must have for nodes to join, with the commands that write it; empty without nodes."""
    return "; ".join(_map_role(each, eks_name, region) for each in sorted(roles))


def _map_role(role: str, eks_name: str, region: str) -> str:
    groups = " ".join(f"--group {each}" for each in _NODE_GROUPS)
    return (
        f"nodes of role {role} join once it is in the ConfigMap aws-auth (namespace kube-system) under mapRoles, with "
        f"username {_NODE_NAME} and the groups {' and '.join(_NODE_GROUPS)}: eksctl create iamidentitymapping "
        f"--cluster {eks_name} --region {region} --arn {role} --username '{_NODE_NAME}' {groups}"
    )


def repeated_principals(entries: Iterable[AccessEntry]) -> Iterator[tuple[int, str]]:
    """Yield the entries whose role or user an earlier one has."""
    seen: set[str] = set()
    for index, each in enumerate(entries):
        if each.principal_arn in seen:
            yield index, each.principal_arn
        seen.add(each.principal_arn)
