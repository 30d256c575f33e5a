"""Observers of the operator: metrics, and logs of outcomes. They are called, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from freehold.controllers.controller import Reconcile
from freehold.engine.port import Port
from freehold.kube.resources import Key
from freehold.tags.pass_hooks import ChangeWatch, Observer, Outcomes, ReadyObserver


@dataclass(frozen=True)
class Observers:
    """All observers of one operator. ``passes``, ``changes`` and ``readiness`` are those of the metadata controller.

    ``time_reconcile`` wraps its reconcile, ``wrap_port`` every port.
    """

    passes: tuple[Observer, ...] = ()
    changes: tuple[ChangeWatch, ...] = ()
    time_reconcile: Callable[[Reconcile], Reconcile] = lambda reconcile: reconcile
    wrap_port: Callable[[Port], Port] = lambda port: port

    readiness: tuple[ReadyObserver, ...] = ()

    def report_ready(self, key: Key, is_ready: bool) -> None:
        """Call every ReadyObserver."""
        for each in self.readiness:
            each(key, is_ready)

    def report_pass(self, key: Key, outcomes: Outcomes | None) -> None:
        """Call every observer of passes (tags.pass_hooks)."""
        for each in self.passes:
            each(key, outcomes)


NO_OBSERVERS = Observers()
