"""The objects that the page shows: those of the operator's caches, or, while another replica leads, of own watches.

A process that leads has every object in memory, and only tells what changes. One that follows has none: it watches
while somebody looks, and forgets all of it afterwards.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Protocol

from freehold.controllers.controller import Controller
from freehold.controllers.keyring.opening import open_ring_store
from freehold.controllers.keyring.stored_form import RingError
from freehold.controllers.repairs import Repaired
from freehold.controllers.settings import Settings
from freehold.engine.keys import KeyRing
from freehold.kube.client import KubeClient
from freehold.kube.errors import KubeError
from freehold.kube.resources import Key, Resource, key_of
from freehold.kube.watch import ObjectChange, Reflector, WatchState
from freehold.page.answers import Problem
from freehold.page.feed import Feed
from freehold.page.gate import Rights
from freehold.page.history import Histories
from freehold.page.stored_object import object_key

LIST_SECONDS = 15.0
"""Seconds for which a request waits until the objects are listed."""
LOOK_SECONDS = 0.05
FOLLOW_SECONDS = 1.0
RING_SECONDS = 60.0
"""Seconds after which a follower reads the key ring again."""


class ServingOperator(Protocol):
    """The operator of this process, as far as the page needs it."""

    @property
    def controllers(self) -> Sequence[Controller]:
        """The controllers; none while it does not serve."""
        ...

    @property
    def key_ring(self) -> KeyRing | None:
        """The ring; None where there is none now."""
        ...

    def leads(self) -> bool:
        """Return whether it acts on objects."""
        ...


class NoOperator:
    """The operator of a process that has none yet."""

    controllers: Sequence[Controller] = ()
    key_ring: KeyRing | None = None

    def leads(self) -> bool:
        """Return that it does not."""
        return False


class ObjectSource:
    """The source of a feed. ``operator`` may begin to serve at any time, and goes on then to its end."""

    def __init__(self, feed: Feed, settings: Settings) -> None:
        self.operator: ServingOperator = NoOperator()
        self._feed = feed
        self._settings = settings
        self._following: dict[Resource, Reflector] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._ring: KeyRing | None = None
        self._watched = asyncio.Event()
        feed.on_watched = self._watched.set
        self.histories = Histories()
        """What this process has seen without a gap."""
        self.repairs_noted = 0
        """Counts the changes of histories that no object tells of."""

    def note_served(self, resource: Resource, change: ObjectChange) -> None:
        """Note a change in a cache of the operator, which serves from now on."""
        if self._following:
            self._forget()
        self._note(resource, change)

    def note_repairs(self, kind: str, key: Key, repaired: Repaired) -> None:
        """Note what a pass over an object has brought back (repairs.RepairWatch)."""
        self.histories.note_repairs(object_key(kind, *key), repaired, self._settings.clock.now())
        self.repairs_noted += 1
        self._feed.send_again(object_key(kind, *key))  # neither its status nor its row need tell of it

    def _note(self, resource: Resource, change: ObjectChange) -> None:
        if resource not in self._feed.resources:
            return
        passes = self._settings.watch_filter.passes
        old, new = (raw if raw is not None and passes(raw) else None for raw in (change.old, change.new))
        if new is old:
            return
        self._feed.note(resource, old, new)
        key = object_key(resource.kind, *change.key)
        self.histories.note(key, old, new, self._settings.clock.now())

    # --- reading -------------------------------------------------------------------------------

    @property
    def key_ring(self) -> KeyRing | None:
        """The ring that proofs are judged with; None where there is none now."""
        return self.operator.key_ring if self.operator.controllers else self._ring

    async def wait_until_listed(self) -> None:
        """Wait until each kind is listed, or cannot be. Raises Problem when that takes long."""
        self._feed.note_look()
        deadline = time.monotonic() + LIST_SECONDS
        while not (found := self._find_reflectors()) or any(each.state is WatchState.STARTING for each in found):
            if time.monotonic() > deadline:
                sentence = "the operator has not listed its objects yet: its log says why; this page tries again"
                raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, sentence)
            await asyncio.sleep(LOOK_SECONDS)
            self._feed.note_look()

    def list_unread(self, rights: Rights) -> list[str]:
        """Say what is not shown, or not as it is now, and why, as far as these rights allow."""
        found = [
            f"{each.resource} cannot be read, so what is shown of them may be old: {each.problem}"
            for each in self._find_reflectors()
            if each.state in (WatchState.REFUSED, WatchState.FAILING)
        ]
        defects = [
            f"{resource.kind} {key_of(raw)} cannot be shown, which is a defect: the operator's log tells more"
            for resource, raw in self._feed.unbuilt
            if rights.allow(resource.kind, key_of(raw).namespace)
        ]
        return [*found, *defects]

    def _find_reflectors(self) -> list[Reflector]:
        if self._following:
            return list(self._following.values())
        wanted = self._feed.resources
        return [each.find_reflector(each.resource) for each in self.operator.controllers if each.resource in wanted]

    # --- following -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Follow the objects whenever somebody looks and this process does not serve. It ends by cancellation."""
        while True:
            await self._watched.wait()
            self._watched.clear()
            if self._settings.leader_elect and not self.operator.controllers:
                await self._follow()

    async def _follow(self) -> None:
        """Follow until nobody looks, or the operator serves."""
        settings, resources = self._settings, self._feed.resources
        async with KubeClient(settings.kube, connections=len(resources) + 2) as client:
            self._following = {each: Reflector(client, each, settings.namespace or "") for each in resources}
            tasks = [asyncio.create_task(self._follow_kind(each)) for each in self._following.values()]
            self._tasks = tasks = [*tasks, asyncio.create_task(self._read_ring_often(client))]
            try:
                while self._following and self._feed.is_watched and not self.operator.controllers:  # noqa: ASYNC110 - nobody tells when a viewer goes
                    await asyncio.sleep(FOLLOW_SECONDS)
            finally:
                if self._following:
                    self._forget()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow_kind(self, reflector: Reflector) -> None:
        async with aclosing(reflector.follow_changes()) as changes:
            async for change in changes:
                if isinstance(change, ObjectChange):
                    self._note(reflector.resource, change)

    async def _read_ring_often(self, client: KubeClient) -> None:
        store = open_ring_store(client, self._settings.keys)
        while True:
            try:
                document = (await store.read()).document
                self._ring = document.build_ring() if document else None
            except (RingError, KubeError):
                self._ring = None  # proofs are then told as not judged
            await asyncio.sleep(RING_SECONDS)

    def _forget(self) -> None:
        """Forget what was followed. No change of it arrives from now on."""
        for task in self._tasks:
            task.cancel()
        self._tasks, self._following, self._ring = [], {}, None
        self.histories = Histories()
        self._feed.clear()
