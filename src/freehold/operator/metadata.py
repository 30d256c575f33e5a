"""One reconcile of a ``CloudMetadata``: reads it and what it refers to, works on the tags, and tells both objects.

Level-triggered, without journal and graph: these objects own nothing. Ready never stops it, and neither does a failure
(docs/reference/metadata-compat.md A16).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from freehold.api import names
from freehold.api.served import AWS_METADATA, CLOUD_METADATA
from freehold.kube import errors as kube
from freehold.kube.merge_patch import merge_patch
from freehold.kube.resources import Json, Key, Resource
from freehold.lifecycle.clock import Clock
from freehold.lifecycle.errors import NeedsPerson
from freehold.lifecycle.journal import StaleObject
from freehold.lifecycle.keys import KeyRing
from freehold.operator.controller import Done, RequeueAfter, Result
from freehold.operator.events import Severity
from freehold.operator.kinds import resource_of
from freehold.operator.tag_pass import PassMemory, TagPass
from freehold.operator.tag_places import TagAccounts
from freehold.operator.tag_record import RecordKeyMissing, TagRecord
from freehold.reconcilers.metadata import status
from freehold.reconcilers.metadata.clusters import cluster_keys
from freehold.reconcilers.metadata.demand import Defaults, Demand, Reference, Refused, demand_of, reference_of
from freehold.reconcilers.metadata.outcome import Outcome
from freehold.reconcilers.metadata.writer import Begun, annotation, begun_by_any, writer_of
from freehold.tagging.configuration import Configuration
from freehold.tagging.sync_period import with_jitter

CLOUD_METADATAS: Final = resource_of(CLOUD_METADATA)
AWS_METADATAS: Final = resource_of(AWS_METADATA)

CONFLICT_SECONDS, SOON_SECONDS, SLOW_SECONDS = 1.0, 5.0, 300.0


class Client(Protocol):
    """All that is needed of a client."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def patch(self, resource: Resource, key: Key, body: Json, *, subresource: str = "") -> Json: ...


class Stored(Protocol):
    """All objects that are known, as watches show them."""

    def clouds(self) -> Sequence[Json]: ...

    def providers(self) -> Sequence[Json]: ...

    def clusters(self) -> Sequence[Json]:
        """The AWSClusters."""
        ...


class Rings(Protocol):
    """The operator's key ring, as it is now."""

    @property
    def ring(self) -> KeyRing:
        """Raises RingError while there is none."""
        ...

    def missed(self) -> None:
        """The record names a key that the ring lacks."""
        ...


class Recorder(Protocol):
    """Where events go."""

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None: ...


@dataclass(frozen=True)
class Means:
    """What the reconciles of all objects share. ``fraction`` is a chance in [0, 1) for the jitter.

    ``regions`` are those of objects that name none.
    """

    client: Client
    stored: Stored
    accounts: TagAccounts
    record: TagRecord
    rings: Rings
    clock: Clock
    recorder: Recorder
    fraction: Callable[[], float]
    regions: tuple[str, ...] = ()
    configuration: Configuration = field(default_factory=Configuration)


