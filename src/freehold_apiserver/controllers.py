"""Background work: finish deleted namespaces and CRDs, collect dependants of deleted owners, expire events,
put back the CRDs that the server was started with.

Level-triggered: every pass starts from the stored objects, so a restart loses nothing.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta

from freehold_apiserver import crds
from freehold_apiserver.errors import ApiError, Notes
from freehold_apiserver.garbage import GarbageCollector, refusals_logged
from freehold_apiserver.objects import Objects
from freehold_apiserver.resources import Registry, Resource
from freehold_apiserver.store import Change, Json, Store, Stored, key_of
from freehold_apiserver.write_options import DeleteOptions, WriteOptions

_LOG = logging.getLogger(__name__)
_NAMESPACES = "/namespaces"
_EVENTS = "/events"
EVENT_LIFETIME = timedelta(hours=1)
"""The default of a real API server (``--event-ttl``)."""
IDLE_SECONDS = 60.0


class Controllers:
    """One task that does the background work after writes."""

    def __init__(
        self,
        store: Store,
        objects: Objects,
        registry: Registry,
        now: Callable[[], datetime],
        restore: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._objects = objects
        self._registry = registry
        self._now = now
        self._restore = restore
        self._due = asyncio.Event()
        self._garbage = GarbageCollector(store, objects, registry)
        store.observe(self._follow)
        self._due.set()

    async def run(self, closing: asyncio.Event) -> None:
        """Run passes until ``closing``."""
        closer = asyncio.ensure_future(closing.wait())
        closer.add_done_callback(lambda _: self._due.set())
        try:
            while not closing.is_set():
                self._due.clear()
                try:
                    await self.run_pass()
                except ApiError as problem:
                    _LOG.error("background pass failed: %s", problem.message)
                try:
                    async with asyncio.timeout(IDLE_SECONDS):
                        await self._due.wait()
                except TimeoutError:
                    continue
        finally:
            closer.cancel()

    async def run_pass(self) -> None:
        """One pass over everything that may be due."""
        await self._garbage.collect()
        for stored in self._deleting(crds.COLLECTION):
            await self._finish_crd(stored)
        for stored in self._deleting(_NAMESPACES):
            await self._finish_namespace(stored)
        await self._restore()
        await self._expire_events()

    def _follow(self, collection: str, change: Change) -> None:
        self._garbage.follow(collection, change)
        going = change.type == "DELETED" or change.new.obj["metadata"].get("deletionTimestamp")
        if going or self._garbage.due:
            self._due.set()

    def _deleting(self, collection: str) -> list[Stored]:
        return [each for each in self._store.scan(collection) if each.obj["metadata"].get("deletionTimestamp")]

    # Namespaces and CRDs: first their objects, then the namespace or CRD itself

    async def _finish_namespace(self, namespace: Stored) -> None:
        name = namespace.obj["metadata"]["name"]
        left = False
        for resource in self._registry.namespaced():
            left |= await self._delete_all(resource, name)
        if not left:
            body = copy.deepcopy(namespace.obj)
            body["spec"] = {**body.get("spec", {}), "finalizers": []}
            await self._update("", "namespaces", name, body, "finalize")

    async def _finish_crd(self, crd: Stored) -> None:
        name = crd.obj["metadata"]["name"]
        spec = crd.obj["spec"]
        resource = self._registry.of_collection(f"{spec['group']}/{spec['names']['plural']}")
        if resource is not None and await self._delete_all(resource, None):
            return
        body = copy.deepcopy(crd.obj)
        finalizers = body["metadata"].get("finalizers") or []
        if crds.CLEANUP_FINALIZER in finalizers:
            body["metadata"]["finalizers"] = [each for each in finalizers if each != crds.CLEANUP_FINALIZER]
            await self._update(crds.GROUP, "customresourcedefinitions", name, body, "")

    async def _delete_all(self, resource: Resource, namespace: str | None) -> bool:
        """Delete all objects; returns whether finalizers still keep some of them."""
        for stored in self._store.scan(resource.collection, namespace):
            if not stored.obj["metadata"].get("deletionTimestamp"):
                with refusals_logged(f"{resource.plural} {key_of(stored)}"):
                    await self._objects.delete(resource, key_of(stored), DeleteOptions(), Notes())
        return bool(self._store.scan(resource.collection, namespace))

    async def _update(self, group: str, plural: str, name: str, body: Json, subresource: str) -> None:
        resource = self._registry.find(group, "v1", plural)
        assert resource is not None
        with refusals_logged(f"{plural} {name}"):
            await self._objects.update(resource, ("", name), body, WriteOptions(), Notes(), subresource)

    # Events

    async def _expire_events(self) -> None:
        resource = self._registry.find("", "v1", "events")
        assert resource is not None
        for stored in list(self._expired()):
            with refusals_logged(f"events {key_of(stored)}"):
                await self._objects.delete(resource, key_of(stored), DeleteOptions(), Notes())

    def _expired(self) -> Iterator[Stored]:
        limit = self._now() - EVENT_LIFETIME
        for stored in self._store.scan(_EVENTS):
            series = stored.obj.get("series") or {}
            seen = (
                series.get("lastObservedTime")
                or stored.obj.get("lastTimestamp")
                or stored.obj["metadata"]["creationTimestamp"]
            )
            try:
                if datetime.fromisoformat(seen) < limit:
                    yield stored
            except (TypeError, ValueError):
                yield stored
