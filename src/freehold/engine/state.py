"""What one process remembers of one object between passes: losing it costs reads, never safety.

Times are monotonic domain seconds. A settle delay starts when *this* process first sees what it waits for, so a
restart or a jump of the wall clock only makes the process more careful.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf

from freehold.engine.durations import Verb
from freehold.engine.errors import CloudError
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Blocked, Ready, Surplus, Waiting
from freehold.engine.resources import NodeKey, Observed


@dataclass(frozen=True)
class Attached:
    """What was attached to a target (or detached), and when: only this may a read show wrongly because reads lag."""

    at: float
    tags: frozenset[str]


@dataclass(frozen=True)
class Refused:
    """Something that was refused: how many seconds were waited last, until when nothing is tried, and why."""

    waited: float
    until: float
    error: CloudError


@dataclass(frozen=True)
class Started:
    """A create or delete that this process sent: when the cloud took it, and when a look last showed it under way."""

    verb: Verb
    at: float
    pending_at: float


class Existence(Enum):
    """Whether a resource is there, as far as this process knows."""

    UNKNOWN = "unknown"  # not looked at yet
    PRESENT = "present"
    MISSING = "missing"  # the last read did not show it; reads lag, so it may be there
    DELETE_REQUESTED = "leaving"  # the cloud took our request to delete it


class MarkState(Enum):
    """What this process knows of the marks of a resource."""

    UNREAD = "unread"  # nothing since the process began
    ATTACHED = "attached"  # attached by this process; a read may not show it yet
    DOUBTED = "doubted"  # not readable, or they say that it is not ours: read again in each pass


@dataclass(slots=True)
class NodeState:
    """What is remembered of one node. ``None`` in a time means that it has not happened, or is over.

    ``look_at`` and ``retry_at``: nothing is asked, or tried, before then. ``deferred`` is the outcome until then.
    ``unproven``: on record, and neither signed by us nor proven by marks when last read; nothing that is ours waits for
    it. ``marks_lost_since``: since when the reads of a delete do not show the marks that it had. ``parts_refused``: the
    parts that this process has put on record and that the cloud has not taken so far; ``part_unknown_at``: when an add
    of one last had no answer. ``inside_unknown``: why it could not be looked into. ``renewal_refused``: it took no new
    seal when that was last tried. ``seen_since_attach``: whether it was looked at since tags were last attached.
    ``taken``: the wanted tags whose keys have another's value (:mod:`phases.keyed_tags`). ``started`` is what is timed
    now; ``planned`` the seconds that :mod:`polling` last said to wait; ``took`` and ``before`` are the seconds that it
    took, and those of the longest chain of creates or deletes before it, since the object was last at rest.
    ``answered``: the id that a create of this process answered with, which only a birth mark can prove.
    ``itself_gone``: the resource has gone, and the cloud may still take away what remains of it
    (:class:`drivers.RemainsDriver`). ``id_taken``: a later resource has its id (:attr:`kinds.Kind.id_returns`).
    ``unanswered``: what the last create of this process got instead of an answer.
    """

    last_seen: Observed | None = None
    look_at: float = -inf
    retry_at: float = -inf
    deferred: Waiting | Blocked | None = None
    pending_since: float | None = None
    open_since: float | None = None
    unanswered: str = ""
    absent_since: float | None = None
    delete_sent: float | None = None
    itself_gone: bool = False
    id_taken: bool = False
    refused_since: float | None = None
    attached: Attached | None = None
    seen_since_attach: bool = True
    parts_checked: bool = False
    parts_refused: frozenset[str] = frozenset()
    part_unknown_at: float = -inf
    inside_unknown: str = ""
    marks_doubted: bool = False
    unproven: bool = False
    marks_lost_since: float | None = None
    renewal_refused: bool = False
    taken: tuple[tuple[str, str], ...] = ()
    started: Started | None = None
    planned: float = inf
    took: float = 0.0
    before: float = 0.0
    answered: str = ""

    @property
    def observed(self) -> Observed:
        """What was last seen of it; only for a node that has been seen."""
        assert self.last_seen is not None
        return self.last_seen

    @property
    def existence(self) -> Existence:
        if self.delete_sent is not None:
            return Existence.DELETE_REQUESTED
        if self.absent_since is not None:
            return Existence.MISSING
        return Existence.UNKNOWN if self.last_seen is None else Existence.PRESENT

    @property
    def marks(self) -> MarkState:
        if self.marks_doubted:
            return MarkState.DOUBTED
        return MarkState.UNREAD if self.attached is None else MarkState.ATTACHED

    def look_now(self) -> None:
        self.look_at = -inf


def earliest(known: float | None, now: float) -> float:
    """The time at which something began: the known one, or now."""
    return now if known is None else known


@dataclass
class ObjectState:
    """What is remembered of one object.

    ``minted``: this process wrote the identity, so nothing of an earlier process can be in flight. ``planning``: for a
    plan that is only taken for granted, and what an earlier process made is looked for. ``made``: what
    creates answered, by node and attempt, until it is on record: better than any witness. ``last_sent``: when this
    process last sent a create, or attached a mark to something of others. ``confirmed``: the journal as this process
    last read it, or wrote it with success; ``tried``: that of its last write, whose reply may be lost.
    ``emptied``: carriers of others that our marks were taken off, by target: what nothing marks may still be in them.
    ``deleted``: the ids of what has gone at our request. ``missed``: since when what has our marks and is on no record
    is not found, by id; ``gone``: what is not asked for again, by id and target.
    ``marks_read_at``: when the index was last asked for all marks of this object. ``at_rest``: the outcomes of the
    last pass, if it left nothing to do. ``copied``: messages about copied marks, by target. ``own_look_due``: something
    changed, so the next look reads each resource itself; ``looked_at``: when the last such look ended.
    ``tags_checked``: the tags that targets which are not ours were last seen, or made, to have, by target;
    ``tags_of_others``: which of them were there before and are nobody's that is known; ``tags_taken``: which of them
    have another's value under their key; ``tags_refused``: when the tags of such a target are tried again;
    ``tags_held``: why some of them could not be taken off.
    """

    first_seen: float
    minted: bool = False
    planning: bool = False
    nodes: dict[NodeKey, NodeState] = field(default_factory=dict)
    detached: Attached | None = None
    gone: set[str] = field(default_factory=set)
    missed: dict[str, float] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    copied: dict[str, str] = field(default_factory=dict)
    emptied: set[str] = field(default_factory=set)
    at_rest: dict[NodeKey, Ready | Surplus] = field(default_factory=dict)
    releasing: bool = False
    index_read: bool = False
    made: dict[tuple[NodeKey, int], Observed] = field(default_factory=dict)
    last_sent: float = -inf
    confirmed: Journal | None = None
    tried: Journal | None = None
    marks_read_at: float = -inf
    deep_at: float = -inf
    own_look_due: bool = False
    looked_at: float = -inf
    tags_checked: dict[str, frozenset[str]] = field(default_factory=dict)
    tags_of_others: dict[str, frozenset[str]] = field(default_factory=dict)
    tags_taken: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    tags_refused: dict[str, Refused] = field(default_factory=dict)
    tags_held: dict[str, str] = field(default_factory=dict)

    def node(self, key: NodeKey) -> NodeState:
        """What is remembered of ``key``; an empty state where nothing is."""
        found = self.nodes.get(key)
        if found is None:
            found = self.nodes[key] = NodeState()
        return found

    def recognises(self, journal: Journal) -> bool:
        """Whether ``journal`` is the one that this process last read, or wrote, or tried to write."""
        return self.confirmed is None or journal in (self.confirmed, self.tried)

    def reset(self, now: float) -> None:
        """The object has a journal of unknown age (a restore, GitOps): nothing remembered may shorten a wait.

        What creates answered is kept: it may be on no record now.
        """
        fresh = ObjectState(first_seen=now, made=self.made, releasing=self.releasing, own_look_due=True)
        self.__dict__.update(fresh.__dict__)

    def dry_run_copy(self) -> ObjectState:
        """A copy for a plan, as if settled: what a plan learns must not change what is really done next."""
        return replace(copy.deepcopy(replace(self, confirmed=None, tried=None)), minted=True, planning=True)

    def invalidate(self) -> None:
        """Something changed or a hint came: look at everything in the next pass."""
        self.deep_at = -inf
        self.own_look_due = True
        self.check_parts_again()
        for node in self.nodes.values():
            node.look_at = node.retry_at = -inf

    def check_parts_again(self) -> None:
        for node in self.nodes.values():
            node.parts_checked, node.inside_unknown = False, ""

    def forget_times(self) -> None:
        """The object is at rest: how long things took says nothing about its next change."""
        for node in self.nodes.values():
            node.took = node.before = 0.0

    def forget(self, key: NodeKey) -> None:
        """The resource is gone: what was remembered of it must not affect its successor."""
        self.nodes.pop(key, None)
