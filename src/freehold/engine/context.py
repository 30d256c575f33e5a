"""The working state of one pass: journal, outcomes, and when to come back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from freehold.engine.collection import NOTHING_COLLECTED, Collected
from freehold.engine.decisions import Conclusion, Decision
from freehold.engine.graph import Graph
from freehold.engine.interface import EngineDeps, PassResult
from freehold.engine.journal import Entry, Journal, RecordState, Store
from freehold.engine.keys import ObjectKeys
from freehold.engine.kinds import Kind
from freehold.engine.outcomes import Blocked, Category, Kept, Outcome, Ready, Reason, Repair, Waiting
from freehold.engine.ownership import Owner
from freehold.engine.port import Call, Effect
from freehold.engine.resources import NodeKey, Observed
from freehold.engine.state import NodeState, ObjectState

STRANGER = "stranger"
"""In place of a kind, in outcomes about resources with copied marks: they are not ours."""


@dataclass
class PassContext:
    """One pass under way."""

    deps: EngineDeps
    graph: Graph
    journal: Journal
    store: Store
    state: ObjectState
    user_tags: frozenset[str] = frozenset()
    outcomes: dict[NodeKey, Outcome] = field(default_factory=dict)
    ready_nodes: dict[NodeKey, Observed] = field(default_factory=dict)
    creating: list[NodeKey] = field(default_factory=list)
    verified: dict[NodeKey, frozenset[str]] = field(default_factory=dict)
    """The tags, read in this pass, of what they prove to be ours and marked as wanted."""
    as_wanted: set[NodeKey] = field(default_factory=set)
    """What this pass has compared whole with the spec, and brought to it."""
    notes: list[str] = field(default_factory=list)
    was_at_rest: bool = False
    """The object was at rest before, and nothing else was asked for since: what differs was changed from outside."""
    repaired: dict[NodeKey, list[Repair]] = field(default_factory=dict)
    """What was changed from outside, and is brought back."""
    absent: set[str] = field(default_factory=set)
    """The ids of what this pass has seen gone."""
    deep: bool = False
    looked: bool = False
    """Everything was looked at, and all that followed from it was done."""
    saved: Journal | None = None
    stored_at: float = float("-inf")
    """When a write of the object last succeeded in this pass."""
    decisions: tuple[Decision, ...] = ()
    """What a person has decided, and nothing has acted on yet."""
    decided: list[Conclusion] = field(default_factory=list)
    approved: dict[NodeKey, Decision] = field(default_factory=dict)
    """Surplus that a person wants to be deleted now."""
    network_is_free: bool = False
    """What others made in the network was collected in this pass, or nothing is."""
    collection: Collected = NOTHING_COLLECTED
    """What the collection says, if it was asked."""
    come_back: float = float("inf")
    """Seconds after which something is due that is no outcome of a resource."""

    def __post_init__(self) -> None:
        self.saved = self.journal
        self.keys: ObjectKeys = self.deps.ring.derive_keys(self.owner)
        self.network_is_free = self.deps.collection is None

    @property
    def owner(self) -> Owner:
        return self.journal.owner

    @property
    def now(self) -> float:
        return self.deps.clock.monotonic()

    @property
    def next_round(self) -> float:
        """When the next deep looks are due: of all objects at once, so that one reading of a list serves them all."""
        interval = self.deps.intervals.deep
        return (self.now // interval + 1) * interval

    def node(self, key: NodeKey) -> NodeState:
        return self.state.node(key)

    def kind(self, key: NodeKey) -> Kind:
        return self.deps.registry[key.kind]

    def possible_kinds(self) -> list[str]:
        """Return the kinds that this object may have used; all of its kind of object, where spec or journal cannot
        tell."""
        entries, usable = self.journal.entries, self.usable_kinds()
        if not self.graph.nodes or not entries:
            return usable
        used = {key.kind for key in entries} | {key.kind for key in self.graph.nodes}
        return [kind for kind in usable if kind in used]

    def usable_kinds(self) -> list[str]:
        """Return the kinds that an object of this kind may have."""
        return [name for name, kind in self.deps.registry.items() if self.owner.kind not in kind.never_of]

    def longest_settle(self) -> float:
        """Return the seconds after which no create or attach for this object can take effect any more."""
        return max((self.deps.registry[kind].settle for kind in self.possible_kinds()), default=0.0)

    def seconds_until_settled(self) -> float:
        """Return the seconds until no create or attach of this or an earlier process can take effect any more."""
        since = self.state.last_sent
        if not self.state.identity_is_new:
            since = max(since, self.state.first_seen)
        return since + self.longest_settle() - self.now

    def record(self, key: NodeKey, entry: Entry) -> None:
        """Put ``entry`` into the journal of this pass; :meth:`save` stores it."""
        if self.journal.get(key) != entry:
            self.journal = self.journal.put(key, entry)

    async def save(self) -> None:
        """Store the journal in one patch, if it changed."""
        if self.journal != self.saved:
            await self._store()

    async def save_before_write(self) -> None:
        """Save before a create or an attach, or, where nothing changed, write the same journal again.

        The write fails when the object is newer than what this pass has read. The cloud compares nothing, so a
        process that lost its object must not send what another one has decided meanwhile (:class:`port.FencedPort`).
        """
        if self.journal != self.saved or self.now - self.stored_at > self.deps.intervals.fence / 2:
            await self._store()

    async def _store(self) -> None:
        journal, owner, state = self.journal, self.owner, self.state
        call = Call(
            api="store",
            operation="save_journal",
            effect=Effect.STORE,
            run=lambda: self.store.save(journal),
            subject=f"{owner.namespace}/{owner.name}",
        )
        state.last_write_tried = journal
        try:
            await self.deps.port.send(call)
        except Exception:  # whatever it was, raised again below
            state.invalidate()  # what was learnt is not on record, so no requeue time that rests on it may be kept
            raise
        self.saved, self.stored_at = journal, self.now
        state.confirmed = journal
        on_record = {(key.kind, entry.id) for key, entry in journal.entries.items() if entry.id}
        state.create_replies = {
            made: seen for made, seen in state.create_replies.items() if (made[0].kind, seen.id) not in on_record
        }

    def signing_key(self, key: NodeKey) -> str:
        """Return the digest of the key that this entry's seal and signature are made with, or will be."""
        entry = self.journal.get(key)
        named = entry.key if entry and entry.state.is_claimed else self.keys.writing
        return named if named in self.keys.readable else self.keys.writing

    def sign(self, key: NodeKey, ident: str, incarnation: str = "") -> str:
        """Return the signature that belongs beside ``ident`` in the journal, by the writing key."""
        return self.keys.signature(self.keys.writing, key.kind, ident, incarnation)

    def is_signed(self, key: NodeKey) -> bool:
        """Return whether the operator itself recorded this id as ours; else only marks can prove it."""
        entry = self.journal.get(key)
        if entry is None or not entry.state.is_claimed:
            return False
        return self.keys.vouches(entry.key, entry.signature, key.kind, entry.id, entry.incarnation)

    def may_be_another(self, key: NodeKey) -> bool:
        """Return whether what has the recorded id may have been made after ours had gone, so that the record proves
        nothing.

        We have asked for its delete, its id is a name, and no read tells it from a later one.
        """
        entry = self.journal.get(key)
        return bool(entry and entry.deleting and not entry.incarnation and self.kind(key).naming.id_returns)

    def is_believed(self, key: NodeKey) -> bool:
        """Return whether the record shows without any mark that what has the id is ours: then it is marked."""
        return self.is_signed(key) and not self.may_be_another(key)

    def believe_again(self, key: NodeKey) -> Entry:
        """Return the record of what a read has shown to be ours: believed again, if it was not.

        Not while our last request to delete it may still take effect: what has the id after that is another one.
        """
        entry = self.journal.entries[key]
        return replace(entry, deleting=0.0) if self.may_be_another(key) and not self.seconds_of_delete(key) else entry

    def seconds_of_delete(self, key: NodeKey) -> float:
        """Return the seconds for which our last request to delete it may still take effect.

        After that a later resource may have its id; 0 where none can, or when that time is over.
        """
        if not self.may_be_another(key):
            return 0.0
        since = self.deps.clock.now() - self.journal.entries[key].deleting
        return max(0.0, self.kind(key).settle - max(0.0, since))

    def is_settled(self, key: NodeKey, since: float) -> bool:
        return self.now - since >= self.kind(key).settle

    def delete_is_fresh(self, key: NodeKey) -> bool:
        """Return whether its delete may still be under way, unseen: for twice the published time."""
        sent = self.node(key).delete_sent
        return sent is not None and self.now - sent < 2 * self.kind(key).deletion.usual_time

    def remember(self, key: NodeKey, observed: Observed) -> None:
        """Keep what was seen, and follow the target, which some kinds learn late."""
        before = self.node(key).last_seen
        if before is None or before.state is not observed.state:
            self.node(key).pending_since = None
        self.node(key).last_seen = observed
        self.node(key).mark_memory.seen_since_attach = True
        self.node(key).absent_since = None
        entry = self.journal.get(key)
        if entry and entry.id and (entry.target, entry.carried) != (observed.target, observed.carried):
            if entry.state is RecordState.OWNED:
                entry = replace(entry, state=RecordState.RECORDED)
            moved = replace(entry, target=observed.target, carried=observed.carried, read_back=False)
            self.journal = self.journal.put(key, moved)
            self.node(key).mark_memory.attached = None

    def category(self, key: NodeKey) -> Category:
        entry = self.journal.get(key)
        if entry is None or not entry.state.is_claimed:
            return Category.UNMANAGED
        shared = self.graph.nodes[key].shared if key in self.graph.nodes else entry.shared
        return Category.SHARED if shared else Category.MANAGED

    def result(self, *, released: bool = False) -> PassResult:
        """Return what this pass came to, and when to come back."""
        waits = [o.after for o in self.outcomes.values() if isinstance(o, Waiting | Blocked)]
        if any(isinstance(o, Ready) for o in self.outcomes.values()) and not waits:
            waits = [self.deps.intervals.shallow]
        if self.now < self.state.deep_at:
            waits.append(self.state.deep_at - self.now)
        waits.append(self.come_back)
        for target, message in self.state.copied.items():
            self.outcomes.setdefault(NodeKey(STRANGER, target), Kept(Reason.NOT_OWNED, message))
        return PassResult(
            journal=self.journal,
            outcomes=dict(self.outcomes),
            after=max(0.0, min(min(waits, default=self.deps.intervals.slow), self.deps.intervals.deep)),
            creating=tuple(self.creating),
            released=released,
            notes=tuple(self.notes),
            at_rest=bool(self.state.at_rest) and not self.state.releasing,
            decided=tuple(self.decided),
            deleted=frozenset(self.state.deleted),
            looked=self.looked,
            collection=self.collection,
            repaired={key: tuple(repairs) for key, repairs in self.repaired.items()},
        )

    def resolve_command(self, key: NodeKey) -> str:
        """Return the command with which a person decides about a create of ``key``."""
        return f"freehold resolve {self.owner.name} -n {self.owner.namespace} {key}"

    @property
    def prune_command(self) -> str:
        """The command with which a person has surplus deleted."""
        return f"freehold prune {self.owner.name} -n {self.owner.namespace}"

    def note_repair(self, key: NodeKey, *repairs: Repair, from_outside: bool = False) -> None:
        """Note what this pass brings back, if it was changed from outside: it was, or nothing else can be."""
        if self.was_at_rest or from_outside:
            self.repaired.setdefault(key, []).extend(repairs)

    def come_back_after(self, seconds: float) -> None:
        """Let the next pass begin in ``seconds`` at the latest."""
        self.come_back = min(self.come_back, seconds)

    def requeue(self, key: NodeKey, outcome: Waiting) -> None:
        """Wait with this outcome, and do not ask the cloud about the node before it ends."""
        self.outcomes[key] = self.node(key).deferred = outcome
        self.node(key).look_at = self.now + outcome.after

    def pending_outcome(self, key: NodeKey) -> Waiting | Blocked:
        """Return the outcome that it waits with, and how long."""
        left = self.node(key).look_at - self.now
        said = self.node(key).deferred or Waiting(Reason.SETTLING, left, "waits for its next look")
        return replace(said, after=left)

    def block(self, key: NodeKey, outcome: Waiting | Blocked) -> None:
        """Set the outcome, and try again only when it ends, so that a lasting refusal makes no hot loop."""
        self.outcomes[key] = outcome
        self.node(key).retry_at = self.now + outcome.after
        self.node(key).deferred = outcome

    def is_due(self, key: NodeKey) -> bool:
        return self.deep or self.now >= self.node(key).look_at - 0.001
