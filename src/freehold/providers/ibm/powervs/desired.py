"""From a PowerVS manifest to wanted resources: a pure decision over the spec, the facts and the journal.

With the create-infra annotation everything is wanted (docs/reference/requirements.md I5);
see :mod:`existing` for the way without it. The result is a named outcome: nothing runs on a manifest
with a problem, or on a fact that could not be asked, so that nothing is created and then forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.engine.graph import Graph, Naming, Node, ReadyNodes, no_parts
from freehold.engine.journal import Entry, Journal
from freehold.engine.reasons import Reason
from freehold.engine.resources import NodeKey, Observed, Part, Request
from freehold.providers.ibm.api_names import CREATE_INFRA_ANNOTATION
from freehold.providers.ibm.powervs import (
    endpoint_reachability,
    existing,
    given_location,
    keys,
    object_storage,
    spec_checks,
)
from freehold.providers.ibm.powervs import warnings as powervs_warnings
from freehold.providers.ibm.powervs.balancers import Balancer, balancer_nodes, balancers
from freehold.providers.ibm.powervs.facts import PowerVSFacts, PowerZone, needs_global_routing
from freehold.providers.ibm.powervs.groups import api_server_rule, group_keys, group_nodes
from freehold.providers.ibm.powervs.names import PowerVSNames, connection_name
from freehold.providers.ibm.powervs.network import network_node, workspace_node
from freehold.providers.ibm.powervs.subnets import subnet_names, subnet_nodes
from freehold.providers.ibm.powervs.types.spec import IBMPowerVSClusterSpec
from freehold.providers.objects.adapter import Desired, GraphMode, RefusedSpec, UndecidedSpec
from freehold.providers.objects.cloud_answers import Answer, NoAnswer
from freehold.providers.objects.cluster_status import WantedCluster
from freehold.providers.objects.logical_names import StableName
from freehold.providers.objects.spec_problems import SpecProblem, SpecWarning


@dataclass(frozen=True)
class PowerVSWanted(WantedCluster):
    """``endpoint`` is the first public load balancer, None without the annotation.

    ``resource_group`` is the id of the resource group, empty while unknown.
    """

    resource_group: str = ""


def build_desired(
    name: str,
    annotations: Mapping[str, str],
    spec: IBMPowerVSClusterSpec,
    facts: PowerVSFacts,
    journal: Journal | None = None,
    gates: FeatureGates = DEFAULT_GATES,
) -> Desired:
    """Decide what shall be there for the object called ``name``.

    ``journal`` is what the object remembers, None before its identity is minted: earlier logical names hold the
    zones that were picked for subnets (:mod:`stable_names`). ``gates`` are the features that are on.
    """
    creating = spec_checks.creation(annotations)
    if isinstance(creating, SpecProblem):
        return RefusedSpec((creating,))
    if not creating and not (journal and journal.claimed):
        return _existing(spec, facts, journal, powervs_warnings.warnings_of(name, spec, creating=False))
    notes = powervs_warnings.warnings_of(name, spec, creating=True)
    storage = object_storage.is_served(journal, gates)
    if not storage or object_storage.GATE not in gates:
        notes = (*notes, *object_storage.gate_is_off(spec, served=storage))
    if creating:
        return _build_created(name, spec, facts, journal, notes, storage=storage)
    assert journal is not None
    return _frozen(name, spec, facts, journal, notes, storage=storage)


def _existing(
    spec: IBMPowerVSClusterSpec, facts: PowerVSFacts, journal: Journal | None, notes: tuple[SpecWarning, ...]
) -> Desired:
    problems = (*existing.check(spec, facts), *given_location.check(spec, facts.places, journal))
    ambiguous = existing.ambiguous(spec, facts)
    if problems:
        return RefusedSpec((*problems, *ambiguous), notes)
    if ambiguous:
        return RefusedSpec(ambiguous, notes, reason=Reason.AMBIGUOUS.value)
    missing = {**existing.missing(spec, facts), **given_location.missing(facts.places)}
    if missing:
        return UndecidedSpec(missing, notes)
    return PowerVSWanted(GraphMode.EXISTING, Graph(existing.nodes(spec, facts)), _tags(spec), notes, facts.api_port)


def _frozen(
    name: str,
    spec: IBMPowerVSClusterSpec,
    facts: PowerVSFacts,
    journal: Journal,
    notes: tuple[SpecWarning, ...],
    *,
    storage: bool,
) -> Desired:
    """Keep the nodes that exist already, with their requirements."""
    plan = _build_created(name, spec, facts, journal, notes, storage=storage)
    if not isinstance(plan, PowerVSWanted):
        return plan
    nodes = plan.graph.nodes
    keep: set[NodeKey] = set()
    todo = [key for key, node in nodes.items() if key in journal.entries or (node.given and not node.requires)]
    while todo:
        key = todo.pop()
        if key not in keep:
            keep.add(key)
            todo += nodes[key].requires
    note = SpecWarning(
        f"metadata.annotations[{CREATE_INFRA_ANNOTATION}]",
        "it is not 'true' any more: nothing more is created; what was created stays until the object is deleted",
        served=True,
    )
    graph = Graph(node for key, node in nodes.items() if key in keep)
    return replace(plan, mode=GraphMode.FROZEN, graph=graph, notes=(note, *notes))


def _build_created(
    name: str,
    spec: IBMPowerVSClusterSpec,
    facts: PowerVSFacts,
    journal: Journal | None,
    notes: tuple[SpecWarning, ...],
    *,
    storage: bool,
) -> Desired:
    """Want everything. ``storage``: whether object storage is served (:mod:`object_storage`)."""
    problems = (*spec_checks.check(spec, facts), *given_location.check(spec, facts.places, journal))
    if problems:
        return RefusedSpec(problems, notes)
    if unknown := given_location.missing(facts.places):
        return UndecidedSpec(unknown, notes)
    group, zone, zones = facts.resource_group, facts.zone, facts.vpc_zones
    if not (isinstance(group, Answer) and isinstance(zone, Answer) and isinstance(zones, Answer)):
        asked = {"spec.resourceGroup.name": group, "spec.zone": zone, "spec.vpc.region": zones}
        return UndecidedSpec({field: a for field, a in asked.items() if isinstance(a, NoAnswer)}, notes)
    record = journal.entries if journal else {}
    notes = (*notes, *powervs_warnings.own_by_id(spec, record))
    build = _Build(name, spec, group.value, zone.value, zones.value, facts.api_port, record, storage)
    lbs = build.balancers()
    index, endpoint = next((i, balancer) for i, balancer in enumerate(lbs) if balancer.public)
    field = f"spec.loadBalancers[{index}]"
    nodes = tuple(endpoint_reachability.reachable(build.nodes(lbs), endpoint, field, facts.api_port))
    notes = (*notes, *endpoint_reachability.closed_groups(endpoint, spec.vpc_security_groups, facts.api_port, field))
    if twice := tuple(_named_twice(nodes)):
        return RefusedSpec(twice, notes)
    notes = (*notes, *powervs_warnings.used_by_name(nodes, spec, record))
    graph = Graph(nodes)
    return PowerVSWanted(GraphMode.CREATE, graph, _tags(spec), notes, facts.api_port, endpoint.key, group.value)


def _named_twice(nodes: Sequence[Node]) -> Iterator[SpecProblem]:
    """Find a resource that one entry gives by its id, and another one wants by the name that goes with it."""
    seen: dict[NodeKey, Node] = {}
    for node in nodes:
        other = seen.setdefault(node.key, node)
        if other is not node:
            field = node.field or other.field
            yield SpecProblem(
                field, f"another entry wants {node.key.kind} {other.name} by its name; remove one of the two"
            )


def _tags(spec: IBMPowerVSClusterSpec) -> tuple[tuple[str, str], ...]:
    return tuple((tag.key, tag.value or "") for tag in spec.tags if tag.key)


@dataclass(frozen=True)
class _Build:
    """The nodes of one manifest that has been checked; all facts are in."""

    name: str
    spec: IBMPowerVSClusterSpec
    group: str
    zone: PowerZone
    zones: tuple[str, ...]
    port: int
    record: Mapping[NodeKey, Entry]
    storage: bool

    @property
    def names(self) -> PowerVSNames:
        return PowerVSNames(self.name)

    @property
    def region(self) -> str:
        return (self.spec.vpc and self.spec.vpc.region) or ""

    @cached_property
    def _subnets(self) -> tuple[StableName, ...]:
        return subnet_names(self.spec.vpc_subnets, self.zones, self.names, self.record)

    def _subnet_keys(self) -> tuple[Sequence[NodeKey], Mapping[str, NodeKey]]:
        """Return all keys, and those of subnets that the spec names, by name."""
        found = [NodeKey(keys.SUBNET_KIND, one.logical) for one in self._subnets]
        return found, {s.name: key for s, key in zip(self.spec.vpc_subnets, found, strict=False) if s.name}

    def _group_keys(self) -> Mapping[str, NodeKey]:
        return group_keys(self.spec.vpc_security_groups, self.record)

    def balancers(self) -> tuple[Balancer, ...]:
        subnets, named = self._subnet_keys()
        specs = self.spec.load_balancers
        return balancers(specs, self.names, self.port, self.record, named, subnets, self._group_keys())

    def nodes(self, lbs: tuple[Balancer, ...]) -> Iterator[Node]:
        yield workspace_node(self.spec, self.names, self.group)
        yield network_node(self.spec, self.names, self.record)
        yield self._vpc()
        yield from subnet_nodes(self.spec.vpc_subnets, self._subnets, self.region, self.group)
        _, named = self._subnet_keys()
        groups = self.spec.vpc_security_groups
        yield from group_nodes(groups, self._group_keys(), self.region, self.group, named)
        yield from balancer_nodes(lbs, self.region, self.group)
        yield from self._gateway()
        if self.storage:
            yield from object_storage.nodes(self.spec, self.names, self.group)

    def _vpc(self) -> Node:
        vpc = self.spec.vpc
        parts = frozenset({api_server_rule(self.port)})
        if vpc and vpc.id:
            given = partial(keys.constant, f"{self.region}/{vpc.id}")
            name, field = vpc.name or vpc.id, "spec.vpc.id"
            # The parts are put only into one that is ours nevertheless.
            return Node(
                keys.VPC, name, keys.no_request, Naming.EXPLICIT, given=given, parts=lambda known: parts, field=field
            )
        explicit = vpc.name if vpc else None
        name = explicit or self.names.vpc
        request = {"name": name, "region": self.region, "resource_group": self.group}
        return _simple(keys.VPC, name, request, explicit, parts)

    def _gateway(self) -> Iterator[Node]:
        spec = self.spec.transit_gateway
        explicit = spec.name if spec else None
        name = explicit or self.names.transit_gateway
        if spec and spec.id:
            given = partial(keys.constant, spec.id)
            name_ = explicit or spec.id
            field = "spec.transitGateway.id"
            gateway = Node(keys.GATEWAY, name_, keys.no_request, Naming.EXPLICIT, given=given, field=field)
        else:
            wish = spec.global_routing if spec else None
            plain = {"name": name, "location": self.region, "resource_group": self.group}
            request = partial(_route, plain, wish, self._distant)
            gateway = Node(keys.GATEWAY, name, request, Naming.EXPLICIT if explicit else Naming.DEFAULT)
        yield replace(gateway, given_problem=self._local) if self._distant else gateway
        yield self._connection(keys.VPC_CONNECTION, keys.VPC, "vpc", connection_name(name, "vpc"))
        yield self._connection(
            keys.POWERVS_CONNECTION, keys.WORKSPACE, "power_virtual_server", connection_name(name, "pvs")
        )

    @property
    def _distant(self) -> bool:
        return needs_global_routing(self.zone.region, self.region)

    def _local(self, gateway: Observed) -> str:
        """Say what is wrong with a gateway of others, which is never changed."""
        if gateway.attributes.get("global") is not False:
            return ""
        return (
            f"{gateway.name} ({gateway.id}) routes locally, and between zone {self.spec.zone!r} and VPC region "
            f"{self.region!r} only global routing passes traffic: enable it on the gateway, or name another one"
        )

    def _connection(self, key: NodeKey, end: NodeKey, network_type: str, name: str) -> Node:
        """Make a connection. A network can have one to a gateway: where the spec names both ends, that one is used."""
        request = partial(_connect, end, network_type, name)
        return Node(key, name, request, self._both_named(end), requires=frozenset({keys.GATEWAY, end}))

    def _both_named(self, end: NodeKey) -> Naming:
        spec = self.spec
        ends = {
            keys.VPC: spec.vpc and (spec.vpc.id or spec.vpc.name),
            keys.WORKSPACE: spec.service_instance_id
            or (spec.service_instance and (spec.service_instance.id or spec.service_instance.name)),
        }
        gateway = spec.transit_gateway and (spec.transit_gateway.id or spec.transit_gateway.name)
        return Naming.EXPLICIT if gateway and ends[end] else Naming.DEFAULT


def _simple(
    key: NodeKey, name: str, request: Mapping[str, Any], explicit: str | None, parts: frozenset[Part] = frozenset()
) -> Node:
    """Make a node whose request depends on nothing."""
    naming = Naming.EXPLICIT if explicit else Naming.DEFAULT
    return Node(key, name, lambda known: request, naming, parts=(lambda known: parts) if parts else no_parts)


def _route(plain: Mapping[str, Any], wish: bool | None, needed: bool, known: ReadyNodes) -> Request:
    """Complete the request. Where routing is left open, a gateway that routes widely stays so, for its users."""
    seen = known.get(keys.GATEWAY)
    open_to = needed or bool(seen and seen.attributes.get("global"))
    return {**plain, "global": open_to if wish is None else wish}


def _connect(end: NodeKey, network_type: str, name: str, known: ReadyNodes) -> Request:
    gateway = known[keys.GATEWAY].attributes
    return {
        "gateway": gateway["id"],
        "gateway_crn": gateway["crn"],
        "network_type": network_type,
        "network_id": known[end].attributes["crn"],
        "name": name,
    }
