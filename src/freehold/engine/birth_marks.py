"""Birth marks: which resource a create of this object made, while no record tells.

A nonce is in the name or in the tags with which a resource is created. It tells which resource a create made. Alone it
never authorises a delete: names and tags can be copied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from freehold.engine.context import PassContext
from freehold.engine.journal import Entry, RecordState
from freehold.engine.keys import ObjectKeys
from freehold.engine.kinds import Dedupe, Tagging
from freehold.engine.resources import NodeKey, NonceSet, Observed, Want

SPARE_ATTEMPTS = 3
"""A journal rolled back by a restore may have forgotten this many attempts: their nonces are still known."""

CLOCK_SKEW = 120.0
"""Seconds by which a cloud's clock and ours may disagree."""


def nonces(ctx: PassContext, key: NodeKey) -> frozenset[str]:
    """Return the birth marks that may still turn up: of this attempt, and of later ones that a restore forgot.

    What became of earlier attempts is settled: their nonces are found on copies only. Asked for under all
    readable keys: the one that wrote may have changed since.
    """
    entry = ctx.journal.get(key)
    first = entry.attempt if entry else 1
    attempts = range(first, first + SPARE_ATTEMPTS + 1)
    return frozenset(ctx.keys.nonce(digest, key, n) for digest in ctx.keys.readable for n in attempts)


def any_nonce(ctx: PassContext, kind: str) -> NonceSet:
    """Return every birth mark of this object's for a resource of ``kind`` that is not known to be spent."""
    listed: frozenset[str] = frozenset()
    spent: set[str] = set()
    for key in {*ctx.journal.entries, *ctx.graph.nodes}:
        if key.kind == kind:
            listed |= nonces(ctx, key)
            spent |= _find_spent_nonces(ctx, key)
    return _UnspentNonces(ctx.keys, kind, listed - spent, frozenset(spent))


def sought(ctx: PassContext, key: NodeKey) -> NonceSet:
    """Return the birth marks by which what a create of this node made is looked for.

    All that are not spent, where a tag beside them names the node: a restored journal may have forgotten more
    attempts than can be listed, and what has no name is found by nothing else.
    """
    return any_nonce(ctx, key.kind) if ctx.kind(key).tagging is Tagging.ON_CREATE else nonces(ctx, key)


def is_of_another_node(ctx: PassContext, want: Want, observed: Observed) -> bool:
    """Return whether it was found by a birth mark alone, and that is of another node."""
    key = want.key
    if ctx.kind(key).tagging is not Tagging.ON_CREATE or observed.name == want.name:
        return False
    if has_birth_mark(ctx, key, observed) or has_unspent_birth_mark(ctx, key, observed):
        return False
    return has_nonce(ctx, key._replace(logical=""), observed)


def has_nonce(ctx: PassContext, key: NodeKey, observed: Observed) -> bool:
    """Return whether it has a nonce of this object's that is not spent, of whichever node of its kind."""
    known = any_nonce(ctx, key.kind)
    return any(word in known for word in possible_nonces(ctx, key, observed))


def _find_spent_nonces(ctx: PassContext, key: NodeKey) -> set[str]:
    """Return the nonces of attempts whose outcome is on record."""
    entry = ctx.journal.get(key)
    known = bool(entry and entry.id and ctx.is_signed(key))  # a forged id spends nothing
    last = (entry.attempt if known else entry.attempt - 1) if entry else 0
    spent = {ctx.keys.nonce(digest, key, n) for digest in ctx.keys.readable for n in range(1, last + 1)}
    return spent | ({key.logical} if last and ctx.keys.recognises(key.kind, key.logical) else set())


def without_resource(ctx: PassContext, key: NodeKey, vacant: Entry) -> Entry:
    """Return the record of a node without a resource, so that the spent birth marks of what has gone stay known.

    A record that we did not sign says nothing about our attempt: its nonce may still be on a resource of ours.
    What is made only once, and went without our request, is not made again.
    """
    entry = ctx.journal.entries[key]
    if ctx.kind(key).creation.never_recreate and entry.state is not RecordState.REUSED and not entry.deleting:
        vacant = replace(vacant, gone=entry.id)
    forged = entry.state.is_claimed and not ctx.is_signed(key) and ctx.kind(key).dedupe is Dedupe.NONCE
    return replace(vacant, attempt=entry.attempt) if forged else vacant


