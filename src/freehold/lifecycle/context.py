"""The working state of one pass: journal, outcomes, and what nonces, seals and marks prove for its object."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from freehold.lifecycle import ownership
from freehold.lifecycle.decisions import Conclusion, Decision
from freehold.lifecycle.graph import Graph
from freehold.lifecycle.interface import EngineDeps, PassResult
from freehold.lifecycle.journal import Entry, Journal, Phase, Store
from freehold.lifecycle.keys import ObjectKeys
from freehold.lifecycle.kinds import Dedupe, Kind, NodeKey, NonceSet, Observed, State, Tagging, Want
from freehold.lifecycle.outcomes import Blocked, Category, Kept, Outcome, Ready, Reason, Waiting
from freehold.lifecycle.ownership import CarriedMark, Evidence, Owner, Strength
from freehold.lifecycle.port import Call, Effect
from freehold.lifecycle.state import NodeState, ObjectState

SPARE_ATTEMPTS = 3
"""A journal rolled back by a restore may have forgotten this many attempts: their nonces are still known."""


CLOCK_SKEW = 120.0
"""Seconds by which a cloud's clock and ours may disagree."""


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
    notes: list[str] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    """The ids of what this pass has seen gone."""
    deep: bool = False
    saved: Journal | None = None
    stored_at: float = float("-inf")
    """When a write of the object last succeeded in this pass."""
    decisions: tuple[Decision, ...] = ()
    """What a person has decided, and nothing has acted on yet."""
    decided: list[Conclusion] = field(default_factory=list)
    approved: dict[NodeKey, Decision] = field(default_factory=dict)
    """Surplus that a person wants to be deleted now."""
    come_back: float = float("inf")
    """Seconds after which something is due that is no outcome of a resource."""

    def __post_init__(self) -> None:
        self.saved = self.journal
        self.keys: ObjectKeys = self.deps.ring.of(
            self.owner, unkeyed=not self.journal.key, legacy_secret=self.deps.legacy_secret
        )

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
        """The kinds that this object may have used: all that there are where the spec or the journal cannot tell.

        Those that no index lists are always among them: after a restore neither spec, record nor index may name one.
        """
        registry, entries = self.deps.registry, self.journal.entries
        if not self.graph.nodes or not entries:
            return list(registry)
        used = {key.kind for key in entries} | {key.kind for key in self.graph.nodes}
        return [kind for kind in registry if kind in used or not registry[kind].indexed]

    def longest_settle(self) -> float:
        """Seconds after which no create or attach for this object can take effect any more."""
        return max((self.deps.registry[kind].settle for kind in self.possible_kinds()), default=0.0)

    def unsettled(self) -> float:
        """Seconds until no create or attach of this or an earlier process can take effect any more."""
        since = self.state.last_sent
        if not self.state.minted:
            since = max(since, self.state.first_seen)
        return since + self.longest_settle() - self.now

    async def save(self) -> None:
        """One patch for all that changed; nothing when nothing did."""
        if self.journal != self.saved:
            await self._store()

    async def save_before_write(self) -> None:
        """Before a create or an attach: save, or, where nothing changed, write the same journal again.

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
        state.tried = journal
        try:
            await self.deps.port.send(call)
        except Exception:  # whatever it was, raised again below
            state.invalidate()  # what was learnt is not on record, so no requeue time that rests on it may be kept
            raise
        self.saved, self.stored_at = journal, self.now
        state.confirmed = journal
        on_record = {(key.kind, entry.id) for key, entry in journal.entries.items() if entry.id}
        state.made = {made: seen for made, seen in state.made.items() if (made[0].kind, seen.id) not in on_record}

    def nonces(self, key: NodeKey) -> frozenset[str]:
        """The birth marks that may still turn up: of this attempt, and of later ones that a restore forgot.

        What became of earlier attempts is settled: their nonces are found on copies only. Asked for under all
        readable keys: the one that wrote may have changed since.
        """
        entry = self.journal.get(key)
        first = entry.attempt if entry else 1
        attempts = range(first, first + SPARE_ATTEMPTS + 1)
        return frozenset(self.keys.nonce(digest, key, n) for digest in self.keys.readable for n in attempts)

    def any_nonce(self, kind: str) -> NonceSet:
        """Every birth mark of this object's for a resource of ``kind`` that is not known to be spent."""
        listed: frozenset[str] = frozenset()
        spent: set[str] = set()
        for key in {*self.journal.entries, *self.graph.nodes}:
            if key.kind == kind:
                listed |= self.nonces(key)
                spent |= self._spent(key)
        return _AnyNonce(self.keys, kind, listed - spent, frozenset(spent))

    def sought(self, key: NodeKey) -> NonceSet:
        """The birth marks by which what a create of this node made is looked for.

        All that are not spent, where a tag beside them names the node: a restored journal may have forgotten more
        attempts than can be listed, and what has no name is found by nothing else.
        """
        return self.any_nonce(key.kind) if self.kind(key).tagging is Tagging.ON_CREATE else self.nonces(key)

    def is_of_another_node(self, want: Want, observed: Observed) -> bool:
        """Whether it was found by a birth mark alone, and that is not of this node."""
        key = want.key
        if self.kind(key).tagging is not Tagging.ON_CREATE or observed.name == want.name:
            return False
        if self.has_birth_mark(key, observed) or self.has_unspent_birth_mark(key, observed):
            return False
        return self.has_nonce(key._replace(logical=""), observed)

    def has_nonce(self, key: NodeKey, observed: Observed) -> bool:
        """Whether it has a nonce of this object's that is not spent, of whichever node of its kind."""
        known = self.any_nonce(key.kind)
        return any(word in known for word in self.possible_nonces(key, observed))

    def _spent(self, key: NodeKey) -> set[str]:
        """The nonces of attempts whose outcome is on record."""
        entry = self.journal.get(key)
        known = bool(entry and entry.id and self.is_signed(key))  # a forged id spends nothing
        last = (entry.attempt if known else entry.attempt - 1) if entry else 0
        spent = {self.keys.nonce(digest, key, n) for digest in self.keys.readable for n in range(1, last + 1)}
        return spent | ({key.logical} if last and self.keys.recognises(key.kind, key.logical) else set())

    def without_resource(self, key: NodeKey, vacant: Entry) -> Entry:
        """``vacant`` is to follow the record of a resource that is gone.

        A record that we did not sign says nothing about our attempt: its nonce may still be on a resource of ours.
        What is made only once, and went without our request, is not made again.
        """
        entry = self.journal.entries[key]
        if self.kind(key).once and entry.phase is not Phase.REUSED and not entry.deleting:
            vacant = replace(vacant, gone=entry.id)
        forged = entry.phase.ours and not self.is_signed(key) and self.kind(key).dedupe is Dedupe.NONCE
        return replace(vacant, attempt=entry.attempt) if forged else vacant

    def signing_key(self, key: NodeKey) -> str:
        """The digest of the key that this entry's seal and signature are made with, or will be."""
        entry = self.journal.get(key)
        named = entry.key if entry and entry.phase.ours else self.keys.writing
        return named if named in self.keys.readable else self.keys.writing

    def seals(self, key: NodeKey, observed: Observed) -> frozenset[str]:
        """The marks that bind this very resource to this node, one a readable key; copied ones fit nowhere else."""
        return frozenset(self.mark_under(key, observed, digest) for digest in self.keys.readable)

    def seal_mark(self, key: NodeKey, observed: Observed) -> str:
        """The one of them that we want attached."""
        return self.mark_under(key, observed, self.signing_key(key))

    def mark_under(self, key: NodeKey, observed: Observed, digest: str) -> str:
        """The mark of this node on this resource, sealed with the key ``digest``."""
        codec = self.deps.codec
        if observed.carried:
            seal = self.keys.carried_seal(digest, key.kind, codec.carried_id(key.kind, observed.id), observed.target)
            return codec.carried(self.owner, key.kind, observed.id, seal)
        return codec.node(key, self.keys.seal(digest, key, observed.target))

    def carried_marks(self, key: NodeKey, id_: str, target: str) -> frozenset[str]:
        """Every form of our mark for a carried resource that may be on its carrier: plain, and sealed with each key."""
        plain = self.deps.codec.carried(self.owner, key.kind, id_)
        return frozenset({plain}) | self.seals(key, Observed(id_, "", State.READY, target, carried=True))

    def marks(self, key: NodeKey, observed: Observed) -> frozenset[str]:
        """The tags that we want on its target."""
        mark = frozenset({self.seal_mark(key, observed)})
        return mark if observed.carried else self._named(key) | mark

    def _named(self, key: NodeKey) -> frozenset[str]:
        """The marks that say whose it is and which node; copied ones say the same."""
        codec = self.deps.codec
        return codec.owner(self.owner) | codec.within(self.owner) | codec.label(key)

    def birth_tags(self, key: NodeKey, nonce: str, beside: frozenset[str]) -> frozenset[str]:
        """What a create sets, of a kind that takes tags on create: its marks, and ``beside`` them."""
        return self._over(self._named(key) | {self.deps.codec.birth(key, nonce)}, beside)

    def tags(self, key: NodeKey, observed: Observed) -> frozenset[str]:
        """The marks and, where they are not on somebody else's carrier, the node's and the user's tags."""
        return self._over(self.marks(key, observed), frozenset() if observed.carried else self.beside_marks(key))

    def node_tags(self, key: NodeKey) -> frozenset[str]:
        """The node's own tags, if the resource is ours and can have any."""
        if key not in self.graph.nodes or self.kind(key).tagging is Tagging.NEVER:
            return frozenset()
        return self.graph.nodes[key].tags

    def tags_on_given(self, key: NodeKey) -> frozenset[str]:
        """What belongs on the resource of this node if it is not ours."""
        node = self.graph.nodes[key]
        return self._over(node.given_tags, self.user_tags if node.user_tagged else frozenset())

    def beside_marks(self, key: NodeKey) -> frozenset[str]:
        """The node's and the user's tags, for a resource of ours."""
        return self._over(self.node_tags(key), self.user_tags)

    def _over(self, tags: frozenset[str], others: frozenset[str]) -> frozenset[str]:
        """Both; where tags are a map, of ``others`` only those whose keys ``tags`` do not have."""
        codec = self.deps.codec
        keys = {codec.key(tag) for tag in tags} if codec.keyed else frozenset[str]()
        return tags | {tag for tag in others if codec.key(tag) not in keys}

    def lagging(self, key: NodeKey, missing: frozenset[str]) -> bool:
        """Whether what a read does not show was attached so lately that the read may be behind."""
        attached = self.node(key).attached
        if attached is None or self.now - attached.at >= self.kind(key).settle:
            return False
        return self.deps.codec.fold(missing) <= self.deps.codec.fold(attached.tags)

    def matches_own_create(self, key: NodeKey, observed: Observed) -> bool:
        """Whether it has a birth mark of ours: a nonce in a name, or as the seal of a mark set on create.

        It tells which resource a create of ours made. It never authorises a delete: a name or a tag can
        be copied, and what existed before the create was sent, or was made by somebody else, cannot have come of it.
        """
        return self.has_birth_mark(key, observed) and not self.not_from_intent(key, observed)

    def not_from_intent(self, key: NodeKey, observed: Observed) -> str:
        """Why the open intent cannot have made it, for a person; empty when it can."""
        entry = self.journal.get(key)
        if entry is None or entry.phase is not Phase.INTENDED:
            return ""
        # The look before a create shows what is old, so what the create answered with is not, whatever our clock says.
        old = observed.created_at is not None and observed.created_at < entry.opened - CLOCK_SKEW
        if old and self.node(key).answered != observed.id:
            return "it is older than its create by this operator's clock"
        if entry.by and observed.created_by and observed.created_by != entry.by:
            return f"{observed.created_by} created it, and the create was sent as {entry.by}"
        return ""

    def has_birth_mark(self, key: NodeKey, observed: Observed) -> bool:
        """Whether it has a birth mark of one of this node's attempts that may still turn up, whenever it was made."""
        return not self.possible_nonces(key, observed).isdisjoint(self.nonces(key))

    def has_unspent_birth_mark(self, key: NodeKey, observed: Observed) -> bool:
        """Whether its marks name this node with some nonce of ours whose attempt is on no record.

        A journal that a restore rolled back may have forgotten more attempts than are looked for: refused creates count
        too. Whose node it is only the mark tells, which can be copied, so such a resource is not taken.
        """
        words = self.possible_nonces(key, observed) if self.kind(key).tagging is Tagging.ON_CREATE else ()
        if (key.kind, observed.id) in {(known.kind, entry.id) for known, entry in self.journal.entries.items()}:
            return False
        spent = self._spent(key)
        return any(self.keys.recognises(key.kind, word) and word not in spent for word in words)

    def attempt_of(self, key: NodeKey, observed: Observed) -> int:
        """The attempt of this node that its birth mark is of; 0 where it has none that may still turn up."""
        words, entry = self.possible_nonces(key, observed), self.journal.get(key)
        first = entry.attempt if entry else 1
        for attempt in range(first, first + SPARE_ATTEMPTS + 1):
            if any(self.keys.nonce(digest, key, attempt) in words for digest in self.keys.readable):
                return attempt
        return 0

    def possible_nonces(self, key: NodeKey, observed: Observed) -> frozenset[str]:
        """Everything on it that may be a nonce: of a kind whose creates carry none, nothing is.

        ``key`` may have no logical name, where that is not known.
        """
        words: set[str] = set()
        kind = self.kind(key)
        if kind.dedupe is Dedupe.NONCE:
            words |= {word for text in observed.nonce_fields for word in text.casefold().replace("_", "-").split("-")}
        if observed.tags is not None and kind.tagging is Tagging.ON_CREATE:
            words |= {mark.seal for mark in self.deps.codec.read(observed.tags).nodes if self._is_of(mark.key, key)}
        return frozenset(words)

    def _is_of(self, marked: NodeKey, key: NodeKey) -> bool:
        """Whether a mark is of this node, which it may spell in another way, or of its kind where no node is known."""
        codec = self.deps.codec
        one, other = (codec.fold({*codec.label(node), codec.birth(node, "-")}) for node in (marked, key))
        return one == other or (not key.logical and marked.kind == key.kind)

    def evidence(self, key: NodeKey, observed: Observed, tags: Collection[str]) -> Evidence:
        """What the tags on a target prove about this node."""
        entry, codec = self.journal.get(key), self.deps.codec
        recorded = bool(entry and entry.id == observed.id and self.is_signed(key))
        if observed.carried:
            mark = CarriedMark(key.kind, self.owner.uuid, codec.carried_id(key.kind, observed.id))
            vouched = self._vouched(key, observed, tags)
            found = ownership.proves_carried(codec, tags, mark, recorded=recorded, vouched=vouched)
        else:
            found = ownership.proves(codec, self.owner, tags, acceptable=self.seals(key, observed), recorded=recorded)
        if found.strength is Strength.COPIED and self.is_accepted(key, observed, tags):
            return Evidence(Strength.PROVEN, "record and marks agree; a person accepted that its key is lost")
        return found

    def _vouched(self, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
        """Whether the carrier's mark has our seal, or the carried resource a nonce of ours in its name."""
        if self.has_seal(key, observed, tags):
            return True
        entry = self.journal.get(key)
        own = self.has_birth_mark(key, observed) if entry and entry.id == observed.id else False
        return own or self.has_nonce(key, observed)

    def has_seal(self, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
        """Whether the carrier has our mark for this carried resource with a seal, which only we can write."""
        keyed = {self.mark_under(key, observed, digest) for digest in self.keys.readable}
        plain = self.deps.codec.carried(self.owner, key.kind, observed.id)
        return not self.deps.codec.fold(keyed - {plain}).isdisjoint(self.deps.codec.fold(tags))

    def is_accepted(self, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
        """Whether its key is lost for ever, a person accepted that, and the record agrees with the marks."""
        entry = self.journal.get(key)
        if entry is None or entry.id != observed.id or not entry.phase.ours:
            return False
        if not self.deps.ring.forgives(entry.key, self.owner.uuid, str(key), entry.id):
            return False
        if observed.carried:
            return True
        codec = self.deps.codec
        nodes = {str(mark.key).casefold() for mark in codec.read(tags).nodes}
        return codec.fold(codec.owner(self.owner)) <= codec.fold(tags) and str(key).casefold() in nodes

    def sign(self, key: NodeKey, ident: str) -> str:
        """The signature that belongs beside ``ident`` in the journal, by the writing key."""
        return self.keys.signature(self.keys.writing, key.kind, ident)

    def is_signed(self, key: NodeKey) -> bool:
        """Whether the operator itself recorded this id as ours. Without it only marks can prove, and none is given."""
        entry = self.journal.get(key)
        if entry is None or not entry.phase.ours or entry.key not in self.keys.readable:
            return False
        return hmac.compare_digest(entry.signature, self.keys.signature(entry.key, key.kind, entry.id))

    def settled(self, key: NodeKey, since: float) -> bool:
        return self.now - since >= self.kind(key).settle

    def is_carried_by(self, key: NodeKey, id_: str, target: str) -> bool:
        """Whether ``target`` can carry the mark of this resource: both come from the journal, which others may edit."""
        if key.kind not in self.deps.registry:
            return False
        return self.kind(key).driver.identify(target, self.deps.codec.carried_id(key.kind, id_)) == id_

    def delete_is_fresh(self, key: NodeKey) -> bool:
        """Whether its delete may still be under way although a read does not show it: for twice the published time."""
        sent = self.node(key).delete_sent
        return sent is not None and self.now - sent < 2 * self.kind(key).delete_time

    def remember(self, key: NodeKey, observed: Observed) -> None:
        """Keep what was seen, and follow the target, which some kinds learn late."""
        before = self.node(key).last_seen
        if before is None or before.state is not observed.state:
            self.node(key).pending_since = None
        self.node(key).last_seen = observed
        self.node(key).seen_since_attach = True
        self.node(key).absent_since = None
        entry = self.journal.get(key)
        if entry and entry.id and (entry.target, entry.carried) != (observed.target, observed.carried):
            if entry.phase is Phase.OWNED:
                entry = replace(entry, phase=Phase.RECORDED)
            self.journal = self.journal.put(key, replace(entry, target=observed.target, carried=observed.carried))
            self.node(key).attached = None

    def category(self, key: NodeKey) -> Category:
        entry = self.journal.get(key)
        if entry is None or not entry.phase.ours:
            return Category.UNMANAGED
        shared = self.graph.nodes[key].shared if key in self.graph.nodes else entry.shared
        return Category.SHARED if shared else Category.MANAGED

    def finish(self, *, released: bool = False) -> PassResult:
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
        )

    def resolve(self, key: NodeKey) -> str:
        """The command with which a person decides about a create of ``key``."""
        return f"freehold resolve {self.owner.name} -n {self.owner.namespace} {key}"

    def come_back_after(self, seconds: float) -> None:
        """Come back then, at the latest."""
        self.come_back = min(self.come_back, seconds)

    def requeue(self, key: NodeKey, outcome: Waiting) -> None:
        """It waits: do not ask the cloud about it before then."""
        self.outcomes[key] = self.node(key).held = outcome
        self.node(key).look_at = self.now + outcome.after

    def pending_outcome(self, key: NodeKey) -> Waiting | Blocked:
        """The outcome that it waits with, and how long."""
        left = self.node(key).look_at - self.now
        said = self.node(key).held or Waiting(Reason.SETTLING, left, "waits for its next look")
        return replace(said, after=left)

    def block(self, key: NodeKey, outcome: Waiting | Blocked) -> None:
        """Blocked: try again only after ``outcome.after``, so that a lasting refusal makes no hot loop."""
        self.outcomes[key] = outcome
        self.node(key).retry_at = self.now + outcome.after
        self.node(key).held = outcome

    def due(self, key: NodeKey) -> bool:
        return self.deep or self.now >= self.node(key).look_at - 0.001


@dataclass(frozen=True)
class _AnyNonce:
    """The nonces of one kind: ``listed`` ones, and every other of this object's that is not ``spent``."""

    keys: ObjectKeys
    kind: str
    listed: frozenset[str]
    spent: frozenset[str]

    def __contains__(self, word: object) -> bool:
        if word in self.listed:
            return True
        return isinstance(word, str) and word not in self.spent and self.keys.recognises(self.kind, word)
