"""Tags where they are a map: an attach overwrites the value under its key, and a detach takes whatever is there.

So before either the resource's tags are read: another's value under a key of ours is told and left, and only the value
that was read is taken off. Where tags are a set neither can happen, and nothing is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from freehold.engine import proofs, wanted_tags
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagChange
from freehold.engine.outcomes import Blocked, Ready, Reason
from freehold.engine.ownership import Codec
from freehold.engine.resources import NodeKey, Observed

Taken = tuple[tuple[str, str], ...]
"""Wanted tags, each with another's that has its key."""


def conflicts(codec: Codec, wanted: Collection[str], have: Collection[str], ours: Collection[str]) -> Taken:
    """Which of ``wanted`` would overwrite a tag of ``have`` that is none of ``ours``."""
    if not codec.keyed:
        return ()
    there, known = {codec.key(tag): tag for tag in have}, codec.fold(ours)
    pairs = [(tag, there[codec.key(tag)]) for tag in sorted(set(wanted).difference(have)) if codec.key(tag) in there]
    return tuple(
        (tag, present)
        for tag, present in pairs
        if not codec.fold([tag]) <= codec.fold([present]) and known.isdisjoint(codec.fold([present]))
    )


def taken(ctx: PassContext, key: NodeKey, observed: Observed, have: Collection[str]) -> Taken:
    """Of the tags that we want on this resource of ours, or on its carrier."""
    if not ctx.deps.codec.keyed:
        return ()
    return conflicts(ctx.deps.codec, wanted_tags.tags(ctx, key, observed), have, _ours(ctx, key, observed, have))


def _ours(ctx: PassContext, key: NodeKey, observed: Observed, have: Collection[str]) -> frozenset[str]:
    """What we may have attached: with an older spec, another key of the ring, or an earlier name of the node."""
    codec = ctx.deps.codec
    entry = ctx.journal.get(key)
    ours = ctx.journal.tags | proofs.seals(ctx, key, observed) | frozenset(entry.node_tags if entry else ())
    ours |= lost_seal(ctx, key, observed, have)
    if observed.carried:
        return ours
    # A tag may have no room for the whole name, so that it is not only read.
    marks = codec.read(have).nodes
    for name in {key.beside(observed.id), *(mark.key for mark in marks)}:
        seals = {ctx.keys.seal(digest, name, observed.target) for digest in ctx.keys.readable}
        for seal in seals & {mark.seal for mark in marks}:
            ours |= codec.label(name) | {codec.node(name, seal)}
    return ours


def lost_seal(ctx: PassContext, key: NodeKey, observed: Observed, have: Collection[str]) -> frozenset[str]:
    """The value in place of our seal, if a person accepted its record, or decided about it: record and marks agree."""
    codec = ctx.deps.codec
    if not codec.keyed:
        return frozenset()
    if not (proofs.is_accepted(ctx, key, observed, have) or proofs.is_decided(ctx, key, observed, have)):
        return frozenset()
    place = codec.key(proofs.seal_mark(ctx, key, observed))
    return frozenset(tag for tag in have if codec.key(tag) == place)


async def attachable(
    ctx: PassContext, key: NodeKey, observed: Observed
) -> tuple[frozenset[str], frozenset[str] | None]:
    """What may be attached without overwriting anything, and what is there, None where that was not read.

    The rest is remembered, to be told. Raises CloudError.
    """
    wanted = wanted_tags.tags(ctx, key, observed)
    if not ctx.deps.codec.keyed:
        return wanted, observed.tags
    have = observed.tags
    if have is None or observed.carried:
        have = await ctx.deps.tagger.tags_of(observed.target)
    ctx.node(key).taken = taken(ctx, key, observed, have)
    return wanted - {tag for tag, _ in ctx.node(key).taken}, have


async def detach(ctx: PassContext, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
    """Take tags off; of a map only those whose very value is there now. The reply holds the targets that failed."""
    codec, tagger = ctx.deps.codec, ctx.deps.tagger
    if not codec.keyed:
        return await tagger.detach(changes)
    failed: dict[str, CloudError] = {}
    there: list[TagChange] = []
    for change in changes:
        try:
            have = await tagger.tags_of(change.target)
        except CloudError as error:
            failed[change.target] = error
            continue
        if tags := frozenset(tag for tag in have if codec.fold([tag]) <= codec.fold(change.tags)):
            there.append(TagChange(change.target, tags))
    return {**failed, **(await tagger.detach(there) if there else {})}


def superseded(codec: Codec, tags: Collection[str], wanted: Collection[str]) -> frozenset[str]:
    """Those of ``tags`` that an attach of ``wanted`` overwrites, so that they need not be detached, nor may be."""
    keys = {codec.key(tag) for tag in wanted} if codec.keyed else set()
    return frozenset(tag for tag in tags if codec.key(tag) in keys)


def proof_taken(
    ctx: PassContext, key: NodeKey, observed: Observed, pairs: Taken, have: Collection[str]
) -> Blocked | None:
    """If the mark that proves is among ``pairs``: without it nothing is changed. ``have``: all tags that are there."""
    present = dict(pairs).get(proofs.seal_mark(ctx, key, observed)) if pairs else None
    if present is None:
        return None
    what = f"{observed.name} ({observed.id})"
    if not observed.carried and proofs.marks_name(ctx, key, have):
        return Blocked(Reason.TAG_TAKEN, f"{what}: {_other_operator(ctx.deps.codec.key(present))}", observed=observed)
    detach = ctx.deps.codec.detach_command(observed.target, [present])
    return Blocked(
        Reason.TAG_TAKEN,
        f"{what}: {said(pairs)}, so the mark of {key} cannot be attached. If the resource was made for this object, "
        f"detach that tag: {detach}",
        observed=observed,
    )


def _other_operator(tag: str) -> str:
    """Say what a seal of an unknown key means where all other marks are ours: two operators serve one object (ADR 5).

    A copy that was restored elsewhere begins so, with a key of its own after ``freehold keys accept`` or ``keys new``.
    """
    return (
        f"its tag {tag} was made with a key that this operator's key ring lacks, and its other marks are this "
        "object's: another operator works on this object too (from a backup that was restored elsewhere?), or "
        "somebody changed the tag. Nothing of it is changed. End one of the two operators; if this one is to go on: "
        "freehold keys add FILE, with what keys export prints for the other one. If there is no other: detach the tag"
    )


def tell(ctx: PassContext) -> None:
    """The object is ready without them."""
    for key in ctx.graph.nodes:
        outcome = ctx.outcomes.get(key)
        if isinstance(outcome, Ready) and ctx.node(key).taken:
            ctx.outcomes[key] = noted(outcome, ctx.node(key).taken)


def noted(outcome: Ready, pairs: Taken) -> Ready:
    note = f"{said(pairs)}: it is not overwritten. Change it in the cloud, or the manifest"
    notes = [outcome.note, note] if outcome.note else [note]
    return replace(outcome, reason=outcome.reason or Reason.TAG_TAKEN, note="; ".join(notes))


def said(pairs: Taken) -> str:
    return ", ".join(f"it has the tag {present} of others, where {tag} is wanted" for tag, present in pairs)
