"""Who is told what each pass of the metadata controller came to: plans and metrics look on."""

from __future__ import annotations

from collections.abc import Callable

from freehold.kube.resources import Key
from freehold.reconcilers.metadata.demand import Refused
from freehold.reconcilers.metadata.outcome import Outcome

Observer = Callable[[Key, Outcome | Refused | None], None]
"""Called for a CloudMetadata after each pass, with None once it is gone."""


def nobody(key: Key, outcome: Outcome | Refused | None) -> None:
    """Nobody looks on."""
