"""The operator process: builds one controller for each served kind and runs them until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from freehold.api import names
from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.api.served import ClusterLink, ServedName
from freehold.collection.selector import Selector
from freehold.controllers import predicates
from freehold.controllers.collecting import Collections
from freehold.controllers.connections import Connections, collects_new_objects, connect, find_accounts
from freehold.controllers.controller import Controller, Done, Health, Result, WatchedResource
from freehold.controllers.events import EventRecorder
from freehold.controllers.keyring import secret as keyring_secret
from freehold.controllers.keyring.file import FileRing
from freehold.controllers.keyring.keeper import RingKeeper
from freehold.controllers.keyring.needs import KeyNeed, read_needs
from freehold.controllers.keyring.secret import SecretRing
from freehold.controllers.keyring.stored_form import RingError
from freehold.controllers.mirrors import build_mirror_controller
from freehold.controllers.name_claims import NameClaims
from freehold.controllers.objects import ApiObject, separate_managers
from freehold.controllers.observation_log import LookLog, LookRecord
from freehold.controllers.observers import NO_OBSERVERS, Observers
from freehold.controllers.other_objects import OtherStoredObjects
from freehold.controllers.owner_cluster import (
    CLUSTERS,
    MACHINES,
    OwnerClusterReader,
    build_cluster_mapper,
    map_belonging,
    map_machine,
    map_parent,
)
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.secret_writer import SecretWriter
from freehold.controllers.timing import RunningTime
from freehold.engine.clock import SystemClock
from freehold.engine.interface import Intervals
from freehold.kube import errors as kube
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.field_managers import OPERATOR
from freehold.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Json, Key
from freehold.providers.access.accounts import Accounts
from freehold.providers.access.audit import Audit, FileAudit, NoAudit
from freehold.providers.access.limits import Limits
from freehold.providers.base import CloudAccess, ConnectionContext, ObjectReader
from freehold.providers.objects import gate
from freehold.providers.objects.gate import ClusterApiMode
from freehold.providers.objects.served_resources import resource_around, resource_of
from freehold.providers.registry import METADATA, MIRRORS, PROVIDERS, REFERRED_TO, SERVED, SERVED_RESOURCES, TEMPLATES
from freehold.tags import ledger_store
from freehold.tags.controller import OperatorScope, metadata_controllers
from freehold.tags.key_needs import tag_needs
from freehold.tags.policy.configuration import Configuration

FILE_POLL_SECONDS = 1.0
SECRET_POLL_SECONDS = 60.0
"""Wall seconds between reads of the key ring; an object that names a missing key brings the next read forward."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class RingSecret:
    """The Secret that holds the key ring of a cluster."""

    namespace: str = keyring_secret.NAMESPACE
    name: str = keyring_secret.NAME


