"""What is collected with an object, and its form in JSON: it is made where the SDKs are loaded, shown elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Fate(StrEnum):
    """What a delete of the object does with one leftover."""

    DELETE = "delete"
    HOLD = "hold"
    """It would go, and a person must take something away first."""
    KEEP = "keep"


@dataclass(frozen=True)
class Leftover:
    """One resource that the workloads of a cluster made, or that looks so.

    ``task`` is that which collects it. ``proven``: it is theirs by all proofs, whether it is collected or not.
    """

    fate: Fate
    task: str
    noun: str
    name: str
    id: str
    reason: str
    proven: bool


@dataclass(frozen=True)
class CollectionPlan:
    """What a delete of ``object`` (``namespace/name``) collects: what goes first in ``rows``, in that order.

    ``cluster`` is its name in tags, ``network`` where its workloads are. ``collected`` is the policy; ``reason`` (a
    word) and ``policy`` (a sentence) say where it comes from. ``running``: machines whose end the collection waits for.
    ``held``: why nothing is collected, and nothing of the network goes, before a person has acted. ``unanswered``: what
    could not be asked.
    """

    kind: str
    object: str
    cluster: str = ""
    network: str = ""
    collected: bool = False
    reason: str = ""
    policy: str = ""
    tasks: tuple[str, ...] = ()
    rows: tuple[Leftover, ...] = ()
    running: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """``AWSCluster default/prod``."""
        return f"{self.kind} {self.object}"


_LISTS = ("tasks", "running", "held", "unanswered", "notes")


def dumped(plan: CollectionPlan) -> dict[str, Any]:
    """Return what :func:`loaded` reads; only what JSON has."""
    return asdict(plan)


def loaded(content: Mapping[str, Any]) -> CollectionPlan:
    """Return the plan that :func:`dumped` was given. Raises KeyError, TypeError or ValueError for anything else."""
    rows = tuple(Leftover(**{**row, "fate": Fate(row["fate"])}) for row in content["rows"])
    return CollectionPlan(**{**content, **{name: tuple(content[name]) for name in _LISTS}, "rows": rows})
