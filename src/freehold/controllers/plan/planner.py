"""Planner of a manifest: the reconciler itself, pass after pass on a dry run, until nothing changes any more."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from freehold.api import names
from freehold.api.served import ServedName
from freehold.collection.policy import Collect
from freehold.collection.survey import Survey
from freehold.controllers.connections import find_accounts, open_connections
from freehold.controllers.controller import Done, RequeueAfter
from freehold.controllers.events import Severity
from freehold.controllers.name_claims import NameClaims
from freehold.controllers.plan.last_errors import add_last_errors
from freehold.controllers.plan.list_cache import ListCache
from freehold.controllers.plan.plan import Plan as Plan
from freehold.controllers.plan.plan import PlanAction
from freehold.controllers.plan.plan import PlanRow as PlanRow
from freehold.controllers.plan.rows import build_rows
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.settings import Settings
from freehold.engine import decisions
from freehold.engine import journal as journals
from freehold.engine.clock import Clock, ManualClock
from freehold.engine.dry_run import dry_run_deps
from freehold.engine.dry_run_overlay import Overlay
from freehold.engine.interface import EngineDeps
from freehold.engine.inventory import OtherObjects
from freehold.engine.journal import Journal
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Reason, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.kube import errors as kube
from freehold.kube.merge_patch import apply_merge_patch
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.providers.access.accounts import (
    Accounts,
    Binding,
    CloudAccount,
    NoCredentials,
    OneAccount,
    bind_in_place,
)
from freehold.providers.access.audit import NoAudit
from freehold.providers.base import ObjectReader
from freehold.providers.objects import cluster_status, gate, identity, parents
from freehold.providers.objects.adapter import (
    Adapter,
    CollectionRequest,
    Desired,
    PassReport,
    RefusedSpec,
    StatusUpdate,
    UndecidedSpec,
    WantedGraph,
)
from freehold.providers.registry import served_of

MOST_PASSES = 300
UNSTORED_UID = "00000000-0000-4000-8000-000000000000"
"""The UID of an object that is not stored yet; as long as a real one."""
_UNANSWERED = frozenset({Reason.RETRYING, Reason.THROTTLED})
"""Reasons for which the cloud gave no answer. Nothing is known to be wrong with the manifest."""
_LASTING = _UNANSWERED | {Reason.REQUIREMENT}
"""Reasons of waits that do not end within a plan: what they wait for is waiting itself, or blocked."""


async def plan_object(
    raw: Mapping[str, Any],
    settings: Settings,
    client: ObjectReader,
    ring: KeyRing,
    cluster: gate.ClusterContext,
    others: OtherObjects | None = None,
    stored: ListCache | None = None,
) -> Plan:
    """Plan what passes over ``raw`` would do once it is stored. ``stored`` are the objects of its kind. Writes nothing.

    Raises KubeError.
    """
    with ExitStack() as stack:
        served = served_of(str(raw["kind"]))
        accounts = find_accounts(open_connections(settings, client, stack, NoAudit()), served)
        return await plan_with_accounts(served, accounts, settings.clock, raw, ring, cluster, others, stored, client)


async def plan_with_accounts(
    served: ServedName,
    accounts: Accounts,
    clock: Clock,
    raw: Mapping[str, Any],
    ring: KeyRing,
    cluster: gate.ClusterContext,
    others: OtherObjects | None = None,
    stored: ListCache | None = None,
    reader: ObjectReader | None = None,
) -> Plan:
    """Plan an object with its kind and accounts passed in. ``reader`` reads the Secrets of a machine."""
    copied = _ObjectCopy(raw, served)
    decision = gate.decide(copied.raw, cluster, served)
    if isinstance(decision, gate.Hold) and decision.reason in gate.WAITS_OF_MACHINES:
        return Plan(str(key_of(copied.raw)), notes=(f"it waits: {decision.message}",), kind=served.kind)
    standing = parents.find_standing(copied.raw, served, cluster.around.parent)
    binding = await bind_in_place(accounts, copied.raw, served, standing)
    if isinstance(binding, NoCredentials):
        return Plan(str(key_of(copied.raw)), problems=(binding.message,), kind=served.kind)
    claims = None
    if served.once_in_account and stored is not None:
        claims = NameClaims(served, accounts, stored.list_objects, stored.read)
    made = await _DryRun(binding, clock, copied, ring, cluster, others, claims, reader).build_plan()
    return replace(made, kind=served.kind)


class ManifestReader:
    """A reader that answers with the other objects of the manifest, else with what is stored."""

    def __init__(self, client: ObjectReader, beside: Iterable[Json]) -> None:
        self._client = client
        self._beside = {(str(each["apiVersion"]), str(each["kind"]), key_of(each)): each for each in beside}

    async def get(self, resource: Resource, key: Key) -> Json:
        found = self._beside.get((resource.api_version, resource.kind, key))
        return await self._client.get(resource, key) if found is None else found

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        """List what is stored. No object of a manifest that matters to a plan is found by a list."""
        return await self._client.list(resource, namespace, label_selector=label_selector)


class StoredFirst(ManifestReader):
    """A reader that answers with what is stored, else with the objects of the manifest."""

    async def get(self, resource: Resource, key: Key) -> Json:
        try:
            return await self._client.get(resource, key)
        except kube.ObjectNotFound:
            return await super().get(resource, key)


class _DryRun:
    """The passes of one object over an overlay of the cloud, each at the time that the one before asked for."""

    def __init__(
        self,
        binding: Binding,
        clock: Clock,
        copied: _ObjectCopy,
        ring: KeyRing,
        cluster: gate.ClusterContext,
        others: OtherObjects | None,
        claims: NameClaims | None,
        reader: ObjectReader | None,
    ) -> None:
        served = binding.adapter.served
        self._clock = ManualClock(clock.now(), clock.monotonic())  # the waits of the plan are taken as over
        self._overlay = Overlay(self._clock)
        self._object = copied
        self._stored = self._object.raw
        self._before = _read_journal(self._stored)
        self._deps = dry_run_deps(binding.cloud.build_read_only_deps(ring), self._overlay)
        self._adapter = _ReportingAdapter(binding.adapter)
        dry = OneAccount(Binding(_DryAccount(binding.cloud, self._deps), self._adapter))
        self._reconciler = Reconciler(
            served, dry, GivenRing(ring), self._clock, NoEvents(), others, claims, reader=reader
        )
        self._cluster = cluster
        self._gone = False

    async def build_plan(self) -> Plan:
        finished = await self._run_passes()
        raw = self._object.raw
        subject = str(key_of(raw))
        report = self._adapter.report
        if report is None:
            return self._explain_not_served(subject)
        found = report.plan
        notes = tuple(str(note) for note in found.notes) if found else ()
        if isinstance(found, RefusedSpec) and not report.deleting:
            return Plan(subject, problems=tuple(str(problem) for problem in found.problems), notes=notes)
        if isinstance(found, UndecidedSpec):
            return Plan(subject, unanswered=_join_missing(found), notes=notes)
        planned = build_rows(self._before, report, self._overlay.writes, self._deps)
        rows = tuple(add_last_errors(planned, self._stored))
        unanswered = tuple(
            f"{key}: {outcome.message}"
            for key, outcome in report.outcomes.items()
            if isinstance(outcome, Waiting) and outcome.reason in _UNANSWERED
        )
        if not finished:
            unanswered += (f"the plan has not come to an end after {MOST_PASSES} passes",)
        notes += self._explain_collection(report, rows)
        lacking = () if report.deleting else tuple(str(each) for each in cluster_status.find_lacking(raw, found))
        return Plan(
            subject,
            rows,
            (),
            unanswered,
            notes,
            dict(self._overlay.calls),
            self._gone,
            _read_refused_decisions(raw),
            lacking,
        )

    def _explain_collection(self, report: PassReport, rows: Sequence[PlanRow]) -> tuple[str, ...]:
        """Explain which deletes wait for the collection of leftovers, or why nothing is collected."""
        before = self._before if report.deleting else None
        found = self._adapter.find_collection(self._stored, before, report.around) if before else None
        registry = self._deps.registry
        doomed = {row.kind for row in rows if row.action is PlanAction.DELETE and row.kind in registry}
        waiting = ", ".join(sorted(kind for kind in doomed if registry[kind].deletion.after_collection))
        if found is None or not waiting:
            return ()
        if not isinstance(found.policy, Collect):
            return (found.policy.message,)
        key = key_of(self._stored)
        where = f"freehold gc plan {key.name} -n {key.namespace}"
        return (f"{waiting} are deleted after what the cluster's workloads made; to list that: {where}",)

    async def _run_passes(self) -> bool:
        """Run pass after pass. Return whether they came to rest."""
        longest = max(kind.settle for kind in self._deps.registry.values())
        horizon = 2 * longest + 3 * self._deps.intervals.deep
        changed_at, still = self._clock.monotonic(), 0
        for _ in range(MOST_PASSES):
            before, self._adapter.report_of_pass = self._snapshot_state(), None
            result = await self._reconciler.reconcile(self._object, self._cluster)
            if isinstance(result, Done):
                self._gone = bool(self._object.raw["metadata"].get("deletionTimestamp"))
                return True
            if self._snapshot_state() != before:
                changed_at, still = self._clock.monotonic(), 0
            else:
                still += 1
            assert isinstance(result, RequeueAfter)
            if (still and self._is_over(result)) or self._clock.monotonic() - changed_at > horizon:
                return True
            self._clock.advance(max(result.seconds, 1.0))
        return False

    def _is_over(self, result: RequeueAfter) -> bool:
        """Return whether a pass without a change is the last one: no later pass has more to do soon."""
        waits = self._list_wait_reasons()
        if waits is None or not waits.isdisjoint(_UNANSWERED):
            return waits is None or waits <= _LASTING
        return waits <= _LASTING and result.seconds >= self._deps.intervals.slow

    def _snapshot_state(self) -> tuple[int, str]:
        annotations = self._object.raw["metadata"].get("annotations") or {}
        return len(self._overlay.writes), annotations.get(names.JOURNAL_ANNOTATION, "")

    def _list_wait_reasons(self) -> frozenset[Reason] | None:
        """List the reasons of the waits of a pass; None if it did not reach the engine."""
        report = self._adapter.report_of_pass
        if report is None or not (isinstance(report.plan, WantedGraph) or report.deleting):
            return None
        return frozenset(o.reason for o in report.outcomes.values() if isinstance(o, Waiting))

    def _explain_not_served(self, subject: str) -> Plan:
        """Explain from its conditions why the gate, the identity or the account stopped the object."""
        found = {c["type"]: c for c in (self._object.raw.get("status") or {}).get("conditions") or ()}
        paused, ready = found.get(names.PAUSED, {}), found.get(names.READY, {})
        message = str(ready.get("message") or "")
        if paused.get("status") == "True":
            return Plan(subject, notes=(f"nothing is done while it is paused: {paused.get('message') or ''}",))
        if ready.get("reason") in {reason.value for reason in _UNANSWERED}:
            return Plan(subject, unanswered=(message,))
        return Plan(subject, problems=(message,) if message else (), notes=() if message else ("it is not served",))


def _read_refused_decisions(raw: Json) -> Mapping[str, str]:
    text = (raw["metadata"].get("annotations") or {}).get(names.DECISIONS_ANNOTATION) or "[]"
    return {each.node: each.answer for each in decisions.loads(text) if each.answer.startswith(decisions.REFUSED)}


def _read_journal(raw: Json) -> Journal | None:
    try:
        return identity.read_record(raw)
    except journals.CorruptJournal:
        return None


def _join_missing(found: UndecidedSpec) -> tuple[str, ...]:
    fields: dict[str, list[str]] = {}
    for name, answer in found.missing.items():
        fields.setdefault(answer.message, []).append(name)
    return tuple(f"{', '.join(where)}: {message}" for message, where in fields.items())


class _ObjectCopy:
    """The object of a dry run (record_guard.ObjectHandle): patches change this copy only."""

    def __init__(self, raw: Mapping[str, Any], served: ServedName) -> None:
        self.raw: Json = copy.deepcopy(dict(raw))
        metadata = self.raw["metadata"]
        metadata.setdefault("uid", UNSTORED_UID)
        metadata.setdefault("resourceVersion", "0")
        metadata.setdefault("generation", 1)
        if served.namespaced:
            metadata.setdefault("namespace", "default")

    async def read_newest(self) -> Json:
        return self.raw

    async def save(self, journal: Journal) -> None:
        await self.apply({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journals.dumps(journal)}}})

    async def apply(self, patch: Mapping[str, Any]) -> None:
        self.raw = apply_merge_patch(self.raw, patch)

    async def patch_status(self, status: Mapping[str, Any]) -> None:
        self.raw = {**self.raw, "status": dict(status)}


class _ReportingAdapter:
    """An adapter that keeps the last report of which it built a status."""

    def __init__(self, inner: Adapter) -> None:
        self._inner = inner
        self.report: PassReport | None = None
        self.report_of_pass: PassReport | None = None

    @property
    def served(self) -> ServedName:
        return self._inner.served

    async def find_desired(self, raw: Mapping[str, Any], proceed: gate.Proceed, journal: Journal) -> Desired:
        return await self._inner.find_desired(raw, proceed, journal)

    async def find_secrets(self, raw: Mapping[str, Any], proceed: gate.Proceed, report: PassReport) -> tuple[()]:
        """Find none: a plan writes nothing."""
        return ()

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        self.report = self.report_of_pass = report
        return self._inner.build_status(raw, report, now)

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        return self._inner.rebuild_spec(owner, found)

    def find_collection(
        self, raw: Mapping[str, Any], journal: Journal, around: gate.Around = gate.NOTHING_AROUND
    ) -> CollectionRequest | None:
        return self._inner.find_collection(raw, journal, around)


class _DryAccount:
    """The account of a dry run: its engine tools write on the overlay."""

    def __init__(self, inner: CloudAccount, deps: EngineDeps) -> None:
        self._inner = inner
        self._deps = deps

    @property
    def name(self) -> str:
        return self._inner.name

    def build_deps(self, subject: str, ring: KeyRing, uuid: str) -> EngineDeps:
        return self._deps

    def build_read_only_deps(self, ring: KeyRing) -> EngineDeps:
        return self._inner.build_read_only_deps(ring)

    def build_survey(self, subject: str, cluster: str) -> Survey | None:
        return None

    def build_read_only_survey(self, cluster: str) -> Survey | None:
        return None

    async def read_account(self) -> str:
        return await self._inner.read_account()

    def forget_answers(self) -> None:
        """Do nothing: a plan has no cached answers."""

    def audit_left(self, subject: str, resource: str, why: str) -> None:
        """Do nothing: a plan leaves no resource behind."""

    def audit_collected(self, subject: str, summary: str) -> None:
        """Do nothing: a plan collects nothing."""

    def audit_decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        """Do nothing: a plan acts on no decision."""

    def forget(self, subject: str) -> None:
        """Do nothing: a plan remembers no object."""


@dataclass(frozen=True)
class GivenRing:
    """A key ring that was read once."""

    ring: KeyRing

    def report_missing_key(self) -> None:
        """Do nothing: a plan reads the ring once."""


class NoEvents:
    """A recorder that drops the events of a plan."""

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None:
        """Drop the event: a plan is for the person who asked for it."""
