"""Builder of status, conditions and endpoint of a cluster from the report of a pass: pure, equal for equal inputs.

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
from freehold.providers.objects.adapter import (
    Desired,
    PassReport,
    StatusUpdate,
    WantedGraph,
)
from freehold.providers.objects.part_conditions import (
    Parts,
    observe_parts,
    observe_parts_in_deletion,
    select_wanted_parts,
)
from freehold.providers.objects.resource_rows import build_rows, describe_blockers, observed_of
from freehold.providers.objects.served_fields import observe_served_fields
from freehold.providers.objects.spec_condition import list_unanswered, observe_spec
from freehold.providers.objects.spec_problems import SpecProblem, join_problems
from freehold.providers.objects.status import build_update, observe_not_paused

Status = dict[str, Any]


@dataclass(frozen=True)
class WantedCluster(WantedGraph):
    """A wanted graph, with what the status of a cluster needs.

    ``port`` is the API server's. ``endpoint`` is the load balancer whose address becomes the endpoint; None where the
    user gives the endpoint. ``unmet`` are problems that keep the cluster from being ready when all resources are.
    """

    port: int = 6443
    endpoint: NodeKey | None = None
    unmet: tuple[SpecProblem, ...] = field(default=(), kw_only=True)


def _is_never_its_address(plan: WantedCluster, key: NodeKey, host: str) -> bool:
    """Return False: the addresses of this cloud do not have the name of their load balancer in them."""
    return False


@dataclass(frozen=True)
class StatusShape:
    """The differences in the status of one kind of cluster.

    ``rebuilt`` are the fields that ``references`` rebuilds at each pass, from the status before, the report and the
    graph. ``address`` is the attribute of the endpoint's load balancer; with ``is_only_address`` nothing else can be
    the endpoint, and what somebody wrote there is corrected. ``always`` are conditions that hold whenever a pass is
    allowed to work. ``is_address_of`` tells whether a host can only be the address of this load balancer, or of an
    earlier one in its place. ``order`` is that of the conditions; ``frozen`` is the condition of an object that must
    not change any more.
    """

    parts: Parts
    rebuilt: frozenset[str]
    references: Callable[[Mapping[str, Any], PassReport, Graph], Status]
    address: str
    order: tuple[str, ...]
    always: tuple[Observation, ...] = ()
    frozen: Observation | None = None
    is_only_address: bool = False
    is_address_of: Callable[[WantedCluster, NodeKey, str], bool] = _is_never_its_address


def build_status(
    raw: Mapping[str, Any],
    report: PassReport,
    now: datetime,
    shape: StatusShape,
    beside_ready: Sequence[Observation] = (),
) -> StatusUpdate:
    """Build the status after a pass that was allowed to work on ``raw``. ``now`` is timezone-aware.

    ``beside_ready`` are further conditions, which are no part of ``Ready``.
    """
    before: Mapping[str, Any] = raw.get("status") or {}
    graph = report.plan.graph if isinstance(report.plan, WantedCluster) else None
    if isinstance(report.plan, WantedCluster) and not report.deleting:
        left = _find_left_behind(raw, report.plan, report.outcomes, shape)
        report = replace(report, outcomes={**report.outcomes, **left})
    observations, endpoint = _observe(raw, report, graph, shape)
    observations += beside_ready
    status = {**before, "ready": before.get("ready") is True}
    if report.journal:
        status["identity"] = dict(identity.build_status_identity(raw, report.journal))
    if graph or report.deleting:
        stamp = api_conditions.format_time(now)
        table = build_rows(
            before.get("resources") or (), graph, report.journal, report.outcomes, stamp, deleting=report.deleting,
            deleted=report.deleted, collected=report.collected,
        )  # fmt: skip
        status["resources"] = table
        if report.deleting:
            observations += observe_parts_in_deletion(shape.parts, table)
    if graph and not report.deleting:
        status = {name: value for name, value in status.items() if name not in shape.rebuilt}
        status |= shape.references(before, report, graph)
    whole = next(o for o in observations if o.type == names.READY).status == "True"
    if whole and not report.deleting:
        status["ready"] = True
    if status["ready"]:
        status["initialization"] = {"provisioned": True}
    unwanted = set(shape.parts) - set(select_wanted_parts(shape.parts, graph)) if graph else set[str]()
    obsolete = unwanted - {each.type for each in observations}
    spec = {"controlPlaneEndpoint": dict(endpoint)} if endpoint else None
    update = build_update(raw, status, observations, now, spec=spec, obsolete=obsolete, order=shape.order)
    host = (endpoint or {}).get("host") or _read_host(raw)
    ours = graph is not None and not report.deleting and _has_address(host, report.plan, report.outcomes, shape.address)
    return (
        replace(update, annotations={names.ENDPOINT_ANNOTATION: host})
        if ours and host != _read_recorded_host(raw)
        else update
    )


def _observe(
    raw: Mapping[str, Any], report: PassReport, graph: Graph | None, shape: StatusShape
) -> tuple[list[Observation], Mapping[str, Any] | None]:
    """Build all conditions, ``Ready`` first, and the endpoint if it must be written."""
    if report.deleting or report.plan is None:
        lines, unknown = list(describe_blockers(report.outcomes)), list_unanswered(report.plan)
        lines += [f"where else something of it may be cannot be told: {line}" for line in unknown.values()]
        ready = Observation(names.READY, "False", names.REASON_DELETING, "; ".join(lines) or "being deleted")
        reason = next(iter(unknown), names.REASON_DELETING)
        served = [observe_served_fields(report.plan.notes)] if isinstance(report.plan, WantedCluster) else []
        return [
            ready,
            part_conditions.observe_deletion(report.outcomes, lines, reason),
            *served,
            observe_not_paused(),
        ], None
    rest = [observe_spec(report.plan, shape.frozen), observe_served_fields(report.plan.notes), observe_not_paused()]
    rest.append(Observation(names.DELETING, "False", names.REASON_NOT_DELETING))
    if not isinstance(report.plan, WantedCluster) or graph is None:
        valid = rest[0]
        return [Observation(names.READY, "False", valid.reason, valid.message), *rest], None
    found = [*shape.always, *observe_parts(shape.parts, graph, report.journal, report.outcomes)]
    ready = api_conditions.summarize(found, select_wanted_parts(shape.parts, graph))
    if ready.reason == names.REASON_NOT_READY:
        ready = replace(
            ready, reason=part_conditions.find_blocking_reason(shape.parts, report.outcomes) or ready.reason
        )
    endpoint = _find_endpoint(raw, report.plan, report.outcomes, shape)
    if ready.status == "True" and (report.plan.unmet or not (_read_host(raw) or endpoint)):
        ready = _observe_unmet(raw, report.plan)
    return [ready, *found, *rest], endpoint


def _read_host(raw: Mapping[str, Any]) -> str:
    return ((raw.get("spec") or {}).get("controlPlaneEndpoint") or {}).get("host") or ""


def _find_endpoint(
    raw: Mapping[str, Any], plan: WantedCluster, outcomes: Mapping[NodeKey, Outcome], shape: StatusShape
) -> Mapping[str, Any] | None:
    """Find the endpoint to write: the load balancer's address and port, or only the port if the host is set already."""
    given = (raw.get("spec") or {}).get("controlPlaneEndpoint") or {}
    outcome = outcomes.get(plan.endpoint) if plan.endpoint else None
    hostname = outcome.observed.attributes.get(shape.address) if isinstance(outcome, Ready) else None
    found = {"host": hostname, "port": plan.port} if hostname else None
    if shape.is_only_address and found:
        return None if {**given, **found} == given else found
    if host := _read_host(raw):
        return None if given.get("port") else {"host": host, "port": plan.port}
    return found


