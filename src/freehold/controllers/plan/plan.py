"""Plan of an object, and its JSON form: one process makes it with the SDKs, another one shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class PlanAction(StrEnum):
    """The action on a resource, or on a part or tag of it."""

    CREATE = "create"
    MAY_CREATE = "may create"
    UPDATE = "update"
    ADD_PART = "add part"
    REMOVE_PART = "remove part"
    ADD_TAG = "add tag"
    CHANGE_TAG = "change tag"
    REMOVE_TAG = "remove tag"
    DELETE = "delete"
    LEAVE = "leave"  # it differs from the spec in something that is not changed in place
    SURPLUS = "surplus"
    REUSE = "reuse"
    KEEP = "keep"
    WAIT = "wait"
    REFUSE = "refuse"

    @property
    def changes(self) -> bool:
        """True if the action writes to the cloud."""
        return self in _CHANGES


_CHANGES = frozenset(
    {
        PlanAction.CREATE,
        PlanAction.MAY_CREATE,
        PlanAction.UPDATE,
        PlanAction.ADD_PART,
        PlanAction.REMOVE_PART,
        PlanAction.ADD_TAG,
        PlanAction.CHANGE_TAG,
        PlanAction.REMOVE_TAG,
        PlanAction.DELETE,
    }
)
TAG_ACTIONS = frozenset({PlanAction.ADD_TAG, PlanAction.CHANGE_TAG, PlanAction.REMOVE_TAG})


@dataclass(frozen=True)
class PlanRow:
    """A row of a plan: one resource, or one change of it. ``reason`` says why, and what proves it, for a person.

    ``attribute`` is what changes (an attribute, a part, a tag), ``before`` and ``after`` are its values. ``mark``:
    the tag is a mark of ours. ``values`` are the arguments of a create, without the resources that ``reason`` names.
    """

    kind: str
    logical: str
    name: str
    action: PlanAction
    reason: str
    id: str = ""
    attribute: str = ""
    before: Any = None
    after: Any = None
    mark: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The plan of one object (``namespace/name``). ``rows`` ends with the deletions, in their order.

    ``problems`` are sentences with a field path; one of them stops everything.
    ``lacking`` are fields that must be set before the object becomes Ready; they stop no create.
    ``unanswered`` are questions that the cloud did not answer: nothing is known to be wrong with the manifest.
    ``writes`` is the most writes that each API gets. ``gone``: the object would be deleted.
    ``refused``: decisions that would not be acted on, by node, and why.
    """

    object: str
    rows: tuple[PlanRow, ...] = ()
    problems: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    writes: Mapping[str, int] = field(default_factory=dict)
    gone: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    kind: str = ""

    @property
    def title(self) -> str:
        """``AWSCluster default/prod``."""
        return f"{self.kind} {self.object}".lstrip()

    @property
    def changes(self) -> bool:
        """True if a row writes to the cloud."""
        return any(row.action.changes for row in self.rows)


def dump_plan(plan: Plan) -> dict[str, Any]:
    """Return the JSON form that :func:`load_plan` reads."""
    return asdict(plan)


def load_plan(content: Mapping[str, Any]) -> Plan:
    """Read a plan from its JSON form. Raises KeyError, TypeError or ValueError for anything else."""
    lists = {name: tuple(content[name]) for name in ("problems", "unanswered", "notes", "lacking")}
    rows = tuple(PlanRow(**{**row, "action": PlanAction(row["action"])}) for row in content["rows"])
    return Plan(**{**content, **lists, "rows": rows})
