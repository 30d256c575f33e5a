"""The reconciler of objects of any kind: from the object to the engine's two passes, and back to its status.

The path: gate (may it be worked on?) → account (are there credentials?) → identity (whose resources are they?) →
desired (the adapter's graph of wanted nodes, unless another object has the name) → ``engine.ensure`` or
``engine.release`` → status. Gate and identity are pure decisions with named outcomes. All I/O goes through the object's
handle, the adapter and the engine.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from freehold.api import names
from freehold.api.conditions import Observation
from freehold.api.served import ClusterLink, ServedName
from freehold.collection.policy import Policy
from freehold.controllers import exclusive_use
from freehold.controllers.collecting import Collections, ObjectCollection
from freehold.controllers.controller import Done, RequeueAfter, Result
from freehold.controllers.events import COLLECTED, Severity
from freehold.controllers.keyring.stored_form import RingError
from freehold.controllers.name_claims import NameClaims
from freehold.controllers.object_memory import ObjectMemo, ObjectMemory, generation_of
from freehold.controllers.observation_log import LookLog, LookOutcome
from freehold.controllers.pass_events import find_events
from freehold.controllers.person_decisions import read_decisions, record_conclusions
from freehold.controllers.record_guard import ObjectHandle, Recorder, RecordGuard, Rings, subject_of
from freehold.controllers.repairs import RepairWatch, ignore_repairs, name_repairs
from freehold.controllers.secret_reader import NamespaceSecrets
from freehold.controllers.secret_writer import SecretWriter
from freehold.engine import engine
from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, NeedsPerson
from freehold.engine.graph import Graph
from freehold.engine.interface import EngineDeps
from freehold.engine.inventory import NoOthers, OtherObjects
from freehold.engine.journal import Journal, StaleObject
from freehold.engine.keys import KeyRing
from freehold.engine.outcomes import Blocked, Outcome, Reason, Waiting, outcome_of_error
from freehold.kube.errors import KubeError, ObjectNotFound
from freehold.kube.resources import Json, key_of
from freehold.providers.access.accounts import Accounts, Binding, CloudAccount, NoCredentials, bind_in_place
from freehold.providers.base import ObjectReader
from freehold.providers.objects import gate, identity, parents, status
from freehold.providers.objects.adapter import (
    Desired,
    GraphMode,
    PassReport,
    StatusUpdate,
    UndecidedSpec,
    WantedGraph,
)
from freehold.providers.objects.identity import ParentStanding
from freehold.providers.objects.kept_secrets import report_untold
from freehold.providers.objects.served_resources import resource_around

CONFLICT_SECONDS = 1.0
SLOW_SECONDS = 300.0
OCCUPIED_SECONDS = 30.0
ACCOUNT_CHANGED = "AccountChanged"
DEFECT = "InternalError"

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _ObjectPass:
    """A pass of one object whose identity and account are known."""

    document: ObjectHandle
    binding: Binding
    journal: Journal
    known: ObjectMemo
    ring: KeyRing
    stored: Journal
    """The journal as stored, without changes that this pass has not saved."""


@dataclass(frozen=True)
class PassEnd:
    """The end of a pass: when the next one is due, and ``notes`` for a person.

    ``status`` must still be written; None if a step has written it, or if it stays as it is.
    """

    result: Result
    status: StatusUpdate | None = None
    notes: tuple[str, ...] = ()


class Reconciler:
    """A reconciler of the objects of one kind. The loss of its memory costs reads only.

    ``collects``: garbage collection is on for new objects of this kind. ``reader`` reads the Secrets of machines.
    ``secrets`` writes those that objects keep; None where nothing is written, as in a plan. ``on_repair`` is told the
    kind, the object, and which of its resources were changed from outside and brought back.
    """

    def __init__(
        self,
        served: ServedName,
        accounts: Accounts,
        rings: Rings,
        clock: Clock,
        recorder: Recorder,
        others: OtherObjects | None = None,
        claims: NameClaims | None = None,
        collections: Collections | None = None,
        *,
        collects: bool = False,
        reader: ObjectReader | None = None,
        secrets: SecretWriter | None = None,
        on_repair: RepairWatch = ignore_repairs,
    ) -> None:
        self._served = served
        self._accounts = accounts
        self._rings = rings
        self._clock = clock
        self._recorder = recorder
        self._others = others or NoOthers()
        self.look_log = LookLog()
        self._claims = claims
        self._collections = collections
        self._collects = collects
        self._reader = reader
        self._secrets = secrets
        self._on_repair = on_repair
        self._memory = ObjectMemory(clock)
        self._guard = RecordGuard(served, self._memory, rings, recorder)
        self._look_requested: set[str] = set()
        """UIDs of objects with a requested full look whose cached readings are not dropped yet."""

    async def reconcile(self, document: ObjectHandle, cluster: gate.ClusterContext) -> Result:
        """Do one pass. Raises defects, KubeError, CloudError and RingError.

        A defect is written to the status first, because an object without any news would seem to be in progress.
        """
        before = document.raw.get("status") or {}
        self._begin_pass(document.raw)
        try:
            end = await self._decide(document, cluster)
            if end.status is not None:
                await self._write(document, end.status)
        except StaleObject:
            return RequeueAfter(CONFLICT_SECONDS)
        except (KubeError, CloudError, RingError):
            raise
        except Exception as defect:
            with suppress(StaleObject, KubeError):
                await self._write(document, self._build_held_status(document.raw, DEFECT, _describe_defect(defect)))
            raise
        finally:
            self._guard.remember(document.raw)
        after = document.raw.get("status") or {}
        for event in find_events(before, after, end.notes):
            self._recorder.record(document.raw, event.severity, event.reason, event.message)
        return end.result

    def _begin_pass(self, raw: Json) -> None:
        if not self.look_log.begin_pass(key_of(raw)):
            return
        self._look_requested.add(raw["metadata"]["uid"])
        if known := self._memory.find(raw):
            known.state.invalidate()

    def report_gone(self, last: Json) -> None:
        """Report the resources of an object that was deleted without our finalizer: no pass sees it again."""
        known = self._memory.forget(last)
        self.forget(last)
        if known is not None and not known.is_released:
            self._guard.report_left_behind(last, known)

    def forget(self, raw: Json) -> None:
        """Forget an object that this process serves no more. No pass of it may be running."""
        self.look_log.forget(key_of(raw))
        self._look_requested.discard(raw["metadata"]["uid"])
        if self._collections is not None:
            self._collections.forget(raw["metadata"]["uid"])
        known = self._memory.forget(raw)
        if known is not None:
            known.cloud.forget(subject_of(raw))

    async def _decide(self, document: ObjectHandle, cluster: gate.ClusterContext) -> PassEnd:
        decision = gate.decide(document.raw, cluster, self._served)
        if not gate.leaves_alone(decision) and await self._guard.put_back(document):
            decision = gate.decide(document.raw, cluster, self._served)
        raw = document.raw
        match decision:
            case gate.Skip():
                self._note_look(document, LookOutcome.LEFT_ALONE)
                return PassEnd(Done())
            case gate.ReleaseForMove():
                await document.apply(_build_finalizer_removal(raw, self._served.finalizer))
                return PassEnd(Done())
            case gate.Pause(message):
                return PassEnd(Done(), status.build_paused_update(raw, message, self._now(), self._served.parts))
            case gate.Hold(reason, message):
                part = self._served.waiting_part if reason in gate.WAITS_OF_MACHINES else ""
                parts = [Observation(part, "False", reason, message)] if part else []
                return self._hold(raw, reason, message, parts=parts)
            case gate.WaitForMachines(message):
                waits = status.build_machine_wait_update(raw, message, self._now(), self._served.parts)
                return PassEnd(RequeueAfter(OCCUPIED_SECONDS), waits)
            case gate.Release() | gate.Proceed():
                return await self._bind(document, decision)

    async def _bind(self, document: ObjectHandle, decision: gate.Proceed | gate.Release) -> PassEnd:
        """Find credentials and go on. Without them nothing can be read, so nothing counts as gone, also in a delete."""
        proceed = decision if isinstance(decision, gate.Proceed) else None
        standing = parents.find_standing(document.raw, self._served, decision.around.parent)
        binding = await bind_in_place(self._accounts, document.raw, self._served, standing)
        if isinstance(binding, NoCredentials):
            if proceed is None and self._never_began(document):
                return await self._release_untouched(document)
            self._memory.forget(document.raw)  # another operator may serve it meanwhile
            return self._hold(document.raw, binding.reason, binding.message, parts=binding.parts)
        return await self._identify(document, binding, decision, standing or ParentStanding())

    async def _identify(
        self, document: ObjectHandle, binding: Binding, decision: gate.Proceed | gate.Release, standing: ParentStanding
    ) -> PassEnd:
        ring, proceed = self._rings.ring, decision if isinstance(decision, gate.Proceed) else None
        found = identity.identify(
            document.raw, self._served.finalizer, ring, collects=self._collects, defaults=self._served.defaults,
            standing=standing,
        )  # fmt: skip
        if isinstance(found, identity.KeyMissing):
            return self._hold_without_key(document, found)
        if isinstance(found, identity.UnusableIdentity):
            return self._hold(document.raw, found.reason.value, found.message)
        try:  # before anything is written: where nobody can be asked, nothing is begun that a delete would wait for
            account = await binding.cloud.read_account()
        except CloudError as error:
            if proceed is None and isinstance(error, NeedsPerson) and self._never_began(document):
                return await self._release_untouched(document)
            return self._hold_for_error(document, error)
        if isinstance(found, identity.MintedIdentity) and found.anew:
            await document.patch_status({})
        if found.patch is not None:
            await document.apply(found.patch)
        # Only after the patch is stored: another process that was faster may have creates under way.
        uid = document.raw["metadata"]["uid"]
        lost = not isinstance(found, identity.KnownIdentity) and self._memory.find(document.raw) is not None
        if lost:  # creates of the lost journal may be under way: nothing remembered shortens a wait
            self._memory.forget(document.raw)
        is_new = isinstance(found, identity.MintedIdentity) and not (lost or found.anew)
        before = self._memory.find(document.raw)
        known = self._memory.keep(document.raw, binding.cloud, identity_is_new=is_new)
        if known is not before:
            self._guard.remember(document.raw)
        journal = replace(found.journal, account=found.journal.account or account, untouched="")
        if journal.account != account:
            return self._hold_other_account(document, binding.cloud.name, journal.account, account)
        if journal.place != standing.place:  # its parent has another identity now
            journal = replace(journal, place=standing.place)
            await document.save(journal)
        current = _ObjectPass(document, binding, journal, known, ring, replace(found.journal, place=journal.place))
        if uid in self._look_requested:
            self._forget_readings(current)
            self._look_requested.discard(uid)
        return await (self._ensure(current, proceed) if proceed else self._release(current, decision.around))

    def _never_began(self, document: ObjectHandle) -> bool:
        return identity.never_began(document.raw, self._rings.ring)

    async def _release_untouched(self, document: ObjectHandle) -> PassEnd:
        """Release an object for which nothing was ever created, without asking the cloud."""
        _LOG.info("%s: nothing was ever begun for it; its finalizer is taken off", subject_of(document.raw))
        await document.apply(_build_finalizer_removal(document.raw, self._served.finalizer))
        self._memory.forget(document.raw)
        return PassEnd(Done())

    def _hold_without_key(self, document: ObjectHandle, found: identity.KeyMissing) -> PassEnd:
        """Hold an object whose key the ring lacks, also in a delete. Another operator may serve it, so forget it."""
        self._memory.forget(document.raw)
        self._rings.report_missing_key()
        return self._hold(document.raw, names.REASON_KEY_MISSING, found.message)

    def _hold_other_account(self, document: ObjectHandle, cloud: str, recorded: str, account: str) -> PassEnd:
        """Hold an object that has resources in another account: with these credentials all of them would seem gone."""
        (theirs, region), (ours, _) = (each.partition("/")[::2] for each in (recorded, account))
        until = f"it runs with credentials of {recorded}"
        if region and theirs == ours:
            until = f"spec.region is {region} again"
        message = (
            f"its resources are in {cloud} account {recorded}, and it would be served in {account}: nothing is read, "
            f"created or deleted until {until}"
        )
        return self._hold(document.raw, ACCOUNT_CHANGED, message)

    async def _ensure(self, current: _ObjectPass, proceed: gate.Proceed) -> PassEnd:
        document, journal, known, adapter = current.document, current.journal, current.known, current.binding.adapter
        deps = self._build_deps(current)
        proceed = replace(proceed, ring=current.ring, secrets=deps.secrets)
        plan = await adapter.find_desired(document.raw, proceed, journal)
        plan = await exclusive_use.claim_name(self._claims, document.raw, journal, plan)
        plan = await exclusive_use.refuse_shared(self._others, document.raw, journal, plan)
        if not isinstance(plan, WantedGraph):
            report = PassReport(plan, current.stored, around=proceed.around)
            report = await self._keep_secrets(current, proceed, report)
            after = plan.after if isinstance(plan, UndecidedSpec) else SLOW_SECONDS
            after = min(after, report.secrets.after)
            return PassEnd(RequeueAfter(after), adapter.build_status(document.raw, report, self._now()))
        if plan.known_before:  # what an earlier process made is looked for before anything is created
            known.state.identity_is_new = False
        tags = frozenset(deps.codec.user(key, value) for key, value in plan.user_tags)
        try:
            if plan.mode is GraphMode.FROZEN:
                reading, copied = current.binding.cloud.build_read_only_deps(current.ring), known.state.dry_run_copy()
                done = await engine.ensure(reading, plan.graph, journal, document, copied, journal.tags)
            else:
                asked = read_decisions(document.raw, known)
                done = await engine.ensure(deps, plan.graph, journal, document, known.state, tags, asked)
        except CloudError as error:
            return self._hold_for_error(document, error)
        report = PassReport(plan, done.journal, done.outcomes, around=proceed.around)
        report = await self._keep_secrets(current, proceed, report)
        if done.repaired:
            self._on_repair(self._served.kind, key_of(document.raw), name_repairs(done, plan.graph))
        seen = LookOutcome.FULL_LOOK if done.looked else LookOutcome.STATUS_ONLY
        await self._write(document, adapter.build_status(document.raw, report, self._now()), seen)
        known.generation = generation_of(document.raw)  # the endpoint is ours: no news
        await record_conclusions(document, self._recorder, current.binding.cloud, done.decided)
        after = min(done.after, report.secrets.after)
        return PassEnd(RequeueAfter(after, done.at_rest), notes=done.notes)

    async def _keep_secrets(self, current: _ObjectPass, proceed: gate.Proceed, report: PassReport) -> PassReport:
        """Keep the Secrets of an object, before its status says that they are there."""
        if self._secrets is None:
            return report
        try:
            wanted = await current.binding.adapter.find_secrets(current.document.raw, proceed, report)
        except CloudError as error:
            return replace(report, secrets=report_untold(error))
        return replace(report, secrets=await self._secrets.keep(current.document.raw, wanted))

    def _forget_readings(self, current: _ObjectPass) -> None:
        """Drop cached readings: those of the account, and of the kinds' caches those of this object."""
        current.binding.cloud.forget_answers()
        registry = self._build_deps(current).registry
        for key, entry in current.journal.entries.items():
            kind = registry.get(key.kind)
            if kind is not None and kind.reads.attribute_cache is not None:
                kind.reads.attribute_cache.forget([entry.id])

    async def _release(self, current: _ObjectPass, around: gate.Around) -> PassEnd:
        """Delete what is owned. The spec only helps to find strays, and may be invalid by now."""
        document, journal, known, adapter = current.document, current.journal, current.known, current.binding.adapter
        cloud = current.binding.cloud
        alone = gate.Proceed(document.raw["metadata"]["name"], around=around)
        try:
            plan: Desired | None = await adapter.find_desired(document.raw, alone, journal)
        except CloudError:
            raise
        except Exception:  # a defect of ours; nothing of the spec may keep what is owned from being deleted
            _LOG.exception("%s: what its spec wants cannot be told; the delete goes on", subject_of(document.raw))
            plan = None
        graph = plan.graph if isinstance(plan, WantedGraph) else Graph(())
        deps = replace(self._build_deps(current), collection=self._open_collection(current, around))
        never_began = self._never_began(document)
        try:
            asked = read_decisions(document.raw, known)
            done = await engine.release(deps, graph, journal, document, known.state, asked)
        except CloudError as error:
            if never_began and isinstance(error, NeedsPerson):
                return await self._release_untouched(document)
            return self._hold_for_error(document, error)
        report = PassReport(
            plan, done.journal, done.outcomes, deleting=True, deleted=done.deleted, collected=done.collection.summary,
            around=around,
        )  # fmt: skip
        await self._write(document, adapter.build_status(document.raw, report, self._now()))
        if done.collection.is_news:
            cloud.audit_collected(subject_of(document.raw), done.collection.summary)
            self._recorder.record(document.raw, Severity.NORMAL, COLLECTED, done.collection.summary)
        await record_conclusions(document, self._recorder, cloud, done.decided)
        if never_began and not done.journal.entries and _is_denied(done.outcomes.values()):
            return await self._release_untouched(document)
        if done.released and isinstance(plan, UndecidedSpec) and not never_began:
            return PassEnd(
                RequeueAfter(max(plan.after, 1.0)), notes=done.notes
            )  # where to look for strays is not known yet
        if done.released:
            _audit_kept(document.raw, cloud)
            known.is_released = True  # the watch may show its end before the answer is here
            await document.apply(_build_finalizer_removal(document.raw, self._served.finalizer))
            self._memory.forget(document.raw)
            cloud.forget(subject_of(document.raw))
            if self._collections is not None:
                self._collections.forget(document.raw["metadata"]["uid"])
            return PassEnd(Done(), notes=done.notes)
        return PassEnd(RequeueAfter(done.after), notes=done.notes)

    def _open_collection(self, current: _ObjectPass, around: gate.Around) -> ObjectCollection | None:
        """Open the collection. Before each of its deletes it reads again what the object and its infrastructure say."""
        document, cloud, adapter = current.document, current.binding.cloud, current.binding.adapter
        wanted = adapter.find_collection(document.raw, current.journal, around)
        if wanted is None or self._collections is None:
            return None

        async def ask() -> Policy:
            newest = await document.read_newest()
            said = adapter.find_collection(newest, current.journal, await self._read_infrastructure_again(around))
            return wanted.policy if said is None else said.policy

        return self._collections.open_collection(document.raw, wanted.cluster, cloud, ask)

    async def _read_infrastructure_again(self, around: gate.Around) -> gate.Around:
        """Read the infrastructure of the object's Cluster again; of one that is gone the last known state counts."""
        beside, seen = self._served.infrastructure, around.infrastructure
        if beside is None or seen is None or self._reader is None:
            return around
        with suppress(ObjectNotFound):
            newest = await self._reader.get(resource_around(beside), key_of(dict(seen)))
            return replace(around, infrastructure=newest)
        return around

    def _build_deps(self, current: _ObjectPass) -> EngineDeps:
        raw = current.document.raw
        deps = current.binding.cloud.build_deps(subject_of(raw), current.ring, current.journal.owner.uuid)
        deps = replace(deps, others=self._others, inner=deps.inner if self._served.machines else None)
        if self._reader is None or self._served.link is not ClusterLink.MACHINE:
            return deps
        return replace(deps, secrets=NamespaceSecrets(self._reader, raw["metadata"].get("namespace", "")))

    def _hold_for_error(self, document: ObjectHandle, error: CloudError) -> PassEnd:
        """End a pass in which the cloud refused a call for the whole object, such as the search by our tags."""
        outcome = outcome_of_error(error)
        return self._hold(document.raw, outcome.reason.value, outcome.message, outcome.after)

    def _hold(
        self, raw: Json, reason: str, message: str, after: float = SLOW_SECONDS, parts: Sequence[Observation] = ()
    ) -> PassEnd:
        """End a pass that can do nothing. ``Ready`` says why; other conditions but ``parts`` stay as they were."""
        return PassEnd(RequeueAfter(after), self._build_held_status(raw, reason, message, parts))

    def _build_held_status(
        self, raw: Json, reason: str, message: str, parts: Sequence[Observation] = ()
    ) -> StatusUpdate:
        return status.build_held_update(raw, reason, message, self._now(), parts, self._served.parts)

    async def _write(
        self, document: ObjectHandle, update: StatusUpdate, seen: LookOutcome = LookOutcome.STATUS_ONLY
    ) -> None:
        """Write spec fields before status: whoever sees ready must see them (docs/reference/capi-contract.md C5)."""
        if update.patch:
            await document.apply(update.patch)
        if update.changed:
            await document.patch_status(update.status)
        self._note_look(document, seen)

    def _note_look(self, document: ObjectHandle, seen: LookOutcome) -> None:
        self.look_log.note_pass(key_of(document.raw), seen, str(document.raw["metadata"].get("resourceVersion", "")))

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)


