"""What the reconciles of all metadata objects share, and what all of them ask for together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from freehold.api import names
from freehold.api.served import CLOUD_METADATA
from freehold.controllers.events import Severity
from freehold.controllers.watch_filter import NO_FILTER, WatchFilter
from freehold.engine.clock import Clock
from freehold.engine.keys import KeyRing
from freehold.kube import errors as kube
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.providers import registry
from freehold.providers.objects.served_resources import resource_of
from freehold.tags.find_and_plan import Finder, PassMemory
from freehold.tags.ledger_store import LedgerStore, StoredLedger
from freehold.tags.pass_hooks import PassHooks
from freehold.tags.policy.approval import NARROW, RETAIN, Approver
from freehold.tags.policy.configuration import Configuration
from freehold.tags.policy.grants import Grants, check_grants, grants_of, refusal_of_reference
from freehold.tags.policy.ledger_identity import annotation, begun_by_any, writer_of
from freehold.tags.policy.references import ProviderObject, Reference, Refused, references_of
from freehold.tags.policy.sync_period import SOON
from freehold.tags.policy.tag_request import Defaults, Deletion, TagRequest, deletion_of, parse_request
from freehold.tags.tag_endpoint import TagAccounts
from freehold.tags.tag_pass import TagPass

CLOUD_METADATAS: Final = resource_of(CLOUD_METADATA)


def list_tag_resources(kinds: registry.Kinds) -> dict[str, Resource]:
    """List the objects for tags of some providers, by kind."""
    return {each.served.kind: resource_of(each.served) for each in kinds.tags.values()}


PROVIDERS: Final = list_tag_resources(registry.EVERYTHING)
"""The providers' objects for tags, by kind."""

GRANTS_UNKNOWN: Final = Refused(
    "GrantsUnknown",
    "which MetadataGrant objects there are is not known, so nothing is done: grant the operator list and watch on "
    "metadatagrants, cluster-wide",
)
_ASKING: Final = ", ".join((*(each.kind for each in registry.SERVED), *PROVIDERS))
OBJECTS_UNKNOWN: Final = Refused(
    "ObjectsUnknown",
    f"which objects there are of {_ASKING} is not known, so no tag is changed: what they ask for comes first. Grant "
    "the operator list and watch on them; its log says what is refused",
)

_MEETINGS: Final = 5
"""Others who change an object at the same time."""

SOON_SECONDS, UNKNOWN_SECONDS, SLOW_SECONDS = SOON, 30.0, 300.0
_LASTING: Final = (kube.Forbidden, kube.InvalidRequest, kube.Unauthorized, kube.ConfigError)

T = TypeVar("T")


class PatchingClient(Protocol):
    """All that is needed of a client."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def patch(self, resource: Resource, key: Key, body: Json, *, subresource: str = "") -> Json: ...


class Stored(Protocol):
    """All objects that are known, as watches show them; None where it is not known which there are."""

    def clouds(self) -> Sequence[Json]: ...

    def knows_clouds(self) -> bool:
        """Say whether these are all."""
        ...

    def providers(self) -> Sequence[ProviderObject] | None: ...

    def clusters(self) -> Sequence[Json] | None:
        """Of all kinds that are reconciled."""
        ...

    def grants(self) -> Sequence[Json] | None: ...


class RingSource(Protocol):
    """The operator's key ring, as it is now."""

    @property
    def ring(self) -> KeyRing:
        """Raises RingError while there is none."""
        ...

    def report_missing_key(self) -> None:
        """Hear that the ledger names a key that the ring lacks."""
        ...


class EventSink(Protocol):
    """Where events go."""

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None: ...


