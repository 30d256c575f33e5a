"""What planning the tags of one ``CloudMetadata`` comes to: the changes by resource and the calls that make them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class TagAction(StrEnum):
    """What would become of one key of a resource."""

    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"
    LEAVE = "leave"

    @property
    def changes(self) -> bool:
        """Whether it writes to the cloud."""
        return self is not TagAction.LEAVE


@dataclass(frozen=True)
class TagRow:
    """One key. ``before``: the values that are there; ``after``: the value that would be, None where there is none.

    ``cause`` is one word (tagging.wanted_keys.Cause or Reason, or ``Foreign`` for what somebody else set); ``why`` is a
    sentence, where one word is too little.
    """

    action: TagAction
    key: str
    before: tuple[str, ...]
    after: str | None
    cause: str
    why: str = ""


@dataclass(frozen=True)
class ResourceChanges:
    """One resource. ``waits``: it is written only once the plan is approved."""

    resource: str
    kind: str
    account: str
    region: str
    rows: tuple[TagRow, ...]
    notes: tuple[str, ...] = ()
    waits: bool = False

    @property
    def changes(self) -> bool:
        return any(row.action.changes for row in self.rows)


@dataclass(frozen=True)
class TagCall:
    """One call, exactly as it would be sent. A value of None: the call takes the key alone."""

    verb: str
    account: str
    region: str
    targets: tuple[str, ...]
    tags: tuple[tuple[str, str | None], ...]
    waits: bool = False


@dataclass(frozen=True)
class TagPlan:
    """Of one CloudMetadata (``namespace/name``), which selects ``selected`` resources.

    ``problems`` stop everything, or what they name; ``unanswered`` is what the cloud could not be asked. ``digest`` is
    what approves the calls that wait, with commas between those of several providers; empty where none waits.
    """

    object: str
    selected: int = 0
    resources: tuple[ResourceChanges, ...] = ()
    calls: tuple[TagCall, ...] = ()
    problems: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    digest: str = ""
    approval: str = ""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """How many of the selected resources are of each kind."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Resources on which something that is asked for is not so and will not be, and why."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Resources that have the classifiers and could not be read, with their kinds: nothing is known of their tags."""
    found: frozenset[str] = frozenset()
    """All that was selected and looked at."""
    blind: bool = False
    """There may be resources of which nothing is known, because a region was not asked, or nothing was."""
    trimmed: Mapping[str, str] = field(default_factory=dict)
    """Resources on which part of the list is left out, because there is no room, and why."""

    @property
    def changes(self) -> bool:
        """Whether anything would be written to the cloud."""
        return bool(self.calls)

    def rows(self) -> Iterator[TagRow]:
        for each in self.resources:
            yield from each.rows
