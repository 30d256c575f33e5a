"""What a ``CloudMetadata`` would do to tags: the controller's own reconcile, of which every write stays here.

It reads the cloud and the API server as the controller does. Its calls to the cloud are recorded instead of sent, and
what it would store is laid over what is stored (ADR 12).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Protocol, Self
from uuid import NAMESPACE_URL, uuid5

from freehold.controllers.connections import open_connections
from freehold.controllers.plan.planner import GivenRing, NoEvents
from freehold.controllers.settings import Settings
from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, NeedsPerson
from freehold.engine.keys import KeyRing
from freehold.kube import errors as kube
from freehold.kube.merge_patch import apply_merge_patch
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.providers.access.audit import NoAudit
from freehold.providers.registry import SERVED_RESOURCES
from freehold.tags.cloud_reconcile import CloudReconciler
from freehold.tags.context import CLOUD_METADATAS, PROVIDERS, Context, ParsedObjects
from freehold.tags.controller import GRANTS, tag_accounts
from freehold.tags.dialects import DIALECTS
from freehold.tags.ledger_store import LedgerStore
from freehold.tags.pass_hooks import Outcomes, PassHooks
from freehold.tags.policy.approval import is_risky
from freehold.tags.policy.batches import Batch, batches
from freehold.tags.policy.configuration import Configuration
from freehold.tags.policy.key_decision import LeaveReason
from freehold.tags.policy.outcome import Outcome
from freehold.tags.policy.plan import PlanVerdict, ResourcePlan
from freehold.tags.policy.references import ProviderObject, Refused
from freehold.tags.policy.status import NONE_FOUND, NOT_APPLIED, left_of
from freehold.tags.tag_endpoint import TagAccounts
from freehold.tags.tag_plan import ResourceChanges, TagAction, TagCall, TagPlan, TagRow

METADATA_KINDS: Final = (CLOUD_METADATAS, *PROVIDERS.values(), GRANTS)
"""What a person applies to have tags."""
KINDS: Final = (*METADATA_KINDS, *SERVED_RESOURCES)
"""What the controller follows: its watches are replaced by one list each."""


_LEFT: Final = (*NOT_APPLIED, LeaveReason.AWAITED)


class Reader(Protocol):
    """All that is needed of a client."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList: ...


async def plan_tags(
    client: Reader, keys: Sequence[Key], wanted: Sequence[Json], settings: Settings, ring: KeyRing
) -> list[TagPlan]:
    """Plan each CloudMetadata in ``keys``, with ``wanted`` stored as they would be. Raises KubeError."""
    with ExitStack() as stack:
        connections = open_connections(settings, client, stack, NoAudit())
        objects = await StoredObjects.read(client, wanted)
        planner = TagPlanner(
            objects,
            tag_accounts(connections, settings.clock),
            settings.clock,
            ring,
            (settings.own_namespace, settings.ledger_name),
            settings.regions,
            settings.metadata,
        )
        return [await planner.plan(key) for key in keys]


class StoredObjects:
    """The objects as they would be once ``wanted`` were stored (metadata.Stored, and the reads of its client)."""

    def __init__(self, client: Reader, stored: Mapping[Resource, Mapping[Key, Json]]) -> None:
        self.client = client
        self._stored = stored

    @classmethod
    async def read(cls, client: Reader, wanted: Iterable[Json]) -> Self:
        found: dict[Resource, dict[Key, Json]] = {}
        for resource in KINDS:
            rows = await _list_if_installed(client, resource)
            found[resource] = {key_of(row): _add_kind(resource, row) for row in rows}
        for obj in wanted:
            resource = next(each for each in KINDS if each.kind == obj["kind"])
            found[resource][key_of(obj)] = _as_stored(obj)
        return cls(client, found)

    def clouds(self) -> Sequence[Json]:
        return list(self._stored[CLOUD_METADATAS].values())

    def knows_clouds(self) -> bool:
        return True

    def providers(self) -> Sequence[ProviderObject]:
        return [
            ProviderObject(kind, each)
            for kind, resource in PROVIDERS.items()
            for each in self._stored[resource].values()
        ]

    def grants(self) -> Sequence[Json] | None:
        return list(self._stored[GRANTS].values())

    def clusters(self) -> Sequence[Json]:
        return [row for resource in SERVED_RESOURCES for row in self._stored[resource].values()]

    def get(self, resource: Resource, key: Key) -> Json:
        """Return one object. Raises ObjectNotFound."""
        found = self._stored[resource].get(key)
        if found is None:
            raise kube.ObjectNotFound(f"there is no {resource.kind} {key}")
        return found