def matches_own_create(ctx: PassContext, key: NodeKey, observed: Observed) -> bool:
    """Return whether it has a birth mark of ours: a nonce in a name, or as the seal of a mark set on create.

    It tells which resource a create of ours made. Alone it never authorises a delete: a name or a tag can
    be copied, and what existed before the create was sent, or was made by somebody else, cannot have come of it.
    """
    return has_birth_mark(ctx, key, observed) and not not_from_intent(ctx, key, observed)


def not_from_intent(ctx: PassContext, key: NodeKey, observed: Observed) -> str:
    """Say why the open intent cannot have made it, for a person; empty when it can."""
    entry = ctx.journal.get(key)
    if entry is None or entry.state is not RecordState.INTENDED:
        return ""
    # The look before a create shows what is old, so what the create answered with is not, whatever our clock says.
    old = observed.created_at is not None and observed.created_at < entry.opened - CLOCK_SKEW
    if old and ctx.node(key).answered != observed.id:
        return "it is older than its create by this operator's clock"
    if entry.by and observed.created_by and observed.created_by != entry.by:
        return f"{observed.created_by} created it, and the create was sent as {entry.by}"
    return ""


def has_birth_mark(ctx: PassContext, key: NodeKey, observed: Observed) -> bool:
    """Return whether it has a birth mark of an attempt of this node that may still turn up."""
    return not possible_nonces(ctx, key, observed).isdisjoint(nonces(ctx, key))


def has_unspent_birth_mark(ctx: PassContext, key: NodeKey, observed: Observed) -> bool:
    """Return whether its marks name this node with some nonce of ours whose attempt is on no record.

    A journal that a restore rolled back may have forgotten more attempts than are looked for: refused creates count
    too. Whose node it is only the mark tells, which can be copied, so such a resource is not taken.
    """
    words = possible_nonces(ctx, key, observed) if ctx.kind(key).tagging is Tagging.ON_CREATE else ()
    if (key.kind, observed.id) in {(known.kind, entry.id) for known, entry in ctx.journal.entries.items()}:
        return False
    spent = _find_spent_nonces(ctx, key)
    return any(ctx.keys.recognises(key.kind, word) and word not in spent for word in words)


def attempt_of(ctx: PassContext, key: NodeKey, observed: Observed) -> int:
    """Return the attempt of this node that its birth mark is of; 0 where it has none that may still turn up."""
    words, entry = possible_nonces(ctx, key, observed), ctx.journal.get(key)
    first = entry.attempt if entry else 1
    for attempt in range(first, first + SPARE_ATTEMPTS + 1):
        if any(ctx.keys.nonce(digest, key, attempt) in words for digest in ctx.keys.readable):
            return attempt
    return 0


def possible_nonces(ctx: PassContext, key: NodeKey, observed: Observed) -> frozenset[str]:
    """Return everything on it that may be a nonce: of a kind whose creates carry none, nothing is.

    ``key`` may have no logical name, where that is not known.
    """
    words: set[str] = set()
    kind = ctx.kind(key)
    if kind.dedupe is Dedupe.NONCE:
        words |= {word for text in observed.nonce_fields for word in text.casefold().replace("_", "-").split("-")}
    if observed.tags is not None and kind.tagging is Tagging.ON_CREATE:
        words |= {mark.word for mark in ctx.deps.codec.read(observed.tags).nodes if _is_of(ctx, mark.key, key)}
    return frozenset(words)


def _is_of(ctx: PassContext, marked: NodeKey, key: NodeKey) -> bool:
    """Return whether a mark is of this node, however it spells it, or of its kind where no node is known."""
    codec = ctx.deps.codec
    one, other = (codec.fold({*codec.label(node), codec.birth(node, "-")}) for node in (marked, key))
    return one == other or (not key.logical and marked.kind == key.kind)


@dataclass(frozen=True)
class _UnspentNonces:
    """The nonces of one kind: ``listed`` ones, and every other of this object's that is not ``spent``."""

    keys: ObjectKeys
    kind: str
    listed: frozenset[str]
    spent: frozenset[str]

    def __contains__(self, word: object) -> bool:
        if word in self.listed:
            return True
        return isinstance(word, str) and word not in self.spent and self.keys.recognises(self.kind, word)
