"""What the reconciles of all metadata objects share, and what all of them ask for together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from freehold.api import names
from freehold.api.served import CLOUD_METADATA
from freehold.controllers.events import Severity
from freehold.engine.clock import Clock
from freehold.engine.keys import KeyRing
from freehold.kube import errors as kube
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.operator.metadata.observer import Observer, ReadyObserver, nobody, not_told
from freehold.operator.metadata.places import TagAccounts
from freehold.operator.metadata.record import StoredRecord, TagRecord
from freehold.operator.metadata.risks import Risks
from freehold.operator.metadata.work import TagWork
from freehold.providers.aws.types.served import AWS_METADATA
from freehold.providers.ibm.types.served import IBM_METADATA
from freehold.providers.objects.served_resources import resource_of
from freehold.reconcilers.metadata.demand import Defaults, Deletion, Demand, deletion_of, demand_of
from freehold.reconcilers.metadata.granting import Grants, granted, grants_of, refusal_of_reference
from freehold.reconcilers.metadata.references import Provider, Reference, Refused, references_of
from freehold.reconcilers.metadata.writer import Begun, annotation, begun_by_any, witnessed, writer_of
from freehold.tagging import sync_period
from freehold.tagging.approval import NARROW, RETAIN, Approver
from freehold.tagging.configuration import Configuration

CLOUD_METADATAS: Final = resource_of(CLOUD_METADATA)
AWS_METADATAS: Final = resource_of(AWS_METADATA)
IBM_METADATAS: Final = resource_of(IBM_METADATA)
PROVIDERS: Final[Mapping[str, Resource]] = {AWS_METADATA.kind: AWS_METADATAS, IBM_METADATA.kind: IBM_METADATAS}
"""By kind."""

GRANTS_UNKNOWN: Final = Refused(
    "GrantsUnknown",
    "which MetadataGrant objects there are is not known, so nothing is done: grant the operator list and watch on "
    "metadatagrants, cluster-wide",
)

OBJECTS_UNKNOWN: Final = Refused(
    "ObjectsUnknown",
    "which clusters (AWSCluster, IBMPowerVSCluster), AWSMetadata and IBMMetadata objects there are is not known, so no "
    "tag is changed: what they ask for comes first. Grant the operator list and watch on them; its log says what is "
    "refused",
)

_MEETINGS: Final = 5
"""Others who change an object at the same time."""

CONFLICT_SECONDS, SOON_SECONDS, UNKNOWN_SECONDS, SLOW_SECONDS = 1.0, sync_period.SOON, 30.0, 300.0


class Client(Protocol):
    """All that is needed of a client."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def patch(self, resource: Resource, key: Key, body: Json, *, subresource: str = "") -> Json: ...


class Stored(Protocol):
    """All objects that are known, as watches show them."""

    def clouds(self) -> Sequence[Json]: ...

    def knows_clouds(self) -> bool:
        """Whether these are all."""
        ...

    def providers(self) -> Sequence[Provider] | None:
        """None where it is not known which there are."""
        ...

    def clusters(self) -> Sequence[Json] | None:
        """Of all kinds that are reconciled; None where it is not known which there are."""
        ...

    def grants(self) -> Sequence[Json] | None:
        """None where it is not known which there are."""
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


_Versions = tuple[str, tuple[tuple[str, str], ...], KeyRing, Grants]


@dataclass(frozen=True)
class _Remembered:
    """What a CloudMetadata asked for, as long as nothing of which it was made has changed."""

    of: _Versions
    references: tuple[Reference, ...]
    demands: tuple[Demand, ...]


def _versions(
    cloud: Json, references: Sequence[Reference], known: Mapping[Reference, Provider], ring: KeyRing, grants: Grants
) -> _Versions:
    found = [known[each].raw["metadata"] for each in references if each in known]
    providers = tuple((str(each["uid"]), str(each["resourceVersion"])) for each in found)
    return str(cloud["metadata"]["resourceVersion"]), providers, ring, grants


@dataclass(frozen=True)
class ParsedObjects:
    """Objects as they were parsed, as long as they have not changed: each pass asks for all."""

    demands: dict[str, _Remembered] = field(default_factory=dict)
    """By the uid of a CloudMetadata."""
    references: dict[str, tuple[str, tuple[Reference, ...]]] = field(default_factory=dict)
    """By the uid of a CloudMetadata: its resourceVersion, and the objects that it refers to."""
    grants: dict[tuple[tuple[str, str], ...], Grants] = field(default_factory=dict)
    """By what they were parsed from; the last ones only."""


