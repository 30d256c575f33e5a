"""The feed: a row of each object, and messages of what changed, made once for all viewers.

A change only notes the object; nothing is computed until somebody looks. Changes of 100 ms become one message. The
messages are kept for a while, and each viewer has a place among them: whoever is too far behind is told ``reset``, and
costs nothing until then.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from freehold.kube.resources import Json, Resource, key_of
from freehold.page.answers import dump_json
from freehold.page.gate import Rights
from freehold.page.stored_object import object_key

_LOG = logging.getLogger(__name__)

COALESCE_SECONDS = 0.1
TURN_SECONDS = 0.03
"""CPU-seconds that the rows of one message may take; the rest has its turn in the next one, the oldest change first."""
REST_SHARE = 9.0
"""A turn is followed by a rest of so many times its length: in a storm of changes rows take a tenth of a core."""
SLICE_SECONDS = 0.005
"""CPU-seconds after which other tasks of the loop have their turn."""
RECHECK_SECONDS = 5.0
"""Seconds between looks whether a row changes by time alone."""
LINGER_SECONDS = 30.0
"""Seconds after a request during which somebody counts as looking."""
MOST_NAMESPACES = 1000
"""Namespaces that are remembered when no object is in them any more."""
MOST_MESSAGES = 128
MOST_ROWS_KEPT = 10_000

_EPOCH = 2**32
_EPOCHS = 2**21
"""A sequence number is an epoch of this process and a count, together a safe integer of JavaScript (2**53)."""


class BuiltRow(Protocol):
    """The row of an object (rows.Row). ``changes_at``: when another one must be built though the object is the same."""

    @property
    def changes_at(self) -> float | None: ...

    def to_json(self) -> Json: ...


BuildRow = Callable[[Resource, Json, float], BuiltRow]


@dataclass(frozen=True, slots=True)
class FeedRow:
    """A row as it is sent."""

    kind: str
    namespace: str
    key: str
    body: bytes
    changes_at: float | None


class Message:
    """A message of what changed. Its bytes are made once for all viewers of equal rights."""

    def __init__(self, seq: int, now: float, changed: tuple[FeedRow, ...], gone: tuple[FeedRow, ...]) -> None:
        self.seq = seq
        self.places = frozenset((each.kind, each.namespace) for each in (*changed, *gone))
        self.size = len(changed) + len(gone)
        self._now = now
        self._changed = changed
        self._gone = gone
        self._rendered: dict[Rights, bytes] = {}

    def render(self, rights: Rights) -> bytes:
        """Return the event of what these rights allow to see; empty where that is nothing."""
        if rights not in self._rendered:
            self._rendered[rights] = self._build(rights)
        return self._rendered[rights]

    def _build(self, rights: Rights) -> bytes:
        changed = [each.body for each in self._changed if rights.allow(each.kind, each.namespace)]
        gone = [dump_json(each.key) for each in self._gone if rights.allow(each.kind, each.namespace)]
        if not changed and not gone:
            return b""
        rows, keys = b",".join(changed), b",".join(gone)
        return b'event: rows\ndata: {"seq":%d,"now":%s,"changed":[%s],"gone":[%s]}\n\n' % (
            self.seq, dump_json(self._now), rows, keys,
        )  # fmt: skip


@dataclass(frozen=True)
class Snapshot:
    """The rows that some rights allow to see, each as JSON, and the place in the feed at which they are so."""

    seq: int
    now: float
    rows: tuple[bytes, ...]


class Feed:
    """The rows of all objects, and the messages of the last while.

    ``now`` is domain time, ``monotonic`` wall time, ``used`` the CPU time of the loop's thread.
    """

    def __init__(
        self, build_row: BuildRow, resources: tuple[Resource, ...], now: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic, used: Callable[[], float] = time.thread_time,
    ) -> None:  # fmt: skip
        self.resources = resources
        self._build_row = build_row
        self._now = now
        self._monotonic = monotonic
        self._used = used
        self._objects: dict[str, tuple[Resource, Json]] = {}
        self._rows: dict[str, FeedRow] = {}
        self._stale: dict[str, None] = {}
        """Objects whose rows are to be built, the oldest change first."""
        self._again: set[str] = set()
        """Objects to be sent even if their rows are the same."""
        self._namespaces: Counter[tuple[Resource, str]] = Counter()
        self._places: Mapping[Resource, frozenset[str]] | None = None
        self._seen_namespaces: dict[str, None] = {}
        self._seq = secrets.randbelow(_EPOCHS) * _EPOCH
        self._messages: deque[Message] = deque()
        self._kept = 0
        """The rows in all messages."""
        self._oldest = self._seq
        """The place from which the kept messages go on without a gap."""
        self._news = asyncio.Event()
        self._work = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._viewers = 0
        self._looked_at = float("-inf")
        self._rechecked_at = float("-inf")
        self._unbuilt: set[str] = set()
        self.on_watched: Callable[[], None] = lambda: None
        """Called when somebody begins to look."""

    # --- objects -------------------------------------------------------------------------------

    def note(self, resource: Resource, old: Json | None, new: Json | None) -> None:
        """Note that an object changed. It computes nothing."""
        if new is old:
            return  # listed again, the same
        raw = new if new is not None else old
        assert raw is not None  # one of the two is there
        namespace = raw["metadata"].get("namespace") or ""
        key = object_key(resource.kind, namespace, raw["metadata"]["name"])
        if new is None:
            if self._objects.pop(key, None) is not None:
                self._count_place(resource, namespace, -1)
        else:
            if key not in self._objects:
                self._count_place(resource, namespace, 1)
            self._objects[key] = (resource, new)
        self._note_stale(key)

    def send_again(self, key: str) -> None:
        """Send the row of an object once more: what belongs to it changed elsewhere, and viewers are to ask again."""
        if key in self._objects:
            self._again.add(key)
            self._note_stale(key)

    def _note_stale(self, key: str) -> None:
        self._stale.setdefault(key)
        if self.is_watched:
            self._work.set()

    def clear(self) -> None:
        """Forget all objects: they come from another place from now on. Every viewer begins anew."""
        self._objects = {}
        self._rows.clear()
        self._stale.clear()
        self._again.clear()
        self._unbuilt.clear()
        self._namespaces.clear()
        self._places = None
        self._messages.clear()
        self._kept = 0
        self._seq += 1
        self._oldest = self._seq
        self.wake_viewers()

    def find(self, key: str) -> tuple[Resource, Json] | None:
        """Return the object of this key, with its resource; None where there is none. It must not be modified."""
        return self._objects.get(key)

    def list_seen(self, rights: Rights) -> list[Json]:
        """Return the objects that these rights allow to see. They must not be modified."""
        return [raw for resource, raw in self._objects.values() if rights.allow(resource.kind, key_of(raw).namespace)]

    @property
    def places(self) -> Mapping[Resource, frozenset[str]]:
        """The namespaces in which there are objects, by resource."""
        if self._places is None:
            found: dict[Resource, set[str]] = {each: set() for each in self.resources}
            for resource, namespace in self._namespaces:
                found.setdefault(resource, set()).add(namespace)
            self._places = {resource: frozenset(namespaces) for resource, namespaces in found.items()}
        return self._places

    @property
    def unbuilt(self) -> list[tuple[Resource, Json]]:
        """The objects of which no row could be made."""
        return [self._objects[key] for key in sorted(self._unbuilt) if key in self._objects]

    @property
    def known_places(self) -> Mapping[Resource, frozenset[str]]:
        """All resources, each in all namespaces in which there is an object or was one."""
        return {each: frozenset(self._seen_namespaces) for each in self.resources}

    def _count_place(self, resource: Resource, namespace: str, step: int) -> None:
        place = (resource, namespace)
        self._namespaces[place] += step
        if self._namespaces[place] <= 0:
            del self._namespaces[place]
            self._places = None
        elif self._namespaces[place] == step:
            self._places = None
            self._seen_namespaces[namespace] = None
            if len(self._seen_namespaces) > MOST_NAMESPACES:
                del self._seen_namespaces[next(iter(self._seen_namespaces))]

    # --- viewers -------------------------------------------------------------------------------

    @property
    def is_watched(self) -> bool:
        """True while somebody looks, and for a moment after."""
        return self._viewers > 0 or self._monotonic() - self._looked_at < LINGER_SECONDS

    @property
    def viewers(self) -> int:
        """The number of open streams."""
        return self._viewers

    def note_look(self) -> None:
        """Note that somebody looks."""
        began = not self.is_watched
        self._looked_at = self._monotonic()
        if began:
            self._begin_work()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Count a viewer for the length of the block."""
        began = not self.is_watched
        self._viewers += 1
        if began:
            self._begin_work()
        try:
            yield
        finally:
            self._viewers -= 1
            self._looked_at = self._monotonic()

    def _begin_work(self) -> None:
        self._work.set()
        self.on_watched()

    @property
    def seq(self) -> int:
        """The place behind the newest message."""
        return self._seq

    def list_messages(self, after: int) -> list[Message] | None:
        """Return the messages after a place; None where it is not known here, or too long ago."""
        if not self._oldest <= after <= self._seq:
            return None
        behind = self._seq - after
        return list(self._messages)[-behind:] if behind else []

    async def wait_for_news(self, after: int, seconds: float) -> None:
        """Wait for a message after a place, at most for so many seconds."""
        if self._seq != after:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()

    async def read_snapshot(self, rights: Rights) -> Snapshot:
        """Return the rows as they are now."""
        self.note_look()
        async with self._flushing:
            await self._flush()
            rows = tuple(each.body for each in self._rows.values() if rights.allow(each.kind, each.namespace))
            return Snapshot(self._seq, self._now(), rows)

    # --- messages ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Send messages of what changes, while somebody looks. It ends by cancellation."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RECHECK_SECONDS if self.is_watched else None):
                    await self._work.wait()
            if not self.is_watched:
                self._work.clear()
                continue
            await asyncio.sleep(COALESCE_SECONDS)
            self._work.clear()
            self._recheck()
            async with self._flushing:
                used = await self._flush(TURN_SECONDS)
            if self._stale:
                self._work.set()
            await asyncio.sleep(max(0.0, used * REST_SHARE - COALESCE_SECONDS))

    def _recheck(self) -> None:
        """Note the rows that change by time alone."""
        if self._monotonic() - self._rechecked_at >= RECHECK_SECONDS:
            self._rechecked_at, now = self._monotonic(), self._now()
            due = (key for key, row in self._rows.items() if row.changes_at and row.changes_at <= now)
            self._stale.update(dict.fromkeys(due))

    async def _flush(self, most: float = math.inf) -> float:
        """Build the rows of what changed until now, a few at a time, and make one message of those that differ.

        ``most`` bounds the CPU-seconds, and those that were used are returned. What was built is sent also if this is
        cut off, as a request is whose viewer went away.
        """
        objects, left = self._objects, len(self._stale)
        changed: dict[str, FeedRow] = {}
        gone: dict[str, FeedRow] = {}
        spent, began = 0.0, self._used()
        try:
            while left and objects is self._objects and spent < most:
                left, key = left - 1, next(iter(self._stale))
                del self._stale[key]
                before, row = self._rows.pop(key, None), self._build(key)
                if row is not None:
                    self._rows[key] = row
                    if before is None or before.body != row.body or key in self._again:
                        changed[key] = row
                elif before is not None:
                    gone[key] = before
                self._again.discard(key)
                if self._used() - began >= SLICE_SECONDS:
                    spent += self._used() - began
                    await asyncio.sleep(0)
                    began = self._used()
        finally:
            if objects is self._objects:
                self._send(changed, gone)
        return spent + self._used() - began

    def _build(self, key: str) -> FeedRow | None:
        """Build the row of an object; None where there is none, or it cannot be built, which is a defect of ours."""
        self._unbuilt.discard(key)
        known = self._objects.get(key)
        if known is None:
            return None
        resource, raw = known
        try:
            row = self._build_row(resource, raw, self._now())
            body = dump_json(row.to_json())
        except Exception:  # logged whole; the viewers hear which object is not shown, and see the others
            _LOG.exception("no row can be made of %s", key)
            self._unbuilt.add(key)
            return None
        namespace = key_of(raw).namespace
        return FeedRow(resource.kind, namespace, key, body, row.changes_at)

    def _send(self, changed: Mapping[str, FeedRow], gone: Mapping[str, FeedRow]) -> None:
        if not changed and not gone:
            return
        self._seq += 1
        self._messages.append(Message(self._seq, self._now(), tuple(changed.values()), tuple(gone.values())))
        self._kept += self._messages[-1].size
        while len(self._messages) > MOST_MESSAGES or (self._kept > MOST_ROWS_KEPT and len(self._messages) > 1):
            dropped = self._messages.popleft()
            self._kept -= dropped.size
            self._oldest = dropped.seq
        self.wake_viewers()

    def wake_viewers(self) -> None:
        """Let all viewers look whether there is something for them."""
        news, self._news = self._news, asyncio.Event()
        news.set()
