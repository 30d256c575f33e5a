"""Mirrors: objects without resources of their own, which show what another object of the same Cluster has.

They need no account, no key ring and no finalizer. The gate's rules hold for them as for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from freehold.controllers.controller import Controller, Done, RequeueAfter, Result, WatchedResource
from freehold.controllers.objects import ApiObject
from freehold.controllers.owner_cluster import CLUSTERS, OwnerClusterReader, build_cluster_mapper
from freehold.controllers.reconciler import CONFLICT_SECONDS, SLOW_SECONDS
from freehold.controllers.record_guard import ObjectHandle
from freehold.controllers.timing import RunningTime
from freehold.engine.clock import Clock, SystemClock
from freehold.engine.journal import StaleObject
from freehold.kube import errors as kube
from freehold.kube.client import KubeClient
from freehold.kube.resources import Json, Key, key_of
from freehold.providers.base import MirrorKind, MirrorSource, ObjectReader
from freehold.providers.objects import gate, status
from freehold.providers.objects.gate import ClusterApiMode
from freehold.providers.objects.served_resources import resource_of

UNREAD_SECONDS = 30.0
"""Seconds until what could not be read is read again."""


class MirrorReconciler:
    """A reconciler of the mirrors of one kind. It remembers only which source each has, to be woken by it."""

    def __init__(self, kind: MirrorKind, client: ObjectReader, mode: ClusterApiMode, clock: Clock) -> None:
        self._kind = kind
        self._client = client
        self._clock = clock
        self._owners = OwnerClusterReader(client, mode, kind.served)
        self._sources: dict[Key, Key] = {}

    async def reconcile(self, document: ObjectHandle) -> Result:
        """Do one pass. Raises KubeError."""
        try:
            return await self._decide(document)
        except StaleObject:
            return RequeueAfter(CONFLICT_SECONDS)

    def find_concerned(self, source: Json) -> Iterable[Key]:
        """Return the mirrors that show this source."""
        return [mirror for mirror, each in self._sources.items() if each == key_of(source)]

    def forget(self, last: Json) -> None:
        """Forget a mirror that is gone."""
        self._sources.pop(key_of(last), None)

    async def _decide(self, document: ObjectHandle) -> Result:
        raw, now = document.raw, datetime.fromtimestamp(self._clock.now(), UTC)
        around = await self._owners.read_context(raw)
        match gate.decide(raw, around, self._kind.served):
            case gate.Proceed():
                source, after = await self._find_source(raw, around)
                update = self._kind.build()(raw, source, now)
                if update.patch:  # before the status: whoever sees ready must see it (capi-contract.md C5)
                    await document.apply(update.patch)
                    update = self._kind.build()(document.raw, source, now)
                await document.patch_status(update.status)
                return RequeueAfter(after) if after else Done()
            case gate.Pause(message):
                await document.patch_status(status.build_paused_update(raw, message, now).status)
            case gate.Hold(reason, message):
                await document.patch_status(status.build_held_update(raw, reason, message, now).status)
                return RequeueAfter(SLOW_SECONDS)
            case _:  # somebody else manages it, or it goes: it has nothing that must be released
                pass
        return Done()

    async def _find_source(self, raw: Json, around: gate.ClusterContext) -> tuple[MirrorSource, float]:
        """Find what the Cluster names as the source, and the seconds until a failed read is repeated (0: never)."""
        served, namespace = self._kind.source, raw["metadata"].get("namespace", "")
        cluster = gate.find_cluster(around)
        if cluster is None:
            lookup = await self._owners.find_referrer(raw)
            if isinstance(lookup, gate.UnreadableCluster):
                return MirrorSource(missing=f"which Cluster names it cannot be told: {lookup.why}"), UNREAD_SECONDS
            cluster = lookup.cluster if isinstance(lookup, gate.FoundCluster) else None
        self._sources.pop(key_of(raw), None)
        if cluster is None:
            field = self._kind.served.link.value
            return MirrorSource(missing=f"no Cluster of its namespace names it in spec.{field}"), 0.0
        name = gate.find_referred_name(cluster, served)
        if not name:
            named = cluster["metadata"]["name"]
            return MirrorSource(missing=f"Cluster {named!r} names no {served.kind} in spec.{served.link.value}"), 0.0
        self._sources[key_of(raw)] = key = Key(namespace, name)
        called = f"{served.kind} {name!r}"
        try:
            return MirrorSource(called, await self._client.get(resource_of(served), key)), 0.0
        except kube.ObjectNotFound:
            return MirrorSource(called, missing=f"{called} is not there yet"), 0.0
        except kube.KubeError as error:
            return MirrorSource(called, missing=f"{called} cannot be read: {error}"), UNREAD_SECONDS


def shown_fields_changed(old: Json, new: Json) -> bool:
    """Return whether something of a source changed that a mirror shows."""
    return _read_shown(old) != _read_shown(new)


def _read_shown(source: Json) -> tuple[Any, Any]:
    spec, said = source.get("spec") or {}, source.get("status") or {}
    return spec.get("controlPlaneEndpoint"), said.get("failureDomains")


def build_mirror_controller(
    client: KubeClient,
    kind: MirrorKind,
    mode: ClusterApiMode,
    clock: SystemClock,
    namespace: str,
    workers: int,
    may_act: Callable[[Json], bool] = lambda raw: True,
) -> Controller:
    """Build the controller of the mirrors of one kind: Clusters and sources wake them.

    ``may_act``: whether this process serves the mirror now.
    """
    resource, reconciler = resource_of(kind.served), MirrorReconciler(kind, client, mode, clock)

    async def reconcile(key: Key) -> Result:
        raw = controller.get(key)
        return (
            Done() if raw is None or not may_act(raw) else await reconciler.reconcile(ApiObject(client, resource, raw))
        )

    controller = Controller(
        client,
        resource,
        reconcile,
        time=RunningTime(clock),
        namespace=namespace,
        workers=workers,
        watches=[
            WatchedResource(CLUSTERS, build_cluster_mapper(kind.served, lambda: ()), namespace=namespace),
            WatchedResource(
                resource_of(kind.source), reconciler.find_concerned, shown_fields_changed, namespace=namespace
            ),
        ],
        gone=reconciler.forget,
        unserved=reconciler.forget,
    )
    return controller