class MetadataReconciler:
    """Reconciles ``CloudMetadata`` objects, one at a time for each."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._memory: dict[Key, PassMemory] = {}

    async def reconcile(self, key: Key) -> Result:
        """One pass. Raises KubeError, RingError and what is a defect."""
        cloud = await self._get(CLOUD_METADATAS, key)
        if cloud is None or "deletionTimestamp" in cloud["metadata"]:
            self._memory.pop(key, None)
            return Done()  # its tags stay (docs/reference/metadata-compat.md A24)
        reference = reference_of(cloud)
        provider = await self._get(AWS_METADATAS, Key(*reference)) if isinstance(reference, Reference) else None
        try:
            outcome = reference if isinstance(reference, Refused) else await self._permitted(cloud, provider)
            await self._tell(cloud, provider, outcome)
        except (StaleObject, kube.Conflict):
            return RequeueAfter(CONFLICT_SECONDS)
        return self._next(outcome)

    async def _get(self, resource: Resource, key: Key) -> Json | None:
        try:
            return await self._means.client.get(resource, key)
        except kube.NotFound:
            return None

    async def _permitted(self, cloud: Json, provider: Json | None) -> Outcome | Refused:
        """What the operator may not do in the API server is told: no tag is written without its record."""
        try:
            return await self._work(cloud, provider)
        except kube.Forbidden as problem:
            message = (
                f"{problem}: the record of what is written cannot be kept, so no tag is written. Grant the operator "
                f"list, create and update on configmaps in its namespace, and patch on {AWS_METADATAS}"
            )
            return Refused("Forbidden", message)

    async def _work(self, cloud: Json, provider: Json | None) -> Outcome | Refused:
        means, ring = self._means, self._means.rings.ring
        demand = self._demand(cloud, provider, ring)
        if isinstance(demand, Refused):
            return demand
        assert provider is not None, "a demand has tags"
        subject = demand.selector.name
        places = await means.accounts.at(demand.place, str(cloud["metadata"]["namespace"]), subject)
        if isinstance(places, Refused):
            return places
        begun = begun_by_any([*means.stored.providers(), provider])
        try:
            known = await means.record.load(ring, begun=begun)
        except RecordKeyMissing as problem:
            means.rings.missed()
            return Refused(names.REASON_KEY_MISSING, str(problem))
        annotations: Mapping[str, str] = cloud["metadata"].get("annotations") or {}
        work = TagPass(
            demand=demand,
            others=self._others(cloud, provider, ring),
            clusters=cluster_keys(means.stored.clusters()),
            store=means.record,
            ring=ring,
            clock=means.clock,
            memory=self._memory.setdefault(_key(cloud), PassMemory()),
            begin=lambda: self._begin(provider, ring),
            approved=str(annotations.get(names.APPROVE_TAGS_ANNOTATION, "")),
            configuration=means.configuration,
        )
        return await work.run(places, known)

    def _demand(self, cloud: Json, provider: Json | None, ring: KeyRing) -> Demand | Refused:
        writer = writer_of(provider, ring).uid if provider is not None else ""
        means = self._means
        return demand_of(cloud, provider, writer, Defaults(means.regions, means.configuration.period))

    def _others(self, cloud: Json, provider: Json, ring: KeyRing) -> list[Demand]:
        """What all other objects ask for; ``provider`` is newer than what the watch has shown of it."""
        known = {_key(each): each for each in self._means.stored.providers()} | {_key(provider): provider}
        found: list[Demand] = []
        for other in self._means.stored.clouds():
            reference = reference_of(other)
            if other["metadata"]["uid"] == cloud["metadata"]["uid"] or isinstance(reference, Refused):
                continue
            demand = self._demand(other, known.get(Key(*reference)), ring)
            found += [demand] if isinstance(demand, Demand) and "deletionTimestamp" not in other["metadata"] else []
        return found

    async def _begin(self, provider: Json, ring: KeyRing) -> None:
        """Once for an object, before the first tag is written for it; the record is there by then."""
        writer = writer_of(provider, ring)
        if writer.begun is Begun.YES:
            return
        text = annotation(provider, writer.uid, ring)
        metadata = {
            "resourceVersion": provider["metadata"]["resourceVersion"],
            "annotations": {names.TAGS_WRITER_ANNOTATION: text},
        }
        stored = await self._means.client.patch(AWS_METADATAS, _key(provider), {"metadata": metadata})
        provider["metadata"] = stored["metadata"]

    # -- telling ------------------------------------------------------------------------------------------------

    async def _tell(self, cloud: Json, provider: Json | None, outcome: Outcome | Refused) -> None:
        now = datetime.fromtimestamp(self._means.clock.now(), UTC)
        before = cloud.get("status") or {}
        after = status.of_cloud(cloud, outcome, now)
        await self._patch_status(CLOUD_METADATAS, cloud, after)
        if provider is not None and self._speaks_for(cloud, provider):
            await self._patch_status(AWS_METADATAS, provider, status.of_provider(provider, outcome, now))
        self._events(cloud, before, after, outcome)

    def _speaks_for(self, cloud: Json, provider: Json) -> bool:
        """The oldest of those that refer to it: two writers of one status would answer each other for ever."""
        rivals = [each for each in self._means.stored.clouds() if reference_of(each) == Reference(*_key(provider))]
        return not any(_age(each) < _age(cloud) for each in rivals)

    async def _patch_status(self, resource: Resource, raw: Json, wanted: Mapping[str, Any]) -> None:
        before = raw.get("status") or {}
        if wanted == before:
            return
        changes = merge_patch(before, wanted, last=before)
        body = {"metadata": {"resourceVersion": raw["metadata"]["resourceVersion"]}, "status": changes}
        await self._means.client.patch(resource, _key(raw), body, subresource="status")

    def _events(self, cloud: Json, before: Mapping[str, Any], after: Mapping[str, Any], outcome: Any) -> None:
        """A repair each time, anything else when it changes."""
        record = self._means.recorder.record
        for repair in outcome.repairs[: status.SHOWN] if isinstance(outcome, Outcome) else ():
            record(cloud, Severity.WARNING, "DriftRepaired", repair.message)
        if (before.get("status"), before.get("reason")) != (after["status"], after["reason"]):
            good = after["status"] == "True"
            severity, reason = (Severity.NORMAL, "Applied") if good else (Severity.WARNING, after["reason"])
            record(cloud, severity, reason, after["message"])

    # -- when again ---------------------------------------------------------------------------------------------

    def _next(self, outcome: Outcome | Refused) -> Result:
        if isinstance(outcome, Refused):
            return RequeueAfter(SLOW_SECONDS, at_rest=True)  # what it refers to wakes it sooner
        period = with_jitter(outcome.demand.period, self._means.fraction())
        errors = [*outcome.failed.values(), *outcome.unasked.values()]
        if outcome.later or any(not isinstance(each, NeedsPerson) for each in errors):
            return RequeueAfter(min(max(outcome.wait or 0.0, SOON_SECONDS), period))
        return RequeueAfter(period, at_rest=True)


def _key(raw: Json) -> Key:
    return Key(str(raw["metadata"].get("namespace", "")), str(raw["metadata"]["name"]))


def _age(raw: Json) -> tuple[str, str]:
    return str(raw["metadata"].get("creationTimestamp", "")), str(raw["metadata"]["uid"])
