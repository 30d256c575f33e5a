"""Fold what a pass came to into status, conditions and the endpoint of a cluster: pure, and equal for equal inputs.

Everything is rebuilt from journal and outcomes at each pass; only ``ready``, transition times and what the
last look did not see come from the previous status. A status that did not change equals the one before,
so the caller can leave the write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from freehold.api import conditions as api_conditions
from freehold.api import names
from freehold.api.conditions import Observation
from freehold.lifecycle.graph import Graph
from freehold.lifecycle.kinds import NodeKey
from freehold.lifecycle.outcomes import Outcome, Ready, Reason
from freehold.reconcilers import identity, part_conditions
from freehold.reconcilers.adapter import Desired, Mode, PassReport, Refused, StatusUpdate, Undecided, Wanted
from freehold.reconcilers.findings import text
from freehold.reconcilers.part_conditions import Parts, observed_parts, parts_deleting, wanted_parts
from freehold.reconcilers.resource_rows import rows, sentences
from freehold.reconcilers.served_fields import fields_served
from freehold.reconcilers.status import not_paused, updated

Status = dict[str, Any]


@dataclass(frozen=True)
class ClusterWanted(Wanted):
    """Also what the status of a cluster needs.

    ``port`` is the API server's. ``endpoint`` is the load balancer whose address becomes the endpoint; None where the
    user gives the endpoint.
    """

    port: int = 6443
    endpoint: NodeKey | None = None


@dataclass(frozen=True)
class StatusShape:
    """What is special about the status of one kind of cluster.

    ``rebuilt`` are the fields that ``references`` rebuilds at each pass, from the status before, the report and the
    graph. ``address`` is the attribute of the endpoint's load balancer. ``always`` are conditions that hold whenever a
    pass is allowed to work.
    """

    parts: Parts
    rebuilt: frozenset[str]
    references: Callable[[Mapping[str, Any], PassReport, Graph], Status]
    address: str
    always: tuple[Observation, ...] = ()


def build_status(raw: Mapping[str, Any], report: PassReport, now: datetime, shape: StatusShape) -> StatusUpdate:
    """Status after a pass that was allowed to work on the object ``raw``. ``now`` is aware."""
    before: Mapping[str, Any] = raw.get("status") or {}
    graph = report.plan.graph if isinstance(report.plan, ClusterWanted) else None
    observations, endpoint = _observe(raw, report, graph, shape)
    status = {**before, "ready": before.get("ready") is True}
    if report.journal:
        status["identity"] = dict(identity.in_status(raw, report.journal))
    if graph or report.deleting:
        stamp = api_conditions.timestamp(now)
        table = rows(
            before.get("resources") or (), graph, report.journal, report.outcomes, stamp, deleting=report.deleting,
            deleted=report.deleted,
        )  # fmt: skip
        status["resources"] = table
        if report.deleting:
            observations += parts_deleting(shape.parts, table)
    if graph and not report.deleting:
        status = {name: value for name, value in status.items() if name not in shape.rebuilt}
        status |= shape.references(before, report, graph)
    whole = next(o for o in observations if o.type == names.READY).status == "True"
    if whole and not report.deleting:
        status["ready"] = True
    if status["ready"]:
        status["initialization"] = {"provisioned": True}
    unwanted = set(shape.parts) - set(wanted_parts(shape.parts, graph)) if graph else set[str]()
    obsolete = unwanted - {each.type for each in observations}
    spec = {"controlPlaneEndpoint": dict(endpoint)} if endpoint else None
    return updated(raw, status, observations, now, spec=spec, obsolete=obsolete)


def _observe(
    raw: Mapping[str, Any], report: PassReport, graph: Graph | None, shape: StatusShape
) -> tuple[list[Observation], Mapping[str, Any] | None]:
    """All conditions, ``Ready`` first, and the endpoint when it is to be written."""
    if report.deleting or report.plan is None:
        lines, unknown = list(sentences(report.outcomes)), _unanswered(report.plan)
        lines += [f"where else something of it may be cannot be told: {line}" for line in unknown.values()]
        ready = Observation(names.READY, "False", names.REASON_DELETING, "; ".join(lines) or "being deleted")
        reason = next(iter(unknown), names.REASON_DELETING)
        return [ready, part_conditions.deleting(report.outcomes, lines, reason), not_paused()], None
    rest = [_valid(report.plan), fields_served(report.plan.notes), not_paused()]
    rest.append(Observation(names.DELETING, "False", names.REASON_NOT_DELETING))
    if not isinstance(report.plan, ClusterWanted) or graph is None:
        valid = rest[0]
        return [Observation(names.READY, "False", valid.reason, valid.message), *rest], None
    found = [*shape.always, *observed_parts(shape.parts, graph, report.journal, report.outcomes)]
    ready = api_conditions.summary(found, wanted_parts(shape.parts, graph))
    endpoint = _endpoint(raw, report.plan, report.outcomes, shape.address)
    if ready.status == "True" and not (_host(raw) or endpoint):
        ready = _without_endpoint(report.plan)
    return [ready, *found, *rest], endpoint


def _unanswered(plan: Desired | None) -> Mapping[str, str]:
    """What a delete still asks, in words, by the reason why there is no answer."""
    missing = plan.missing if isinstance(plan, Undecided) else {}
    return {answer.reason.value: f"{where}: {answer.message}" for where, answer in missing.items()}


def _valid(plan: Desired) -> Observation:
    match plan:
        case Refused(problems=problems, reason=reason):
            return Observation(names.SPEC_VALID, "False", reason, text(problems))
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
    raw: Mapping[str, Any], plan: ClusterWanted, outcomes: Mapping[NodeKey, Outcome], attribute: str
) -> Mapping[str, Any] | None:
    """The load balancer's address and port, once it exists; a host that is set already only gets its port."""
    if host := _host(raw):
        given = ((raw.get("spec") or {}).get("controlPlaneEndpoint") or {}).get("port")
        return None if given else {"host": host, "port": plan.port}
    outcome = outcomes.get(plan.endpoint) if plan.endpoint else None
    hostname = outcome.observed.attributes.get(attribute) if isinstance(outcome, Ready) else None
    if not hostname:
        return None
    return {"host": hostname, "port": plan.port}


def _without_endpoint(plan: ClusterWanted) -> Observation:
    if plan.endpoint is None:
        message = "spec.controlPlaneEndpoint.host: it is missing; set the address of the API server"
    else:
        message = "the load balancer of the API server has no address yet"
    return Observation(names.READY, "False", Reason.REQUIREMENT.value, message)
