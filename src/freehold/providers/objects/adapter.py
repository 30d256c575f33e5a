"""Adapter of one kind of object: everything about the kind that the one reconciler needs.

An adapter parses the spec, asks the cloud what the spec depends on, says which resources are wanted, and builds
the status from the report of a pass. Gate, identity, key ring, account, engine and events are the same for all kinds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from freehold.providers.objects.around import NOTHING_AROUND, Around
from freehold.providers.objects.cloud_answers import NoAnswer
from freehold.providers.objects.gate import Proceed
from freehold.providers.objects.kept_secrets import NO_SECRETS, SecretsReport, WantedSecret
from freehold.providers.objects.spec_problems import SpecProblem, SpecWarning

M = TypeVar("M", bound=ApiModel)


class GraphMode(Enum):
    """The use of a graph."""

    CREATE = "create"
    """The engine may create what is missing."""
    EXISTING = "existing"
    """Every node is given; nothing is ever created."""
    FROZEN = "frozen"
    """The graph has what exists; no write is sent. A delete still releases everything."""


@dataclass(frozen=True)
class SoleUse:
    """The use of something given that only one object may use: the ``words`` for it in specs, at ``field`` in this."""

    field: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class WantedGraph:
    """The graph of wanted resources. ``user_tags`` are (key, value), to be spelled by the cloud's codec.

    ``known_before``: the cloud has resources of this object that are not on its record: it was restored, with its UID,
    from before its first pass. ``holds_name``: it uses its name although nothing of its own is on record. ``sole_use``:
    what no other object may name.
    """

    mode: GraphMode
    graph: Graph
    user_tags: tuple[tuple[str, str], ...] = ()
    notes: tuple[SpecWarning, ...] = ()
    known_before: bool = field(default=False, kw_only=True)
    holds_name: bool = field(default=False, kw_only=True)
    sole_use: SoleUse | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class RefusedSpec:
    """A spec that a person must change first; nothing is created or changed. ``reason`` is the condition's.

    ``in_condition`` is a shorter text for conditions and events, where the problems are long; a plan shows all.
    """

    problems: tuple[SpecProblem, ...]
    notes: tuple[SpecWarning, ...] = ()
    reason: str = names.REASON_INVALID_SPEC
    in_condition: str = ""


def parse_or_refuse(model: type[M], raw: Mapping[str, Any]) -> M | RefusedSpec:
    """Parse the spec of an object, once in a pass. Return RefusedSpec if it does not fit its type."""
    try:
        return parse_spec(model, raw)
    except InvalidObject as error:
        return RefusedSpec(error.problems)


@dataclass(frozen=True)
class UndecidedSpec:
    """A spec with questions that the cloud must answer before anything is created. ``missing`` is by field path."""

    missing: Mapping[str, NoAnswer]
    notes: tuple[SpecWarning, ...] = ()

    @property
    def after(self) -> float:
        """The seconds of domain time until the questions should be asked again."""
        return max(answer.after for answer in self.missing.values())


Desired = WantedGraph | RefusedSpec | UndecidedSpec


@dataclass(frozen=True)
class PassReport:
    """The report of a pass. A deletion needs no ``plan``; ``deleted`` are the ids of resources that it saw disappear.

    ``collected`` says what of the cluster's workloads was collected, and what stays; empty until the collection is
    done. ``secrets`` says what became of the object's Secrets. ``around`` is what surrounds the object.
    """

    plan: Desired | None
    journal: Journal | None = None
    outcomes: Mapping[NodeKey, Outcome] = field(default_factory=dict)
    deleting: bool = False
    deleted: frozenset[str] = frozenset()
    collected: str = ""
    secrets: SecretsReport = NO_SECRETS
    around: Around = NOTHING_AROUND


@dataclass(frozen=True)
class StatusUpdate:
    """The status to write.

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
        """The patch of the object without its status; empty if there is nothing to write."""
        found: dict[str, Any] = {} if self.spec is None else {"spec": dict(self.spec)}
        return found | ({"metadata": {"annotations": dict(self.annotations)}} if self.annotations else {})


@dataclass(frozen=True)
class CollectionRequest:
    """A request to collect a cluster's leftovers. Its controllers put the name ``cluster`` on what they make."""

    cluster: str
    policy: Policy


class Adapter(Protocol):
    """The adapter of one kind."""

    @property
    def served(self) -> ServedName: ...

    async def find_desired(self, raw: Mapping[str, Any], proceed: Proceed, journal: Journal) -> Desired:
        """Parse the spec, ask what it depends on, and decide. Never raises for a wrong spec: it returns RefusedSpec."""
        ...

    async def find_secrets(
        self, raw: Mapping[str, Any], proceed: Proceed, report: PassReport
    ) -> Sequence[WantedSecret]:
        """Find the Secrets that the object has now, after its pass; none for most kinds. Raises CloudError.

        Also after a pass with a refused spec: what was made before is still used with them.
        """
        ...

    def build_status(self, raw: Mapping[str, Any], report: PassReport, now: datetime) -> StatusUpdate:
        """Build the status after a pass that was allowed to work on the object. ``now`` is timezone-aware. Pure."""
        ...

    def rebuild_spec(self, owner: Owner, found: Collection[tuple[NodeKey, Observed]]) -> dict[str, Any]:
        """Rebuild the spec fields that a lost object's resources show, so that its manifest can be applied over it.

        Pure.
        """
        ...

    def find_collection(
        self, raw: Mapping[str, Any], journal: Journal, around: Around = NOTHING_AROUND
    ) -> CollectionRequest | None:
        """Find the collection that the object wants; None for a kind without one. Pure.

        What the infrastructure in ``around`` says counts too.
        """
        ...
