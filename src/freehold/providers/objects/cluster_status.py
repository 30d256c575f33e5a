"""Fold what a pass came to into status, conditions and the endpoint of a cluster: pure, and equal for equal inputs.

Everything is rebuilt from journal and outcomes at each pass; only ``ready``, transition times and what the
last look did not see come from the previous status. A status that did not change equals the one before,
so the caller can leave the write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from freehold.api import conditions as api_conditions
from freehold.api import names
from freehold.api.conditions import Observation
from freehold.engine.graph import Graph
from freehold.engine.outcomes import Blocked, Outcome, Ready, Reason
from freehold.engine.resources import NodeKey
from freehold.providers.objects import identity, part_conditions
from freehold.providers.objects.adapter import Desired, Mode, PassReport, Refused, StatusUpdate, Undecided, Wanted
from freehold.providers.objects.part_conditions import Parts, observed_parts, parts_deleting, wanted_parts
from freehold.providers.objects.resource_rows import observed_of, rows, sentences
from freehold.providers.objects.served_fields import fields_served
from freehold.providers.objects.spec_problems import Problem, text
from freehold.providers.objects.status import not_paused, updated

Status = dict[str, Any]


@dataclass(frozen=True)
class ClusterWanted(Wanted):
    """Also what the status of a cluster needs.

    ``port`` is the API server's. ``endpoint`` is the load balancer whose address becomes the endpoint; None where the
    user gives the endpoint. ``unmet``: what keeps it from being ready when all is there.
    """

    port: int = 6443
    endpoint: NodeKey | None = None
    unmet: tuple[Problem, ...] = field(default=(), kw_only=True)


def _tells_nothing(plan: ClusterWanted, key: NodeKey, host: str) -> bool:
    """An address that does not have the name of its load balancer in it."""
    return False


@dataclass(frozen=True)
class StatusShape:
    """What is special about the status of one kind of cluster.

    ``rebuilt`` are the fields that ``references`` rebuilds at each pass, from the status before, the report and the
    graph. ``address`` is the attribute of the endpoint's load balancer. ``always`` are conditions that hold whenever a
    pass is allowed to work. ``is_address_of``: whether a host can only be the address of this load balancer, or of an
    earlier one in its place. ``order`` is that of the conditions; ``frozen`` is said of an object that is not to be
    changed any more.
    """

    parts: Parts
    rebuilt: frozenset[str]
    references: Callable[[Mapping[str, Any], PassReport, Graph], Status]
    address: str
    order: tuple[str, ...]
    always: tuple[Observation, ...] = ()
    frozen: Observation | None = None
    is_address_of: Callable[[ClusterWanted, NodeKey, str], bool] = _tells_nothing


def build_status(
    raw: Mapping[str, Any],
    report: PassReport,
    now: datetime,
    shape: StatusShape,
    beside_ready: Sequence[Observation] = (),
) -> StatusUpdate:
    """Status after a pass that was allowed to work on the object ``raw``. ``now`` is aware.

    ``beside_ready`` are further conditions, which are no part of ``Ready``.
    """
    before: Mapping[str, Any] = raw.get("status") or {}
    graph = report.plan.graph if isinstance(report.plan, ClusterWanted) else None
    if isinstance(report.plan, ClusterWanted) and not report.deleting:
        left = _left_behind(raw, report.plan, report.outcomes, shape)
        report = replace(report, outcomes={**report.outcomes, **left})
    observations, endpoint = _observe(raw, report, graph, shape)
    observations += beside_ready
    status = {**before, "ready": before.get("ready") is True}
    if report.journal:
        status["identity"] = dict(identity.in_status(raw, report.journal))
    if graph or report.deleting:
        stamp = api_conditions.timestamp(now)
        table = rows(
            before.get("resources") or (), graph, report.journal, report.outcomes, stamp, deleting=report.deleting,
            deleted=report.deleted, collected=report.collected,
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
    update = updated(raw, status, observations, now, spec=spec, obsolete=obsolete, order=shape.order)
    host = (endpoint or {}).get("host") or _host(raw)
    ours = graph is not None and not report.deleting and _is_shown(host, report.plan, report.outcomes, shape.address)
    return replace(update, annotations={names.ENDPOINT_ANNOTATION: host}) if ours and host != _set(raw) else update


def _observe(
    raw: Mapping[str, Any], report: PassReport, graph: Graph | None, shape: StatusShape
) -> tuple[list[Observation], Mapping[str, Any] | None]:
    """All conditions, ``Ready`` first, and the endpoint when it is to be written."""
    if report.deleting or report.plan is None:
        lines, unknown = list(sentences(report.outcomes)), _unanswered(report.plan)
        lines += [f"where else something of it may be cannot be told: {line}" for line in unknown.values()]
        ready = Observation(names.READY, "False", names.REASON_DELETING, "; ".join(lines) or "being deleted")
        reason = next(iter(unknown), names.REASON_DELETING)
        served = [fields_served(report.plan.notes)] if isinstance(report.plan, ClusterWanted) else []
        return [ready, part_conditions.deleting(report.outcomes, lines, reason), *served, not_paused()], None
    rest = [_valid(report.plan, shape.frozen), fields_served(report.plan.notes), not_paused()]
    rest.append(Observation(names.DELETING, "False", names.REASON_NOT_DELETING))
    if not isinstance(report.plan, ClusterWanted) or graph is None:
        valid = rest[0]
        return [Observation(names.READY, "False", valid.reason, valid.message), *rest], None
    found = [*shape.always, *observed_parts(shape.parts, graph, report.journal, report.outcomes)]
    ready = api_conditions.summary(found, wanted_parts(shape.parts, graph))
    if ready.reason == names.REASON_NOT_READY:
        ready = replace(ready, reason=part_conditions.blocking(shape.parts, report.outcomes) or ready.reason)
    endpoint = _endpoint(raw, report.plan, report.outcomes, shape.address)
    if ready.status == "True" and (report.plan.unmet or not (_host(raw) or endpoint)):
        ready = _unmet(raw, report.plan)
    return [ready, *found, *rest], endpoint


def _unanswered(plan: Desired | None) -> Mapping[str, str]:
    """What a delete still asks, in words, by the reason why there is no answer."""
    missing = plan.missing if isinstance(plan, Undecided) else {}
    return {answer.reason.value: f"{where}: {answer.message}" for where, answer in missing.items()}


def _valid(plan: Desired, frozen: Observation | None) -> Observation:
    match plan:
        case Refused(problems=problems, reason=reason, in_condition=shorter):
            return Observation(names.SPEC_VALID, "False", reason, shorter or text(problems))
        case Undecided(missing=missing):
            lines = "; ".join(f"{where}: cannot be checked: {answer.message}" for where, answer in missing.items())
            return Observation(names.SPEC_VALID, "Unknown", next(iter(missing.values())).reason.value, lines)
        case Wanted(mode=Mode.FROZEN) if frozen is not None:
            return frozen
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


def _set(raw: Mapping[str, Any]) -> str:
    """The address that is on record as that of the endpoint's load balancer."""
    return (raw["metadata"].get("annotations") or {}).get(names.ENDPOINT_ANNOTATION) or ""


