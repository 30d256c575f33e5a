"""The operator as a whole: put together once, run until stopped."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from freehold.api import names
from freehold.api.feature_gates import DEFAULT_GATES, FeatureGates
from freehold.api.served import ClusterLink, ServedName
from freehold.collection.selector import Selector
from freehold.controllers.collecting import Collections
from freehold.controllers.connections import Connections, accounts_in, collects, connect
from freehold.controllers.controller import Controller, Done, Health, Result, Watched
from freehold.controllers.events import EventRecorder
from freehold.controllers.keyring import secret as keyring_secret
from freehold.controllers.keyring.file import FileRing
from freehold.controllers.keyring.keeper import RingKeeper
from freehold.controllers.keyring.needs import Need, needs
from freehold.controllers.keyring.secret import SecretRing
from freehold.controllers.keyring.stored_form import RingError
from freehold.controllers.name_claims import NameClaims
from freehold.controllers.objects import ObjectHandle, separate_managers
from freehold.controllers.observation_log import Look, Looks
from freehold.controllers.observers import NOBODY, Onlookers
from freehold.controllers.other_objects import StoredObjects
from freehold.controllers.owner_cluster import CLUSTERS, OwnerClusterReader, cluster_mapper
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.timing import RunningTime
from freehold.engine.clock import SystemClock
from freehold.engine.interface import Intervals
from freehold.kube import errors as kube
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.field_managers import OPERATOR
from freehold.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Key
from freehold.providers.access.accounts import Accounts
from freehold.providers.access.audit import Audit, FileAudit, NoAudit
from freehold.providers.access.limits import Limits
from freehold.providers.base import Access, Reader, Shared
from freehold.providers.objects import gate
from freehold.providers.objects.gate import Mode
from freehold.providers.objects.served_resources import resource_of
from freehold.providers.registry import METADATA, PROVIDERS, REFERRED_TO, SERVED, SERVED_RESOURCES
from freehold.tags import ledger_store
from freehold.tags.controller import OperatorScope, metadata_controllers
from freehold.tags.key_needs import tag_needs
from freehold.tags.policy.configuration import Configuration

FILE_POLL_SECONDS = 1.0
SECRET_POLL_SECONDS = 60.0
"""Wall seconds between looks at the key ring; an object that misses a key hurries the next one."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class RingSecret:
    """Where the key ring of a cluster is."""

    namespace: str = keyring_secret.NAMESPACE
    name: str = keyring_secret.NAME


@dataclass(frozen=True)
class Settings:
    """Parsed once at the edge. ``keys``: where the key ring is, a file on a laptop.

    ``access`` is by the name of a provider. ``new_limits``: of the requests to one account and API.
    """

    kube: Connection
    access: Mapping[str, Access]
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
    onlookers: Onlookers = NOBODY
    metadata: Configuration = field(default_factory=Configuration)

    @property
    def own_namespace(self) -> str:
        """Where the operator's Secrets are."""
        return self.keys.namespace if isinstance(self.keys, RingSecret) else RingSecret().namespace

    @property
    def regions(self) -> tuple[str, ...]:
        """Those of metadata objects that name none."""
        return tuple(region for each in self.access.values() for region in each.regions)

    @property
    def record(self) -> str:
        """The name of the record of written tags: operators with rings of their own in one namespace share none."""
        own = isinstance(self.keys, RingSecret) and self.keys.name != keyring_secret.NAME
        return f"{self.keys.name}-tags" if own else ledger_store.NAME


class ConflictingProvider(Exception):
    """A provider that serves the same kinds is installed: two controllers must not share an object.

    Source: docs/reference/capi-contract.md C2.
    """


