"""What planning comes to, and its form in JSON: a plan is made where the SDKs are loaded, and shown elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Action(StrEnum):
    """What would become of one resource, or of something of it."""

    CREATE = "create"
    MAY_CREATE = "may create"
    UPDATE = "update"
    ADD_PART = "add part"
    REMOVE_PART = "remove part"
    ADD_TAG = "add tag"
    CHANGE_TAG = "change tag"
    REMOVE_TAG = "remove tag"
    DELETE = "delete"
    LEAVE = "leave"  # it stays as it is: what differs from the spec is not changed in place
    SURPLUS = "surplus"
    REUSE = "reuse"
    KEEP = "keep"
    WAIT = "wait"
    REFUSE = "refuse"

    @property
    def changes(self) -> bool:
        """Whether it writes to the cloud."""
        return self in _CHANGES


_CHANGES = frozenset(
    {
        Action.CREATE,
        Action.MAY_CREATE,
        Action.UPDATE,
        Action.ADD_PART,
        Action.REMOVE_PART,
        Action.ADD_TAG,
        Action.CHANGE_TAG,
        Action.REMOVE_TAG,
        Action.DELETE,
    }
)
TAG_ACTIONS = frozenset({Action.ADD_TAG, Action.CHANGE_TAG, Action.REMOVE_TAG})


@dataclass(frozen=True)
class PlanRow:
    """One resource, or one change of it. ``reason`` says why, and what proves it, for a person.

    ``attribute`` is what changes inside (an attribute, a part, a tag), ``before`` and ``after`` its values. ``mark``:
    the tag is a mark of ours. ``values`` are those of a create, without the resources that ``reason`` names.
    """

    kind: str
    logical: str
    name: str
    action: Action
    reason: str
    id: str = ""
    attribute: str = ""
    before: Any = None
    after: Any = None
    mark: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What becomes of one object (``namespace/name``). The last of ``rows`` are the deletions, in their order.

    ``problems`` are sentences with a field path that stop everything.
    ``lacking`` are those that stop no create, and without which the object does not become Ready.
    ``unanswered`` is what the cloud could not be asked: nothing is wrong with the manifest, as far as is known.
    ``writes``: at most how many writes each API gets. ``gone``: the object would be deleted.
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
        """Whether anything would be written to the cloud."""
        return any(row.action.changes for row in self.rows)


def dumped(plan: Plan) -> dict[str, Any]:
    """For :func:`loaded`; only what JSON has."""
    return asdict(plan)


def loaded(content: Mapping[str, Any]) -> Plan:
    """The plan that :func:`dumped` was given. Raises KeyError, TypeError or ValueError for anything else."""
    lists = {name: tuple(content[name]) for name in ("problems", "unanswered", "notes", "lacking")}
    rows = tuple(PlanRow(**{**row, "action": Action(row["action"])}) for row in content["rows"])
    return Plan(**{**content, **lists, "rows": rows})
