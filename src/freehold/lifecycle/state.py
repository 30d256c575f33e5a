"""What one process remembers of one object between passes: losing it costs reads, never safety.

Times are monotonic domain seconds. Settle delays start when *this* process first saw what it waits for,
so a restart or a jump of the wall clock only makes it more careful.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

from freehold.lifecycle.journal import Journal
from freehold.lifecycle.kinds import NodeKey, Observed
from freehold.lifecycle.outcomes import Blocked, Ready, Surplus, Waiting


@dataclass(frozen=True)
class Attached:
    """What was attached to a target (or detached), and when: only this may a read show wrongly because reads lag."""

    at: float
    tags: frozenset[str]


@dataclass
class ObjectState:
    """Per object. ``minted``: this process wrote the identity, so nothing of an earlier life can be in flight."""

    first_seen: float
    minted: bool = False
    seen: dict[NodeKey, Observed] = field(default_factory=dict)
    look_at: dict[NodeKey, float] = field(default_factory=dict)
    retry_at: dict[NodeKey, float] = field(default_factory=dict)
    held: dict[NodeKey, Waiting | Blocked] = field(default_factory=dict)
    pending_since: dict[NodeKey, float] = field(default_factory=dict)
    open_since: dict[NodeKey, float] = field(default_factory=dict)
    absent_since: dict[NodeKey, float] = field(default_factory=dict)
    attached: dict[NodeKey, Attached] = field(default_factory=dict)
    detached: Attached | None = None
    delete_sent: dict[NodeKey, float] = field(default_factory=dict)
    refused_since: dict[NodeKey, float] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    copied: dict[str, str] = field(default_factory=dict)
    settled: dict[NodeKey, Ready | Surplus] = field(default_factory=dict)
    releasing: bool = False
    index_read: bool = False
    parts_checked: set[NodeKey] = field(default_factory=set)
    doubted: set[NodeKey] = field(default_factory=set)
    """Whose marks could not be read, or say that it is not ours: read again in each pass until they prove it."""
    unproven: set[NodeKey] = field(default_factory=set)
    """On record, and neither signed by us nor proven by marks when last read: nothing that is ours waits for it."""
    renewal_refused: set[NodeKey] = field(default_factory=set)
    """What took no new seal when it was last tried."""
    made: dict[tuple[NodeKey, int], Observed] = field(default_factory=dict)
    """What creates answered, by node and attempt, until it is on record: better than any witness."""
    last_sent: float = float("-inf")
    """When this process last sent a create, or attached a mark to something of others."""
    confirmed: Journal | None = None
    """The journal as this process last read it, or wrote it with success."""
    tried: Journal | None = None
    """The journal of its last write, whatever became of that: a reply can be lost."""
    marks_read_at: float = float("-inf")
    """When the index was last asked for all marks of this object's."""
    deep_at: float = float("-inf")

    def recognises(self, journal: Journal) -> bool:
        """Whether ``journal`` is the one that this process last read, or wrote, or tried to write."""
        return self.confirmed is None or journal in (self.confirmed, self.tried)

    def reset(self, now: float) -> None:
        """The object carries a journal of unknown age (a restore, GitOps): nothing remembered may shorten a wait.

        What creates answered is kept: it may be on no record now.
        """
        fresh = ObjectState(first_seen=now, made=self.made, releasing=self.releasing)
        self.__dict__.update(fresh.__dict__)

    def dry_run_copy(self) -> ObjectState:
        """A copy for a plan: what it learns must not colour what is really done next. As if settled."""
        return replace(copy.deepcopy(replace(self, confirmed=None, tried=None)), minted=True)

    def invalidate(self) -> None:
        """Something changed or a hint came: look at everything in the next pass."""
        self.deep_at = float("-inf")
        self.look_at.clear()
        self.retry_at.clear()
        self.parts_checked.clear()

    def forget(self, key: NodeKey) -> None:
        """The resource is gone: what was remembered of it must not colour its successor."""
        remembered: tuple[dict[NodeKey, Any], ...] = (
            self.seen,
            self.look_at,
            self.retry_at,
            self.held,
            self.pending_since,
            self.open_since,
            self.absent_since,
            self.attached,
            self.delete_sent,
            self.refused_since,
        )
        for state in remembered:
            state.pop(key, None)
        self.parts_checked.discard(key)
        self.doubted.discard(key)
        self.unproven.discard(key)