class Operator:
    """Serves the objects of one API server: a controller for each served kind."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stop = asyncio.Event()
        self._controllers: list[Controller] = []
        self._keeper: RingKeeper | None = None
        self._served: dict[str, tuple[Controller, Looks]] = {}

    def stop(self) -> None:
        """Finish the passes in hand, then return from ``run``."""
        self._stop.set()

    def health(self) -> Health | None:
        """None until it has started. Not ready without a key ring, whatever else is."""
        if not self._controllers or self._keeper is None:
            return None
        health, problem = together([each.health() for each in self._controllers]), self._keeper.problem
        return replace(health, ready=health.ready and not problem, problem=problem)

    def look(self, kind: str, key: Key) -> Look | None:
        """What its passes have seen of the object; None where none has come to it since it was asked to look."""
        found = self._served.get(kind)
        return found[1].last(key) if found else None

    def look_anew(self, kind: str, key: Key) -> None:
        """Look at everything of the object now. Nothing is lost before ``run``: the first pass is a deep one."""
        if found := self._served.get(kind):
            controller, looks = found
            looks.ask(key)
            controller.queue.add(key)

    async def run(self) -> None:
        """Until ``stop``. Raises ConflictingProvider, and KubeError when the API server cannot be used at all."""
        settings = self._settings
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(KubeClient(settings.kube, field_manager=OPERATOR))
            await refuse_peer(client)
            files = stack.enter_context(ExitStack())
            audit: FileAudit | NoAudit = NoAudit()
            if settings.audit is not None:
                audit = files.enter_context(FileAudit(settings.audit, settings.clock))
            connections = connections_of(settings, client, files, audit)
            recorder = EventRecorder(client, "freehold", time.time)  # kubectl tells their ages, servers sweep the old
            posting = asyncio.create_task(recorder.run())
            stack.callback(posting.cancel)
            keeper = self._keeper = keeper_of(client, settings)
            await keeper.refresh()
            others = StoredObjects(client, SERVED_RESOURCES, settings.namespace or "")
            for served in SERVED:
                accounts = accounts_in(connections, served)
                claims = self._claims(served, accounts) if served.once_in_account else None
                reconciler = Reconciler(
                    served, accounts, keeper, settings.clock, recorder, others, claims,
                    Collections(settings.clock, others.stored), collects=collects(served, settings.gates),
                )  # fmt: skip
                controller = self._build(client, served, reconciler, keeper)
                self._served[served.kind] = controller, reconciler.looks
                self._controllers.append(controller)
            place = OperatorScope(settings.own_namespace, settings.record, settings.namespace or "", settings.workers)
            self._controllers += metadata_controllers(
                client, connections, settings.regions, keeper, settings.clock, recorder, place, settings.metadata,
                tuple(self._controllers), settings.onlookers, audit,
            )  # fmt: skip
            keeper.changed = self._requeue_all
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

    def _claims(self, served: ServedName, accounts: Accounts) -> NameClaims:
        return NameClaims(
            served,
            accounts,
            lambda: (obj for each in self._controllers if each.resource == resource_of(served) for obj in each.all()),
        )

    def _requeue_all(self) -> None:
        for controller in self._controllers:
            controller.requeue_all()

    async def _run_controllers(self) -> None:
        """A kind whose controller ends by a defect leaves the others alone; the defect is raised in the end."""
        ended = await asyncio.gather(*(each.run() for each in self._controllers), return_exceptions=True)
        for defect in ended:
            if isinstance(defect, BaseException):
                raise defect

    def _build(self, client: KubeClient, served: ServedName, reconciler: Reconciler, keeper: RingKeeper) -> Controller:
        settings, resource = self._settings, resource_of(served)
        mode = Mode(settings.cluster_api)
        owner_clusters = OwnerClusterReader(client, mode, served)

        async def reconcile(key: Key) -> Result:
            raw = controller.get(key)
            if raw is None:
                reconciler.looks.forget(key)
            if raw is None or keeper.problem:
                return Done()  # without a ring nothing is served; the keeper asks for all objects when there is one
            newest = await client.get(resource, key) if key in written else raw
            around = await owner_clusters.context(newest)
            if not gate.leaves_alone(gate.decide(newest, around, served)):
                newest = await separate_managers(client, resource, newest)
            document = ObjectHandle(client, resource, newest)
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
        watches = []
        concerned = cluster_mapper(served, lambda: controller.all())
        if (
            mode is not Mode.OFF and served.link is not ClusterLink.NONE
        ):  # also where it is not installed (yet): the watch looks again from time to time
            watches.append(Watched(CLUSTERS, concerned, namespace=settings.namespace or ""))
        controller = Controller(
            client,
            resource,
            reconcile,
            time=RunningTime(settings.clock),
            namespace=settings.namespace or "",
            workers=settings.workers,
            watches=watches,
            gone=reconciler.gone,
        )
        return controller


def connections_of(settings: Settings, client: Reader, stack: ExitStack, audit: Audit) -> Connections:
    """Connect to the clouds; what they need ends with ``stack``."""
    shared = Shared(
        client,
        settings.own_namespace,
        settings.clock,
        audit,
        settings.intervals,
        settings.new_limits,
        settings.onlookers.port,
        stack,
        settings.gates,
        settings.gc_selector,
    )
    return connect(settings.access, shared)


def ring_store(client: KubeClient, keys: Path | RingSecret) -> FileRing | SecretRing:
    """The place of the key ring."""
    return FileRing(keys) if isinstance(keys, Path) else SecretRing(client, keys.namespace, keys.name)


def keeper_of(client: KubeClient, settings: Settings) -> RingKeeper:
    """Reads the ring, and makes the first one where that is allowed."""
    store = ring_store(client, settings.keys)
    poll = FILE_POLL_SECONDS if isinstance(store, FileRing) else SECRET_POLL_SECONDS

    async def needed() -> list[Need]:
        namespace = settings.namespace or ""
        of_tags = await tag_needs(client, settings.own_namespace, settings.record, namespace)
        return [*await needs(client, SERVED_RESOURCES, namespace), *of_tags]

    return RingKeeper(store, needed, time.time, poll)


def together(healths: Sequence[Health]) -> Health:
    """The health of several controllers as one: ready when all are, and as old as the oldest."""
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


async def refuse_peer(client: Reader) -> None:
    """Refuse to start beside a provider of the same kinds, or where nobody lets us see whether there is one."""
    for served in (*SERVED, *REFERRED_TO, *METADATA):
        await _refuse_peer_of(client, served.crd)


async def _refuse_peer_of(client: Reader, crd: str) -> None:
    try:
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, Key("", crd))
    except kube.NotFound as error:
        raise kube.ConfigError(f"the API server does not serve {crd}: apply deploy/crds first") from error
    except kube.Forbidden as error:
        raise kube.ConfigError(
            f"{error}: whether another provider serves these objects must be known; "
            "grant 'get' on customresourcedefinitions, also to an operator of one namespace"
        ) from error
    label = (found["metadata"].get("labels") or {}).get(names.PROVIDER_LABEL)
    if label in {provider.upstream for provider in PROVIDERS}:
        raise ConflictingProvider(
            f"CRD {crd} belongs to provider {label}: two controllers must not serve one object. Uninstall it first"
        )
