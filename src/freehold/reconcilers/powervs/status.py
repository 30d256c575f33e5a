"""Fold what a pass came to into status, conditions and the endpoint: pure, and equal for equal inputs.

Everything is rebuilt from journal and outcomes at each pass; only ``ready``, transition times and what the
last look did not see come from the previous status. A status that did not change equals the one before,
so the caller can leave the write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from freehold.api import conditions as api_conditions
from freehold.api import names
from freehold.api.conditions import Observation
from freehold.lifecycle.graph import Graph
from freehold.lifecycle.kinds import NodeKey
from freehold.lifecycle.outcomes import Outcome, Ready, Reason
from freehold.reconcilers import identity
from freehold.reconcilers.adapter import Desired, Mode, PassReport, Refused, StatusUpdate, Undecided, Wanted
from freehold.reconcilers.findings import text
from freehold.reconcilers.powervs import conditions as powervs_conditions
from freehold.reconcilers.powervs import keys
from freehold.reconcilers.powervs.desired import PowerVSWanted
from freehold.reconcilers.powervs.resource_rows import known_id, observed_of, ownership, rows, sentences
from freehold.reconcilers.status import not_paused, updated

Status = dict[str, Any]

_REFERENCES = frozenset(
    {
        "serviceInstance",
        "network",
        "dhcpServer",
        "vpc",
        "vpcSubnet",
        "vpcSecurityGroups",
        "loadBalancers",
        "transitGateway",
        "cosInstance",
    }
)
"""The fields of status that are rebuilt at each pass."""


def build_status(raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
    """Status after a pass that was allowed to work on the object ``raw``. ``now`` is aware."""
    before: Mapping[str, Any] = raw.get("status") or {}
    graph = report.plan.graph if isinstance(report.plan, PowerVSWanted) else None
    observations, endpoint = _observe(raw, report, graph)
    status = {**before, "ready": before.get("ready") is True}
    if report.journal:
        status["identity"] = dict(identity.in_status(raw, report.journal))
    if graph or report.deleting:
        stamp = api_conditions.timestamp(now)
        table = rows(
            before.get("resources") or (), graph, report.journal, report.outcomes, stamp, deleting=report.deleting
        )
        status["resources"] = table
        if report.deleting:
            observations += powervs_conditions.parts_deleting(table)
    if graph and not report.deleting:
        status = {name: value for name, value in status.items() if name not in _REFERENCES}
        status |= _references(before, report, graph)
    whole = next(o for o in observations if o.type == names.READY).status == "True"
    if whole and not report.deleting:
        status["ready"] = True
    if status["ready"]:
        status["initialization"] = {"provisioned": True}
    obsolete = set(powervs_conditions.PARTS) - set(powervs_conditions.wanted_parts(graph)) if graph else set[str]()
    spec = {"controlPlaneEndpoint": dict(endpoint)} if endpoint else None
    return updated(raw, status, observations, now, spec=spec, obsolete=obsolete)


def _observe(
    raw: Mapping[str, Any], report: PassReport, graph: Graph | None
) -> tuple[list[Observation], Mapping[str, Any] | None]:
    """All conditions, ``Ready`` first, and the endpoint when it is to be written."""
    if report.deleting or report.plan is None:
        lines = list(sentences(report.outcomes))
        ready = Observation(names.READY, "False", names.REASON_DELETING, "; ".join(lines) or "being deleted")
        return [ready, powervs_conditions.deleting(report.outcomes, lines), not_paused()], None
    rest = [_valid(report.plan), powervs_conditions.fields_served(report.plan.notes), not_paused()]
    rest.append(Observation(names.DELETING, "False", names.REASON_NOT_DELETING))
    if not isinstance(report.plan, PowerVSWanted) or graph is None:
        valid = rest[0]
        return [Observation(names.READY, "False", valid.reason, valid.message), *rest], None
    found = list(powervs_conditions.parts(graph, report.journal, report.outcomes))
    ready = api_conditions.summary(found, powervs_conditions.wanted_parts(graph))
    endpoint = _endpoint(raw, report.plan, report.outcomes)
    if ready.status == "True" and not (_host(raw) or endpoint):
        ready = _without_endpoint(report.plan)
    return [ready, *found, *rest], endpoint


def _valid(plan: Desired) -> Observation:
    match plan:
        case Refused(problems=problems):
            return Observation(names.SPEC_VALID, "False", names.REASON_INVALID_SPEC, text(problems))
        case Undecided(missing=missing):
            lines = "; ".join(f"{where}: cannot be checked: {answer.message}" for where, answer in missing.items())
            return Observation(names.SPEC_VALID, "Unknown", next(iter(missing.values())).reason.value, lines)
        case Wanted(mode=Mode.FROZEN):
            message = "annotation create-infra is not 'true' any more: nothing more is created"
            return Observation(names.SPEC_VALID, "True", names.REASON_CREATE_INFRA_NOT_REQUESTED, message)
    return Observation(names.SPEC_VALID, "True", names.REASON_VALID_SPEC)


def _host(raw: Mapping[str, Any]) -> str:
    return ((raw.get("spec") or {}).get("controlPlaneEndpoint") or {}).get("host") or ""


def _endpoint(
    raw: Mapping[str, Any], plan: PowerVSWanted, outcomes: Mapping[NodeKey, Outcome]
) -> Mapping[str, Any] | None:
    """The first public load balancer's hostname, once it exists; a host that is set already only gets its port."""
    given = ((raw.get("spec") or {}).get("controlPlaneEndpoint") or {}).get("port")
    if host := _host(raw):
        return None if given else {"host": host, "port": plan.port}
    outcome = outcomes.get(plan.endpoint) if plan.endpoint else None
    hostname = outcome.observed.attributes.get("hostname") if isinstance(outcome, Ready) else None
    if not hostname:
        return None
    return {"host": hostname, "port": given or plan.port}