async def _list_if_installed(client: Reader, resource: Resource) -> Sequence[Json]:
    """Of a kind of clusters that is not installed there are none."""
    try:
        return (await client.list(resource)).items
    except kube.ObjectNotFound:
        if resource in SERVED_RESOURCES:
            return ()
        raise


def _add_kind(resource: Resource, row: Json) -> Json:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **row}


def _as_stored(obj: Json) -> Json:
    """With what a server gives to an object that is new."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    uid = str(uuid5(NAMESPACE_URL, f"{obj['kind']} {key_of(obj)}"))
    given = {"uid": uid, "creationTimestamp": stamp, "resourceVersion": "0", "generation": 1}
    return {**obj, "metadata": {**given, **obj["metadata"]}}


class _DryObjects:
    """The client of one dry pass: what it writes is laid over what is stored, and only this pass reads it."""

    def __init__(self, stored: StoredObjects) -> None:
        self._stored = stored
        self._written: dict[tuple[Resource, Key], Json] = {}

    async def get(self, resource: Resource, key: Key) -> Json:
        found = self._written.get((resource, key))
        if found is None:
            there = self._stored.get(resource, key) if resource in KINDS else None
            found = there or await self._stored.client.get(resource, key)
        return deepcopy(found)

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList:
        found = await self._stored.client.list(resource, namespace, label_selector=label_selector)
        rows = {key_of(row): row for row in found.items}
        for (kind, key), obj in self._written.items():
            if kind == resource and namespace in ("", key.namespace):
                rows[key] = deepcopy(obj)
        return replace(found, items=list(rows.values()))

    async def patch(self, resource: Resource, key: Key, body: Json, *, subresource: str = "") -> Json:
        return self._keep(resource, apply_merge_patch(await self.get(resource, key), body))

    async def create(self, resource: Resource, obj: Json) -> Json:
        return self._keep(resource, _as_stored(obj))

    async def replace(self, resource: Resource, obj: Json) -> Json:
        return self._keep(resource, obj)

    def _keep(self, resource: Resource, obj: Json) -> Json:
        self._written[resource, key_of(obj)] = obj
        return deepcopy(obj)


@dataclass(frozen=True)
class TagPlanner:
    """Plans one object after the other. ``record``: namespace and name of the ledger.

    ``regions`` are those of objects that name none. ``parsed``: what they were parsed to, which each pass asks of all.
    """

    objects: StoredObjects
    accounts: TagAccounts
    clock: Clock
    ring: KeyRing
    record: tuple[str, str]
    regions: tuple[str, ...] = ()
    configuration: Configuration = field(default_factory=Configuration)
    parsed: ParsedObjects = field(default_factory=ParsedObjects)

    async def plan(self, key: Key) -> TagPlan:
        """Make one dry pass. Raises KubeError."""
        sent: list[Batch] = []
        passes: list[Outcomes | None] = []
        dry = _DryObjects(self.objects)
        context = Context(
            client=dry,
            stored=self.objects,
            accounts=self.accounts,
            record=LedgerStore(dry, *self.record),
            rings=GivenRing(self.ring),
            clock=self.clock,
            recorder=NoEvents(),
            fraction=lambda: 0.5,
            regions=self.regions,
            configuration=self.configuration,
            hooks=PassHooks(passed=lambda _, outcomes: passes.append(outcomes), dry=sent),
            parsed=self.parsed,
        )
        try:
            await CloudReconciler(context).reconcile(key)
        except kube.Conflict:
            return TagPlan(str(key), unanswered=("the objects have changed while they were read",), blind=True)
        if not passes or passes[0] is None:
            return TagPlan(str(key), notes=("it is being deleted: its tags stay as they are",))
        return plan_of(str(key), passes[0], sent)


def plan_of(subject: str, outcomes: Outcomes, sent: Sequence[Batch]) -> TagPlan:
    """``sent``: the calls of a dry pass that came to ``outcomes``, one for each provider's object."""
    refused = [each.message for each in outcomes if isinstance(each, Refused)]
    worked = [each for each in outcomes if isinstance(each, Outcome)]
    needs = [each.approval for each in worked if each.approval]
    waiting = [plan for each in worked if each.approval for plan in each.plans.values() if is_risky(plan)]
    held = {plan.resource.id for plan in waiting}
    plans = sorted((plan for each in worked for plan in each.plans.values()), key=lambda plan: plan.resource.id)
    changes = [_changes(plan, waits=plan.resource.id in held) for plan in plans]
    errors = {where: error for each in worked for where, error in {**each.unasked, **each.failed}.items()}
    return TagPlan(
        subject,
        sum(each.selected for each in worked),
        tuple(each for each in changes if each.rows or each.notes),
        (*(_call(batch) for batch in sent), *(_call(batch, waits=True) for batch in batches(waiting))),
        (*refused, *_describe_errors(errors, persons=True), *(each.problem for each in worked if each.problem)),
        _describe_errors(errors, persons=False),
        tuple(note for each in worked for note in _notes(each)),
        ",".join(each.digest for each in needs),
        "; ".join(each.message for each in needs),
        Counter(plan.resource.kind for plan in plans),
        {where: why for each in worked for where, why in sorted(left_of(each, _LEFT).items())},
        {ident: _kind_of(ident) for each in worked for ident in sorted(each.failed.keys() - each.plans.keys())},
        trimmed={where: why for each in worked for where, why in sorted(left_of(each, (LeaveReason.TRIMMED,)).items())},
        found=frozenset(plan.resource.id for plan in plans),
        blind=bool(refused) or any(each.unasked for each in worked),
    )


