"""What one process remembers of one object between passes: losing it costs reads, never safety.

Times are monotonic domain seconds. A settle delay starts when *this* process first sees what it waits for, so a
restart or a jump of the wall clock only makes the process more careful.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf

from freehold.engine.durations import Verb
from freehold.engine.errors import CloudError
from freehold.engine.journal import Journal
from freehold.engine.outcomes import Blocked, Ready, Surplus, Waiting
from freehold.engine.resources import NodeKey, Observed, Request


@dataclass(frozen=True)
class Attached:
    """What was attached to a target (or detached), and when: only this may a read show wrongly because reads lag."""

    at: float
    tags: frozenset[str]


@dataclass(frozen=True)
class RetryPause:
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
class Timing:
    """How long the create or delete of a node takes, for :mod:`polling`. Seconds."""

    started: Started | None = None
    """What is timed now."""
    planned: float = inf
    """How long the next look was last told to wait."""
    took: float = 0.0
    """How long the last create or delete took, since the object was last at rest."""
    before: float = 0.0
    """The longest chain of creates or deletes before that."""


@dataclass(slots=True)
class PartsMemory:
    """What is known of the parts inside a resource."""

    checked: bool = False
    """They were compared with the spec since the last deep look."""
    refused: frozenset[str] = frozenset()
    """Those that this process has put on record and that the cloud has not taken so far."""
    unknown_at: float = -inf
    """When an add of one last had no answer."""
    unreadable: str = ""
    """Why it could not be looked into."""
    waiting: tuple[str, ...] = ()
    """The parts that do not serve yet, each with the reason."""
    waiting_since: float | None = None
    taken_out: float | None = None
    """When those that hold up its delete were taken out."""


@dataclass(slots=True)
class MarkMemory:
    """What is known of the marks and tags of a resource."""

    attached: Attached | None = None
    seen_since_attach: bool = True
    """It was looked at since tags were last attached."""
    doubted: bool = False
    """They could not be read, or say that it is not ours: read again in each pass."""
    unproven: bool = False
    """Neither the signature of its record nor marks prove it: nothing that is ours waits for it."""
    lost_since: float | None = None
    """Since when the reads of a delete do not show the marks that it had."""
    renewal_refused: bool = False
    """The cloud took no new seal when that was last tried."""
    foreign_values: tuple[tuple[str, str], ...] = ()
    """The wanted tags whose keys have another's value, each with that (:mod:`phases.keyed_tags`)."""


@dataclass(slots=True)
class NodeState:
    """What is remembered of one node. ``None`` in a time means that it has not happened, or is over."""

    last_seen: Observed | None = None
    look_at: float = -inf
    """The cloud is not asked for it before."""
    retry_at: float = -inf
    """Nothing is tried with it before."""
    deferred: Waiting | Blocked | None = None
    """The outcome until then."""
    no_room_for: Request | None = None
    """The request for which the cloud had no room: another one is sent without a wait."""
    open_since: float | None = None
    """Since when this process does not know whether its create took effect."""
    unanswered: str = ""
    """What the last create of this process got instead of an answer."""
    answered: str = ""
    """The id that a create of this process answered with, which only a birth mark can prove."""
    pending_since: float | None = None
    busy_since: float | None = None
    """Since when a change of an attribute waits for the end of another one."""
    absent_since: float | None = None
    """Since when reads do not show it."""
    delete_sent: float | None = None
    """When the cloud took our request to delete it."""
    refused_since: float | None = None
    """Since when the cloud refuses its delete."""
    itself_gone: bool = False
    """It has gone, and the cloud may still take away what is left of it (:class:`drivers.LeftoversDriver`)."""
    id_taken: bool = False
    """A later resource has its id (:attr:`kinds.NameRules.id_returns`)."""
    timing: Timing = field(default_factory=Timing)
    parts: PartsMemory = field(default_factory=PartsMemory)
    mark_memory: MarkMemory = field(default_factory=MarkMemory)

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
        if self.mark_memory.doubted:
            return MarkState.DOUBTED
        return MarkState.UNREAD if self.mark_memory.attached is None else MarkState.ATTACHED

    def look_now(self) -> None:
        self.look_at = -inf


def earliest(known: float | None, now: float) -> float:
    """Return the time at which something began: the known one, or now."""
    return now if known is None else known


