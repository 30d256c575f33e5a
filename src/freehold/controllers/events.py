"""Kubernetes Events for people: few, aggregated, never in the way of a reconcile.

Repeats of one event raise the count of the one that exists. Events beyond the allowance are dropped
(and counted), as client-go's recorder does: an event is a courtesy, conditions carry the state.
"""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from freehold.kube.client import KubeClient
from freehold.kube.errors import KubeError, ObjectNotFound
from freehold.kube.resources import EVENTS, Json, Key

_LOG = logging.getLogger(__name__)

REASON = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")
MESSAGE_LIMIT = 1024
MOST_REMEMBERED = 4096
MOST_QUEUED = 1000

BURST = 25
REFILL_SECONDS = 300.0
"""An object may have BURST new events at once and one more every REFILL_SECONDS (client-go's spam filter).

Warnings have an allowance of their own: the creates of one cluster use up the other.
"""
COLLECTED = "ExternalResourcesCollected"
ONCE = frozenset({COLLECTED})
"""Reasons that an object has once in its life; they are posted even if the allowance is used up."""


class Severity(Enum):
    """The two types of an Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True)
class _Occurrence:
    """The identity of an event: two with the same values are one event with a count."""

    namespace: str
    uid: str
    severity: Severity
    reason: str
    message: str


@dataclass
class _PostedEvent:
    name: str
    count: int


@dataclass
class _Allowance:
    tokens: float
    at: float


@dataclass
class _PendingEvent:
    involved: Json
    times: int = 0
    first: float = 0.0
    last: float = 0.0


@dataclass
class _Memory:
    posted: OrderedDict[_Occurrence, _PostedEvent] = field(default_factory=OrderedDict)
    allowances: OrderedDict[tuple[str, Severity], _Allowance] = field(default_factory=OrderedDict)


class EventRecorder:
    """A queue of events that ``run`` posts in the background.

    ``component`` names us; ``now`` gives epoch seconds.
    """

    def __init__(self, client: KubeClient, component: str, now: Callable[[], float]) -> None:
        self._client = client
        self._component = component
        self._now = now
        self._pending: OrderedDict[_Occurrence, _PendingEvent] = OrderedDict()
        self._has_pending = asyncio.Event()
        self._has_none = asyncio.Event()
        self._has_none.set()
        self._memory = _Memory()
        self.dropped = 0

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None:
        """Queue an event about ``obj``. Never raises, never waits.

        ``reason`` is a stable UpperCamelCase word; a message of more than 1024 characters is cut.
        """
        if not REASON.fullmatch(reason):
            _LOG.error("event reason %r is not UpperCamelCase; the event is dropped", reason)
            self.dropped += 1
            return
        meta = obj.get("metadata") or {}
        what = _Occurrence(
            str(meta.get("namespace") or "default"), str(meta.get("uid") or ""), severity, reason, _cut_message(message)
        )
        now = self._now()
        pending = self._pending.get(what)
        if pending is None:
            if len(self._pending) >= MOST_QUEUED or not self._spend_allowance(what, now):
                self.dropped += 1
                return
            pending = self._pending[what] = _PendingEvent(_build_reference(obj), first=now)
        pending.times += 1
        pending.last = now
        self._has_none.clear()
        self._has_pending.set()

    async def run(self) -> None:
        """Post queued events until cancelled. A post that fails is logged and dropped."""
        while True:
            await self._has_pending.wait()
            while self._pending:
                what, pending = self._pending.popitem(last=False)
                try:
                    await self._post(what, pending)
                except KubeError as problem:
                    self.dropped += 1
                    _LOG.info("event %s could not be posted: %s", what.reason, problem)
            self._has_pending.clear()
            self._has_none.set()

    async def wait_until_posted(self) -> None:
        """Wait until everything recorded so far is posted or dropped."""
        await self._has_none.wait()

    async def _post(self, what: _Occurrence, pending: _PendingEvent) -> None:
        posted = self._memory.posted.get(what)
        if posted is not None:
            self._memory.posted.move_to_end(what)
            patch = {"count": posted.count + pending.times, "lastTimestamp": _format_time(pending.last)}
            try:
                await self._client.patch(EVENTS, Key(what.namespace, posted.name), patch)
                posted.count += pending.times
                return
            except ObjectNotFound:
                pass  # the server forgets events after an hour: begin a new one
        created = await self._client.create(EVENTS, self._build_event(what, pending))
        self._memory.posted[what] = _PostedEvent(created["metadata"]["name"], pending.times)
        while len(self._memory.posted) > MOST_REMEMBERED:
            self._memory.posted.popitem(last=False)

    def _build_event(self, what: _Occurrence, pending: _PendingEvent) -> Json:
        name = str(pending.involved.get("name") or "unknown")[:230]
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}.{uuid.uuid4().hex[:16]}", "namespace": what.namespace},
            "involvedObject": pending.involved,
            "type": what.severity.value,
            "reason": what.reason,
            "message": what.message,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
            "firstTimestamp": _format_time(pending.first),
            "lastTimestamp": _format_time(pending.last),
            "count": pending.times,
        }

    def _spend_allowance(self, what: _Occurrence, now: float) -> bool:
        """Return whether the event may be posted. A new one uses the object's allowance, a repeat does not."""
        if what in self._memory.posted or what.reason in ONCE:
            return True
        allowances = self._memory.allowances
        whose = (what.uid, what.severity)
        mine = allowances.setdefault(whose, _Allowance(BURST, now))
        allowances.move_to_end(whose)
        while len(allowances) > MOST_REMEMBERED:
            allowances.popitem(last=False)
        mine.tokens = min(BURST, mine.tokens + max(now - mine.at, 0.0) / REFILL_SECONDS)
        mine.at = now
        if mine.tokens < 1.0:
            return False
        mine.tokens -= 1.0
        return True


def _build_reference(obj: Json) -> Json:
    meta = obj.get("metadata") or {}
    found = {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        "namespace": meta.get("namespace"),
        "name": meta.get("name"),
        "uid": meta.get("uid"),
        "resourceVersion": meta.get("resourceVersion"),
    }
    return {name: value for name, value in found.items() if value}


def _cut_message(message: str) -> str:
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…"


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
