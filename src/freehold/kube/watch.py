"""List, then watch: a cache of one resource that follows the API server, and the changes as they come.

The rules are those of docs/reference/kubernetes.md#watching, each learnt from a bug of some client: ask for
bookmarks; let every watch end by itself; resume at the last resourceVersion; take 410 as HTTP status
and as ERROR event alike; after a relist tell what has gone in the gap; an undecodable line is a
broken connection, not a crash; never loop hot.
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

import aiohttp

from freehold.kube.client import PAGE_SIZE, KubeClient, Sleep
from freehold.kube.errors import Expired, KubeError, NotFound, Unavailable, of_status
from freehold.kube.resources import Json, Key, Resource, key_of

_LOG = logging.getLogger(__name__)

WATCH_SECONDS = (240.0, 300.0)
"""A watch ends by itself after a time drawn from here, so that watchers do not all reconnect at once."""

IDLE_MARGIN_SECONDS = 15.0
RESYNC_SECONDS = 600.0
FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0


class Origin(Enum):
    """How a change became known."""

    LIST = "list"  # first sync or relist; nothing need have changed
    WATCH = "watch"  # it has just happened


@dataclass(frozen=True, slots=True)
class Change:
    """One object, before and after. ``old`` None: new to us; ``new`` None: gone."""

    key: Key
    old: Json | None
    new: Json | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class Synced:
    """A list is complete: the cache shows the collection as it was at one moment."""

    resource_version: str


class State(Enum):
    """What a reflector knows."""

    STARTING = "starting"
    SYNCED = "synced"
    ABSENT = "absent"  # the server does not serve this resource (a CRD that is not installed)
    FAILING = "failing"  # the server cannot be asked; the cache may be old: unknown, not absent


class Reflector:
    """Keeps ``objects`` in step with the server. One consumer iterates ``changes()``.

    ``resync`` (wall seconds) bounds how long a lost event can go unnoticed: the collection is then
    listed anew and every object reported (docs/reference/kubernetes.md#watching).
    ``on_state`` is called whenever ``state`` may have changed.
    ``objects`` must not be modified; managedFields are dropped to save memory.
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
        self.state = State.STARTING
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
        self._whole = False
        self._failures = 0
        self._said = ""

    @property
    def objects(self) -> Mapping[Key, Json]:
        """The latest known object of every key."""
        return self._objects

    async def changes(self) -> AsyncGenerator[Change | Synced, None]:
        """Changes for ever. Only cancellation ends it; the server's failures are waited out with backoff.

        May be started anew after it was cancelled: it then lists, and reports what has gone meanwhile.
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
                problem: KubeError | None = None  # ended at once: a server that does so must not be hammered
            except KubeError as failure:
                problem = failure
            await self._sleep(self._delay_after(problem))

    async def _relist(self) -> AsyncIterator[Change | Synced]:
        """Every object, then what is no longer there, then Synced.

        The watch resumes at the *first* page's version: if a server's pages should differ, changes
        between them are then seen twice rather than never.
        """
        version, self._version = "", ""
        seen: set[Key] = set()
        try:
            pages = self._client.pages(
                self.resource, self._namespace, label_selector=self._selector, limit=0 if self._whole else PAGE_SIZE
            )
            async for page in pages:
                version = version or page.resource_version
                self._contacted()
                for obj in page.items:
                    # Items of a list carry neither; https://github.com/kubernetes/kubernetes/issues/3030
                    obj.setdefault("apiVersion", self.resource.api_version)
                    obj.setdefault("kind", self.resource.kind)
                    seen.add(key_of(obj))
                    for change in self._store(obj, Origin.LIST):
                        yield change
        except Expired:
            self._whole = True  # one piece cannot expire half way
            raise
        for key in [each for each in self._objects if each not in seen]:
            yield Change(key, self._objects.pop(key), None, Origin.LIST)
        self._version, self._listed_at, self._whole = version, self._now(), False
        self._recovered()
        yield Synced(version)

    async def _follow(self) -> AsyncGenerator[Change, None]:
        """One watch, to its end. Raises Expired, Unavailable and their like."""
        left = max(self._listed_at + self._resync - self._now(), 1.0)
        seconds = max(1, int(min(random.uniform(*self._watch_seconds), left)))
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(seconds),
            "labelSelector": self._selector,
        }
        path = self.resource.collection_path(self._namespace)
        try:
            async with self._client.stream(path, query, seconds + self._idle_margin) as content:
                self._contacted()
                async for line in _lines(content):
                    for change in self._read(line):
                        yield change
                    self._recovered()
        except Expired:
            self._version = ""
            raise

    def _read(self, line: bytes) -> list[Change]:
        try:
            event = json.loads(line)
            kind, obj = event["type"], event["object"]
            version = obj["metadata"]["resourceVersion"] if kind != "ERROR" else ""
        except (ValueError, KeyError, TypeError):
            raise Unavailable(f"the watch of {self.resource} sent a line that is not an event") from None
        self._contacted()
        if kind == "ERROR":
            raise of_status(obj)
        if kind in ("ADDED", "MODIFIED"):
            found = self._store(obj, Origin.WATCH)
        elif kind == "DELETED":
            key = key_of(obj)
            self._objects.pop(key, None)
            found = [Change(key, obj, None, Origin.WATCH)]
        else:  # BOOKMARK, or a type of the future: only the version matters
            found = []
        self._version = version
        return found

    def _store(self, obj: Json, origin: Origin) -> list[Change]:
        obj["metadata"].pop("managedFields", None)
        key = key_of(obj)
        old = self._objects.get(key)
        self._objects[key] = obj
        if old is not None and old["metadata"].get("uid") != obj["metadata"].get("uid"):
            # Deleted and made anew while we were not looking: two objects, not one that changed.
            return [Change(key, old, None, origin), Change(key, None, obj, origin)]
        return [Change(key, old, obj, origin)]

    def _enter(self, state: State) -> None:
        self.state = state
        self.on_state()

    def _contacted(self) -> None:
        self.last_contact = self._now()

    def _recovered(self) -> None:
        if self.state is State.SYNCED and not self._failures:
            return
        if self._said:
            _LOG.info("%s is followed again", self.resource)
        self._failures, self._said = 0, ""
        self._enter(State.SYNCED)

    def _delay_after(self, problem: KubeError | None) -> float:
        """How long to wait before the next attempt; says what is wrong once, not at each attempt."""
        level = logging.WARNING
        if isinstance(problem, NotFound):
            level = logging.INFO  # Cluster API need not be there
            self._version = ""
            self._enter(State.ABSENT)
            for_people = (
                f"{self.resource} is not served here (its CRD is not installed?); looking again from time to time"
            )
        elif problem is None or isinstance(problem, Expired):
            for_people = ""
        else:
            self._enter(State.FAILING)
            for_people = f"{self.resource} cannot be followed, trying again: {problem.message}"
        if for_people and for_people != self._said:
            _LOG.log(level, "%s", for_people)
            self._said = for_people
        delay = min(FIRST_DELAY_SECONDS * 2.0**self._failures, LONGEST_DELAY_SECONDS)
        self._failures = min(self._failures + 1, 16)
        asked = problem.retry_after if problem and problem.retry_after else 0.0
        return max(delay * random.uniform(0.8, 1.2), asked)


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Complete lines of any length (``StreamReader.readline`` has a limit); a cut-off last one is dropped."""
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
