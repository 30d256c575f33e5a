"""Who is told what each pass of the metadata controller came to: plans and metrics look on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from freehold.kube.resources import Key
from freehold.reconcilers.metadata.outcome import Outcome
from freehold.reconcilers.metadata.references import Refused

Outcomes = Sequence[Outcome | Refused]
"""One for each provider's object, or why there are none."""

Observer = Callable[[Key, Outcomes | None], None]
"""Called for a CloudMetadata after each pass, with None once it is gone."""


ReadyObserver = Callable[[Key, bool], None]
"""Called for a CloudMetadata when its status is told, also where it has not changed: with whether it is Ready."""


def not_told(key: Key, ready: bool) -> None:
    """Nobody looks on."""


def nobody(key: Key, outcomes: Outcomes | None) -> None:
    """Nobody looks on."""