def _kind_of(resource: str) -> str:
    return next((kind for dialect in DIALECTS.values() if (kind := dialect.kind_of(resource))), "")


def _describe_errors(errors: Mapping[str, CloudError], *, persons: bool) -> tuple[str, ...]:
    """Those that wait for a person, or those that pass."""
    return tuple(
        f"{where}: {error.message}"
        for where, error in sorted(errors.items())
        if isinstance(error, NeedsPerson) is persons
    )


def _notes(outcome: Outcome) -> Iterator[str]:
    if not (outcome.selected or outcome.exempt or outcome.errors):
        yield NONE_FOUND
    if outcome.released:
        yield f"{_resources(outcome.released)} lost the classifier: what was written stays"
    if outcome.exempt:
        yield f"{_resources(outcome.exempt)} exempt by tag: left as it is"


def _resources(count: int) -> str:
    return f"{count} resource{'' if count == 1 else 's'}"


def _call(batch: Batch, *, waits: bool = False) -> TagCall:
    return TagCall(batch.verb.value, batch.account, batch.region, batch.targets, batch.tags, waits)


def _changes(plan: ResourcePlan, *, waits: bool) -> ResourceChanges:
    resource = plan.resource
    if plan.verdict is PlanVerdict.NOTHING_TO_DO and not plan.notes:
        return ResourceChanges(resource.id, resource.kind, resource.account, resource.region, ())
    keys = {note.key for note in plan.notes if note.key in resource.tags}
    rows = sorted(
        [*_list_written_rows(plan), *_list_untouched_rows(plan)], key=lambda row: (not row.action.changes, row.key)
    )
    told = tuple(note.message for note in plan.notes if note.key not in keys)
    return ResourceChanges(
        resource.id, resource.kind, resource.account, resource.region, tuple(rows), tuple(dict.fromkeys(told)), waits
    )


def _list_written_rows(plan: ResourcePlan) -> Iterator[TagRow]:
    for removal in plan.delta.removals:
        yield TagRow(TagAction.REMOVE, removal.key, tuple(sorted(removal.seen)), None, removal.cause.value)
    for upsert in plan.delta.upserts:
        action = TagAction.CHANGE if upsert.seen else TagAction.ADD
        yield TagRow(action, upsert.key, tuple(sorted(upsert.seen)), upsert.value, upsert.cause.value)


def _list_untouched_rows(plan: ResourcePlan) -> Iterator[TagRow]:
    """List what stays as it is though it is not ours, or though an object asks for something else."""
    told = {note.key: note for note in plan.notes}
    ours = plan.record_after
    written = {each.key for each in plan.delta.removals} | {each.key for each in plan.delta.upserts}
    for key, values in plan.resource.tags.items():
        note = told.get(key)
        if key in written or (key in ours and note is None):
            continue
        cause, why = (note.reason.value, note.message) if note else ("Foreign", "")
        yield TagRow(TagAction.LEAVE, key, tuple(sorted(values)), None, cause, why)