def _describe_defect(defect: Exception) -> str:
    """Describe a defect for a person; the traceback is in the operator's log."""
    said = " ".join(str(defect).split())[:300]
    return (
        f"a defect in Freehold stopped this reconcile: {type(defect).__name__}: {said}. It is tried again; what the "
        "operator logs at that time belongs into a report"
    )


def _is_denied(outcomes: Iterable[Outcome]) -> bool:
    """Return whether the credentials lack permission for one of these reads."""
    return any(isinstance(outcome, Blocked | Waiting) and outcome.reason is Reason.DENIED for outcome in outcomes)


def _audit_kept(raw: Json, cloud: CloudAccount) -> None:
    """Log the kept resources to the audit before the finalizer is removed: then the status is gone, too."""
    for row in (raw.get("status") or {}).get("resources") or ():
        if row.get("state") == "Kept":
            resource = " ".join(str(row[part]) for part in ("kind", "name", "id") if row.get(part))
            cloud.audit_left(subject_of(raw), resource, str(row.get("message") or row.get("reason") or ""))


def _build_finalizer_removal(raw: Json, finalizer: str) -> Mapping[str, Any]:
    """Build the patch that removes the finalizer."""
    metadata = raw["metadata"]
    rest = [name for name in metadata.get("finalizers") or () if name != finalizer]
    return {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": rest}}
