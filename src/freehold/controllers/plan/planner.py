"""What a manifest would do: the reconciler itself, pass after pass on a dry run, until nothing changes any more."""

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
from freehold.controllers.app import Settings, connections_of
from freehold.controllers.connections import accounts_in
from freehold.controllers.controller import Done, RequeueAfter
from freehold.controllers.events import Severity
from freehold.controllers.name_claims import NameClaims
from freehold.controllers.plan.last_errors import with_last_refusals
from freehold.controllers.plan.list_cache import ListedOnce
from freehold.controllers.plan.plan import Action
from freehold.controllers.plan.plan import Plan as Plan
from freehold.controllers.plan.plan import PlanRow as PlanRow
from freehold.controllers.plan.rows import rows_of
from freehold.controllers.reconciler import Reconciler
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
from freehold.kube.merge_patch import patched
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.providers.access.accounts import Accounts, Binding, CloudAccount, NoCredentials, OneAccount
from freehold.providers.access.audit import NoAudit
from freehold.providers.base import Reader
from freehold.providers.objects import cluster_status, gate, identity
from freehold.providers.objects.adapter import (
    Adapter,
    Collecting,
    Desired,
    PassReport,
    Refused,
    StatusUpdate,
    Undecided,
    Wanted,
)
from freehold.providers.registry import served_of

MOST_PASSES = 300
UNSTORED_UID = "00000000-0000-4000-8000-000000000000"
"""Of an object that the API server has not seen yet; as long as a real one."""
_UNANSWERED = frozenset({Reason.RETRYING, Reason.THROTTLED})
"""The cloud could not be asked. Nothing is wrong with the manifest, as far as is known."""
_LASTING = _UNANSWERED | {Reason.REQUIREMENT}
"""No wait ends these within a plan: what they wait for is waiting itself, or blocked."""


async def plan(
    raw: Mapping[str, Any],
    settings: Settings,
    client: Reader,
    ring: KeyRing,
    cluster: gate.ClusterContext,
    others: OtherObjects | None = None,
    stored: ListedOnce | None = None,
) -> Plan:
    """What serving ``raw``, as it would be stored, would do. ``stored`` are the objects of its kind. Writes nothing.

    Raises KubeError.
    """
    with ExitStack() as stack:
        served = served_of(str(raw["kind"]))
        accounts = accounts_in(connections_of(settings, client, stack, NoAudit()), served)
        return await plan_with(served, accounts, settings.clock, raw, ring, cluster, others, stored)


async def plan_with(
    served: ServedName,
    accounts: Accounts,
    clock: Clock,
    raw: Mapping[str, Any],
    ring: KeyRing,
    cluster: gate.ClusterContext,
    others: OtherObjects | None = None,
    stored: ListedOnce | None = None,
) -> Plan:
    """The same with kind and accounts passed in."""
    copied = _ObjectCopy(raw, served)
    binding = await accounts.binding(copied.raw)
    if isinstance(binding, NoCredentials):
        return Plan(str(key_of(copied.raw)), problems=(binding.message,), kind=served.kind)
    claims = None
    if served.once_in_account and stored is not None:
        claims = NameClaims(served, accounts, stored.objects, stored.read)
    made = await _DryRun(binding, clock, copied, ring, cluster, others, claims).plan()
    return replace(made, kind=served.kind)


class AsIfStored:
    """Reads what is stored, and before it what a manifest has beside the object that is planned."""

    def __init__(self, client: Reader, beside: Iterable[Json]) -> None:
        self._client = client
        self._beside = {(str(each["apiVersion"]), str(each["kind"]), key_of(each)): each for each in beside}

    async def get(self, resource: Resource, key: Key) -> Json:
        found = self._beside.get((resource.api_version, resource.kind, key))
        return await self._client.get(resource, key) if found is None else found

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        """What is stored: no cluster is served by what only a list shows."""
        return await self._client.list(resource, namespace, label_selector=label_selector)