@dataclass(frozen=True)
class Settings:
    """The settings of one operator, parsed from options. ``keys`` is the place of the key ring, a file or a Secret.

    ``access`` has provider names as keys. ``new_limits`` makes the request limits of one account.
    """

    kube: Connection
    access: Mapping[str, CloudAccess]
    cluster_api: str = "auto"
    namespace: str | None = None
    workers: int = 80
    clock: SystemClock = field(default_factory=SystemClock)
    audit: Path | None = None
    intervals: Intervals = field(default_factory=Intervals)
    new_limits: Callable[[], Limits] = Limits
    keys: Path | RingSecret = field(default_factory=RingSecret)
    gates: FeatureGates = DEFAULT_GATES
    gc_selector: Selector | None = None
    observers: Observers = NO_OBSERVERS
    metadata: Configuration = field(default_factory=Configuration)

    @property
    def own_namespace(self) -> str:
        """The namespace of the operator's Secrets."""
        return self.keys.namespace if isinstance(self.keys, RingSecret) else RingSecret().namespace

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions of metadata objects that name none."""
        return tuple(region for each in self.access.values() for region in each.regions)

    @property
    def ledger_name(self) -> str:
        """The name of the ledger of written tags; operators with different rings in one namespace share none."""
        own = isinstance(self.keys, RingSecret) and self.keys.name != keyring_secret.NAME
        return f"{self.keys.name}-tags" if own else ledger_store.NAME


class ConflictingProvider(Exception):
    """Another provider that serves the same kinds is installed: two controllers must not share an object.

    Source: docs/reference/capi-contract.md C2.
    """


class Operator:
    """The operator of one API server: a controller for each served kind."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stop = asyncio.Event()
        self._controllers: list[Controller] = []
        self._keeper: RingKeeper | None = None
        self._served: dict[str, tuple[Controller, LookLog]] = {}

    def stop(self) -> None:
        """Finish the passes in hand, then return from ``run``."""
        self._stop.set()

    def read_health(self) -> Health | None:
        """Return the health of all controllers; None before the start. Without a key ring it is never ready."""
        if not self._controllers or self._keeper is None:
            return None
        health, problem = merge_health([each.read_health() for each in self._controllers]), self._keeper.problem
        return replace(health, ready=health.ready and not problem, problem=problem)

    def find_look(self, kind: str, key: Key) -> LookRecord | None:
        """Return the last look at the object; None if there was none since one was requested."""
        found = self._served.get(kind)
        return found[1].find_last(key) if found else None

    def request_look(self, kind: str, key: Key) -> None:
        """Request a full look at the object. It does nothing before ``run``, because the first pass is a full look."""
        if found := self._served.get(kind):
            controller, looks = found
            looks.request_look(key)
            controller.queue.add(key)

    async def run(self) -> None:
        """Serve until ``stop``. Raises ConflictingProvider, and KubeError when the API server cannot be used at all."""
        settings = self._settings
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(KubeClient(settings.kube, field_manager=OPERATOR))
            await refuse_peers(client)
            files = stack.enter_context(ExitStack())
            audit: FileAudit | NoAudit = NoAudit()
            if settings.audit is not None:
                audit = files.enter_context(FileAudit(settings.audit, settings.clock))
            connections = open_connections(settings, client, files, audit)
            recorder = EventRecorder(client, "freehold", time.time)  # kubectl tells their ages, servers sweep the old
            posting = asyncio.create_task(recorder.run())
            stack.callback(posting.cancel)
            keeper = self._keeper = build_keeper(client, settings)
            await keeper.refresh()
            others = OtherStoredObjects(client, SERVED_RESOURCES, settings.namespace or "")
            for served in SERVED:
                accounts = find_accounts(connections, served)
                claims = self._build_claims(served, accounts) if served.once_in_account else None
                reconciler = Reconciler(
                    served, accounts, keeper, settings.clock, recorder, others, claims,
                    Collections(settings.clock, others.list_stored),
                    collects=collects_new_objects(served, settings.gates), reader=client,
                    secrets=SecretWriter(client, settings.clock),
                )  # fmt: skip
                controller = self._build_controller(client, served, reconciler, keeper)
                self._served[served.kind] = controller, reconciler.look_log
                self._controllers.append(controller)
            place = OperatorScope(
                settings.own_namespace, settings.ledger_name, settings.namespace or "", settings.workers
            )
            self._controllers += metadata_controllers(
                client, connections, settings.regions, keeper, settings.clock, recorder, place, settings.metadata,
                tuple(self._controllers), settings.observers, audit,
            )  # fmt: skip
            mode, namespace = ClusterApiMode(settings.cluster_api), settings.namespace or ""
            self._controllers += [
                build_mirror_controller(client, kind, mode, settings.clock, namespace, settings.workers)
                for kind in MIRRORS
            ]
            keeper.on_change = self._requeue_all
            running = asyncio.create_task(self._run_controllers())
            keeping = asyncio.create_task(keeper.run())
            stopping = asyncio.create_task(self._stop.wait())
            try:
                await asyncio.wait({running, keeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if keeping.done():
                    keeping.result()  # a defect: without it a key that is added would never be seen
            finally:
                keeping.cancel()
                stopping.cancel()
                for controller in self._controllers:
                    controller.stop()
                await running

    def _build_claims(self, served: ServedName, accounts: Accounts) -> NameClaims:
        return NameClaims(
            served,
            accounts,
            lambda: (
                obj for each in self._controllers if each.resource == resource_of(served) for obj in each.list_objects()
            ),
        )

    def _requeue_all(self) -> None:
        for controller in self._controllers:
            controller.requeue_all()

    async def _run_controllers(self) -> None:
        """Run all controllers. A defect that ends one leaves the others running, and is raised at the end."""
        ended = await asyncio.gather(*(each.run() for each in self._controllers), return_exceptions=True)
        for defect in ended:
            if isinstance(defect, BaseException):
                raise defect

    def _build_controller(
        self, client: KubeClient, served: ServedName, reconciler: Reconciler, keeper: RingKeeper
    ) -> Controller:
        settings, resource = self._settings, resource_of(served)
        mode = ClusterApiMode(settings.cluster_api)
        owner_clusters = OwnerClusterReader(client, mode, served)

        async def reconcile(key: Key) -> Result:
            raw = controller.get(key)
            if raw is None:
                reconciler.look_log.forget(key)
            if raw is None or keeper.problem:
                return Done()  # without a ring nothing is served; the keeper asks for all objects when there is one
            newest = await client.get(resource, key) if key in written else raw
            around = await owner_clusters.read_context(newest)
            if not gate.leaves_alone(gate.decide(newest, around, served)):
                newest = await separate_managers(client, resource, newest)
            document = ApiObject(client, resource, newest)
            try:
                result = await reconciler.reconcile(document, around)
            except RingError:  # it went while we looked around; nothing was done
                return Done()
            if document.version == raw["metadata"]["resourceVersion"]:
                written.discard(key)
            else:
                written.add(key)
            return result

        written: set[Key] = set()
        watches = build_watches(served, mode, lambda: controller.list_objects(), settings.namespace or "")
        controller = Controller(
            client,
            resource,
            reconcile,
            time=RunningTime(settings.clock),
            namespace=settings.namespace or "",
            workers=settings.workers,
            watches=watches,
            gone=reconciler.report_gone,
        )
        return controller


def build_watches(
    served: ServedName, mode: ClusterApiMode, objects: Callable[[], Iterable[Json]], namespace: str
) -> list[WatchedResource]:
    """Build the watches of what surrounds the objects of a kind.

    Those of Cluster API also where it is not installed (yet): a watch looks again from time to time. No Secret is
    watched, because that would read all of a cluster.
    """
    found = []
    if mode is not ClusterApiMode.OFF and served.link is not ClusterLink.NONE:
        changed = predicates.anything_changed if not served.parents else predicates.machine_inputs_changed
        found.append(WatchedResource(CLUSTERS, build_cluster_mapper(served, objects), changed, namespace))
        if served.link is ClusterLink.MACHINE:
            found.append(WatchedResource(MACHINES, map_machine(served), predicates.machine_inputs_changed, namespace))
    for each in served.parents:
        parent = resource_around(each)
        found.append(WatchedResource(parent, map_parent(objects), predicates.machine_inputs_changed, namespace))
    if served.infrastructure is not None:
        belonging = map_belonging(served, objects)
        beside = resource_around(served.infrastructure)
        found.append(WatchedResource(beside, belonging, predicates.spec_or_metadata_changed, namespace))
        for machines in (each for each in served.machines if each.inputs):
            inputs = predicates.build_fields_changed(machines.inputs)
            found.append(WatchedResource(resource_around(machines), belonging, inputs, namespace))
    return found


def open_connections(settings: Settings, client: ObjectReader, stack: ExitStack, audit: Audit) -> Connections:
    """Connect to the clouds. Their resources are closed with ``stack``."""
    shared = ConnectionContext(
        client,
        settings.own_namespace,
        settings.clock,
        audit,
        settings.intervals,
        settings.new_limits,
        settings.observers.wrap_port,
        stack,
        settings.gates,
        settings.gc_selector,
    )
    return connect(settings.access, shared)


def open_ring_store(client: KubeClient, keys: Path | RingSecret) -> FileRing | SecretRing:
    """Open the place of the key ring."""
    return FileRing(keys) if isinstance(keys, Path) else SecretRing(client, keys.namespace, keys.name)


def build_keeper(client: KubeClient, settings: Settings) -> RingKeeper:
    """Build what reads the key ring again and again, and makes the first one where that is allowed."""
    store = open_ring_store(client, settings.keys)
    poll = FILE_POLL_SECONDS if isinstance(store, FileRing) else SECRET_POLL_SECONDS

    async def read_all_needs() -> list[KeyNeed]:
        namespace = settings.namespace or ""
        of_tags = await tag_needs(client, settings.own_namespace, settings.ledger_name, namespace)
        return [*await read_needs(client, SERVED_RESOURCES, namespace), *of_tags]

    return RingKeeper(store, read_all_needs, time.time, poll)


def merge_health(healths: Sequence[Health]) -> Health:
    """Merge the health of several controllers: ready when all are, with the oldest of all ages."""
    return Health(
        ready=all(each.ready for each in healths),
        followed={name: state for each in healths for name, state in each.followed.items()},
        silent=max(each.silent for each in healths),
        busy=max(each.busy for each in healths),
        last_progress=min(each.last_progress for each in healths),
        queued=sum(each.queued for each in healths),
        scheduled=sum(each.scheduled for each in healths),
        restarts=sum(each.restarts for each in healths),
    )


async def refuse_peers(client: ObjectReader) -> None:
    """Refuse to start beside another provider of the same kinds, or where RBAC hides whether there is one."""
    for served in (*SERVED, *(kind.served for kind in MIRRORS), *TEMPLATES, *REFERRED_TO, *METADATA):
        await _refuse_peer_of(client, served.crd)


async def _refuse_peer_of(client: ObjectReader, crd: str) -> None:
    try:
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, Key("", crd))
    except kube.ObjectNotFound as error:
        raise kube.ConfigError(f"the API server does not serve {crd}: apply deploy/crds first") from error
    except kube.Forbidden as error:
        raise kube.ConfigError(
            f"{error}: whether another provider serves these objects must be known; "
            "grant 'get' on customresourcedefinitions, also to an operator of one namespace"
        ) from error
    label = (found["metadata"].get("labels") or {}).get(names.PROVIDER_LABEL)
    if label in {provider.upstream for provider in PROVIDERS if provider.upstream}:
        raise ConflictingProvider(
            f"CRD {crd} belongs to provider {label}: two controllers must not serve one object. Uninstall it first"
        )
