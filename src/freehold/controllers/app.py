"""The operator process: builds one controller for each served kind and runs them until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from freehold.api.served import ServedName
from freehold.controllers.collecting import Collections
from freehold.controllers.connections import Connections, collects_new_objects, find_accounts, open_connections
from freehold.controllers.controller import Controller, Done, Result
from freehold.controllers.events import EventRecorder
from freehold.controllers.health import Health, merge_health
from freehold.controllers.keyring.keeper import RingKeeper
from freehold.controllers.keyring.opening import build_keeper
from freehold.controllers.keyring.stored_form import RingError
from freehold.controllers.leadership import lease as leases
from freehold.controllers.leadership.elector import Claim, Elector, build_identity
from freehold.controllers.leadership.interface import ALWAYS_LEADS, Election, Leadership
from freehold.controllers.leadership.shard_keeper import ShardKeeper
from freehold.controllers.leadership.shards import SINGLE
from freehold.controllers.leadership.work import ShardedWork, ShardedWorks, name_by_uid, name_single
from freehold.controllers.mirrors import build_mirror_controller
from freehold.controllers.name_claims import NameClaims, name_by_claim
from freehold.controllers.objects import ApiObject, separate_managers
from freehold.controllers.observation_log import LookLog, LookRecord
from freehold.controllers.observers import Standing
from freehold.controllers.other_objects import OtherStoredObjects
from freehold.controllers.owner_cluster import (
    OwnerClusterReader,
)
from freehold.controllers.peers import refuse_peers
from freehold.controllers.probes import ProcessHealth
from freehold.controllers.reconciler import Reconciler
from freehold.controllers.secret_writer import SecretWriter
from freehold.controllers.settings import Settings
from freehold.controllers.timing import RunningTime
from freehold.controllers.watches import build_watches
from freehold.engine.keys import KeyRing
from freehold.kube.client import KubeClient
from freehold.kube.field_managers import OPERATOR
from freehold.kube.resources import Key
from freehold.providers.access.accounts import Accounts
from freehold.providers.access.audit import FileAudit, NoAudit
from freehold.providers.objects import gate
from freehold.providers.objects.gate import ClusterApiMode
from freehold.providers.objects.served_resources import resource_of
from freehold.tags.controller import OperatorScope, metadata_controllers

_LOG = logging.getLogger(__name__)


class Operator:
    """The operator of one API server: a controller for each served kind."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stop = asyncio.Event()
        self._controllers: list[Controller] = []
        self._keeper: RingKeeper | None = None
        self._served: dict[str, tuple[Controller, LookLog]] = {}
        self._works: list[ShardedWork] = []
        self._election: Election | None = None

    def stop(self) -> None:
        """Finish the passes in hand, then return from ``run``."""
        self._stop.set()

    def read_health(self) -> Health | None:
        """Return the health of all controllers; None before the start. Without a key ring it is never ready."""
        if not self._controllers or self._keeper is None:
            return None
        health, problem = merge_health([each.read_health() for each in self._controllers]), self._keeper.problem
        return replace(health, ready=health.ready and not problem, problem=problem)

    @property
    def controllers(self) -> Sequence[Controller]:
        """The controllers of this process; none before the start."""
        return tuple(self._controllers)

    def read_process_health(self) -> ProcessHealth:
        """Return the health for the probes, by kind."""
        problem = self._keeper.problem if self._keeper else ""
        health = {str(each.resource): each.read_health() for each in self.controllers}
        return ProcessHealth(health, problem, follows=not self.leads())

    @property
    def key_ring(self) -> KeyRing | None:
        """The key ring; None before the start, and while there is none."""
        if self._keeper is None:
            return None
        try:
            return self._keeper.ring
        except RingError:
            return None

    def leads(self) -> bool:
        """Return whether this process acts on objects now. It may be called from any thread."""
        if not self._settings.leader_elect:
            return True
        return self._election is not None and self._election.remaining() > 0

    def leads_all(self) -> bool:
        """Return whether this process does now what one does for all, such as the webhook's certificate."""
        if not self._settings.leader_elect:
            return True
        return self._election is not None and self._election.holds(SINGLE)

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
        """Serve until ``stop``, with election only while this process leads.

        Raises ConflictingProvider, LeadershipLost, and KubeError when the API server cannot be used at all.
        """
        async with KubeClient(self._settings.kube, field_manager=OPERATOR) as client:
            await refuse_peers(client, self._settings.kinds)
            if not self._settings.leader_elect:
                self._settings.observers.process.note_standing(Standing())
                await self._serve(client, ALWAYS_LEADS, asyncio.get_running_loop().create_future())
                return
            async with KubeClient(self._settings.kube, connections=2) as own:  # it never waits for those that serve
                await self._serve_when_elected(client, own)

    async def _serve_when_elected(self, client: KubeClient, own: KubeClient) -> None:
        """Follow until this process is elected, then serve. The Lease is given back once nothing is in hand."""
        note_standing = self._settings.observers.process.note_standing
        election = self._election = self._build_election(own)
        note_standing(election.read_standing())
        electing = asyncio.create_task(election.run())
        waiting: list[asyncio.Future[Any]] = [
            electing,
            asyncio.create_task(election.wait_until_elected()),
            asyncio.create_task(self._stop.wait()),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not self._stop.is_set() and not electing.done():
                note_standing(election.read_standing())
                await self._serve(client, election, electing)
            if electing.done():
                electing.result()
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            if not any(each.cut_off for each in self._controllers):  # else it may have a call in flight
                await election.release()

    def _build_election(self, client: KubeClient) -> Election:
        settings, identity = self._settings, build_identity()
        if settings.shards == 1:
            return Elector(Claim(client, Key(settings.own_namespace, leases.NAME), identity))
        keeper = ShardKeeper(client, settings.own_namespace, identity, settings.shards)
        works = ShardedWorks(self._works, settings.shards)
        keeper.on_taken, keeper.drain = works.take, works.drain
        keeper.on_standing = settings.observers.process.note_standing
        return keeper

    async def _serve(self, client: KubeClient, leadership: Leadership, lost: asyncio.Future[None]) -> None:
        """Run the controllers until ``stop``, or until ``lost`` is done."""
        settings = self._settings
        async with AsyncExitStack() as stack:
            files = stack.enter_context(ExitStack())
            audit: FileAudit | NoAudit = NoAudit()
            if settings.audit is not None:
                audit = files.enter_context(FileAudit(settings.audit, settings.clock))
            connections = open_connections(settings, client, files, audit, leadership)
            recorder = EventRecorder(client, "freehold", time.time)  # kubectl tells their ages, servers sweep the old
            posting = asyncio.create_task(recorder.run())
            stack.callback(posting.cancel)
            keeper = self._keeper = build_keeper(client, settings)
            await keeper.refresh()
            self._build_controllers(client, connections, recorder, keeper, audit, leadership)
            keeper.on_change = self._requeue_all
            await self._run_until_stopped(keeper, lost)

    async def _run_until_stopped(self, keeper: RingKeeper, lost: asyncio.Future[None]) -> None:
        running = asyncio.create_task(self._run_controllers())
        keeping = asyncio.create_task(keeper.run())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            ends: tuple[asyncio.Future[Any], ...] = (running, keeping, stopping, lost)
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                keeping.result()  # a defect: without it a key that is added would never be seen
        finally:
            keeping.cancel()
            stopping.cancel()
            if self._election is not None:
                self._election.retire()
            for controller in self._controllers:
                controller.stop()
            await running

    def _build_controllers(
        self,
        client: KubeClient,
        connections: Connections,
        recorder: EventRecorder,
        keeper: RingKeeper,
        audit: FileAudit | NoAudit,
        leadership: Leadership,
    ) -> None:
        """Build a controller for each kind that is reconciled, for metadata, and for mirrors."""
        settings, namespace = self._settings, self._settings.namespace or ""
        others = OtherStoredObjects(client, settings.kinds.resources, namespace)
        for served in settings.kinds.served:
            accounts = find_accounts(connections, served)
            claims = self._build_claims(served, accounts) if served.once_in_account else None
            reconciler = Reconciler(
                served, accounts, keeper, settings.clock, recorder, others, claims,
                Collections(settings.clock, others.list_stored),
                collects=collects_new_objects(served, settings.gates), reader=client,
                secrets=SecretWriter(client, settings.clock), on_repair=settings.observers.report_repairs,
            )  # fmt: skip
            work = self._build_work(client, served, reconciler, keeper, leadership)
            self._served[served.kind] = work.controller, reconciler.look_log
            self._controllers.append(work.controller)
            self._works.append(work)
        place = OperatorScope(
            settings.own_namespace, settings.ledger_name, namespace, settings.workers, settings.kinds,
            settings.watch_filter,
        )  # fmt: skip
        self._controllers += metadata_controllers(
            client, connections, settings.regions, keeper, settings.clock, recorder, place, settings.metadata,
            tuple(self._controllers), settings.observers, audit, lambda: leadership.holds(SINGLE),
        )  # fmt: skip
        self._works += [ShardedWork(each, name_single) for each in self._controllers[len(self._works) :]]
        mode = ClusterApiMode(settings.cluster_api)
        mirrors = [
            build_mirror_controller(
                client, kind, mode, settings.clock, namespace, settings.workers,
                lambda raw: leadership.holds(name_by_uid(raw)),
            )
            for kind in settings.kinds.mirrors
        ]  # fmt: skip
        self._controllers += mirrors
        self._works += [ShardedWork(each) for each in mirrors]
        for each in self._controllers:
            each.on_pass = partial(settings.observers.process.note_pass, each.resource.kind)
            each.on_change = partial(settings.observers.note_change, each.resource)
            each.serves = settings.watch_filter.passes

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

    def _build_work(
        self,
        client: KubeClient,
        served: ServedName,
        reconciler: Reconciler,
        keeper: RingKeeper,
        leadership: Leadership,
    ) -> ShardedWork:
        """Build the controller of a kind.

        Of kinds whose names are claimed all objects of one name are in one shard: the claims are this process's own.
        """
        settings, resource = self._settings, resource_of(served)
        mode = ClusterApiMode(settings.cluster_api)
        owner_clusters = OwnerClusterReader(client, mode, served)

        async def reconcile(key: Key) -> Result:
            raw = controller.get(key)
            if raw is None:
                reconciler.look_log.forget(key)
            if raw is None or keeper.problem:
                return Done()  # without a ring nothing is served; the keeper asks for all objects when there is one
            if not leadership.holds(name_shard(raw)):
                return Done()  # another process serves it
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

        written: set[Key] = set()  # objects of which the cache may be behind what was written
        name_shard = name_by_claim(served) if served.once_in_account else name_by_uid
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
            unserved=reconciler.forget,
        )

        return ShardedWork(controller, name_shard, written.add, reconciler.forget)
