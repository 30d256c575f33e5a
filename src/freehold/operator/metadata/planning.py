"""What a ``CloudMetadata`` would do to tags: the controller's own reconcile, of which every write stays here.

It reads the cloud and the API server as the controller does. Its calls to the cloud are recorded instead of sent, and
what it would store is laid over what is stored (ADR 12).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol, Self
from uuid import NAMESPACE_URL, uuid5

from freehold.controllers.app import Settings, connections_of
from freehold.controllers.plan.planner import GivenRing, NoEvents
from freehold.engine.clock import Clock
from freehold.engine.errors import CloudError, NeedsPerson
from freehold.engine.keys import KeyRing
from freehold.kube import errors as kube
from freehold.kube.merge_patch import patched
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.operator.metadata.controller import GRANTS, tag_accounts
from freehold.operator.metadata.means import CLOUD_METADATAS, PROVIDERS, Means, ParsedObjects
from freehold.operator.metadata.observer import Outcomes
from freehold.operator.metadata.places import TagAccounts, TagPlace
from freehold.operator.metadata.plan import ResourceChanges, TagAction, TagCall, TagPlan, TagRow
from freehold.operator.metadata.reconcile import MetadataReconciler
from freehold.operator.metadata.record import TagRecord
from freehold.operator.metadata.risks import Risks
from freehold.operator.metadata.wrapped import WrappedAccounts, WrappedPlace
from freehold.providers.access.audit import NoAudit
from freehold.providers.aws.tags import tagged_resources as aws
from freehold.providers.ibm import tagged as ibm
from freehold.providers.registry import SERVED_RESOURCES
from freehold.reconcilers.metadata.outcome import Outcome
from freehold.reconcilers.metadata.references import Provider, Reference, Refused, references_of, refers_to
from freehold.reconcilers.metadata.status import NONE_FOUND, NOT_APPLIED, kinds_unmatched, left_of
from freehold.tagging.approval import Risk, risk
from freehold.tagging.batches import Batch, batches
from freehold.tagging.configuration import Configuration
from freehold.tagging.plan import ResourcePlan, Verdict
from freehold.tagging.wanted_keys import Reason

METADATA_KINDS: Final = (CLOUD_METADATAS, *PROVIDERS.values(), GRANTS)
"""What a person applies to have tags."""
KINDS: Final = (*METADATA_KINDS, *SERVED_RESOURCES)
"""What the controller follows: its watches are replaced by one list each."""


_LEFT: Final = (*NOT_APPLIED, Reason.AWAITED)


class Reader(Protocol):
    """All that is needed of a client."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def list(self, resource: Resource, namespace: str = "", *, label_selector: str = "") -> ObjectList: ...


async def plan_tags(
    client: Reader, keys: Sequence[Key], wanted: Sequence[Json], settings: Settings, ring: KeyRing
) -> list[TagPlan]:
    """The plan of each CloudMetadata in ``keys``, with ``wanted`` stored as they would be. Raises KubeError."""
    with ExitStack() as stack:
        connections = connections_of(settings, client, stack, NoAudit())
        means = PlanMeans(
            await StoredObjects.read(client, wanted),
            tag_accounts(connections, settings.clock),
            settings.clock,
            ring,
            (settings.own_namespace, settings.record),
            settings.regions,
            settings.metadata,
        )
        return await means.plans(keys)


