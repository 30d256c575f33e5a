"""How bootstrap data reach the machine, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BootstrapSecret:
    """One secret to be made: its place among the others, and the create request of kind ``bootstrap-secret``."""

    logical: str
    request: Mapping[str, Any]


@dataclass(frozen=True)
class BootstrapPlan:
    """How the data reach the machine.

    ``user_data`` is text, or a reference to the Secret; empty for none. ``secrets`` must be there before the instance.
    """

    user_data: str | Mapping[str, Any] = ""
    secrets: tuple[BootstrapSecret, ...] = ()


NO_BOOTSTRAP = BootstrapPlan()
