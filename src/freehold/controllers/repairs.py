"""Repairs: what somebody changed in the cloud behind an object's back, and a pass has brought back, for who watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from freehold.engine.outcomes import Repair
from freehold.kube.resources import Key

Repaired = Mapping[tuple[str, str], Sequence[Repair]]
"""The repairs of one pass, by kind and name of the resource."""


class RepairWatch(Protocol):
    """Is told of the repairs of one pass over an object of a kind."""

    def __call__(self, kind: str, key: Key, repaired: Repaired) -> None: ...


def ignore_repairs(kind: str, key: Key, repaired: Repaired) -> None:
    """Do nothing."""