class StoredObjects:
    """The objects as they would be once ``wanted`` were stored (metadata.Stored, and the reads of its client)."""

    def __init__(self, client: Reader, stored: Mapping[Resource, Mapping[Key, Json]]) -> None:
        self.client = client
        self._stored = stored

    @classmethod
    async def read(cls, client: Reader, wanted: Iterable[Json]) -> Self:
        found: dict[Resource, dict[Key, Json]] = {}
        for resource in KINDS:
            rows = await _listed(client, resource)
            found[resource] = {key_of(row): _typed(resource, row) for row in rows}
        for obj in wanted:
            resource = next(each for each in KINDS if each.kind == obj["kind"])
            found[resource][key_of(obj)] = _as_stored(obj)
        return cls(client, found)

    def clouds(self) -> Sequence[Json]:
        return list(self._stored[CLOUD_METADATAS].values())

    def knows_clouds(self) -> bool:
        return True

    def providers(self) -> Sequence[Provider]:
        return [
            Provider(kind, each) for kind, resource in PROVIDERS.items() for each in self._stored[resource].values()
        ]

    def grants(self) -> Sequence[Json] | None:
        return list(self._stored[GRANTS].values())

    def clusters(self) -> Sequence[Json]:
        return [row for resource in SERVED_RESOURCES for row in self._stored[resource].values()]

    def get(self, resource: Resource, key: Key) -> Json:
        """Raises NotFound."""
        found = self._stored[resource].get(key)
        if found is None:
            raise kube.NotFound(f"there is no {resource.kind} {key}")
        return found


async def _listed(client: Reader, resource: Resource) -> Sequence[Json]:
    """Of a kind of clusters that is not installed there are none."""
    try:
        return (await client.list(resource)).items
    except kube.NotFound:
        if resource in SERVED_RESOURCES:
            return ()
        raise


def _typed(resource: Resource, row: Json) -> Json:
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
            if kind == resource and namespace in ("", key.namespace) and _has_labels(obj, label_selector):
                rows[key] = deepcopy(obj)
        return replace(found, items=list(rows.values()))

    async def patch(self, resource: Resource, key: Key, body: Json, *, subresource: str = "") -> Json:
        return self._keep(resource, patched(await self.get(resource, key), body))

    async def create(self, resource: Resource, obj: Json) -> Json:
        return self._keep(resource, _as_stored(obj))

    async def replace(self, resource: Resource, obj: Json) -> Json:
        return self._keep(resource, obj)

    def _keep(self, resource: Resource, obj: Json) -> Json:
        self._written[resource, key_of(obj)] = obj
        return deepcopy(obj)


def _has_labels(obj: Json, selector: str) -> bool:
    """``selector``: equalities with commas between them."""
    labels = obj["metadata"].get("labels") or {}
    return all(
        labels.get(name) == value for name, _, value in (each.partition("=") for each in selector.split(",")) if name
    )


class _Recording(WrappedPlace):
    """Reads are sent, writes are kept."""

    def __init__(self, inner: TagPlace, sent: list[Batch]) -> None:
        super().__init__(inner)
        self._sent = sent

    async def send(self, batch: Batch) -> Mapping[str, CloudError]:
        self._sent.append(batch)
        return {}