class _DryRun:
    """One object's passes on an overlay of the cloud, each at the time at which the one before asked for it."""

    def __init__(
        self,
        binding: Binding,
        clock: Clock,
        copied: _ObjectCopy,
        ring: KeyRing,
        cluster: gate.ClusterContext,
        others: OtherObjects | None,
        claims: NameClaims | None,
    ) -> None:
        served = binding.adapter.served
        self._clock = ManualClock(clock.now(), clock.monotonic())  # the waits of the plan are taken as over
        self._overlay = Overlay(self._clock)
        self._object = copied
        self._stored = self._object.raw
        self._before = _journal(self._stored)
        self._deps = dry_run_deps(binding.cloud.read_only_deps(ring), self._overlay)
        self._adapter = _Observed(binding.adapter)
        dry = OneAccount(Binding(_DryAccount(binding.cloud, self._deps), self._adapter))
        self._reconciler = Reconciler(served, dry, GivenRing(ring), self._clock, NoEvents(), others, claims)
        self._cluster = cluster
        self._gone = False

    async def plan(self) -> Plan:
        finished = await self._run()
        raw = self._object.raw
        subject = str(key_of(raw))
        report = self._adapter.report
        if report is None:
            return self._not_served(subject)
        found = report.plan
        notes = tuple(str(note) for note in found.notes) if found else ()
        if isinstance(found, Refused) and not report.deleting:
            return Plan(subject, problems=tuple(str(problem) for problem in found.problems), notes=notes)
        if isinstance(found, Undecided):
            return Plan(subject, unanswered=_missing(found), notes=notes)
        planned = rows_of(self._before, report, self._overlay.writes, self._deps)
        rows = tuple(with_last_refusals(planned, self._stored))
        unanswered = tuple(
            f"{key}: {outcome.message}"
            for key, outcome in report.outcomes.items()
            if isinstance(outcome, Waiting) and outcome.reason in _UNANSWERED
        )
        if not finished:
            unanswered += (f"the plan has not come to an end after {MOST_PASSES} passes",)
        notes += self._collection(report, rows)
        lacking = () if report.deleting else tuple(str(each) for each in cluster_status.lacking(raw, found))
        return Plan(subject, rows, (), unanswered, notes, dict(self._overlay.calls), self._gone, _refused(raw), lacking)

    def _collection(self, report: PassReport, rows: Sequence[PlanRow]) -> tuple[str, ...]:
        """Say which deletes wait for the collection of what the workloads made, or why nothing is collected."""
        found = self._adapter.collected(self._stored, self._before) if report.deleting and self._before else None
        registry = self._deps.registry
        doomed = {row.kind for row in rows if row.action is Action.DELETE and row.kind in registry}
        waiting = ", ".join(sorted(kind for kind in doomed if registry[kind].deletion.after_collection))
        if found is None or not waiting:
            return ()
        if not isinstance(found.policy, Collect):
            return (found.policy.message,)
        key = key_of(self._stored)
        where = f"freehold gc plan {key.name} -n {key.namespace}"
        return (f"{waiting} go when what the cluster's workloads made is collected; what that is: {where}",)

    async def _run(self) -> bool:
        """Pass after pass; whether they came to rest."""
        longest = max(kind.settle for kind in self._deps.registry.values())
        horizon = 2 * longest + 3 * self._deps.intervals.deep
        changed_at, still = self._clock.monotonic(), 0
        for _ in range(MOST_PASSES):
            before, self._adapter.report_of_pass = self._state(), None
            result = await self._reconciler.reconcile(self._object, self._cluster)
            if isinstance(result, Done):
                self._gone = bool(self._object.raw["metadata"].get("deletionTimestamp"))
                return True
            if self._state() != before:
                changed_at, still = self._clock.monotonic(), 0
            else:
                still += 1
            assert isinstance(result, RequeueAfter)
            if (still and self._is_over(result)) or self._clock.monotonic() - changed_at > horizon:
                return True
            self._clock.advance(max(result.seconds, 1.0))
        return False

    def _is_over(self, result: RequeueAfter) -> bool:
        """Whether a pass without a change is the last one: none that comes soon has more to do."""
        waits = self._waits()
        if waits is None or not waits.isdisjoint(_UNANSWERED):
            return waits is None or waits <= _LASTING
        return waits <= _LASTING and result.seconds >= self._deps.intervals.slow

    def _state(self) -> tuple[int, str]:
        annotations = self._object.raw["metadata"].get("annotations") or {}
        return len(self._overlay.writes), annotations.get(names.JOURNAL_ANNOTATION, "")

    def _waits(self) -> frozenset[Reason] | None:
        """Why the pass has not come to an end; None where it did not get to the engine."""
        report = self._adapter.report_of_pass
        if report is None or not (isinstance(report.plan, Wanted) or report.deleting):
            return None
        return frozenset(o.reason for o in report.outcomes.values() if isinstance(o, Waiting))

    def _not_served(self, subject: str) -> Plan:
        """The gate, the identity or the account stopped it: its conditions say why."""
        found = {c["type"]: c for c in (self._object.raw.get("status") or {}).get("conditions") or ()}
        paused, ready = found.get(names.PAUSED, {}), found.get(names.READY, {})
        message = str(ready.get("message") or "")
        if paused.get("status") == "True":
            return Plan(subject, notes=(f"nothing is done while it is paused: {paused.get('message') or ''}",))
        if ready.get("reason") in {reason.value for reason in _UNANSWERED}:
            return Plan(subject, unanswered=(message,))
        return Plan(subject, problems=(message,) if message else (), notes=() if message else ("it is not served",))


