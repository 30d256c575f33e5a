"""The way from an AWSCluster to wanted resources: a pure decision over the object, the facts and the journal.

The cluster plan becomes nodes (:mod:`nodes`); equal cluster plans give equal nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from freehold.api.served import ServedName
from freehold.engine.graph import Graph, Node
from freehold.providers.aws.cluster import name_conflicts, node_sources, plan_checks
from freehold.providers.aws.cluster.cluster_plan import ClusterPlan
from freehold.providers.aws.cluster.facts import AWSClusterFacts
from freehold.providers.aws.cluster.group_checks import named_groups
from freehold.providers.aws.cluster.kind import AWS_CLUSTER
from freehold.providers.aws.cluster.load_balancers import PRIMARY
from freehold.providers.aws.cluster.names import AWSClusterNames
from freehold.providers.aws.cluster.nodes.balancers import balancer_key, balancer_nodes
from freehold.providers.aws.cluster.nodes.groups import group_nodes
from freehold.providers.aws.cluster.nodes.machines import bastion_nodes, bucket_nodes
from freehold.providers.aws.cluster.nodes.network import network_nodes
from freehold.providers.aws.cluster.nodes.routing import routing_nodes
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.cluster.normalize import normalize_spec
from freehold.providers.aws.cluster.spec_checks import check
from freehold.providers.aws.cluster.types.spec import AWSClusterSpec
from freehold.providers.aws.cluster.warnings import warnings_of
from freehold.providers.objects.adapter import Desired, GraphMode, RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import NOT_ASKED, Answer, NoAnswer
from freehold.providers.objects.cluster_status import WantedCluster
from freehold.providers.objects.spec_problems import SpecProblem, SpecWarning


@dataclass(frozen=True)
class AWSWanted(WantedCluster):
    """A graph, with the cluster plan that its nodes are made of, None only by default."""

    cluster_plan: ClusterPlan | None = None


@dataclass(frozen=True)
class Decided:
    """A cluster plan, and what a person should know about it.

    ``unmet`` holds up no create, but keeps the cluster from being ready.
    """

    cluster_plan: ClusterPlan
    notes: tuple[SpecWarning, ...] = ()
    unmet: tuple[SpecProblem, ...] = ()


def decide(
    names: AWSClusterNames,
    raw: Mapping[str, Any],
    spec: AWSClusterSpec,
    facts: AWSClusterFacts,
    *,
    storage: bool = False,
    served: ServedName = AWS_CLUSTER,
) -> Decided | RefusedSpec | UndecidedSpec:
    """Make the cluster plan of the object ``raw``, or say why there is none. ``spec`` is its spec.

    ``storage``: whether ``s3Bucket`` is acted on (feature gate BootstrapFormatIgnition). ``served`` is its kind.
    """
    notes = warnings_of(names, raw, spec, facts, storage=storage, served=served)
    if problems := check(names, raw, spec, facts, storage=storage, served=served):
        return RefusedSpec(problems, notes)
    asked: dict[str, object] = {
        "spec.region": facts.zones,
        "spec.network.vpc.id": facts.network,
        "spec.controlPlaneLoadBalancer.ingressRules": facts.nat_addresses,
        "spec.network.vpc.ipv6": facts.own_vpc_has_ipv6,
        "spec.bastion.ami": facts.image,
        **{each.field: facts.groups for each in named_groups(spec)},
    }
    if missing := {field: answer for field, answer in asked.items() if isinstance(answer, NoAnswer)}:
        problems = (
            _check_listed_network(names, spec, facts, storage=storage) if missing.keys() == {"spec.region"} else ()
        )
        return RefusedSpec(problems, notes) if problems else UndecidedSpec(missing, notes)
    cluster_plan = normalize_spec(names, spec, facts, storage=storage)
    if problems := tuple(plan_checks.check(spec, cluster_plan, facts)):
        return RefusedSpec(problems, notes)
    return Decided(cluster_plan, notes, tuple(node_sources.unknown(raw["metadata"], spec, cluster_plan, facts)))


def _check_listed_network(
    names: AWSClusterNames, spec: AWSClusterSpec, facts: AWSClusterFacts, *, storage: bool
) -> tuple[SpecProblem, ...]:
    """Check the plan of a network whose subnets the spec lists: no other zone than theirs is in it."""
    zones = tuple(sorted({each.availability_zone or "" for each in spec.network.subnets})) if spec.network else ()
    if not all(zones):
        return ()
    known = replace(facts, zones=Answer(zones))
    return tuple(plan_checks.check(spec, normalize_spec(names, spec, known, storage=storage), known)) if zones else ()


def build_desired(
    names: AWSClusterNames,
    raw: Mapping[str, Any],
    spec: AWSClusterSpec,
    facts: AWSClusterFacts,
    *,
    account: str = "",
    storage: bool = False,
) -> Desired:
    """Decide what shall be there for the object ``raw``, whose spec is ``spec``.

    ``account`` is the id of the AWS account. ``storage``: whether ``s3Bucket`` is acted on.
    """
    found = decide(names, raw, spec, facts, storage=storage)
    if not isinstance(found, Decided):
        return found
    cluster_plan = found.cluster_plan
    if cluster_plan.vpc.given and facts.network is None:
        return UndecidedSpec({"spec.network.vpc.id": NOT_ASKED}, found.notes)
    graph = Graph(nodes(cluster_plan, names, account, facts.image.value if isinstance(facts.image, Answer) else ""))
    endpoint = next((balancer_key(each) for each in cluster_plan.load_balancers if each.key == PRIMARY), None)
    found_graph = AWSWanted(
        GraphMode.CREATE,
        graph,
        cluster_plan.tags,
        found.notes,
        facts.api_port,
        endpoint,
        cluster_plan,
        unmet=found.unmet,
        known_before=facts.known_before,
        holds_name=facts.recorded.anything and _lives_on_what_is_given(raw, graph),
    )
    if found_graph.holds_name:
        return found_graph
    owner = f"{names.namespace}/{raw['metadata']['name']}"
    given = raw.get("spec") or {}
    taken = name_conflicts.refuse_taken_name(names, owner, cluster_plan, given, facts, found.notes)
    if isinstance(taken, NoAnswer):
        return UndecidedSpec({"metadata.name": taken}, found.notes)
    return found_graph if taken is None else taken


def _lives_on_what_is_given(raw: Mapping[str, Any], graph: Graph) -> bool:
    """Return whether every node is given, or the cluster was ready once: what has its name is then its workloads'."""
    ready = (raw.get("status") or {}).get("ready") is True
    return ready or all(node.given is not None for node in graph.nodes.values())


def nodes(cluster_plan: ClusterPlan, names: AWSClusterNames, account: str, image: str) -> Iterator[Node]:
    """Yield the nodes of a cluster plan in the order of the status. ``image`` is for a bastion without its own."""
    tags = NodeTags.from_plan(names, cluster_plan)
    yield from network_nodes(cluster_plan, tags)
    yield from routing_nodes(cluster_plan, tags)
    yield from group_nodes(cluster_plan, tags)
    yield from bastion_nodes(cluster_plan, image, tags)
    yield from balancer_nodes(cluster_plan, names, tags)
    yield from bucket_nodes(cluster_plan, account, tags)
