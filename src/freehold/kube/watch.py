"""List and watch: a local cache of one resource, and a stream of its changes.

The rules come from bugs of other clients (docs/reference/kubernetes.md#watching): request bookmarks; give every
watch a timeout; resume at the last resourceVersion; handle 410 both as HTTP status and as ERROR event; after a
relist report the objects deleted meanwhile; treat an undecodable line as a broken connection; never retry
without a delay.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum
from typing import Any

import aiohttp

from freehold.kube.client import KubeClient
from freehold.kube.errors import Expired, Forbidden, KubeError, ObjectNotFound, ServerUnavailable, build_status_error
from freehold.kube.field_managers import was_written_by_earlier_version
from freehold.kube.object_client import PAGE_SIZE, Sleep
from freehold.kube.resources import Json, Key, Resource, key_of

_LOG = logging.getLogger(__name__)

WATCH_SECONDS = (240.0, 300.0)
"""The range of the watch timeout, chosen at random so that watches do not all reconnect at once."""

IDLE_MARGIN_SECONDS = 15.0
RESYNC_SECONDS = 600.0
FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0


class Origin(Enum):
    """The source of a change."""

    LIST = "list"  # first sync or relist; the object may be unchanged
    WATCH = "watch"  # a watch event


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """A change of one object. ``old`` None: new in the cache; ``new`` None: deleted."""

    key: Key
    old: Json | None
    new: Json | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class Synced:
    """The end of a list: the cache is consistent at ``resource_version``."""

    resource_version: str


class WatchState(Enum):
    """The state of a reflector."""

    STARTING = "starting"
    SYNCED = "synced"
    ABSENT = "absent"  # the server does not serve this resource (a CRD that is not installed)
    FAILING = "failing"  # requests fail; the cache may be stale: unknown, not absent
    REFUSED = "refused"  # we lack the right; unknown, not absent


class Reflector:
    """A cache that is kept in sync with the server. One consumer iterates ``follow_changes()``.

    ``resync`` (wall seconds) bounds how long a lost event stays undetected: after it the collection is
    listed again and every object is reported (docs/reference/kubernetes.md#watching).
    ``on_state`` is called whenever ``state`` may have changed. ``problem`` says why requests fail.
    ``objects`` must not be modified. managedFields are dropped to save memory, but for those that the operator is to
    split (:mod:`freehold.kube.field_managers`).
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        resync: float = RESYNC_SECONDS,
        watch_seconds: tuple[float, float] = WATCH_SECONDS,
        idle_margin: float = IDLE_MARGIN_SECONDS,
        sleep: Sleep = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.resource = resource
        self.state = WatchState.STARTING
        self.problem = ""
        self.on_state: Callable[[], None] = lambda: None
        self.last_contact = now()
        self._client = client
        self._namespace = namespace
        self._selector = label_selector
        self._resync = resync * random.uniform(0.9, 1.1)
        self._watch_seconds = watch_seconds
        self._idle_margin = idle_margin
        self._sleep = sleep
        self._now = now
        self._objects: dict[Key, Json] = {}
        self._version = ""
        self._listed_at = float("-inf")
        self._unpaged = False
        self._failures = 0
        self._logged = ""

    @property
    def objects(self) -> Mapping[Key, Json]:
        """The cached objects by key."""
        return self._objects

    async def follow_changes(self) -> AsyncGenerator[ObjectChange | Synced, None]:
        """Yield changes without end; only cancellation ends it. Failures are retried with backoff.

        After a cancellation it can be started again: it then lists, and reports objects deleted meanwhile.
        """
        self._version = ""
        while True:
            try:
                if not self._version or self._now() - self._listed_at >= self._resync:
                    async for listed in self._relist():
                        yield listed
                started = self._now()
                async with aclosing(self._follow()) as following:
                    async for change in following:
                        yield change
                if self._now() - started >= 1.0:
                    continue
                problem: KubeError | None = None  # the watch ended at once: back off
            except KubeError as failure:
                problem = failure
            await self._sleep(self._choose_delay(problem))

    async def _relist(self) -> AsyncIterator[ObjectChange | Synced]:
        """Yield every object, then the deleted ones, then Synced.

        The watch starts at the version of the *first* page: if the pages of a server differ in version,
        changes between them are seen twice rather than never.
        """
        version, self._version = "", ""
        seen: set[Key] = set()
        try:
            pages = self._client.list_pages(
                self.resource, self._namespace, label_selector=self._selector, limit=0 if self._unpaged else PAGE_SIZE
            )
            async for page in pages:
                version = version or page.resource_version
                texts: dict[str, str] = {}
                self._note_contact()
                for obj in page.items:
                    # List items lack both; https://github.com/kubernetes/kubernetes/issues/3030
                    obj.setdefault("apiVersion", self.resource.api_version)
                    obj.setdefault("kind", self.resource.kind)
                    seen.add(key_of(obj))
                    for change in self._store(_share_texts(obj, texts), Origin.LIST):
                        yield change
        except Expired:
            self._unpaged = True  # an unpaged list cannot expire between pages
            raise
        for key in [each for each in self._objects if each not in seen]:
            yield ObjectChange(key, self._objects.pop(key), None, Origin.LIST)
        self._version, self._listed_at, self._unpaged = version, self._now(), False
        self._note_recovery()
        yield Synced(version)

    async def _follow(self) -> AsyncGenerator[ObjectChange, None]:
        """Yield the changes of one watch until it ends. Raises Expired, ServerUnavailable and other KubeErrors."""
        left = max(self._listed_at + self._resync - self._now(), 1.0)
        seconds = max(1, int(min(random.uniform(*self._watch_seconds), left)))
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(seconds),
            "labelSelector": self._selector,
        }
        path = self.resource.build_collection_path(self._namespace)
        try:
            async with self._client.open_stream(path, query, seconds + self._idle_margin) as content:
                self._note_contact()
                async for line in _read_lines(content):
                    for change in self._read(line):
                        yield change
                    self._note_recovery()
        except Expired:
            self._version = ""
            raise

    def _read(self, line: bytes) -> list[ObjectChange]:
        try:
            event = json.loads(line)
            kind, obj = event["type"], event["object"]
            version = obj["metadata"]["resourceVersion"] if kind != "ERROR" else ""
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ServerUnavailable(f"the watch of {self.resource} sent an invalid event") from None
        self._note_contact()
        if kind == "ERROR":
            raise build_status_error(obj)
        if kind in ("ADDED", "MODIFIED"):
            found = self._store(obj, Origin.WATCH)
        elif kind == "DELETED":
            key = key_of(obj)
            self._objects.pop(key, None)
            found = [ObjectChange(key, obj, None, Origin.WATCH)]
        else:  # BOOKMARK, or an unknown type: only the version matters
            found = []
        self._version = version
        return found

    def _store(self, obj: Json, origin: Origin) -> list[ObjectChange]:
        if not was_written_by_earlier_version(obj["metadata"]):
            obj["metadata"].pop("managedFields", None)
        key = key_of(obj)
        old = self._objects.get(key)
        if old == obj:
            obj = old  # a relist brings the same again: one of the two is enough
        self._objects[key] = obj
        if old is not None and old["metadata"].get("uid") != obj["metadata"].get("uid"):
            # Deleted and created again between two events: two objects, not one modified object.
            return [ObjectChange(key, old, None, origin), ObjectChange(key, None, obj, origin)]
        return [ObjectChange(key, old, obj, origin)]

    def _enter(self, state: WatchState) -> None:
        self.state = state
        self.on_state()

    def _note_contact(self) -> None:
        self.last_contact = self._now()

    def _note_recovery(self) -> None:
        if self.state is WatchState.SYNCED and not self._failures:
            return
        if self._logged:
            _LOG.info("watching %s again", self.resource)
        self._failures, self._logged, self.problem = 0, "", ""
        self._enter(WatchState.SYNCED)

    def _choose_delay(self, problem: KubeError | None) -> float:
        """Return the delay before the next attempt. Logs each problem once, not on every attempt."""
        level = logging.WARNING
        if isinstance(problem, ObjectNotFound):
            level = logging.INFO  # Cluster API is optional
            self._version = ""
            self._enter(WatchState.ABSENT)
            message = f"{self.resource} is not served (is its CRD installed?); retrying periodically"
        elif problem is None or isinstance(problem, Expired):
            message = ""
        else:
            self.problem = problem.message
            self._enter(WatchState.REFUSED if isinstance(problem, Forbidden) else WatchState.FAILING)
            message = f"cannot watch {self.resource}, retrying: {problem.message}"
        if message and message != self._logged:
            _LOG.log(level, "%s", message)
            self._logged = message
        delay = min(FIRST_DELAY_SECONDS * 2.0**self._failures, LONGEST_DELAY_SECONDS)
        self._failures = min(self._failures + 1, 16)
        asked = problem.retry_after if problem and problem.retry_after else 0.0
        return max(delay * random.uniform(0.8, 1.2), asked)


def _share_texts(value: Any, texts: dict[str, str]) -> Any:
    """Return the value with equal texts shared, because objects of one kind repeat most of their texts."""
    if isinstance(value, str):
        return texts.setdefault(value, value)
    if isinstance(value, dict):
        return {name: _share_texts(each, texts) for name, each in value.items()}
    return [_share_texts(each, texts) for each in value] if isinstance(value, list) else value


async def _read_lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Read complete lines of any length (``StreamReader.readline`` has a limit). An incomplete last line is dropped."""
    parts: list[bytes] = []
    async for chunk in content.iter_any():
        if b"\n" not in chunk:
            parts.append(chunk)
            continue
        *whole, rest = (b"".join(parts) + chunk).split(b"\n")
        parts = [rest]
        for line in whole:
            if line.strip():
                yield line
