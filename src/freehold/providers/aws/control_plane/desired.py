"""The way from an AWSManagedControlPlane to wanted resources: a pure decision over the object, the facts, the journal.

The network is an AWSCluster's (:mod:`network`), the role is :mod:`role`'s; equal plans give equal nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from freehold.api.feature_gates import FeatureGates
from freehold.engine.graph import Graph, Node
from freehold.engine.journal import Journal
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan
from freehold.providers.aws.cluster.desired import Decided
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.control_plane import network, spec_checks
from freehold.providers.aws.control_plane.access import AccessPlan, plan_access
from freehold.providers.aws.control_plane.eks_plan import EKSPlan, plan_eks
from freehold.providers.aws.control_plane.facts import ControlPlaneFacts
from freehold.providers.aws.control_plane.keys import ACCESS_ENTRY_KIND, CLUSTER, ROLE, access_entry
from freehold.providers.aws.control_plane.kind import AWS_MANAGED_CONTROL_PLANE
from freehold.providers.aws.control_plane.nodes import eks_nodes
from freehold.providers.aws.control_plane.role import DecidedRole, RoleWish, decide_role
from freehold.providers.aws.control_plane.types.spec import AWSManagedControlPlaneSpec
from freehold.providers.aws.tags.capa_tags import COMMON, CapaTags
from freehold.providers.objects.adapter import Desired, GraphMode, RefusedSpec, UndecidedSpec
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.cloud_answers import Answer, NoAnswer
from freehold.providers.objects.cluster_status import WantedCluster

PORT = 443
"""The port of the API server, which EKS does not let one choose."""


@dataclass(frozen=True)
class WantedControlPlane(WantedCluster):
    """A graph, with the plans that its nodes are made of; None only by default."""

    network: ClusterPlan | None = None
    eks: EKSPlan | None = None
    around: Around = field(default=NOTHING_AROUND, kw_only=True, compare=False)


@dataclass(frozen=True)
class Circumstances:
    """The inputs of a plan: names, record and gates of a control plane, the answers of AWS, and the objects around."""

    names: AWSClusterNames
    journal: Journal
    gates: FeatureGates
    network: AWSClusterFacts
    facts: ControlPlaneFacts = field(default_factory=ControlPlaneFacts)
    objects: Around = NOTHING_AROUND

    @property
    def service_cidr(self) -> str:
        """The range of Services that the Cluster asks for, empty where it asks for none."""
        network = ((self.objects.cluster or {}).get("spec") or {}).get("clusterNetwork") or {}
        return str(next(iter((network.get("services") or {}).get("cidrBlocks") or ()), ""))

    @property
    def cluster_made(self) -> bool:
        """True if the EKS cluster is on record as ours."""
        return CLUSTER in self.journal.claimed


def build_desired(raw: Mapping[str, Any], spec: AWSManagedControlPlaneSpec, around: Circumstances) -> Desired:
    """Decide what shall be there for the object ``raw``, whose spec is ``spec``."""
    found = network.plan_network(
        around.names, raw, network.network_spec(spec), around.network, AWS_MANAGED_CONTROL_PLANE
    )
    own = spec_checks.check(raw, spec, around.names.eks, around.facts, around.journal)
    if not isinstance(found, Decided):
        others = found.problems if isinstance(found, RefusedSpec) else ()
        return RefusedSpec(tuple(dict.fromkeys((*own, *others))), found.notes) if own else found
    role = _decide_role(spec, found.cluster_plan, around)
    notes = (*found.notes, *role.notes, *spec_checks.warn(spec))
    plan_problems = spec_checks.check_plan(spec, found.cluster_plan)
    if problems := (*own, *role.problems, *plan_problems):
        return RefusedSpec(problems, notes)
    access = plan_access(spec, around.facts.node_roles)
    if missing := _find_missing(spec, access, around):
        return UndecidedSpec(missing, notes)
    eks = plan_eks(around.names.eks, spec, found.cluster_plan, access, _find_key(spec, around), around.service_cidr)
    graph = Graph(nodes(found, eks, role, around))
    return WantedControlPlane(
        GraphMode.CREATE,
        graph,
        found.cluster_plan.tags,
        notes,
        PORT,
        CLUSTER,
        found.cluster_plan,
        eks,
        unmet=found.unmet,
        known_before=around.network.known_before,
        around=around.objects,
    )


def nodes(found: Decided, eks: EKSPlan, role: DecidedRole, around: Circumstances) -> Iterator[Node]:
    """Yield the nodes in the order of the status."""
    yield from network.nodes(found.cluster_plan, around.names, around.network)
    yield role.node
    yield from eks_nodes(eks, NodeTags.from_plan(around.names, found.cluster_plan))


def _decide_role(spec: AWSManagedControlPlaneSpec, plan: ClusterPlan, around: Circumstances) -> DecidedRole:
    wish = RoleWish(
        spec.role_name or "",
        spec.role_additional_policies,
        spec.role_path or "",
        spec.role_permissions_boundary or "",
    )
    return decide_role(
        around.names.cluster,
        wish,
        around.gates,
        partition=plan.partition,
        recorded=around.journal.get(ROLE),
        cluster_made=around.cluster_made,
        tags=NodeTags.from_plan(around.names, plan).own(CapaTags(COMMON)),
    )


def _find_key(spec: AWSManagedControlPlaneSpec, around: Circumstances) -> str:
    """Return the key's ARN, or what the spec says where nobody was asked; empty where it names none."""
    said = (spec.encryption_config and spec.encryption_config.provider) or ""
    return around.facts.key.value.arn if said and isinstance(around.facts.key, Answer) else said


def _find_missing(
    spec: AWSManagedControlPlaneSpec, access: AccessPlan, around: Circumstances
) -> Mapping[str, NoAnswer]:
    """Find the answers without which nothing may be decided, by field.

    A role of nodes that is not known now would have its entry taken away: nodes could not join any more.
    """
    missing: dict[str, NoAnswer] = {}
    if spec.encryption_config and isinstance(around.facts.key, NoAnswer):
        missing["spec.encryptionConfig.provider"] = around.facts.key
    wanted = {access_entry(each.principal) for each in access.entries}
    held = {key for key in around.journal.claimed if key.kind == ACCESS_ENTRY_KIND}
    if access.unknown and held - wanted:
        missing["spec.accessEntries"] = access.unknown
    return missing
