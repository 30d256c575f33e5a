"""Kubernetes Events for people: few, aggregated, never in the way of a reconcile.

Repeats of one event raise the count of the one that exists. What a burst has too much of is dropped
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
from freehold.kube.errors import KubeError, NotFound
from freehold.kube.resources import EVENTS, Json, Key

_LOG = logging.getLogger(__name__)

REASON = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")
MESSAGE_LIMIT = 1024
REMEMBERED = 4096
QUEUED = 1000

BURST = 25
REFILL_SECONDS = 300.0
"""An object may have BURST new events at once and one more every REFILL_SECONDS (client-go's spam filter).

Warnings have an allowance of their own: the creates of one cluster use up the other.
"""
COLLECTED = "ExternalResourcesCollected"
ONCE = frozenset({COLLECTED})
"""Reasons of which an object has one event in its life: the creates of its resources must not use that up."""


class Severity(Enum):
    """The two types of an Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True)
class _Occurrence:
    """What makes two events the same."""

    namespace: str
    uid: str
    severity: Severity
    reason: str
    message: str


@dataclass
class _Posted:
    name: str
    count: int


@dataclass
class _Allowance:
    tokens: float
    at: float


@dataclass
class _Pending:
    involved: Json
    times: int = 0
    first: float = 0.0
    last: float = 0.0


@dataclass
class _Memory:
    posted: OrderedDict[_Occurrence, _Posted] = field(default_factory=OrderedDict)
    allowances: OrderedDict[tuple[str, Severity], _Allowance] = field(default_factory=OrderedDict)


class EventRecorder:
    """Collects events and posts them in the background: ``run`` must be running.

    ``component`` names us; ``now`` gives epoch seconds.
    """

    def __init__(self, client: KubeClient, component: str, now: Callable[[], float]) -> None:
        self._client = client
        self._component = component
        self._now = now
        self._pending: OrderedDict[_Occurrence, _Pending] = OrderedDict()
        self._something = asyncio.Event()
        self._nothing = asyncio.Event()
        self._nothing.set()
        self._memory = _Memory()
        self.dropped = 0

    def record(self, obj: Json, severity: Severity, reason: str, message: str) -> None:
        """Note an event about ``obj``. Never raises, never waits.

        ``reason`` is a stable UpperCamelCase word; a message of more than 1024 characters is cut.
        """
        if not REASON.fullmatch(reason):
            _LOG.error("event reason %r is not UpperCamelCase; the event is dropped", reason)
            self.dropped += 1
            return
        meta = obj.get("metadata") or {}
        what = _Occurrence(
            str(meta.get("namespace") or "default"), str(meta.get("uid") or ""), severity, reason, _cut(message)
        )
        now = self._now()
        pending = self._pending.get(what)
        if pending is None:
            if len(self._pending) >= QUEUED or not self._allowed(what, now):
                self.dropped += 1
                return
            pending = self._pending[what] = _Pending(_reference(obj), first=now)
        pending.times += 1
        pending.last = now
        self._nothing.clear()
        self._something.set()

    async def run(self) -> None:
        """Post what is recorded, until cancelled. A post that fails is reported and dropped."""
        while True:
            await self._something.wait()
            while self._pending:
                what, pending = self._pending.popitem(last=False)
                try:
                    await self._post(what, pending)
                except KubeError as problem:
                    self.dropped += 1
                    _LOG.info("event %s could not be posted: %s", what.reason, problem)
            self._something.clear()
            self._nothing.set()

    async def flushed(self) -> None:
        """Wait until everything recorded so far is posted or dropped."""
        await self._nothing.wait()

    async def _post(self, what: _Occurrence, pending: _Pending) -> None:
        posted = self._memory.posted.get(what)
        if posted is not None:
            self._memory.posted.move_to_end(what)
            patch = {"count": posted.count + pending.times, "lastTimestamp": _stamp(pending.last)}
            try:
                await self._client.patch(EVENTS, Key(what.namespace, posted.name), patch)
                posted.count += pending.times
                return
            except NotFound:
                pass  # the server forgets events after an hour: begin a new one
        created = await self._client.create(EVENTS, self._event(what, pending))
        self._memory.posted[what] = _Posted(created["metadata"]["name"], pending.times)
        while len(self._memory.posted) > REMEMBERED:
            self._memory.posted.popitem(last=False)

    def _event(self, what: _Occurrence, pending: _Pending) -> Json:
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
            "firstTimestamp": _stamp(pending.first),
            "lastTimestamp": _stamp(pending.last),
            "count": pending.times,
        }

    def _allowed(self, what: _Occurrence, now: float) -> bool:
        """Repeats of a posted event are cheap and pass; new ones draw on the object's allowance."""
        if what in self._memory.posted or what.reason in ONCE:
            return True
        allowances = self._memory.allowances
        whose = (what.uid, what.severity)
        mine = allowances.setdefault(whose, _Allowance(BURST, now))
        allowances.move_to_end(whose)
        while len(allowances) > REMEMBERED:
            allowances.popitem(last=False)
        mine.tokens = min(BURST, mine.tokens + max(now - mine.at, 0.0) / REFILL_SECONDS)
        mine.at = now
        if mine.tokens < 1.0:
            return False
        mine.tokens -= 1.0
        return True


def _reference(obj: Json) -> Json:
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


def _cut(message: str) -> str:
    return message if len(message) <= MESSAGE_LIMIT else message[: MESSAGE_LIMIT - 1] + "…"


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
