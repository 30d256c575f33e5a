"""The controllers of the metadata kinds: ``CloudMetadata``, woken by what it refers to, and what goes with its tags."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from freehold.api import names
from freehold.api.served import METADATA_GRANT
from freehold.controllers.connections import Connections
from freehold.controllers.controller import Controller, Done, Reconcile, Result, WatchedResource
from freehold.controllers.keyring.keeper import RingKeeper
from freehold.controllers.keyring.stored_form import RingError
from freehold.controllers.objects import separate_managers
from freehold.controllers.observers import NO_OBSERVERS, Observers
from freehold.controllers.predicates import OWN_ANNOTATIONS, spec_or_metadata_changed
from freehold.controllers.timing import RunningTime
from freehold.controllers.watch_filter import NO_FILTER, WatchFilter
from freehold.controllers.workqueue import Priority
from freehold.engine.clock import SystemClock
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.kube.watch import WatchState
from freehold.providers.access.audit import NoAudit
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import EVERYTHING, Kinds
from freehold.tags.cloud_reconcile import CloudReconciler
from freehold.tags.context import CLOUD_METADATAS, Context, EventSink, list_tag_resources
from freehold.tags.ledger_store import LedgerStore
from freehold.tags.pass_hooks import AuditedChanges, ChangeAudit, PassHooks
from freehold.tags.policy.configuration import Configuration
from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.references import ProviderObject, Reference, Refused, refers_to
from freehold.tags.policy.tag_request import TagScope
from freehold.tags.provider_reconcile import ProviderReconciler

if TYPE_CHECKING:
    from freehold.tags.find_and_plan import Endpoints
    from freehold.tags.tag_endpoint import TagAccounts

GRANTS = resource_of(METADATA_GRANT)
_OWN = OWN_ANNOTATIONS | {names.TAGS_WRITER_ANNOTATION}


@dataclass(frozen=True)
class OperatorScope:
    """Where the record is kept, and which objects are served: of one namespace, or of all where it is empty."""

    record_namespace: str
    record_name: str
    namespace: str
    workers: int
    kinds: Kinds = EVERYTHING
    watch_filter: WatchFilter = NO_FILTER


class Caches:
    """What the watches have shown (context.Stored)."""

    def __init__(
        self, controller: Callable[[], Controller], kinds: Kinds = EVERYTHING, watch_filter: WatchFilter = NO_FILTER
    ) -> None:
        self._controller = controller
        self._kinds = kinds
        self._filter = watch_filter

    def clouds(self) -> Sequence[Json]:
        return list(filter(self._filter.passes, self._controller().list_objects()))

    def knows_clouds(self) -> bool:
        return self._controller().find_reflector(CLOUD_METADATAS).state is WatchState.SYNCED

    def providers(self) -> Sequence[ProviderObject] | None:
        known = {kind: self._list_known(resource) for kind, resource in list_tag_resources(self._kinds).items()}
        if None in known.values():
            return None
        passes = self._filter.passes
        return [ProviderObject(kind, raw) for kind, rows in known.items() for raw in filter(passes, rows or ())]

    def clusters(self) -> Sequence[Json] | None:
        """Also those that the watch filter leaves alone: the tags of a cluster are nobody else's to change."""
        known = [self._list_known(resource) for resource in self._kinds.resources]
        if None in known:
            return None
        return [raw for rows in known for raw in rows or ()]

    def _list_known(self, resource: Resource) -> Sequence[Json] | None:
        """List what a watch has shown. One that fails must not read as: there is none. Without a CRD there is none."""
        follower = self._controller().find_reflector(resource)
        return list(follower.objects.values()) if follower.state in (WatchState.SYNCED, WatchState.ABSENT) else None

    def grants(self) -> Sequence[Json] | None:
        """Also where there is no CRD: nobody may have more rights by that."""
        follower = self._controller().find_reflector(GRANTS)
        return list(follower.objects.values()) if follower.state is WatchState.SYNCED else None