@dataclass(frozen=True)
class PlanMeans:
    """What the plans of several objects share. ``record``: namespace and name of the record of what was written.

    ``regions`` are those of objects that name none. ``risks``: what each would overwrite or remove. ``parsed``: what
    they were parsed to, which each pass asks of all.
    """

    objects: StoredObjects
    accounts: TagAccounts
    clock: Clock
    ring: KeyRing
    record: tuple[str, str]
    regions: tuple[str, ...] = ()
    configuration: Configuration = field(default_factory=Configuration)
    risks: Risks = field(default_factory=lambda: Risks(waits=False))
    parsed: ParsedObjects = field(default_factory=ParsedObjects)

    async def plans(self, keys: Sequence[Key]) -> list[TagPlan]:
        """One of each. Raises KubeError."""
        found = {key: await DryPass(self).plan(key) for key in keys}
        unknown = await self._ask_others(keys)
        for key in keys:
            if why := unknown.get(key):
                found[key] = replace(found[key], notes=(*found[key].notes, *why))
            elif self._is_beside_others(key):
                found[key] = await DryPass(self).plan(key)
        return [found[key] for key in keys]

    async def _ask_others(self, keys: Sequence[Key]) -> Mapping[Key, Sequence[str]]:
        """Plan what else counts against the limit above which a person must approve; why it is not known, by key.

        The limit counts all CloudMetadata of a provider's object together. Others are asked only where a plan of
        ``keys`` overwrites or removes something, and does not reach the limit by itself.
        """
        unknown: dict[Key, list[str]] = {}
        for key in keys:
            for reference in self._undecided(key):
                for other in self._others(reference, keys):
                    try:
                        await DryPass(self).plan(other)
                    except kube.KubeError as error:
                        why = f"what {other} would overwrite for {reference} is not known, so more may wait: {error}"
                        unknown.setdefault(key, []).append(why)
        return unknown

    def _undecided(self, key: Key) -> list[Reference]:
        """The providers' objects for which it overwrites or removes something, on no more resources than the limit."""
        most, uid = self.configuration.approve_above, self._uid(key)
        return [each for each in self._references(key) if 0 < len(self.risks.of(each, uid)) <= most]

    def _is_beside_others(self, key: Key) -> bool:
        return not self.risks.shared().isdisjoint(self._undecided(key))

    def _others(self, reference: Reference, but: Collection[Key]) -> list[Key]:
        """Every other CloudMetadata of the provider's object that has not been planned yet."""
        return [
            key_of(each)
            for each in self.objects.clouds()
            if "deletionTimestamp" not in each["metadata"]
            and key_of(each) not in but
            and refers_to(each, reference)
            and not self.risks.has_told(reference, str(each["metadata"]["uid"]))
        ]

    def _uid(self, key: Key) -> str:
        return str(self.objects.get(CLOUD_METADATAS, key)["metadata"]["uid"])

    def _references(self, key: Key) -> tuple[Reference, ...]:
        try:
            found = references_of(self.objects.get(CLOUD_METADATAS, key))
        except kube.NotFound:
            return ()
        return () if isinstance(found, Refused) else found


class DryPass:
    """One reconcile of one object."""

    def __init__(self, means: PlanMeans) -> None:
        self._sent: list[Batch] = []
        self._outcomes: Outcomes | None = None
        self._objects = means.objects
        dry = _DryObjects(means.objects)
        self._reconciler = MetadataReconciler(
            Means(
                client=dry,
                stored=means.objects,
                accounts=WrappedAccounts(means.accounts, lambda place, _: _Recording(place, self._sent)),
                record=TagRecord(dry, *means.record),
                rings=GivenRing(means.ring),
                clock=means.clock,
                recorder=NoEvents(),
                fraction=lambda: 0.5,
                regions=means.regions,
                configuration=means.configuration,
                observe=self._observe,
                risks=means.risks,
                parsed=means.parsed,
            )
        )

    def _observe(self, key: Key, outcomes: Outcomes | None) -> None:
        self._outcomes = outcomes

    def _goes(self, key: Key) -> bool:
        try:
            return "deletionTimestamp" in self._objects.get(CLOUD_METADATAS, key)["metadata"]
        except kube.NotFound:
            return True

    async def plan(self, key: Key) -> TagPlan:
        """Raises KubeError."""
        await self._reconciler.reconcile(key)
        if self._outcomes is None and self._goes(key):
            return TagPlan(str(key), notes=("it is being deleted: its tags stay as they are",))
        if self._outcomes is None:
            return TagPlan(str(key), unanswered=("the objects have changed while they were read",), blind=True)
        return plan_of(str(key), self._outcomes, self._sent)