def _is_shown(host: str, plan: Desired | None, outcomes: Mapping[NodeKey, Outcome], attribute: str) -> bool:
    """Whether the endpoint's load balancer has this address."""
    found = outcomes.get(plan.endpoint) if isinstance(plan, ClusterWanted) and plan.endpoint else None
    return bool(host) and isinstance(found, Ready) and found.observed.attributes.get(attribute) == host


def _left_behind(
    raw: Mapping[str, Any], plan: ClusterWanted, outcomes: Mapping[NodeKey, Outcome], shape: StatusShape
) -> Mapping[NodeKey, Outcome]:
    """Where the endpoint is the address of an earlier load balancer: the one in its place is not as wanted.

    A cloud gives each an address of its own, and the endpoint of a cluster cannot change. An address that the user
    gives may be that of any load balancer: only what is on record, or tells so itself, is that of an earlier one.
    """
    host = _host(raw)
    shown = [seen.attributes.get(shape.address) for outcome in outcomes.values() if (seen := observed_of(outcome))]
    if not host or any(str(address).lower() == host.lower() for address in shown):
        return {}
    for key in plan.graph.nodes:
        found = outcomes.get(key)
        address = found.observed.attributes.get(shape.address) if isinstance(found, Ready) else None
        on_record = key == plan.endpoint and host == _set(raw)
        if isinstance(found, Ready) and address and (on_record or shape.is_address_of(plan, key, host)):
            message = (
                f"its address is {address}, and spec.controlPlaneEndpoint.host is {host}, the address of an earlier "
                "one that has gone: nobody reaches the API server there, and an endpoint cannot change. Make the "
                "cluster anew, with a DNS name of your own as its endpoint, which can be led to another address"
            )
            return {key: Blocked(Reason.GONE, message, observed=found.observed)}
    return {}


def lacking(raw: Mapping[str, Any], plan: Desired | None) -> tuple[Problem, ...]:
    """What only a person can give: without it the object is not Ready when all that it wants is there.

    It holds up no create: the load balancer that has the address may be somebody's, in the network that is made.
    """
    if not isinstance(plan, ClusterWanted) or plan.endpoint is not None or _host(raw):
        return plan.unmet if isinstance(plan, ClusterWanted) else ()
    missing = "it is missing, and no load balancer of the cluster gives it; set the address of the API server"
    return (Problem("spec.controlPlaneEndpoint.host", missing), *plan.unmet)


def _unmet(raw: Mapping[str, Any], plan: ClusterWanted) -> Observation:
    message = text(lacking(raw, plan)) or "the load balancer of the API server has no address yet"
    return Observation(names.READY, "False", Reason.REQUIREMENT.value, message)
