"""Who looks on while the operator works: metrics, and what remembers outcomes. They are told, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from freehold.controllers.controller import Reconcile
from freehold.engine.port import Port
from freehold.kube.resources import Key
from freehold.tags.pass_hooks import ChangeWatch, Observer, Outcomes, ReadyObserver


@dataclass(frozen=True)
class Onlookers:
    """``passes``, ``changes`` and ``readiness`` are of the metadata controller.

    ``timed`` wraps its reconcile, ``port`` every port.
    """

    passes: tuple[Observer, ...] = ()
    changes: tuple[ChangeWatch, ...] = ()
    timed: Callable[[Reconcile], Reconcile] = lambda reconcile: reconcile
    port: Callable[[Port], Port] = lambda port: port

    readiness: tuple[ReadyObserver, ...] = ()

    def ready(self, key: Key, is_ready: bool) -> None:
        """A ReadyObserver that tells them all."""
        for each in self.readiness:
            each(key, is_ready)

    def passed(self, key: Key, outcomes: Outcomes | None) -> None:
        """An observer (metadata.pass_hooks) that tells them all."""
        for each in self.passes:
            each(key, outcomes)


NOBODY = Onlookers()
