"""Repairs: what somebody changed in the cloud behind an object's back, and a pass has brought back, for who watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from freehold.engine.graph import Graph
from freehold.engine.interface import PassResult
from freehold.engine.outcomes import Repair
from freehold.kube.resources import Key
from freehold.providers.objects.resource_rows import observed_of

Repaired = Mapping[tuple[str, str], Sequence[Repair]]
"""The repairs of one pass, by kind and name of the resource."""


class RepairWatch(Protocol):
    """Is told of the repairs of one pass over an object of a kind."""

    def __call__(self, kind: str, key: Key, repaired: Repaired) -> None: ...


def ignore_repairs(kind: str, key: Key, repaired: Repaired) -> None:
    """Do nothing."""


def name_repairs(done: PassResult, graph: Graph) -> Repaired:
    """Name the repairs of a pass as the status names the resources; one that is not wanted any more has no title."""
    named: dict[tuple[str, str], Sequence[Repair]] = {}
    for key, repairs in done.repaired.items():
        observed = observed_of(done.outcomes.get(key))
        name = graph.title(key) if key in graph.nodes else (observed and observed.name) or key.logical
        named[key.kind, name] = repairs
    return named
