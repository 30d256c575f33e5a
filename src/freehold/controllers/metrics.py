"""Metrics of the operator for Prometheus: reconciles, cloud calls, leadership, the webhook, tags of metadata objects.

A wrapper of the port below the rate limits counts each call that is sent. Labels are names of APIs,
classes, operations and of our own objects: never a tag, a value or the id of a resource. There is no limit to their
number, and not everybody who may read metrics may read them. What objects are like: ``object_metrics.py``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from freehold.controllers.controller import Reconcile, ReconcileEnd, RequeueAfter, Result
from freehold.controllers.logged_port import LoggedPort
from freehold.controllers.object_metrics import KINDS, OTHER, ObjectMetrics
from freehold.controllers.observers import Observers, Standing
from freehold.controllers.process_server import Answer, Pages
from freehold.engine.errors import CloudError
from freehold.engine.port import Call, Effect, Port
from freehold.kube.errors import Conflict, KubeError
from freehold.kube.resources import Key
from freehold.providers.access.audit import Changes
from freehold.tags.pass_hooks import Outcomes
from freehold.tags.policy.batches import Batch
from freehold.tags.policy.key_decision import LeaveReason
from freehold.tags.policy.outcome import Outcome
from freehold.tags.policy.status import NOT_APPLIED, left_of

T = TypeVar("T")

_OBJECT = ("namespace", "name")
_STATES = ("managed", "drifted", "failed", "left")
_SECONDS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0)
_RECONCILE_SECONDS = (0.05, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0)
VERDICTS = frozenset({"allowed", "warned", "denied", "error"})
_SIZES = (1, 5, 10, 20, 50, 100, 200)


class Metrics:
    """The metrics of one process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._calls = Counter(
            "freehold_cloud_calls",
            "Requests that were sent to a cloud, by API, effect (read, write) and class: ok, or the error's.",
            ("api", "effect", "class"),
            registry=self.registry,
        )
        self._reconciles = Histogram(
            "freehold_reconcile_seconds",
            "Wall time of reconciles by result: done, waits (comes back by itself), conflict (somebody else wrote the "
            "object), api_error, cloud_error, local_error (a file of the operator, as the audit log), defect.",
            ("kind", "result"), registry=self.registry, buckets=_RECONCILE_SECONDS,
        )  # fmt: skip
        self._repairs = Counter(
            "freehold_drift_repaired", "Resources that somebody else changed, and that were brought back.", ("kind",),
            registry=self.registry,
        )  # fmt: skip
        self._leader = Gauge(
            "freehold_leader", "Whether this process may act on objects: 1 or 0.", registry=self.registry
        )
        self._held = Gauge("freehold_shards_held", "Shards that this process holds.", registry=self.registry)
        self._shards = Gauge("freehold_shards", "Shards that there are.", registry=self.registry)
        self._share = Gauge(
            "freehold_account_rate_share", "The part of an account's rate limit that this process may use.",
            registry=self.registry,
        )  # fmt: skip
        self._certificate = Gauge(
            "freehold_webhook_certificate_end_timestamp_seconds",
            "When the certificate of the webhook ends; 0 where none is served.", registry=self.registry,
        )  # fmt: skip
        self._reviews = Counter(
            "freehold_webhook_requests", "Answers of the webhook: allowed, warned, denied, error.", ("kind", "verdict"),
            registry=self.registry,
        )  # fmt: skip
        self.objects = ObjectMetrics()
        self.registry.register(self.objects)
        ProcessCollector(registry=self.registry)
        self.note_standing(Standing())
        self._resources = Gauge(
            "freehold_tag_resources",
            "Resources of a CloudMetadata in its last pass: managed (selected), drifted (repaired), failed, left "
            "(something that is asked for is not so, as where there is no room for a tag).",
            (*_OBJECT, "state"),
            registry=self.registry,
        )
        self._ready = Gauge(
            "freehold_tag_ready", "Whether the condition Ready of a CloudMetadata is true: 1 or 0.", _OBJECT,
            registry=self.registry,
        )  # fmt: skip
        self._changes = Counter(
            "freehold_tag_changes", "Tags that were added, changed or removed.", ("operation",), registry=self.registry
        )
        self._batches = Histogram(
            "freehold_tag_batch_size", "Resources in a call that changes tags.", ("verb",),
            registry=self.registry, buckets=_SIZES,
        )  # fmt: skip
        self._duration = Histogram(
            "freehold_tag_sync_duration_seconds", "Wall time of one pass over a CloudMetadata.",
            registry=self.registry, buckets=_SECONDS,
        )  # fmt: skip
        self._age = Gauge(
            "freehold_tag_sync_age_seconds", "Wall time since the last pass over a CloudMetadata ended.", _OBJECT,
            registry=self.registry,
        )  # fmt: skip

    def build_observers(self, *others: Any) -> Observers:
        """Build the observers that feed these metrics; ``others`` are further observers of passes."""
        return Observers(
            (self.record_pass, *others),
            (self,),
            self.time_reconcile,
            lambda port: LoggedPort(self.measure_port(port)),
            (self.record_ready,),
            self,
        )

    def build_pages(self) -> Pages:
        """Build the page for Prometheus."""

        def show() -> Answer:
            return Answer(HTTPStatus.OK, generate_latest(self.registry).decode(), CONTENT_TYPE_PLAIN_0_0_4)

        return {"/metrics": show}

    # -- the process (observers.ProcessObserver) ----------------------------------------------------------------

    def note_standing(self, standing: Standing) -> None:
        self._leader.set(standing.leads)
        self._held.set(standing.shards_held)
        self._shards.set(standing.shards)
        self._share.set(standing.rate_share)

    def note_pass(self, kind: str, end: ReconcileEnd, seconds: float) -> None:
        self._reconciles.labels(kind, classify_end(end)).observe(seconds)

    def count_repairs(self, kind: str, number: int) -> None:
        self._repairs.labels(kind).inc(number)

    def note_certificate(self, ends: float) -> None:
        self._certificate.set(ends)

    def count_review(self, kind: str, verdict: str) -> None:
        self._reviews.labels(kind if kind in KINDS else OTHER, verdict if verdict in VERDICTS else OTHER).inc()

    # -- the port -----------------------------------------------------------------------------------------------

    def measure_port(self, port: Port) -> Port:
        return MeasuredPort(port, self)

    def count_call(self, call: Call, error: Exception | None) -> None:
        """Count one call to a cloud. A write to our own object is none."""
        if call.effect is not Effect.STORE:
            self._calls.labels(call.api, call.effect.value, classify_error(error)).inc()

    # -- the metadata controller --------------------------------------------------------------------------------

    def record_pass(self, key: Key, outcomes: Outcomes | None) -> None:
        """Record the outcomes of a pass over a CloudMetadata (tags.pass_hooks). None means the object is gone."""
        if outcomes is None:
            self._forget(key)
            return
        ended = time.monotonic()
        self._age.labels(*key).set_function(lambda: time.monotonic() - ended)
        worked = [each for each in outcomes if isinstance(each, Outcome)]
        drifted = {repair.resource for each in worked for repair in each.repairs}
        left = {resource for each in worked for resource in left_of(each, (*NOT_APPLIED, LeaveReason.TRIMMED))}
        failed = sum(len(each.failed) for each in worked)
        numbers = (sum(each.selected for each in worked), len(drifted), failed, len(left))
        for state, number in zip(_STATES, numbers, strict=True):
            self._resources.labels(*key, state).set(number)

    def record_ready(self, key: Key, is_ready: bool) -> None:
        """Record the condition Ready (a ReadyObserver of tags.pass_hooks)."""
        self._ready.labels(*key).set(is_ready)

    def _forget(self, key: Key) -> None:
        labels = dict(zip(_OBJECT, key, strict=True))
        self._resources.remove_by_labels(labels)
        self._age.remove_by_labels(labels)
        self._ready.remove_by_labels(labels)

    def time_reconcile(self, reconcile: Reconcile) -> Reconcile:
        async def reconcile_and_time(key: Key) -> Result:
            with self._duration.time():
                return await reconcile(key)

        return reconcile_and_time

    def sending(self, subject: str, changes: Changes) -> None:
        """Do nothing: changes are counted when they are answered."""

    def note_answer(self, subject: str, batch: Batch, changes: Changes, errors: Mapping[str, CloudError]) -> None:
        self._batches.labels(batch.verb.value).observe(len(batch.targets))
        for resource, tags in changes.items():
            for before, after in tags.values() if resource not in errors else ():
                self._changes.labels("remove" if after is None else "add" if before is None else "change").inc()


def classify_end(end: ReconcileEnd) -> str:
    """Return one word for the end of a reconcile: what helps, if anything does."""
    match end:
        case Conflict():
            return "conflict"
        case KubeError():
            return "api_error"
        case CloudError():
            return "cloud_error"
        case OSError():
            return "local_error"
        case Exception():
            return "defect"
        case RequeueAfter():
            return "waits"
    return "done"


def classify_error(error: Exception | None) -> str:
    """Return one word: ``ok``, the class of a cloud's error, or ``defect`` for anything else."""
    if error is None:
        return "ok"
    return type(error).__name__ if isinstance(error, CloudError) else "defect"


class MeasuredPort:
    """A port that counts the calls it sends."""

    def __init__(self, inner: Port, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    async def send(self, call: Call) -> Any:
        try:
            reply = await self._inner.send(call)
        except Exception as error:
            self._metrics.count_call(call, error)
            raise
        self._metrics.count_call(call, None)
        return reply
