"""A store of Leases behind an unreliable network, on virtual time."""

from __future__ import annotations

import asyncio
import itertools
import marshal
from collections.abc import Callable
from random import Random
from typing import TypeVar, cast

from freehold.kube.errors import AlreadyExists, Conflict, ObjectNotFound, ServerUnavailable
from freehold.kube.object_client import ObjectList
from freehold.kube.resources import Json, Key, Resource, key_of

_Value = TypeVar("_Value")


def _copied(value: _Value) -> _Value:
    """Copy it, as a request and an answer do; copy.deepcopy takes ten times as long."""
    return cast("_Value", marshal.loads(marshal.dumps(value, 2)))  # noqa: S302 - made here


class LeaseServer:
    """The stored Leases, by compare-and-set."""

    def __init__(self) -> None:
        self.stored: dict[Key, Json] = {}
        self._versions = itertools.count(1)

    def get(self, key: Key) -> Json:
        if key not in self.stored:
            raise ObjectNotFound(f"{key} is not there")
        return _copied(self.stored[key])

    def create(self, obj: Json) -> Json:
        if key_of(obj) in self.stored:
            raise AlreadyExists(f"{key_of(obj)} is there")
        return self._put(obj)

    def replace(self, obj: Json) -> Json:
        if self.get(key_of(obj))["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
            raise Conflict(f"{key_of(obj)} changed")
        return self._put(obj)

    def _put(self, obj: Json) -> Json:
        stored = _copied(obj)
        stored["metadata"]["resourceVersion"] = str(next(self._versions))
        self.stored[key_of(obj)] = stored
        return _copied(stored)


class LeaseNetwork:
    """The way of one process to the server (elector.LeaseStore). ``random`` decides what is late and what is lost.

    A request that its sender has given up may still arrive. ``is_cut``: nothing arrives.
    """

    def __init__(self, server: LeaseServer, random: Random, worst: float, loss: float) -> None:
        self._server = server
        self._random = random
        self._worst, self._loss = worst, loss
        self._late: set[asyncio.Task[Json]] = set()
        self.is_cut = False

    async def get(self, resource: Resource, key: Key) -> Json:
        return await self._send(lambda: self._server.get(key))

    async def create(self, resource: Resource, obj: Json) -> Json:
        sent = _copied(obj)
        return await self._send(lambda: self._server.create(sent))

    async def replace(self, resource: Resource, obj: Json) -> Json:
        sent = _copied(obj)
        return await self._send(lambda: self._server.replace(sent))

    async def list(self, resource: Resource, namespace: str = "") -> ObjectList:
        answer = await self._send(lambda: {"items": _copied(list(self._server.stored.values()))})
        return ObjectList(answer["items"], "")

    async def delete(self, resource: Resource, key: Key, *, resource_version: str = "") -> Json:
        return await self._send(lambda: self._server.stored.pop(key, {}))

    async def _send(self, request: Callable[[], Json]) -> Json:
        task = asyncio.create_task(self._arrive(request))
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _arrive(self, request: Callable[[], Json]) -> Json:
        if self.is_cut:
            raise ServerUnavailable("cut off")
        await asyncio.sleep(self._draw_delay())
        if self._random.random() < self._loss:
            raise ServerUnavailable("lost on its way")
        answer = request()
        await asyncio.sleep(self._draw_delay())
        if self._random.random() < self._loss:
            raise ServerUnavailable("the answer was lost")
        return answer

    def _draw_delay(self) -> float:
        return self._random.uniform(0.0, self._worst if self._random.random() < 0.1 else 0.3)