class _LoadedAccounts:
    """The places in each cloud (tag_endpoint.TagAccounts). What a cloud needs is loaded for its first object."""

    def __init__(self, connections: Connections, clock: SystemClock) -> None:
        self._connections = connections
        self._clock = clock
        self._loaded: dict[TagDialect, TagAccounts] = {}

    async def find_endpoints(self, place: TagScope, subject: str) -> Endpoints | Refused:
        if place.cloud not in self._loaded:
            self._loaded[place.cloud] = self._connections[place.cloud.name].tag_accounts(self._clock)
        return await self._loaded[place.cloud].find_endpoints(place, subject)


def tag_accounts(connections: Connections, clock: SystemClock) -> TagAccounts:
    """Return where the tags of an object are: for the controllers, for plans and for those who ask."""
    return _LoadedAccounts(connections, clock)


def metadata_controllers(
    client: KubeClient,
    connections: Connections,
    regions: tuple[str, ...],
    keeper: RingKeeper,
    clock: SystemClock,
    recorder: EventSink,
    place: OperatorScope,
    configuration: Configuration,
    clusters: Sequence[Controller],
    onlookers: Observers = NO_OBSERVERS,
    audit: ChangeAudit | None = None,
    may_act: Callable[[], bool] = lambda: True,
) -> list[Controller]:
    """``regions`` are those of objects that name none. ``clusters`` are the controllers of the cluster kinds.

    ``may_act``: whether this process serves metadata objects now; when it begins to, somebody asks for all of them.
    """
    going: dict[str, Controller] = {}
    tags = list_tag_resources(place.kinds)

    def wake(reference: Reference) -> None:
        if reference.kind in going:
            going[reference.kind].queue.add(Key(reference.namespace, reference.name), Priority.LIVE)

    context = Context(
        client=client,
        stored=Caches(lambda: controller, place.kinds, place.watch_filter),
        accounts=tag_accounts(connections, clock),
        record=LedgerStore(client, place.record_namespace, place.record_name),
        rings=keeper,
        clock=clock,
        recorder=recorder,
        fraction=random.random,
        regions=regions,
        namespace=place.namespace,
        configuration=configuration,
        hooks=PassHooks(
            onlookers.report_pass, onlookers.report_ready, (AuditedChanges(audit or NoAudit()), *onlookers.changes)
        ),
        wake=wake,
        kinds=place.kinds,
        watch_filter=place.watch_filter,
    )

    def controller_of(resource: Resource, reconcile: Reconcile, **more: Any) -> Controller:
        async def reconcile_with_ring(key: Key) -> Result:
            """Do nothing without a ring: the keeper asks for all objects when there is one."""
            if keeper.problem or not may_act():
                return Done()
            raw = built.get(key)
            if raw is not None:  # an earlier version wrote fields of it under another manager
                await separate_managers(client, resource, raw)
            try:
                return await reconcile(key)
            except RingError:  # it went while we looked around; nothing was written after that
                return Done()

        timed = onlookers.time_reconcile(reconcile_with_ring) if resource == CLOUD_METADATAS else reconcile_with_ring
        time, namespace = RunningTime(clock), place.namespace
        built = Controller(client, resource, timed, time=time, namespace=namespace, workers=place.workers, **more)
        return built

    watches = [
        *(
            WatchedResource(resource, referring(lambda: controller.list_objects(), kind), _matters, place.namespace)
            for kind, resource in tags.items()
        ),
        WatchedResource(
            GRANTS, lambda grant: [key_of(each) for each in controller.list_objects()], spec_or_metadata_changed
        ),
    ]
    reconcile = CloudReconciler(context).reconcile
    controller = controller_of(CLOUD_METADATAS, reconcile, watches=watches, reads=clusters)
    for kind, resource in tags.items():
        going[kind] = controller_of(resource, ProviderReconciler(context, kind).reconcile)
    return [controller, *going.values()]


def referring(clouds: Callable[[], Iterable[Json]], kind: str) -> Callable[[Json], list[Key]]:
    """Map a provider's object to the objects that refer to it."""

    def referring(tags: Json) -> list[Key]:
        return [key_of(each) for each in clouds() if refers_to(each, Reference(kind, *key_of(tags)))]

    return referring


def _matters(old: Any, new: Any) -> bool:
    """Not its status, and not the annotation that we put on it ourselves."""
    return spec_or_metadata_changed(old, new, _OWN)