def _refused(raw: Json) -> Mapping[str, str]:
    text = (raw["metadata"].get("annotations") or {}).get(names.DECISIONS_ANNOTATION) or "[]"
    return {each.node: each.answer for each in decisions.loads(text) if each.answer.startswith(decisions.REFUSED)}


def _journal(raw: Json) -> Journal | None:
    try:
        return identity.recorded(raw)
    except journals.CorruptJournal:
        return None


def _missing(found: Undecided) -> tuple[str, ...]:
    fields: dict[str, list[str]] = {}
    for name, answer in found.missing.items():
        fields.setdefault(answer.message, []).append(name)
    return tuple(f"{', '.join(where)}: {message}" for message, where in fields.items())


class _ObjectCopy:
    """The object of a dry run (reconciler.ObjectHandle): patches change this copy only."""

    def __init__(self, raw: Mapping[str, Any], served: ServedName) -> None:
        self.raw: Json = copy.deepcopy(dict(raw))
        metadata = self.raw["metadata"]
        metadata.setdefault("uid", UNSTORED_UID)
        metadata.setdefault("resourceVersion", "0")
        metadata.setdefault("generation", 1)
        if served.namespaced:
            metadata.setdefault("namespace", "default")

    async def newest(self) -> Json:
        return self.raw

    async def save(self, journal: Journal) -> None:
        await self.apply({"metadata": {"annotations": {names.JOURNAL_ANNOTATION: journals.dumps(journal)}}})

    async def apply(self, patch: Mapping[str, Any]) -> None:
        self.raw = patched(self.raw, patch)

    async def patch_status(self, status: Mapping[str, Any]) -> None:
        self.raw = {**self.raw, "status": dict(status)}


class _Observed:
    """The adapter, and the last report that it made a status of."""

    def __init__(self, inner: Adapter) -> None:
        self._inner = inner
        self.report: PassReport | None = None
        self.report_of_pass: PassReport | None = None

    @property
    def served(self) -> ServedName:
        return self._inner.served

    async def desired(self, raw: Mapping[str, Any], proceed: gate.Proceed, journal: Journal) -> Desired:
        return await self._inner.desired(raw, proceed, journal)

    def status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        self.report = self.report_of_pass = report
        return self._inner.status(raw, report, now)

    def skeleton(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        return self._inner.skeleton(owner, found)

    def collected(self, raw: Mapping[str, Any], journal: Journal) -> Collecting | None:
        return self._inner.collected(raw, journal)


class _DryAccount:
    """The account, with tools that write on the overlay."""

    def __init__(self, inner: CloudAccount, deps: EngineDeps) -> None:
        self._inner = inner
        self._deps = deps

    @property
    def name(self) -> str:
        return self._inner.name

    def deps(self, subject: str, ring: KeyRing, uuid: str) -> EngineDeps:
        return self._deps

    def read_only_deps(self, ring: KeyRing) -> EngineDeps:
        return self._inner.read_only_deps(ring)

    def survey(self, subject: str, cluster: str) -> Survey | None:
        return None

    def read_only_survey(self, cluster: str) -> Survey | None:
        return None

    async def account(self) -> str:
        return await self._inner.account()

    def look_anew(self) -> None:
        """Nobody asks a plan to look."""

    def left(self, subject: str, resource: str, why: str) -> None:
        """Nothing is left by a plan."""

    def collected(self, subject: str, summary: str) -> None:
        """Nothing is collected by a plan."""

    def decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        """Nothing is decided by a plan."""

    def forget(self, subject: str) -> None:
        """Nothing was remembered."""


@dataclass(frozen=True)
class GivenRing:
    """A ring that was read once."""

    ring: KeyRing

    def missed(self) -> None:
        """Nobody fetches a key for a plan."""


class NoEvents:
    """Where the events of a plan go."""

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None:
        """A plan tells the person who asked for it, not the object's readers."""
