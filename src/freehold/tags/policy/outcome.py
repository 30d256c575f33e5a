"""What a pass came to: a value, of which the status and the events are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from freehold.engine.errors import CloudError, NeedsPerson
from freehold.tags.policy.approval import ApprovalNeeded
from freehold.tags.policy.key_decision import Cause
from freehold.tags.policy.plan import Note, ResourcePlan
from freehold.tags.policy.sync_period import DEFAULT

_REPAIRS = frozenset({Cause.STRIPPED, Cause.DRIFTED})


@dataclass(frozen=True)
class Repair:
    """A tag of ours that somebody had changed or taken off, and that is as it was again."""

    resource: str
    key: str
    found: frozenset[str]
    value: str

    @property
    def message(self) -> str:
        was = " and ".join(repr(each) for each in sorted(self.found)) or "gone"
        return f"the tag {self.key!r} on {self.resource} was {was} and is {self.value!r} again"


@dataclass(frozen=True)
class Outcome:
    """``selected`` resources were found, ``changed`` of them were written. ``applied``: the tags that are to be there,
    and that no resource lacks that was looked at.

    ``failed`` is by resource, ``unasked`` by region: nothing is known of what is there. ``later`` are tried again
    soon. ``released``: resources that lost their classifier and keep what was written.
    """

    selected: int
    applied: Mapping[str, str] = field(default_factory=dict)
    active: Mapping[str, str] = field(default_factory=dict)
    """The list that is active: by it tags are written and repaired."""
    changed: int = 0
    notes: tuple[Note, ...] = ()
    failed: Mapping[str, CloudError] = field(default_factory=dict)
    unasked: Mapping[str, CloudError] = field(default_factory=dict)
    later: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    """Those of ``failed`` of which a call was sent and refused."""
    wait: float | None = None
    """Seconds that the cloud asked to wait for."""
    approval: ApprovalNeeded | None = None
    repairs: tuple[Repair, ...] = ()
    released: int = 0
    exempt: int = 0
    """Resources that are left alone because of the tag that exempts them."""
    plans: Mapping[str, ResourcePlan] = field(default_factory=dict)
    """Of every resource that was selected, by its id, as they were before anything was written."""
    problem: str = ""
    """Why nothing was written though something differs: the record is full."""
    nowhere: tuple[str, ...] = ()
    """On record, and in no account and region that the object names: what is there cannot be removed."""
    lost: int = 0
    """Parts of the ledger that cannot be read."""
    granted: str = ""
    """By which grants, for people."""
    period: float = DEFAULT
    """Seconds between looks: trouble that lasts longer is not of a moment."""

    @property
    def errors(self) -> tuple[CloudError, ...]:
        return (*self.failed.values(), *self.unasked.values())

    @property
    def has_unseen(self) -> bool:
        """There may be resources of which nothing is known."""
        return bool(self.unasked) or any(ident not in self.plans for ident in self.failed)

    @property
    def is_passing(self) -> bool:
        """Something is in the way that may be gone soon without anybody's doing."""
        return bool(self.later) or any(not isinstance(each, NeedsPerson) for each in self.errors)

    @property
    def is_complete(self) -> bool:
        """Nothing is left to be done in another pass."""
        return not (self.errors or self.later or self.approval or self.problem or self.nowhere)


def repairs_of(plan: ResourcePlan) -> tuple[Repair, ...]:
    if _REPAIRS.isdisjoint(plan.delta.causes):
        return ()
    return tuple(
        Repair(plan.resource.id, each.key, each.seen, each.value)
        for each in plan.delta.upserts
        if each.cause in _REPAIRS
    )
