"""Metrics of objects and queues, read from the caches when Prometheus asks.

A scrape runs in a thread of its own, also while the event loop is stuck. It works on copies: taking the values of a
dictionary is one step for other threads, and cached objects are replaced, never changed. Labels are kinds, types of
conditions and reasons that Freehold has itself; anything else counts as ``other``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from freehold.api import names
from freehold.api.conditions import find_condition
from freehold.controllers.controller import Controller
from freehold.engine.reasons import Reason
from freehold.kube.resources import Json
from freehold.providers.registry import METADATA, MIRRORS, REFERRED_TO, SERVED, TEMPLATES
from freehold.tags.policy import status as tag_status

OTHER: Final = "other"
KINDS: Final = frozenset(
    each.kind for each in (*SERVED, *(mirror.served for mirror in MIRRORS), *METADATA, *TEMPLATES, *REFERRED_TO)
)
"""The kinds that are a label."""
STATUSES: Final = frozenset({"True", "False", "Unknown"})
CONDITIONS: Final = frozenset(
    {
        *(part for served in SERVED for part in served.parts),
        *(names.READY, names.AVAILABLE, names.PAUSED, names.DELETING, names.LOAD_BALANCER_READY),
        *(names.SPEC_VALID, names.FIELDS_SERVED, names.EXTERNAL_RESOURCE_GC),
        *(tag_status.APPROVED, tag_status.POLICY, tag_status.REQUEST, tag_status.APPLIED),
    }
)
"""The types of conditions that are a label."""
REASONS: Final = frozenset(
    {*Reason, *(value for name, value in vars(names).items() if name.startswith("REASON_")), "InternalError"}
)
"""The reasons that are a label."""

_KIND = ("kind",)


@dataclass
class ObjectCounts:
    """The figures of the objects of one kind. Keys are label values.

    ``oldest_delete``: seconds since the longest waiting delete was asked for.
    """

    conditions: Counter[tuple[str, str]] = field(default_factory=Counter)
    blocked: Counter[str] = field(default_factory=Counter)
    deletes: Counter[str] = field(default_factory=Counter)
    oldest_delete: float = 0.0


def count_objects(objects: Iterable[Json], now: float) -> ObjectCounts:
    """Count objects by what their statuses say. ``now`` is the time of the API server, whose deletes have a time."""
    found = ObjectCounts()
    for raw in objects:
        status: Mapping[str, Any] = raw.get("status") or {}
        conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
        ready = None
        for each in conditions:
            type_, value = each.get("type"), each.get("status")
            if type_ == names.READY:
                ready = each
            label = type_ if type_ in CONDITIONS else OTHER
            found.conditions[str(label), str(value) if value in STATUSES else OTHER] += 1
        if ready is None:
            found.conditions[names.READY, "Unknown"] += 1
        if "deletionTimestamp" in raw["metadata"]:
            going = find_condition(conditions, names.DELETING) or ready or {}
            found.deletes[_limit(going.get("reason"))] += 1
            found.oldest_delete = max(found.oldest_delete, now - _read_time(raw["metadata"]["deletionTimestamp"], now))
        elif status.get("phase") == "Blocked":
            found.blocked[_find_block(status, ready)] += 1
    return found


def _find_block(status: Mapping[str, Any], ready: Mapping[str, Any] | None) -> str:
    """Find why an object is blocked: the reason of its first blocked resource, else of Ready."""
    rows = (row.get("reason") for row in status.get("resources") or () if row.get("state") == "Blocked")
    return _limit(next(rows, (ready or {}).get("reason")))


def _limit(reason: object) -> str:
    return str(reason) if reason in REASONS else OTHER


def _read_time(text: object, otherwise: float) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return otherwise


class ObjectMetrics(Collector):
    """A collector of the objects and queues of the controllers that there are at the time.

    ``read_ring_problem`` says why there is no key ring; empty if there is one.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.read_controllers: Callable[[], Sequence[Controller]] = tuple
        self.read_ring_problem: Callable[[], str] = str

    def describe(self) -> Iterable[Metric]:
        """Return what is collected, without looking at the objects."""
        return list(_build_families({}, {}, False))

    def collect(self) -> Iterator[Metric]:
        controllers, now = self.read_controllers(), self._now()
        counts = {each.resource.kind: count_objects(each.list_served(), now) for each in controllers}
        queues = {each.resource.kind: each for each in controllers}
        yield from _build_families(counts, queues, bool(controllers) and not self.read_ring_problem())


def _build_families(
    counts: Mapping[str, ObjectCounts], controllers: Mapping[str, Controller], ring: bool
) -> Iterator[Metric]:
    objects = GaugeMetricFamily(
        "freehold_objects",
        "Objects by condition. Each has the condition Ready here, Unknown until its status has one.",
        labels=("kind", "condition", "status"),
    )
    blocked = GaugeMetricFamily(
        "freehold_objects_blocked", "Objects for which a person must act, by reason.", labels=("kind", "reason")
    )
    deletes = GaugeMetricFamily(
        "freehold_deletes_waiting", "Objects that are being deleted, by what that waits for.", labels=("kind", "reason")
    )
    oldest = GaugeMetricFamily(
        "freehold_oldest_delete_seconds", "Time since the oldest delete that waits was asked for.", labels=_KIND
    )
    for kind, each in counts.items():
        for (type_, status), number in sorted(each.conditions.items()):
            objects.add_metric((kind, type_, status), number)
        for reason, number in sorted(each.blocked.items()):
            blocked.add_metric((kind, reason), number)
        for reason, number in sorted(each.deletes.items()):
            deletes.add_metric((kind, reason), number)
        oldest.add_metric((kind,), each.oldest_delete)
    depth = GaugeMetricFamily("freehold_queue_depth", "Objects whose turn to be reconciled has come.", labels=_KIND)
    unserved = GaugeMetricFamily(
        "freehold_oldest_unserved_seconds", "How long the first of them has been waiting for a worker.", labels=_KIND
    )
    restarts = CounterMetricFamily(
        "freehold_task_restarts", "Watches and workers that a defect has ended, and that were started again.",
        labels=_KIND,
    )  # fmt: skip
    synced = GaugeMetricFamily(
        "freehold_synced", "Whether the objects of a kind are listed and watched: 1 or 0.", labels=_KIND
    )
    for kind, controller in controllers.items():
        health = controller.read_health()
        depth.add_metric((kind,), health.queued)
        unserved.add_metric((kind,), controller.queue.oldest_wait())
        restarts.add_metric((kind,), health.restarts)
        synced.add_metric((kind,), health.ready)
    yield from (objects, blocked, deletes, oldest, depth, unserved, restarts, synced)
    yield GaugeMetricFamily("freehold_key_ring_ready", "Whether there is a key ring: 1 or 0.", value=float(ring))
