"""The way from a machine plan to wanted resources: equal plans give equal nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from freehold.engine.graph import Graph, Node, ReadyNodes
from freehold.engine.resources import NodeKey, Observed, Part, Request
from freehold.providers.aws.cluster.nodes.given import given_node
from freehold.providers.aws.cluster.nodes.tags import NodeTags
from freehold.providers.aws.machine.bootstrap import NO_BOOTSTRAP, BootstrapPlan
from freehold.providers.aws.machine.keys import BOOTSTRAP_SECRET_KIND, INSTANCE, REGISTRATION
from freehold.providers.aws.machine.machine_plan import MachinePlan
from freehold.providers.aws.tags import capa_tags
from freehold.providers.objects.adapter import GraphMode, SoleUse, WantedGraph
from freehold.providers.objects.spec_problems import SpecWarning

_KEPT = ("image_id", "subnet_id", "key_name")
"""Attributes that an instance keeps when what they were chosen from changes: a newer image, the cluster's key."""


@dataclass(frozen=True)
class WantedMachine(WantedGraph):
    """A graph, with the machine plan that its nodes are made of; None in a delete."""

    machine_plan: MachinePlan | None = field(default=None, kw_only=True)


def build_desired(
    plan: MachinePlan, bootstrap: BootstrapPlan = NO_BOOTSTRAP, notes: tuple[SpecWarning, ...] = ()
) -> WantedMachine:
    """Return what shall be there."""
    tags = () if plan.given else plan.tags
    sole_use = SoleUse("spec.providerID", (plan.given, f"aws:///{plan.zone}/{plan.given}")) if plan.given else None
    graph = Graph(nodes(plan, bootstrap))
    return WantedMachine(GraphMode.CREATE, graph, tags, notes, sole_use=sole_use, machine_plan=plan)


def nodes(plan: MachinePlan, bootstrap: BootstrapPlan) -> Iterator[Node]:
    """Yield the nodes in the order of the status. One that has gone is wanted no more: its owner replaces it."""
    if plan.gone:
        return
    if plan.given:
        yield _build_given_node(plan)
        return
    tags = _node_tags(plan)
    secrets = [NodeKey(BOOTSTRAP_SECRET_KIND, each.logical) for each in bootstrap.secrets]
    for key, each in zip(secrets, bootstrap.secrets, strict=True):
        yield Node(
            key,
            str(each.request["name"]),
            partial(_constant, each.request),
            field="spec.cloudInit",
            tags=tags,
            label=f"{plan.machine.name}-{each.logical}",
        )
    yield Node(
        INSTANCE,
        plan.machine.name,
        partial(_request, plan, bootstrap),
        requires=frozenset(secrets),
        parts=partial(_build_registrations, plan.registrations),
        field="spec",
        part_field=lambda part: "spec",
        tags=tags,
    )


def leaving_node(name: str, request: Request, registrations: Iterable[str]) -> Node:
    """Return an instance that is being deleted: nothing of it is made any more, and nothing is to send to it."""
    return Node(INSTANCE, name, partial(_constant, request), parts=partial(_build_registrations, tuple(registrations)))


def _build_given_node(plan: MachinePlan) -> Node:
    return replace(given_node(INSTANCE, plan.given, "spec.providerID"), given_problem=partial(_other_zone, plan.zone))


def _other_zone(zone: str, seen: Observed) -> str:
    """Say that a given instance is not where ``providerID`` says; Cluster API would look for a node of another name."""
    there = str(seen.attributes.get("zone") or "")
    return f"spec.providerID: {seen.id} is in {there}, not in {zone}; correct it" if there not in ("", zone) else ""


def _constant(request: Request, known: ReadyNodes) -> Request:
    return request


def _request(plan: MachinePlan, bootstrap: BootstrapPlan, known: ReadyNodes) -> Request:
    """Make the request. What only a create sets is as recorded once there is an instance (``plan.request``)."""
    request: dict[str, Any] = {
        "name": plan.machine.name,
        "image_id": plan.image_id,
        "instance_type": plan.instance_type,
        "subnet_id": plan.subnet_id,
        "key_name": plan.key_name,
        **({"user_data": bootstrap.user_data} if bootstrap.user_data else {}),
        **plan.request,
        "security_groups": list(plan.security_groups),
    }
    there = known.get(INSTANCE)
    return {**request, **_keep_attributes(there)} if there else request


def _keep_attributes(there: Observed) -> Mapping[str, Any]:
    return {name: there.attributes[name] for name in _KEPT if name in there.attributes}


def _build_registrations(balancers: Iterable[str], known: ReadyNodes) -> frozenset[Part]:
    return frozenset(Part(REGISTRATION, each) for each in balancers)


def _node_tags(plan: MachinePlan) -> frozenset[str]:
    capa = capa_tags.machine(plan.machine.name, plan.machine.owner, control_plane=plan.machine.control_plane)
    return NodeTags(plan.cluster, plan.of_workloads, renamed=capa_tags.NAME in dict(plan.tags)).own(capa)