def _read_recorded_host(raw: Mapping[str, Any]) -> str:
    """Read the recorded address of the endpoint's load balancer."""
    return (raw["metadata"].get("annotations") or {}).get(names.ENDPOINT_ANNOTATION) or ""


def _has_address(host: str, plan: Desired | None, outcomes: Mapping[NodeKey, Outcome], attribute: str) -> bool:
    """Return whether the endpoint's load balancer has this address."""
    found = outcomes.get(plan.endpoint) if isinstance(plan, WantedCluster) and plan.endpoint else None
    return bool(host) and isinstance(found, Ready) and found.observed.attributes.get(attribute) == host


def _find_left_behind(
    raw: Mapping[str, Any], plan: WantedCluster, outcomes: Mapping[NodeKey, Outcome], shape: StatusShape
) -> Mapping[NodeKey, Outcome]:
    """Find the load balancer that replaced an earlier one whose address is still the endpoint, and block it.

    A cloud gives each load balancer another address, and the endpoint of a cluster cannot change. An address that the
    user gives may be that of any load balancer: it is an earlier one's only by the record, or by its own form.
    """
    host = _read_host(raw)
    shown = [seen.attributes.get(shape.address) for outcome in outcomes.values() if (seen := observed_of(outcome))]
    if not host or any(str(address).lower() == host.lower() for address in shown):
        return {}
    for key in plan.graph.nodes:
        found = outcomes.get(key)
        address = found.observed.attributes.get(shape.address) if isinstance(found, Ready) else None
        on_record = key == plan.endpoint and host == _read_recorded_host(raw)
        if isinstance(found, Ready) and address and (on_record or shape.is_address_of(plan, key, host)):
            message = (
                f"its address is {address}, and spec.controlPlaneEndpoint.host is {host}, the address of an earlier "
                "one that has gone: nobody reaches the API server there, and an endpoint cannot change. Make the "
                "cluster anew, with a DNS name of your own as its endpoint, which can be led to another address"
            )
            return {key: Blocked(Reason.GONE, message, observed=found.observed)}
    return {}


def find_lacking(raw: Mapping[str, Any], plan: Desired | None) -> tuple[SpecProblem, ...]:
    """Find what only a person can give, and without which the object is not Ready when all resources are.

    It holds up no create, because the load balancer with the address may be one that a person makes in the new network.
    """
    if not isinstance(plan, WantedCluster) or plan.endpoint is not None or _read_host(raw):
        return plan.unmet if isinstance(plan, WantedCluster) else ()
    missing = "it is missing, and no load balancer of the cluster gives it; set the address of the API server"
    return (SpecProblem("spec.controlPlaneEndpoint.host", missing), *plan.unmet)


def _observe_unmet(raw: Mapping[str, Any], plan: WantedCluster) -> Observation:
    message = join_problems(find_lacking(raw, plan)) or "the load balancer of the API server has no address yet"
    return Observation(names.READY, "False", Reason.REQUIREMENT.value, message)
