"""The controllers of the metadata kinds: ``CloudMetadata``, woken by what it refers to, and what goes with its tags."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from freehold.api import names
from freehold.api.served import METADATA_GRANT
from freehold.controllers.connections import Connections
from freehold.controllers.controller import Controller, Done, Reconcile, Result, Watched
from freehold.controllers.keyring.keeper import RingKeeper
from freehold.controllers.keyring.stored_form import RingError
from freehold.controllers.objects import separate_managers
from freehold.controllers.observers import NOBODY, Onlookers
from freehold.controllers.predicates import OWN_ANNOTATIONS, on_spec_or_metadata
from freehold.controllers.timing import RunningTime
from freehold.engine.clock import SystemClock
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.kube.watch import State
from freehold.operator.metadata.changes import AuditedChanges, ChangeAudit, watched
from freehold.operator.metadata.means import CLOUD_METADATAS, PROVIDERS, Means, Recorder
from freehold.operator.metadata.reconcile import MetadataReconciler
from freehold.operator.metadata.record import TagRecord
from freehold.operator.metadata.removal import TagRemoval
from freehold.providers.access.audit import NoAudit
from freehold.providers.aws.access import AwsConnection
from freehold.providers.ibm.access import IbmConnection
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import SERVED_RESOURCES
from freehold.reconcilers.metadata.demand import Place as TagPlaceOf
from freehold.reconcilers.metadata.references import Provider, Reference, Refused, refers_to
from freehold.tagging.configuration import Configuration
from freehold.tagging.resources import Cloud

if TYPE_CHECKING:
    from freehold.operator.metadata.places import Region, TagAccounts, TagPlace

GRANTS = resource_of(METADATA_GRANT)
_OWN = OWN_ANNOTATIONS | {names.TAGS_WRITER_ANNOTATION}


@dataclass(frozen=True)
class Place:
    """Where the record is kept, and which objects are served: of one namespace, or of all where it is empty."""

    record_namespace: str
    record_name: str
    namespace: str
    workers: int


class Caches:
    """What the watches have shown (means.Stored)."""

    def __init__(self, controller: Callable[[], Controller]) -> None:
        self._controller = controller

    def clouds(self) -> Sequence[Json]:
        return self._controller().all()

    def knows_clouds(self) -> bool:
        return self._controller().follower(CLOUD_METADATAS).state is State.SYNCED

    def providers(self) -> Sequence[Provider] | None:
        known = {kind: self._known(resource) for kind, resource in PROVIDERS.items()}
        if None in known.values():
            return None
        return [Provider(kind, raw) for kind, rows in known.items() for raw in rows or ()]

    def clusters(self) -> Sequence[Json] | None:
        known = [self._known(resource) for resource in SERVED_RESOURCES]
        if None in known:
            return None
        return [raw for rows in known for raw in rows or ()]

    def _known(self, resource: Resource) -> Sequence[Json] | None:
        """A watch that fails must not read as: there is none. Without a CRD there is none."""
        follower = self._controller().follower(resource)
        return list(follower.objects.values()) if follower.state in (State.SYNCED, State.ABSENT) else None

    def grants(self) -> Sequence[Json] | None:
        """Also where there is no CRD: nobody may have more rights by that."""
        follower = self._controller().follower(GRANTS)
        return list(follower.objects.values()) if follower.state is State.SYNCED else None


class _Places:
    """The places in each cloud (places.TagAccounts). What a cloud needs is loaded for its first object."""

    def __init__(self, connections: Connections, clock: SystemClock) -> None:
        self._connections = connections
        self._clock = clock
        self._loaded: dict[Cloud, TagAccounts] = {}

    async def at(self, place: TagPlaceOf, subject: str) -> Sequence[TagPlace | Region] | Refused:
        if place.cloud not in self._loaded:
            self._loaded[place.cloud] = self._load(place.cloud)
        return await self._loaded[place.cloud].at(place, subject)

    def _load(self, cloud: Cloud) -> TagAccounts:
        connection = self._connections[cloud.value]
        if isinstance(connection, IbmConnection):
            from freehold.operator.metadata.accounts_ibm import IbmTagAccounts

            return IbmTagAccounts(connection.account, self._clock)
        from freehold.operator.metadata.accounts_aws import AwsTagAccounts

        assert isinstance(connection, AwsConnection)
        return AwsTagAccounts(connection.cloud, connection.identities, self._clock)


def tag_accounts(connections: Connections, clock: SystemClock) -> TagAccounts:
    """Return where the tags of an object are: for the controllers, for plans and for those who ask."""
    return _Places(connections, clock)


def metadata_controllers(
    client: KubeClient,
    connections: Connections,
    regions: tuple[str, ...],
    keeper: RingKeeper,
    clock: SystemClock,
    recorder: Recorder,
    place: Place,
    configuration: Configuration,
    clusters: Sequence[Controller],
    onlookers: Onlookers = NOBODY,
    audit: ChangeAudit | None = None,
) -> list[Controller]:
    """``regions`` are those of objects that name none. ``clusters`` are the controllers of the cluster kinds."""
    watches = (AuditedChanges(audit or NoAudit()), *onlookers.changes)
    means = Means(
        client=client,
        stored=Caches(lambda: controller),
        accounts=watched(tag_accounts(connections, clock), watches),
        record=TagRecord(client, place.record_namespace, place.record_name),
        rings=keeper,
        clock=clock,
        recorder=recorder,
        fraction=random.random,
        regions=regions,
        namespace=place.namespace,
        configuration=configuration,
        observe=onlookers.passed,
        ready=onlookers.ready,
    )
    providers = [
        Watched(resource, referring(lambda: controller.all(), kind), _matters, place.namespace)
        for kind, resource in PROVIDERS.items()
    ]
    controller = Controller(
        client,
        CLOUD_METADATAS,
        onlookers.timed(
            _with_ring(keeper, _separated(client, lambda: controller, MetadataReconciler(means).reconcile))
        ),
        time=RunningTime(clock),
        namespace=place.namespace,
        workers=place.workers,
        watches=[
            *providers,
            Watched(GRANTS, lambda grant: [key_of(each) for each in controller.all()], on_spec_or_metadata),
        ],
        reads=clusters,
    )
    going: dict[str, Controller] = {}
    for kind, resource in PROVIDERS.items():
        going[kind] = Controller(
            client,
            resource,
            _with_ring(keeper, _separated(client, partial(going.__getitem__, kind), TagRemoval(means, kind).reconcile)),
            time=RunningTime(clock),
            namespace=place.namespace,
            workers=place.workers,
        )
    return [controller, *going.values()]


def _separated(client: KubeClient, controller: Callable[[], Controller], reconcile: Reconcile) -> Reconcile:
    """First divide the fields of an object that an earlier version wrote; its pass then meets the newer version."""

    async def separated(key: Key) -> Result:
        raw = controller().get(key)
        if raw is not None:
            await separate_managers(client, controller().resource, raw)
        return await reconcile(key)

    return separated


def _with_ring(keeper: RingKeeper, reconcile: Callable[[Key], Awaitable[Result]]) -> Callable[[Key], Awaitable[Result]]:
    """Without a ring nothing is done; the keeper asks for all objects when there is one."""

    async def guarded(key: Key) -> Result:
        if keeper.problem:
            return Done()
        try:
            return await reconcile(key)
        except RingError:  # it went while we looked around; nothing was written after that
            return Done()

    return guarded


def referring(clouds: Callable[[], Iterable[Json]], kind: str) -> Callable[[Json], list[Key]]:
    """The objects that refer to a provider's object."""

    def referring(tags: Json) -> list[Key]:
        return [key_of(each) for each in clouds() if refers_to(each, Reference(kind, *key_of(tags)))]

    return referring


def _matters(old: Any, new: Any) -> bool:
    """Not its status, and not the annotation that we put on it ourselves."""
    return on_spec_or_metadata(old, new, _OWN)
