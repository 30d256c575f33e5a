"""The tools that every pass uses, and the working state of one pass."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from freehold.lifecycle import ownership
from freehold.lifecycle.clock import Clock
from freehold.lifecycle.graph import Graph
from freehold.lifecycle.inventory import Inventory, Tagger
from freehold.lifecycle.journal import Journal, Phase, Store
from freehold.lifecycle.keys import KeyRing
from freehold.lifecycle.kinds import Kind, NodeKey, Observed, Registry, State, Tagging
from freehold.lifecycle.memory import Memory
from freehold.lifecycle.outcomes import Blocked, Category, Kept, Outcome, Ready, Reason, Waiting
from freehold.lifecycle.ownership import Codec, Evidence, Owner
from freehold.lifecycle.port import Call, Effect, Port

SPARE_ATTEMPTS = 3
"""A journal rolled back by a restore may have forgotten this many attempts: their nonces are still known."""


CLOCK_SKEW = 120.0
"""Seconds by which a cloud's clock and ours may disagree."""


STRANGER = "stranger"
"""Stands for the kind in outcomes about what bears copied marks: it is not ours, so no kind of ours either."""


@dataclass(frozen=True)
class Pace:
    """Delays in seconds of domain time.

    ``tag_lag``: when a fresh mark is usually readable (IBM: about 20 s, reference/ibm-cloud.md §0.6).
    ``shallow``/``deep``: how old the shared inventory, and the last look at states and parts, may get.
    """

    tag_lag: float = 25.0
    shallow: float = 60.0
    deep: float = 600.0
    slow: float = 300.0


@dataclass(frozen=True)
class Tools:
    """What the engine works with; one per account and region, shared by all objects."""

    registry: Registry
    codec: Codec
    tagger: Tagger
    inventory: Inventory
    port: Port
    clock: Clock
    pace: Pace = field(default_factory=Pace)
    ring: KeyRing = field(kw_only=True, repr=False)
    legacy_secret: bytes = field(default=b"", repr=False)
    """Checks records from before the ring; derived from the credentials, never stored."""


@dataclass(frozen=True)
class Pass:
    """What one pass came to.

    ``after``: seconds of domain time until another look is worth it. ``creating``: what this pass
    created, or would have created behind a port that stops at writes. ``released``: nothing of ours is left.
    """

    journal: Journal
    outcomes: Mapping[NodeKey, Outcome]
    after: float
    creating: tuple[NodeKey, ...] = ()
    released: bool = False
    notes: tuple[str, ...] = ()


