"""``Toy``, as the operator's reconciler sees it: what its spec wants, and its status."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from freehold.api import names
from freehold.api.conditions import Observation, format_time, summarize
from freehold.engine.graph import Graph, Node
from freehold.engine.journal import Journal
from freehold.engine.keyed_codec import PREFIX
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.objects.adapter import (
    Desired,
    GraphMode,
    PassReport,
    RefusedSpec,
    StatusUpdate,
    WantedGraph,
    parse_or_refuse,
)
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.gate import Proceed
from freehold.providers.objects.identity import build_status_identity
from freehold.providers.objects.part_conditions import observe_deletion, observe_parts, select_wanted_parts
from freehold.providers.objects.resource_rows import build_rows, describe_blockers
from freehold.providers.objects.served_fields import find_ignored_fields, observe_served_fields
from freehold.providers.objects.spec_problems import SpecProblem, join_problems
from freehold.providers.objects.status import build_update, observe_not_paused
from freehold.providers.toy.kind import TOY_OBJECT
from freehold.providers.toy.kinds import BOX, NET
from freehold.providers.toy.types import ToySpec

THE_NET, THE_BOX = NodeKey(NET, "main"), NodeKey(BOX, "main")
"""A resource keeps its logical name for life: it is in the journal and in its marks."""

PARTS = {"NetReady": (NET,), "BoxReady": (BOX,)}
"""The conditions, and the kinds of resources that each speaks for."""


class ToyAdapter:
    """One kind of object (providers.objects.adapter.Adapter)."""

    served = TOY_OBJECT

    async def find_desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        spec = parse_or_refuse(ToySpec, raw)
        if isinstance(spec, RefusedSpec):
            return spec
        if reserved := sorted(key for key in spec.tags if key.startswith(PREFIX)):
            return RefusedSpec((SpecProblem(f"spec.tags.{reserved[0]}", f"keys that begin with {PREFIX} are ours"),))
        name = raw["metadata"]["name"]
        net = Node(THE_NET, f"{name}-net", lambda known: {"name": f"{name}-net"})
        box = Node(
            THE_BOX,
            f"{name}-box",
            lambda known: {"name": f"{name}-box", "net": known[THE_NET].id, "size": spec.size},
            requires=frozenset({THE_NET}),
            field="spec.size",
        )
        notes = tuple(find_ignored_fields(TOY_OBJECT.fields, raw))
        return WantedGraph(GraphMode.CREATE, Graph([net, box]), tuple(sorted(spec.tags.items())), notes)

    async def find_secrets(self, raw: Mapping[str, Any], proceed: Proceed, report: PassReport) -> tuple[()]:
        """Find none: the kind keeps no Secrets."""
        return ()

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        status = dict(raw.get("status") or {})
        graph = report.plan.graph if isinstance(report.plan, WantedGraph) else None
        if report.journal:
            status["identity"] = dict(build_status_identity(raw, report.journal))
        if graph or report.deleting:
            status["resources"] = build_rows(
                status.get("resources") or (), graph, report.journal, report.outcomes, format_time(now),
                deleting=report.deleting, deleted=report.deleted,
            )  # fmt: skip
        conditions = [*_conditions(report), observe_not_paused()]
        status["ready"] = conditions[0].status == "True"
        return build_update(raw, status, conditions, now, order=TOY_OBJECT.parts)

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        box = dict(found).get(THE_BOX)
        return {"size": box.attributes["size"]} if box else {}

    def find_collection(self, raw: Mapping[str, Any], journal: Journal, around: Around = NOTHING_AROUND) -> None:
        """No workload makes anything in a toy."""


def _conditions(report: PassReport) -> Iterator[Observation]:
    """``Ready`` first."""
    if isinstance(report.plan, RefusedSpec):
        yield Observation(names.READY, "False", report.plan.reason, join_problems(report.plan.problems))
    elif report.deleting or not isinstance(report.plan, WantedGraph):
        lines = list(describe_blockers(report.outcomes))
        yield Observation(names.READY, "False", names.REASON_DELETING, "; ".join(lines) or "being deleted")
        yield observe_deletion(report.outcomes, lines)
    else:
        graph = report.plan.graph
        parts = list(observe_parts(PARTS, graph, report.journal, report.outcomes))
        yield summarize(parts, select_wanted_parts(PARTS, graph))
        yield from parts
        yield observe_served_fields(report.plan.notes)