@dataclass(frozen=True)
class Means:
    """``fraction`` is a chance in [0, 1) for the jitter. ``regions`` are those of objects that name none.

    ``namespace``: of the objects that are served, empty for all.
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
    namespace: str = ""
    configuration: Configuration = field(default_factory=Configuration)
    observe: Observer = nobody
    """Told what each pass of a CloudMetadata came to."""
    ready: ReadyObserver = not_told
    """Told what its condition Ready says."""
    risks: Risks = field(default_factory=Risks)
    locks: dict[Reference, asyncio.Lock] = field(default_factory=dict)
    parsed: ParsedObjects = field(default_factory=ParsedObjects)

    def alone(self, reference: Reference) -> asyncio.Lock:
        """Held while tags are written or removed for a provider's object.

        A pass that has begun must not write for an object whose tags are just being removed.
        """
        return self.locks.setdefault(reference, asyncio.Lock())

    @property
    def defaults(self) -> Defaults:
        return Defaults(self.regions, self.configuration.period)

    async def get(self, resource: Resource, key: Key) -> Json | None:
        try:
            return await self.client.get(resource, key)
        except kube.NotFound:
            return None

    async def provider(self, reference: Reference) -> Provider | None:
        raw = await self.get(PROVIDERS[reference.kind], Key(reference.namespace, reference.name))
        return Provider(reference.kind, raw) if raw is not None else None

    def grants(self) -> Grants | None:
        """None where it is not known which there are: then nothing may be written."""
        stored = self.stored.grants()
        if stored is None:
            return None
        versions = tuple((str(each["metadata"]["uid"]), str(each["metadata"]["resourceVersion"])) for each in stored)
        if versions not in self.parsed.grants:
            self.parsed.grants.clear()
            self.parsed.grants[versions] = grants_of(stored)
        return self.parsed.grants[versions]

    def refers_to(self, cloud: Json, reference: Reference) -> bool:
        uid, version = str(cloud["metadata"]["uid"]), str(cloud["metadata"].get("resourceVersion", ""))
        known, found = self.parsed.references.get(uid, ("", ()))
        if known != version or not version:
            parsed = references_of(cloud)
            found = () if isinstance(parsed, Refused) else parsed
            self.parsed.references[uid] = version, found
        return reference in found

    def demand(
        self, cloud: Json, reference: Reference, provider: Provider | None, ring: KeyRing, grants: Grants
    ) -> Demand | Refused:
        """What may be done, as far as that is known before an account is."""
        namespace = str(cloud["metadata"].get("namespace", ""))
        if refused := refusal_of_reference(grants, namespace, reference):
            return refused
        writer = writer_of(provider, ring).uid if provider is not None else ""
        demand = demand_of(cloud, reference, provider, writer, self.defaults)
        if isinstance(demand, Refused):
            return demand
        answer = granted(grants, namespace, demand)
        return answer if isinstance(answer, Refused) else demand

    def demands(self, ring: KeyRing, grants: Grants, newest: Provider) -> list[Demand]:
        """What all objects ask for; ``newest`` is newer than what the watch has shown of it."""
        known = {each.reference: each for each in self.stored.providers() or ()} | {newest.reference: newest}
        there = {each["metadata"]["uid"] for each in self.stored.clouds()}
        for old in (self.parsed.demands.keys() | self.parsed.references.keys()) - there:
            self.parsed.demands.pop(old, None)
            self.parsed.references.pop(old, None)
        return [each for cloud in self.stored.clouds() for each in self._demands_of(cloud, known, ring, grants)]

    def _demands_of(
        self, cloud: Json, known: Mapping[Reference, Provider], ring: KeyRing, grants: Grants
    ) -> Sequence[Demand]:
        """Read anew only where one of the objects, the ring or the grants have changed: each pass asks for all."""
        uid = cloud["metadata"]["uid"]
        before = self.parsed.demands.get(uid)
        if before is not None and before.of == _versions(cloud, before.references, known, ring, grants):
            return before.demands
        references = references_of(cloud)
        if isinstance(references, Refused) or "deletionTimestamp" in cloud["metadata"]:
            references = ()
        asked = [self.demand(cloud, each, known.get(each), ring, grants) for each in references]
        demands = tuple(each for each in asked if isinstance(each, Demand))
        versions = _versions(cloud, references, known, ring, grants)
        self.parsed.demands[uid] = _Remembered(versions, references, demands)
        return demands

    async def load(self, provider: Provider, ring: KeyRing) -> StoredRecord:
        """The record of what was written. Raises RecordKeyMissing and KubeError."""
        providers = [*(self.stored.providers() or ()), provider]
        return await self.record.load(ring, begun=begun_by_any(providers), witnessed=witnessed(providers, ring))

    def work(self, provider: Provider, ring: KeyRing, grants: Grants, cloud: Json | None = None) -> TagWork:
        """``grants``: by which it is allowed; ``cloud``: the CloudMetadata, None for the removal of the object.

        A person approves on that one, else on the provider's object.
        """
        resource, raw = (CLOUD_METADATAS, cloud) if cloud else (PROVIDERS[provider.kind], dict_of(provider))
        given = str((raw["metadata"].get("annotations") or {}).get(names.APPROVE_TAGS_ANNOTATION, ""))
        approver = Approver(resource.kind, *key_of(raw), given, NARROW if cloud else RETAIN)
        return TagWork(
            store=self.record,
            ring=ring,
            clock=self.clock,
            configuration=self.configuration,
            begin=lambda: self._begin(provider, ring),
            note=lambda count: self._note(provider, ring, count),
            may_go=lambda: self.grants() == grants,
            beside=lambda resources: self._beside(provider, cloud, resources),
            used=lambda digest: self._used(resource, raw, digest),
            approver=approver,
        )

    def _beside(self, provider: Provider, cloud: Json | None, resources: frozenset[str]) -> frozenset[str] | None:
        if cloud is None:
            return frozenset()
        self.risks.tell(provider, cloud, resources)
        if not resources:
            return frozenset()
        uid, reference = cloud["metadata"]["uid"], provider.reference
        others = [
            each for each in self.stored.clouds() if self.refers_to(each, reference) and each["metadata"]["uid"] != uid
        ]
        return self.risks.of_others(provider, [each for each in others if "deletionTimestamp" not in each["metadata"]])

    async def _used(self, resource: Resource, raw: Json, digest: str) -> None:
        """An approval is for what has been done: an equal plan, later, is another decision."""
        for _ in range(_MEETINGS):
            stored = await self.client.get(resource, key_of(raw))
            metadata = stored["metadata"]
            given = str((metadata.get("annotations") or {}).get(names.APPROVE_TAGS_ANNOTATION, ""))
            left = [each for each in given.replace(" ", "").split(",") if each and each != digest]
            annotations = {names.APPROVE_TAGS_ANNOTATION: ",".join(left) or None}
            body = {"metadata": {"resourceVersion": metadata["resourceVersion"], "annotations": annotations}}
            with contextlib.suppress(kube.Conflict):
                done = await self.client.patch(resource, key_of(raw), body)
                if metadata["resourceVersion"] == raw["metadata"]["resourceVersion"]:
                    raw["metadata"] = done["metadata"]
                return

    async def _begin(self, provider: Provider, ring: KeyRing) -> None:
        """Once for an object, before the first tag is written for it; the record is there by then."""
        if writer_of(provider, ring).begun is Begun.NOT_YET:
            await self.sign(provider, ring)

    async def _note(self, provider: Provider, ring: KeyRing, count: int) -> None:
        """What the record has counted, on an object that stays: the record may be put back from a backup."""
        if writer_of(provider, ring).begun is Begun.YES and not provider.is_going:
            await self.sign(provider, ring, count)

    async def sign(self, provider: Provider, ring: KeyRing, count: int = 0) -> None:
        """Note on the object for whom the record says that its tags were written."""
        writer = writer_of(provider, ring)
        text = annotation(provider, writer.uid, ring, max(writer.count, count))
        await self.change(provider, {"annotations": {names.TAGS_WRITER_ANNOTATION: text}})

    async def hold(self, provider: Provider) -> None:
        """An object whose tags are to go with it stays until they have gone; any other one can always go."""
        finalizers, held = provider.finalizers, names.TAGS_FINALIZER in provider.finalizers
        wanted = deletion_of(provider) is Deletion.REMOVE
        if wanted and not held:
            await self.change(provider, {"finalizers": [*finalizers, names.TAGS_FINALIZER]})
        elif held and not wanted:
            await self.release(provider)

    async def release(self, provider: Provider) -> None:
        """Take our finalizer off."""
        left = [each for each in provider.finalizers if each != names.TAGS_FINALIZER]
        await self.change(provider, {"finalizers": left})

    async def change(self, provider: Provider, metadata: Json) -> None:
        """Raises Conflict where it has changed since it was read."""
        version = {"resourceVersion": provider.raw["metadata"]["resourceVersion"]}
        kind, namespace, name = provider.reference
        stored = await self.client.patch(PROVIDERS[kind], Key(namespace, name), {"metadata": {**version, **metadata}})
        dict_of(provider)["metadata"] = stored["metadata"]


def dict_of(provider: Provider) -> Json:
    """The object itself, which is kept at the version that was stored last."""
    assert isinstance(provider.raw, dict)
    return provider.raw