@dataclass
class GivenTagsMemory:
    """What is known of the tags on resources that are not ours, by target (:mod:`phases.given_tags`)."""

    checked: dict[str, frozenset[str]] = field(default_factory=dict)
    """The tags that they were last seen, or made, to have."""
    of_others: dict[str, frozenset[str]] = field(default_factory=dict)
    """Which of these were there before and are nobody's that is known."""
    foreign_values: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """The wanted tags whose keys have another's value, each with that."""
    refused: dict[str, RetryPause] = field(default_factory=dict)
    """When they are tried again."""
    held: dict[str, str] = field(default_factory=dict)
    """Why some could not be taken off."""


@dataclass
class ObjectState:
    """What is remembered of one object. Which phase reads and writes what: :mod:`freehold.engine.phases`."""

    first_seen: float
    identity_is_new: bool = False
    """This process wrote the identity, so nothing of an earlier process can be in flight."""
    planning: bool = False
    """This is the state of a plan. ``identity_is_new`` only spares it the settle times: it looks for what an earlier
    process made all the same."""
    releasing: bool = False
    nodes: defaultdict[NodeKey, NodeState] = field(default_factory=lambda: defaultdict(NodeState))

    confirmed: Journal | None = None
    """The journal as this process last read it, or wrote it with success."""
    last_write_tried: Journal | None = None
    """The journal of its last write, whose reply may be lost."""
    create_replies: dict[tuple[NodeKey, int], Observed] = field(default_factory=dict)
    """What creates answered, by node and attempt, until it is on record: better than any witness."""
    last_sent: float = -inf
    """When this process last sent a create, or attached a mark to something of others."""

    deep_at: float = -inf
    """When everything is looked at next."""
    full_read_due: bool = False
    """Something changed, so the next deep look reads each resource itself."""
    looked_at: float = -inf
    """When the last such look ended."""
    marks_read_at: float = -inf
    """When the index was last asked for all marks of this object."""
    index_read: bool = False
    """The index was read since the delete began."""
    none_within_at: float = -inf
    """When the index last showed nothing of owners within this one (:mod:`phases.child_owners`)."""
    at_rest: dict[NodeKey, Ready | Surplus] = field(default_factory=dict)
    """The outcomes of the last pass, if it left nothing to do."""

    deleted: set[str] = field(default_factory=set)
    """The ids of what has gone at our request."""
    gone: set[str] = field(default_factory=set)
    """What is not asked for again, by id and target."""
    missed: dict[str, float] = field(default_factory=dict)
    """Since when what has our marks and is on no record is not found, by id."""
    copied: dict[str, str] = field(default_factory=dict)
    """Messages about copied marks, by target."""
    emptied: set[str] = field(default_factory=set)
    """Carriers of others that our marks were taken off, by target: what nothing marks may still be in them."""
    detached: Attached | None = None
    given_tags: GivenTagsMemory = field(default_factory=GivenTagsMemory)

    def node(self, key: NodeKey) -> NodeState:
        """Return what is remembered of ``key``; an empty state where nothing is."""
        return self.nodes[key]

    def recognises(self, journal: Journal) -> bool:
        """Return whether ``journal`` is the one that this process last read, or wrote, or tried to write."""
        return self.confirmed is None or journal in (self.confirmed, self.last_write_tried)

    def reset(self, now: float) -> None:
        """Forget what may shorten a wait: the object has a journal of unknown age (a restore, GitOps).

        What creates answered is kept: it may be on no record now.
        """
        fresh = ObjectState(
            first_seen=now, create_replies=self.create_replies, releasing=self.releasing, full_read_due=True
        )
        self.__dict__.update(fresh.__dict__)

    def dry_run_copy(self) -> ObjectState:
        """Return a copy for a plan, as if settled: what a plan learns must not change what is really done next."""
        return replace(
            copy.deepcopy(replace(self, confirmed=None, last_write_tried=None)), identity_is_new=True, planning=True
        )

    def invalidate(self) -> None:
        """Look at everything in the next pass, because something changed or a hint came."""
        self.deep_at = -inf
        self.full_read_due = True
        self.check_parts_again()
        for node in self.nodes.values():
            node.look_at = node.retry_at = -inf

    def check_parts_again(self) -> None:
        for node in self.nodes.values():
            node.parts.checked, node.parts.unreadable = False, ""

    def forget_times(self) -> None:
        """Forget how long things took: the object is at rest, and they say nothing about its next change."""
        for node in self.nodes.values():
            node.timing.took = node.timing.before = 0.0

    def forget(self, key: NodeKey) -> None:
        """Forget a resource that is gone, so that nothing of it affects its successor."""
        self.nodes.pop(key, None)
