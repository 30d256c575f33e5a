"""Renewal: what was sealed and signed under an older key gets the writing key's seal and signature.

In deep passes, a few resources a pass, so that a rotation over thousands of resources is no storm of tag calls.
Both seals prove while both are attached, so it may be cut off anywhere::

    attach the new seal  ->  read it back  ->  record key and signature  ->  take the old seals off
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from freehold.engine import birth_marks, proofs
from freehold.engine.context import PassContext
from freehold.engine.errors import NotFound
from freehold.engine.inventory import TagChange
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Ready, Reason, outcome_of_error
from freehold.engine.resources import NodeKey, Observed

PER_PASS = 2
"""Resources of one object that begin their renewal in one deep pass."""


async def renew_seals(ctx: PassContext) -> None:
    """Bring records and seals of what this pass has verified to the writing key."""
    in_turn = sorted(ctx.verified, key=lambda key: (ctx.node(key).mark_memory.renewal_refused, key))
    old = [key for key in in_turn if _is_old(ctx, key)]
    begin: list[NodeKey] = []
    for key in old:
        if _new_mark(ctx, key) & ctx.deps.codec.fold(ctx.verified[key]):
            _renew_record(ctx, key)
        elif len(begin) < PER_PASS:
            begin.append(key)
    for key in _find_signed_only(ctx):
        _renew_record(ctx, key)
    await _attach_new_seals(ctx, begin)
    await _take_off_old(ctx)
    _renew_identity(ctx)


def _find_signed_only(ctx: PassContext) -> list[NodeKey]:
    """Return what has only a record under an older key, was seen in this deep pass, and has no mark to renew."""
    return [
        key
        for key, entry in ctx.journal.claimed.items()
        if ctx.deep and entry.id and entry.key != ctx.keys.writing and ctx.is_signed(key) and _is_unmarked(ctx, key)
    ]


def _is_unmarked(ctx: PassContext, key: NodeKey) -> bool:
    outcome = ctx.outcomes.get(key)
    if key.kind in ctx.deps.registry and not ctx.kind(key).markable:
        return isinstance(outcome, Ready)
    return isinstance(outcome, Blocked) and outcome.reason is Reason.UNMARKABLE


def _is_old(ctx: PassContext, key: NodeKey) -> bool:
    entry, observed = ctx.journal.get(key), ctx.node(key).last_seen
    settled = isinstance(ctx.outcomes.get(key), Ready) and entry is not None and entry.state is RecordState.OWNED
    return bool(settled and observed and entry and entry.key != ctx.keys.writing and ctx.kind(key).markable)


def _new_mark(ctx: PassContext, key: NodeKey) -> frozenset[str]:
    return ctx.deps.codec.fold([proofs.mark_under(ctx, key, ctx.node(key).observed, ctx.keys.writing)])


def _renew_record(ctx: PassContext, key: NodeKey) -> None:
    entry = ctx.journal.entries[key]
    record = replace(entry, key=ctx.keys.writing, signature=ctx.sign(key, entry.id, entry.incarnation))
    ctx.record(key, record)


async def _attach_new_seals(ctx: PassContext, keys: Collection[NodeKey]) -> None:
    """Attach the new seals, beside the old ones; a later deep pass reads them back."""
    changes = [TagChange(ctx.node(key).observed.target, _join_both_seals(ctx, key)) for key in keys]
    if not changes:
        return
    await ctx.save_before_write()
    ctx.state.last_sent = ctx.now
    failed = await ctx.deps.tagger.attach(changes)
    for key in keys:
        target = ctx.node(key).observed.target
        ctx.node(key).mark_memory.renewal_refused = False
        if target in failed:
            ctx.node(key).mark_memory.renewal_refused = True  # the others are tried before it next time
            ctx.outcomes[key] = replace(outcome_of_error(failed[target]), observed=ctx.node(key).observed)


def _join_both_seals(ctx: PassContext, key: NodeKey) -> frozenset[str]:
    """Return the new one; in a map with the old one in the same value, which it overwrites."""
    codec, observed = ctx.deps.codec, ctx.node(key).observed
    new = frozenset({proofs.mark_under(ctx, key, observed, ctx.keys.writing)})
    if not codec.keyed:
        return new
    have = codec.fold(ctx.verified[key])
    return codec.join_seals({*new, *(seal for seal in proofs.seals(ctx, key, observed) if codec.fold([seal]) <= have)})


async def _take_off_old(ctx: PassContext) -> None:
    """Take other seals off what is recorded under the writing key. In a map the new one overwrites both."""
    changes = []
    for key, tags in ctx.verified.items():
        entry = ctx.journal.get(key)
        if entry and entry.key == ctx.keys.writing and (stale := _find_old_marks(ctx, key, tags)):
            changes.append(TagChange(entry.target, stale))
    if not changes:
        return
    await ctx.save_before_write() if ctx.deps.codec.keyed else await ctx.save()
    take_off = ctx.deps.tagger.attach if ctx.deps.codec.keyed else ctx.deps.tagger.detach
    for target, error in (await take_off(changes)).items():
        if not isinstance(error, NotFound):
            ctx.notes.append(f"{target}: an old seal could not be taken off: {error.message}")


def _find_old_marks(ctx: PassContext, key: NodeKey, tags: Collection[str]) -> frozenset[str]:
    """Return what leaves the writing key's seal alone on ``tags``: in a map that very mark, if other seals are beside
    it.

    Elsewhere the marks of this very node that are neither the one under the writing key nor a birth mark.
    """
    codec, observed = ctx.deps.codec, ctx.node(key).observed
    new = _new_mark(ctx, key)
    if codec.keyed:
        beside = codec.fold(proofs.seals(ctx, key, observed)) - new
        return frozenset() if beside.isdisjoint(codec.fold(tags)) else new
    return frozenset(tag for tag in tags if not codec.fold([tag]) & new and _is_seal_of(ctx, key, observed, tag))


def _is_seal_of(ctx: PassContext, key: NodeKey, observed: Observed, tag: str) -> bool:
    marks = ctx.deps.codec.read([tag])
    if observed.carried:
        own = (ctx.owner.uuid.casefold(), ctx.deps.codec.carried_id(key.kind, observed.id).casefold())
        return any((mark.uuid.casefold(), mark.id.casefold()) == own for mark in marks.carried)
    return any(
        str(mark.key).casefold() == str(key).casefold()
        and mark.word not in birth_marks.nonces(ctx, key)
        and not ctx.keys.recognises(key.kind, mark.word)
        for mark in marks.nodes
    )


def _renew_identity(ctx: PassContext) -> None:
    """Renew the identity once nothing of ours needs an older key: from then on only keyed marks count.

    Not before everything that is wanted is on record, and what an index shows late has been seen.
    """
    entries, writing = ctx.journal.entries, ctx.keys.writing
    if not ctx.deep or ctx.journal.key == writing or not ctx.graph.nodes.keys() <= entries.keys():
        return
    long_seen = ctx.state.identity_is_new or all(ctx.is_settled(key, ctx.state.first_seen) for key in ctx.graph.nodes)
    if long_seen and all(entry.key == writing for entry in ctx.journal.claimed.values()):
        ctx.journal = replace(ctx.journal, key=ctx.keys.writing)