def plan_of(subject: str, outcomes: Outcomes, sent: Sequence[Batch]) -> TagPlan:
    """``sent``: the calls of a dry pass that came to ``outcomes``, one for each provider's object."""
    refused = [each.message for each in outcomes if isinstance(each, Refused)]
    worked = [each for each in outcomes if isinstance(each, Outcome)]
    needs = [each.approval for each in worked if each.approval]
    waiting = [plan for each in worked if each.approval for plan in each.plans.values() if risk(plan) is not Risk.NONE]
    held = {plan.resource.id for plan in waiting}
    plans = sorted((plan for each in worked for plan in each.plans.values()), key=lambda plan: plan.resource.id)
    changes = [_changes(plan, waits=plan.resource.id in held) for plan in plans]
    errors = {where: error for each in worked for where, error in {**each.unasked, **each.failed}.items()}
    return TagPlan(
        subject,
        sum(each.selected for each in worked),
        tuple(each for each in changes if each.rows or each.notes),
        (*(_call(batch) for batch in sent), *(_call(batch, waits=True) for batch in batches(waiting))),
        (*refused, *_told(errors, persons=True), *(each.problem for each in worked if each.problem)),
        _told(errors, persons=False),
        tuple(note for each in worked for note in _notes(each)),
        ",".join(each.digest for each in needs),
        "; ".join(each.message for each in needs),
        Counter(plan.resource.kind for plan in plans),
        {where: why for each in worked for where, why in sorted(left_of(each, _LEFT).items())},
        {ident: _kind_of(ident) for each in worked for ident in sorted(each.failed.keys() - each.plans.keys())},
        trimmed={where: why for each in worked for where, why in sorted(left_of(each, (Reason.TRIMMED,)).items())},
        found=frozenset(plan.resource.id for plan in plans),
        blind=bool(refused) or any(each.unasked for each in worked),
    )


def _kind_of(resource: str) -> str:
    return aws.kind_of(resource) or ibm.kind_of(resource)


def _told(errors: Mapping[str, CloudError], *, persons: bool) -> tuple[str, ...]:
    """Those that wait for a person, or those that pass."""
    return tuple(
        f"{where}: {error.message}"
        for where, error in sorted(errors.items())
        if isinstance(error, NeedsPerson) is persons
    )


def _notes(outcome: Outcome) -> Iterator[str]:
    yield from (each.message for each in outcome.yielded)
    if not (outcome.selected or outcome.exempt or outcome.errors or outcome.yielded):
        yield NONE_FOUND
    if outcome.released:
        yield f"{_resources(outcome.released)} lost the classifier: what was written stays"
    if outcome.exempt:
        yield f"{_resources(outcome.exempt)} exempt by tag: left as it is"
    if unmatched := kinds_unmatched(outcome):
        yield unmatched


def _resources(count: int) -> str:
    return f"{count} resource{'' if count == 1 else 's'}"


def _call(batch: Batch, *, waits: bool = False) -> TagCall:
    return TagCall(batch.verb.value, batch.account, batch.region, batch.targets, batch.tags, waits)


def _changes(plan: ResourcePlan, *, waits: bool) -> ResourceChanges:
    resource = plan.resource
    if plan.verdict is Verdict.NOTHING_TO_DO and not plan.notes:
        return ResourceChanges(resource.id, resource.kind, resource.account, resource.region, ())
    keys = {note.key for note in plan.notes if note.key in resource.tags}
    rows = sorted([*_written(plan), *_left(plan)], key=lambda row: (not row.action.changes, row.key))
    told = tuple(note.message for note in plan.notes if note.key not in keys)
    return ResourceChanges(
        resource.id, resource.kind, resource.account, resource.region, tuple(rows), tuple(dict.fromkeys(told)), waits
    )


def _written(plan: ResourcePlan) -> Iterator[TagRow]:
    for removal in plan.delta.removals:
        yield TagRow(TagAction.REMOVE, removal.key, tuple(sorted(removal.seen)), None, removal.cause.value)
    for upsert in plan.delta.upserts:
        action = TagAction.CHANGE if upsert.seen else TagAction.ADD
        yield TagRow(action, upsert.key, tuple(sorted(upsert.seen)), upsert.value, upsert.cause.value)


def _left(plan: ResourcePlan) -> Iterator[TagRow]:
    """What stays as it is though it is not ours, or though an object asks for something else."""
    told = {note.key: note for note in plan.notes}
    ours: Mapping[str, Any] = plan.record_after if isinstance(plan.record_after, Mapping) else {}
    written = {each.key for each in plan.delta.removals} | {each.key for each in plan.delta.upserts}
    for key, values in plan.resource.tags.items():
        note = told.get(key)
        if key in written or (key in ours and note is None):
            continue
        cause, why = (note.reason.value, note.message) if note else ("Foreign", "")
        yield TagRow(TagAction.LEAVE, key, tuple(sorted(values)), None, cause, why)
