"""Observers of the operator: metrics, and logs of outcomes. They are called, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from freehold.controllers.controller import Reconcile, ReconcileEnd
from freehold.controllers.repairs import Repaired, RepairWatch, ignore_repairs
from freehold.engine.port import Port
from freehold.kube.resources import Key, Resource
from freehold.kube.watch import ObjectChange
from freehold.tags.pass_hooks import ChangeWatch, Observer, Outcomes, ReadyObserver


@dataclass(frozen=True)
class Standing:
    """The standing of this process among the replicas. Without election it leads and holds the only shard.

    ``rate_share`` is the part of each account's rate limit that it may use.
    """

    leads: bool = True
    shards_held: int = 1
    shards: int = 1
    rate_share: float = 1.0


class ProcessObserver(Protocol):
    """An observer of what the process does. Kinds are those of the registry."""

    def note_standing(self, standing: Standing) -> None:
        """Note a new standing, also before the first election."""
        ...

    def note_pass(self, kind: str, end: ReconcileEnd, seconds: float) -> None:
        """Note the end of a reconcile."""
        ...

    def count_repairs(self, kind: str, number: int) -> None:
        """Count resources of an object that were changed from outside, and were brought back."""
        ...

    def note_certificate(self, ends: float) -> None:
        """Note when the webhook's certificate ends, in epoch seconds."""
        ...

    def count_review(self, kind: str, verdict: str) -> None:
        """Count an answer of the webhook."""
        ...


class NoProcessObserver:
    """An observer that looks away."""

    def note_standing(self, standing: Standing) -> None:
        """Do nothing."""

    def note_pass(self, kind: str, end: ReconcileEnd, seconds: float) -> None:
        """Do nothing."""

    def count_repairs(self, kind: str, number: int) -> None:
        """Do nothing."""

    def note_certificate(self, ends: float) -> None:
        """Do nothing."""

    def count_review(self, kind: str, verdict: str) -> None:
        """Do nothing."""


NOBODY = NoProcessObserver()


def ignore_change(resource: Resource, change: ObjectChange) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Observers:
    """All observers of one operator. ``passes``, ``changes`` and ``readiness`` are those of the metadata controller.

    ``time_reconcile`` wraps its reconcile, ``wrap_port`` every port. ``process`` is told of the process itself,
    ``note_change`` of each change of a cached object, ``note_repairs`` of what was changed from outside.
    """

    passes: tuple[Observer, ...] = ()
    changes: tuple[ChangeWatch, ...] = ()
    time_reconcile: Callable[[Reconcile], Reconcile] = lambda reconcile: reconcile
    wrap_port: Callable[[Port], Port] = lambda port: port

    readiness: tuple[ReadyObserver, ...] = ()
    process: ProcessObserver = NOBODY
    note_change: Callable[[Resource, ObjectChange], None] = ignore_change
    note_repairs: RepairWatch = ignore_repairs

    def report_ready(self, key: Key, is_ready: bool) -> None:
        """Call every ReadyObserver."""
        for each in self.readiness:
            each(key, is_ready)

    def report_pass(self, key: Key, outcomes: Outcomes | None) -> None:
        """Call every observer of passes (tags.pass_hooks)."""
        for each in self.passes:
            each(key, outcomes)

    def report_repairs(self, kind: str, key: Key, repaired: Repaired) -> None:
        """Count the resources that were repaired, and call the observer of repairs."""
        self.process.count_repairs(kind, len(repaired))
        self.note_repairs(kind, key, repaired)


NO_OBSERVERS = Observers()