@dataclass
class Work:
    """One pass under way."""

    tools: Tools
    graph: Graph
    journal: Journal
    store: Store
    memory: Memory
    user_tags: frozenset[str] = frozenset()
    outcomes: dict[NodeKey, Outcome] = field(default_factory=dict)
    known: dict[NodeKey, Observed] = field(default_factory=dict)
    creating: list[NodeKey] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    deep: bool = False
    disputed: bool = False
    saved: Journal | None = None

    def __post_init__(self) -> None:
        self.saved = self.journal

    @property
    def owner(self) -> Owner:
        return self.journal.owner

    @property
    def now(self) -> float:
        return self.tools.clock.monotonic()

    @property
    def spread(self) -> float:
        """0.9 to 1.1, the object's own: a thousand that came up together do not look at the same moment for ever."""
        return 0.9 + 0.2 * int.from_bytes(hashlib.sha256(self.owner.uuid.encode()).digest()[:4]) / 2**32

    def kind(self, key: NodeKey) -> Kind:
        return self.tools.registry[key.kind]

    async def save(self) -> None:
        """One patch for all that changed; nothing when nothing did."""
        if self.journal == self.saved:
            return
        journal, owner = self.journal, self.owner
        call = Call(
            api="store",
            operation="save_journal",
            effect=Effect.STORE,
            run=lambda: self.store.save(journal),
            subject=f"{owner.namespace}/{owner.name}",
        )
        try:
            await self.tools.port.send(call)
        except Exception:  # whatever it was, raised again below
            self.memory.hurry()  # what was learnt is not on record: no appointment made from it may stand
            raise
        self.saved = journal
        self.memory.made.clear()

    def nonces(self, key: NodeKey) -> frozenset[str]:
        """The birth marks that may still turn up: of this attempt, and of later ones that a restore forgot.

        What became of earlier attempts is settled: whatever bears their nonces today is a copy.
        """
        entry = self.journal.get(key)
        first = entry.attempt if entry else 1
        return frozenset(ownership.nonce(self.owner, key, first + more) for more in range(SPARE_ATTEMPTS + 1))

    def seals(self, key: NodeKey, observed: Observed) -> frozenset[str]:
        """The mark that binds this very resource to this node; marks copied from it fit nowhere else."""
        codec = self.tools.codec
        if observed.carried:
            return frozenset({codec.carried(self.owner, key.kind, observed.id)})
        return frozenset({codec.node(key, ownership.seal(self.owner, key, observed.target))})

    def marks(self, key: NodeKey, observed: Observed) -> frozenset[str]:
        """The tags that we want on its target."""
        if observed.carried:
            return self.seals(key, observed)
        return self.tools.codec.owner(self.owner) | self.seals(key, observed)

    def tags(self, key: NodeKey, observed: Observed) -> frozenset[str]:
        """The marks and, where they are not on somebody else's carrier, the user's tags."""
        return self.marks(key, observed) | (frozenset() if observed.carried else self.user_tags)

    def lagging(self, key: NodeKey, missing: frozenset[str]) -> bool:
        """Whether what a read does not show was attached so lately that the read may be behind."""
        attached = self.memory.attached.get(key)
        if attached is None or self.now - attached.at >= self.kind(key).settle:
            return False
        return self.tools.codec.fold(missing) <= self.tools.codec.fold(attached.tags)

    def born_here(self, key: NodeKey, observed: Observed) -> bool:
        """Whether it bears a birth mark of ours: a nonce in a name, or as the seal of a mark set on create.

        It tells which resource a create of ours made. It never authorises a delete: a name or a tag can
        be copied, and what stood before the create was sent cannot have come of it.
        """
        entry = self.journal.get(key)
        opened = entry.opened if entry and entry.phase is Phase.INTENDED else 0.0
        if observed.created_at is not None and observed.created_at < opened - CLOCK_SKEW:
            return False
        return self.bears_birth(key, observed)

    def bears_birth(self, key: NodeKey, observed: Observed) -> bool:
        """Whether a birth mark of ours stands on it, whenever it was made."""
        words = {word for text in observed.births for word in text.casefold().replace("_", "-").split("-")}
        if observed.tags is not None and self.kind(key).tagging is Tagging.ON_CREATE:
            words |= {
                mark.seal for mark in self.tools.codec.read(observed.tags).nodes if str(mark.key) == str(key).casefold()
            }
        return not words.isdisjoint(self.nonces(key))

    def evidence(self, key: NodeKey, observed: Observed, tags: Collection[str]) -> Evidence:
        """What the tags on a target prove about this node."""
        entry = self.journal.get(key)
        return ownership.proves(
            self.tools.codec,
            self.owner,
            tags,
            acceptable=self.seals(key, observed),
            recorded=bool(entry and entry.id == observed.id and self.attested(key)),
            carried=observed.carried,
        )

    def deed(self, key: NodeKey, ident: str) -> str:
        """What stands beside ``ident`` in the journal if the operator wrote it there."""
        return ownership.deed(self.tools.legacy_secret, self.owner, key.kind, ident)

    def attested(self, key: NodeKey) -> bool:
        """Whether the operator itself recorded this id as ours. Without it only marks can prove, and none is given."""
        entry = self.journal.get(key)
        return bool(entry and entry.phase.ours and hmac.compare_digest(entry.deed, self.deed(key, entry.id)))

    def settled(self, key: NodeKey, since: float) -> bool:
        return self.now - since >= self.kind(key).settle

    def poll(self, key: NodeKey, observed: Observed) -> float:
        """First look near the expected end, then small steps that grow with the delay (design §4.5)."""
        expected = self.kind(key).delete_time if observed.state is State.DELETING else self.kind(key).create_time
        elapsed = self.now - self.memory.pending_since.setdefault(key, self.now)
        if elapsed < expected:
            return expected - elapsed + min(1.0, expected * 0.02)
        return max(3.0, min(60.0, elapsed * 0.08))

    def remember(self, key: NodeKey, observed: Observed) -> None:
        """Keep what was seen, and follow the target, which some kinds learn late."""
        before = self.memory.seen.get(key)
        if before is None or before.state is not observed.state:
            self.memory.pending_since.pop(key, None)
        self.memory.seen[key] = observed
        self.memory.absent_since.pop(key, None)
        entry = self.journal.get(key)
        if entry and entry.id and (entry.target, entry.carried) != (observed.target, observed.carried):
            if entry.phase is Phase.OWNED:
                entry = replace(entry, phase=Phase.RECORDED)
            self.journal = self.journal.put(key, replace(entry, target=observed.target, carried=observed.carried))
            self.memory.attached.pop(key, None)

    def category(self, key: NodeKey) -> Category:
        entry = self.journal.get(key)
        return Category.MANAGED if entry and entry.phase.ours else Category.UNMANAGED

    def finish(self, *, released: bool = False) -> Pass:
        waits = [o.after for o in self.outcomes.values() if isinstance(o, Waiting | Blocked)]
        if any(isinstance(o, Ready) for o in self.outcomes.values()) and not waits:
            waits = [self.tools.pace.shallow]
        if self.now < self.memory.deep_at:
            waits.append(self.memory.deep_at - self.now)
        for target, message in self.memory.copied.items():
            self.outcomes.setdefault(NodeKey(STRANGER, target), Kept(Reason.NOT_OWNED, message))
        return Pass(
            journal=self.journal,
            outcomes=dict(self.outcomes),
            after=max(0.0, min(min(waits, default=self.tools.pace.slow), self.tools.pace.deep)),
            creating=tuple(self.creating),
            released=released,
            notes=tuple(self.notes),
        )

    def wait(self, key: NodeKey, outcome: Waiting) -> None:
        """Say that it waits, and do not ask the cloud about it before then."""
        self.outcomes[key] = self.memory.held[key] = outcome
        self.memory.look_at[key] = self.now + outcome.after

    def still(self, key: NodeKey) -> Waiting | Blocked:
        """What it was said to wait for, until then."""
        left = self.memory.look_at[key] - self.now
        said = self.memory.held.get(key) or Waiting(Reason.SETTLING, left, "waits for its next look")
        return replace(said, after=left)

    def hold(self, key: NodeKey, outcome: Waiting | Blocked) -> None:
        """Say so, and try again only after ``outcome.after``: no hot loop on what a retry cannot mend."""
        self.outcomes[key] = outcome
        self.memory.retry_at[key] = self.now + outcome.after
        self.memory.held[key] = outcome

    def due(self, key: NodeKey) -> bool:
        return self.deep or self.now >= self.memory.look_at.get(key, float("-inf")) - 0.001