class ParsedObjects:
    """What objects were parsed to, as long as none of them has changed: each pass asks for all."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[object, object]] = {}

    def parse_once(self, what: type[T], uid: str, versions: object, parse: Callable[[], T]) -> T:
        known = self._known.get((what.__name__, uid))
        if known is None or known[0] != versions:
            known = self._known[what.__name__, uid] = versions, parse()
        assert isinstance(known[1], what)
        return known[1]

    def forget_all_but(self, uids: Collection[str]) -> None:
        self._known = {name: each for name, each in self._known.items() if name[1] in uids or not name[1]}


class _References(tuple[Reference, ...]):
    """The objects that a CloudMetadata refers to."""


class _Requests(tuple[TagRequest, ...]):
    """What a CloudMetadata asks for."""


@dataclass(frozen=True)
class Context:
    """``fraction`` is a chance in [0, 1) for the jitter. ``regions`` are those of objects that name none.

    ``namespace``: of the objects that are served, empty for all. ``wake``: has a provider's object reconciled.
    """

    client: PatchingClient
    stored: Stored
    accounts: TagAccounts
    record: LedgerStore
    rings: RingSource
    clock: Clock
    recorder: EventSink
    fraction: Callable[[], float]
    regions: tuple[str, ...] = ()
    namespace: str = ""
    configuration: Configuration = field(default_factory=Configuration)
    hooks: PassHooks = field(default_factory=PassHooks)
    wake: Callable[[Reference], None] = lambda reference: None
    locks: dict[Reference, asyncio.Lock] = field(default_factory=dict)
    parsed: ParsedObjects = field(default_factory=ParsedObjects)
    kinds: registry.Kinds = registry.EVERYTHING
    watch_filter: WatchFilter = NO_FILTER

    def alone(self, reference: Reference) -> asyncio.Lock:
        """Return what is held while tags are written or removed for a provider's object.

        A pass that has begun must not write for an object whose tags are just being removed.
        """
        return self.locks.setdefault(reference, asyncio.Lock())

    @property
    def defaults(self) -> Defaults:
        return Defaults(self.regions, self.configuration.period)

    async def get(self, resource: Resource, key: Key) -> Json | None:
        try:
            return await self.client.get(resource, key)
        except kube.ObjectNotFound:
            return None

    async def provider(self, reference: Reference) -> ProviderObject | None:
        raw = await self.get(PROVIDERS[reference.kind], Key(reference.namespace, reference.name))
        return ProviderObject(reference.kind, raw) if raw is not None else None

    def refuse_unserved(self, kind: str) -> Refused | None:
        """Refuse an object of a provider whose kinds this operator does not serve."""
        if kind in list_tag_resources(self.kinds):
            return None
        return Refused("ProviderNotServed", f"this operator serves no {kind}: --providers leaves its provider out")

    def refuse_filtered(self, provider: ProviderObject | None) -> Refused | None:
        """Refuse an object that the watch filter leaves alone."""
        if provider is None or self.watch_filter.passes(provider.raw):
            return None
        return Refused(
            "NotServed", f"{provider.reference} has no label {self.watch_filter.selector}, as all that is served here"
        )

    # -- what all ask for ---------------------------------------------------------------------------------------

    def grants(self) -> Grants | None:
        """Parse the stored grants. None where it is not known which there are: then nothing may be written."""
        stored = self.stored.grants()
        if stored is None:
            return None
        versions = tuple((str(each["metadata"]["uid"]), str(each["metadata"]["resourceVersion"])) for each in stored)
        return self.parsed.parse_once(Grants, "", versions, lambda: grants_of(stored))

    def _references(self, cloud: Json) -> _References:
        def parse() -> _References:
            found = references_of(cloud)
            return _References(() if isinstance(found, Refused) else found)

        metadata = cloud["metadata"]
        return self.parsed.parse_once(_References, str(metadata["uid"]), metadata.get("resourceVersion"), parse)

    def referring(self, reference: Reference, grants: Grants) -> Iterator[Json]:
        """Find the CloudMetadata that refer to an object, and may: of another namespace only where a grant says so."""
        for each in self.stored.clouds():
            refers = "deletionTimestamp" not in each["metadata"] and reference in self._references(each)
            if refers and refusal_of_reference(grants, key_of(each).namespace, reference) is None:
                yield each

    def request(
        self, cloud: Json, reference: Reference, provider: ProviderObject | None, ring: KeyRing, grants: Grants
    ) -> TagRequest | Refused:
        """Say what may be done, as far as that is known before an account is."""
        namespace = str(cloud["metadata"].get("namespace", ""))
        if refused := refusal_of_reference(grants, namespace, reference):
            return refused
        writer = writer_of(provider, ring).uid if provider is not None else ""
        request = parse_request(cloud, reference, provider, writer, self.defaults)
        if isinstance(request, Refused):
            return request
        answer = check_grants(grants, namespace, request)
        return answer if isinstance(answer, Refused) else request

    def requests(self, ring: KeyRing, grants: Grants, newest: ProviderObject) -> list[TagRequest]:
        """List what all objects ask for; ``newest`` is newer than what the watch has shown of it."""
        known = {each.reference: each for each in self.stored.providers() or ()} | {newest.reference: newest}
        clouds = self.stored.clouds()
        self.parsed.forget_all_but({str(each["metadata"]["uid"]) for each in clouds})
        return [each for cloud in clouds for each in self._requests(cloud, known, ring, grants)]

    def _requests(
        self, cloud: Json, known: Mapping[Reference, ProviderObject], ring: KeyRing, grants: Grants
    ) -> _Requests:
        metadata = cloud["metadata"]
        references = () if "deletionTimestamp" in metadata else self._references(cloud)
        found = [known[each].raw["metadata"] for each in references if each in known]
        providers = tuple((str(each["uid"]), str(each["resourceVersion"])) for each in found)

        def parse() -> _Requests:
            asked = [self.request(cloud, each, known.get(each), ring, grants) for each in references]
            return _Requests(each for each in asked if isinstance(each, TagRequest))

        versions = (metadata.get("resourceVersion"), references, providers, ring, grants)
        return self.parsed.parse_once(_Requests, str(metadata["uid"]), versions, parse)

    # -- one pass -----------------------------------------------------------------------------------------------

    async def load(self, provider: ProviderObject, ring: KeyRing) -> StoredLedger:
        """Read the ledger. Raises RecordKeyMissing and KubeError."""
        providers = [*(self.stored.providers() or ()), provider]
        return await self.record.load(ring, begun=begun_by_any(providers))

    def tag_pass(
        self,
        finder: Finder,
        provider: ProviderObject,
        ring: KeyRing,
        grants: Grants,
        cloud: Json | None = None,
        memory: PassMemory | None = None,
    ) -> TagPass:
        """``grants``: by which it is allowed; ``cloud``: the CloudMetadata, None for the removal of the object.

        A person approves on that one, else on the provider's object.
        """
        resource, raw = (CLOUD_METADATAS, cloud) if cloud else (PROVIDERS[provider.kind], dict_of(provider))
        given = str((raw["metadata"].get("annotations") or {}).get(names.APPROVE_TAGS_ANNOTATION, ""))
        return TagPass(
            subject=f"{CLOUD_METADATAS.kind} {key_of(cloud)}" if cloud else str(provider.reference),
            finder=finder,
            store=self.record,
            ring=ring,
            approve_above=self.configuration.approve_above,
            approver=Approver(resource.kind, *key_of(raw), given, NARROW if cloud else RETAIN),
            begin=lambda: self._begin(provider, ring),
            may_go=lambda: self.grants() == grants,
            used=lambda digest: self._remove_approval(resource, raw, digest),
            hooks=self.hooks,
            refused=memory.refused if memory else frozenset(),
        )

    async def _remove_approval(self, resource: Resource, raw: Json, digest: str) -> None:
        """Take an approval off the object: an equal plan, later, is another decision."""
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

    async def _begin(self, provider: ProviderObject, ring: KeyRing) -> None:
        """Once for an object, before the first tag is written for it; the ledger is there by then."""
        if not writer_of(provider, ring).begun:
            await self.sign(provider, ring)

    async def sign(self, provider: ProviderObject, ring: KeyRing) -> None:
        """Note on the object for whom the ledger says that its tags were written."""
        text = annotation(provider, writer_of(provider, ring).uid, ring)
        await self.change(provider, {"annotations": {names.TAGS_WRITER_ANNOTATION: text}})

    async def hold(self, provider: ProviderObject) -> None:
        """Put our finalizer on an object whose tags are to go with it; any other one can always go."""
        finalizers, held = provider.finalizers, names.TAGS_FINALIZER in provider.finalizers
        wanted = deletion_of(provider) is Deletion.REMOVE
        if wanted and not held:
            await self.change(provider, {"finalizers": [*finalizers, names.TAGS_FINALIZER]})
        elif held and not wanted:
            await self.release(provider)

    async def release(self, provider: ProviderObject) -> None:
        """Take our finalizer off."""
        left = [each for each in provider.finalizers if each != names.TAGS_FINALIZER]
        await self.change(provider, {"finalizers": left})

    async def change(self, provider: ProviderObject, metadata: Json) -> None:
        """Patch its metadata. Raises Conflict where it has changed since it was read."""
        version = {"resourceVersion": provider.raw["metadata"]["resourceVersion"]}
        kind, namespace, name = provider.reference
        stored = await self.client.patch(PROVIDERS[kind], Key(namespace, name), {"metadata": {**version, **metadata}})
        dict_of(provider)["metadata"] = stored["metadata"]


def refusal_of_api_server(problem: kube.KubeError) -> Refused | None:
    """Say what the API server refuses for good; None for what passes by itself, by the controller's backoff."""
    if not isinstance(problem, _LASTING):
        return None
    message = f"{problem}: the record of what is written cannot be kept, so no tag is changed"
    if not isinstance(problem, kube.Forbidden):
        return Refused("RecordNotKept", message)
    advice = "Grant the operator list, get, create and update on configmaps in its namespace, and patch on "
    resources = " and ".join(each.plural for each in PROVIDERS.values())
    return Refused("Forbidden", f"{message}. {advice}{resources}")


def dict_of(provider: ProviderObject) -> Json:
    """Return the object itself, which is kept at the version that was stored last."""
    assert isinstance(provider.raw, dict)
    return provider.raw
