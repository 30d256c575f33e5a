"""What is special about one kind of object: all that the operator's one reconciler must be told about it.

A kind is one adapter: it parses the spec, asks what the spec depends on, says which resources are wanted, and builds
the status from what a pass came to. Gate, identity, key ring, account, engine and events are the same for every kind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Protocol, TypeVar

from freehold.api import names
from freehold.api.base import ApiModel
from freehold.api.parse import InvalidObject, parse_spec
from freehold.api.served import ServedName
from freehold.collection.policy import Policy
from freehold.engine.graph import Graph
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Outcome
from freehold.engine.ownership import Owner
from freehold.engine.resources import NodeKey, Observed
from freehold.providers.objects.cloud_answers import NoAnswer
from freehold.providers.objects.gate import Proceed
from freehold.providers.objects.spec_problems import Problem, SpecWarning

M = TypeVar("M", bound=ApiModel)


class Mode(Enum):
    """How the graph is to be used."""

    CREATE = "create"
    """The engine may create what is missing."""
    EXISTING = "existing"
    """Every node is given; nothing is ever created."""
    FROZEN = "frozen"
    """The graph holds what exists; no write is sent. A delete still releases everything."""


@dataclass(frozen=True)
class Wanted:
    """What shall be there. ``user_tags`` are (key, value), to be spelled by the cloud's codec.

    ``known_before``: the cloud has resources of this object, of which it has no record: it was restored from before its
    first pass, with its UID. ``holds_name``: it lives under its name although nothing of its own is on record.
    """

    mode: Mode
    graph: Graph
    user_tags: tuple[tuple[str, str], ...] = ()
    notes: tuple[SpecWarning, ...] = ()
    known_before: bool = field(default=False, kw_only=True)
    holds_name: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Refused:
    """A person must change the manifest first; nothing is created or changed. ``reason`` is the condition's.

    ``in_condition``: what conditions and events say of the problems where these are long; a plan says all.
    """

    problems: tuple[Problem, ...]
    notes: tuple[SpecWarning, ...] = ()
    reason: str = names.REASON_INVALID_SPEC
    in_condition: str = ""


def parse_or_refuse(model: type[M], raw: Mapping[str, Any]) -> M | Refused:
    """Parse the spec of an object, once in a pass; Refused where it does not fit its type."""
    try:
        return parse_spec(model, raw)
    except InvalidObject as error:
        return Refused(error.problems)


@dataclass(frozen=True)
class Undecided:
    """The cloud could not be asked; nothing is created until it has been. ``missing`` is by field path."""

    missing: Mapping[str, NoAnswer]
    notes: tuple[SpecWarning, ...] = ()

    @property
    def after(self) -> float:
        """Return seconds of domain time until another look is worth it."""
        return max(answer.after for answer in self.missing.values())


Desired = Wanted | Refused | Undecided


@dataclass(frozen=True)
class PassReport:
    """What a pass came to. A deletion needs no ``plan``; ``deleted`` are the ids of what it has seen go.

    ``collected`` says what of the cluster's workloads was collected, and what stays; empty until that is done.
    """

    plan: Desired | None
    journal: Journal | None = None
    outcomes: Mapping[NodeKey, Outcome] = field(default_factory=dict)
    deleting: bool = False
    deleted: frozenset[str] = frozenset()
    collected: str = ""


@dataclass(frozen=True)
class StatusUpdate:
    """What to write.

    ``spec`` is a merge patch of the few fields of the spec that a provider fills in, written *before* ``status``: a
    reader that sees ready sees them too. None when there is nothing to write. ``changed``: whether the status differs.
    ``annotations`` are those to be set, in one write with ``spec``.
    """

    status: dict[str, Any]
    spec: Mapping[str, Any] | None
    changed: bool
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def patch(self) -> dict[str, Any]:
        """Return the patch of the object without its status; empty when there is nothing to write."""
        found: dict[str, Any] = {} if self.spec is None else {"spec": dict(self.spec)}
        return found | ({"metadata": {"annotations": dict(self.annotations)}} if self.annotations else {})


@dataclass(frozen=True)
class Collecting:
    """``cluster`` is the name that a cluster's own controllers put on what they make."""

    cluster: str
    policy: Policy


class Adapter(Protocol):
    """One kind."""

    @property
    def served(self) -> ServedName: ...

    async def desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        """Parse the spec, ask what it depends on, and decide. Never raises for a spec that is wrong: Refused."""
        ...

    def status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        """Return the status after a pass that was allowed to work on the object. ``now`` is aware. Pure."""
        ...

    def skeleton(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        """Rebuild the spec fields that a lost object's resources tell, so that its manifest can be applied over it.

        Pure.
        """
        ...

    def collected(self, raw: Mapping[str, Any], journal: Journal) -> Collecting | None:
        """Return whether what the cluster's own controllers made is collected; None for a kind without any. Pure."""
        ...
