"""Plan of an object's collection, and its JSON form: one process makes it with the SDKs, another one shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Fate(StrEnum):
    """The fate of a leftover when the object is deleted."""

    DELETE = "delete"
    HOLD = "hold"
    """It would be deleted, but a person must remove something first."""
    KEEP = "keep"


@dataclass(frozen=True)
class Leftover:
    """A resource that the workloads of a cluster made, or that looks so.

    ``task`` is the task that collects it. ``proven``: all proofs hold, whether it is collected or not.
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
    """The collection that a delete of ``object`` (``namespace/name``) does; ``rows`` begins with the deletes, in order.

    ``cluster`` is its name in tags, ``network`` that of its workloads. ``collected`` is the policy; ``reason`` (a
    word) and ``policy`` (a sentence) explain it. ``running``: machines that must stop before the collection begins.
    ``held``: why nothing is collected, and nothing of the network deleted, before a person has acted. ``unanswered``:
    questions that the cloud did not answer.
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


def dump_collection_plan(plan: CollectionPlan) -> dict[str, Any]:
    """Return the JSON form that :func:`load_collection_plan` reads."""
    return asdict(plan)


def load_collection_plan(content: Mapping[str, Any]) -> CollectionPlan:
    """Read a plan from its JSON form. Raises KeyError, TypeError or ValueError for anything else."""
    rows = tuple(Leftover(**{**row, "fate": Fate(row["fate"])}) for row in content["rows"])
    return CollectionPlan(**{**content, **{name: tuple(content[name]) for name in _LISTS}, "rows": rows})