def _without_endpoint(plan: PowerVSWanted) -> Observation:
    if plan.mode is Mode.EXISTING:
        message = "spec.controlPlaneEndpoint.host: it is missing; set the address of the API server"
    else:
        message = "the public load balancer has no hostname yet"
    return Observation(names.READY, "False", Reason.REQUIREMENT.value, message)


def _references(before: Mapping[str, Any], report: PassReport, graph: Graph) -> Status:
    """The fields that upstream has, one for each resource."""
    fields = _Fields(before, report)
    found: Status = {
        "serviceInstance": fields.single(keys.WORKSPACE),
        "vpc": fields.single(keys.VPC),
        "cosInstance": fields.single(keys.COS_INSTANCE),
        **fields.network(),
        "vpcSubnet": fields.many(graph, keys.SUBNET_KIND),
        "vpcSecurityGroups": fields.many(graph, keys.GROUP_KIND, fields.rules),
        "loadBalancers": fields.many(graph, keys.BALANCER_KIND, fields.balancer),
        "transitGateway": fields.gateway(),
    }
    if isinstance(report.plan, PowerVSWanted) and report.plan.resource_group:
        found["resourceGroupID"] = {"id": report.plan.resource_group, "controllerCreated": False}
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class _Fields:
    """Builds references from journal and outcomes; ``controllerCreated`` is derived anew each time."""

    before: Mapping[str, Any]
    report: PassReport

    def single(self, key: NodeKey) -> Status:
        """Empty while the resource has no id."""
        entry = self.report.journal.get(key) if self.report.journal else None
        ident = known_id(entry, self.report.outcomes.get(key))
        if not ident:
            return {}
        owned = ownership(entry, self.report.outcomes.get(key)) in ("managed", "shared")
        return {"id": ident, "controllerCreated": owned}

    def network(self) -> Status:
        """A DHCP server brings its network; a network that was there has no DHCP server of ours."""
        reference = self.single(keys.NETWORK)
        if not reference:
            return {}
        entry = self.report.journal.get(keys.NETWORK) if self.report.journal else None
        observed = observed_of(self.report.outcomes.get(keys.NETWORK))
        ident = (entry.id if entry else "") or (observed.id if observed else "")
        if "/dhcp/" not in ident:
            return {"network": reference, "dhcpServer": {}}
        seen = observed.attributes.get("network_id") if observed else None
        network = seen or (self.before.get("network") or {}).get("id")
        return {"dhcpServer": reference, "network": {**reference, "id": network} if network else {}}

    def many(self, graph: Graph, kind: str, more: Callable[[NodeKey, str], Status] | None = None) -> Status:
        """By name, as upstream has it; ``more`` is what a reference of this kind has besides."""
        found = {}
        for key, node in graph.nodes.items():
            if key.kind == kind and (reference := self.single(key)):
                found[node.name] = reference | (more(key, node.name) if more else {})
        return found

    def rules(self, key: NodeKey, name: str) -> Status:
        """The ids of the rules that the spec asks for; none of a group of others, in which we make no rules."""
        before = (self.before.get("vpcSecurityGroups") or {}).get(name) or {}
        observed = observed_of(self.report.outcomes.get(key))
        ids = observed.attributes.get("parts") if observed else None
        found = before.get("ruleIDs") if ids is None else ids
        return {"ruleIDs": list(found)} if found else {}

    def balancer(self, key: NodeKey, name: str) -> Status:
        """``state`` is the vendor's word."""
        before = (self.before.get("loadBalancers") or {}).get(name) or {}
        observed = observed_of(self.report.outcomes.get(key))
        if observed is None:
            return {part: before[part] for part in ("hostname", "state") if part in before}
        values = {"hostname": observed.attributes.get("hostname"), "state": observed.vendor_state}
        return {part: value for part, value in values.items() if value}

    def gateway(self) -> Status:
        ends: Iterable[tuple[str, NodeKey]] = (
            ("vpcConnection", keys.VPC_CONNECTION),
            ("powerVSConnection", keys.POWERVS_CONNECTION),
        )
        connections = {name: reference for name, key in ends if (reference := self.single(key))}
        gateway = self.single(keys.GATEWAY)
        return {**gateway, **connections} if gateway else {}
