"""Keyed tags: where tags are a map, an attach overwrites the value under its key, and a detach takes whatever is there.

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


def find_conflicts(codec: Codec, wanted: Collection[str], have: Collection[str], ours: Collection[str]) -> Taken:
    """Return which of ``wanted`` would overwrite a tag of ``have`` that is none of ``ours``."""
    if not codec.keyed:
        return ()
    there, known = {codec.key(tag): tag for tag in have}, codec.fold(ours)
    pairs = [(tag, there[codec.key(tag)]) for tag in sorted(set(wanted).difference(have)) if codec.key(tag) in there]
    return tuple(
        (tag, present)
        for tag, present in pairs
        if not codec.fold([tag]) <= codec.fold([present]) and known.isdisjoint(codec.fold([present]))
    )


def find_foreign_values(ctx: PassContext, key: NodeKey, observed: Observed, have: Collection[str]) -> Taken:
    """Return which tags that we want on this resource, or on its carrier, have another's value under their key."""
    codec = ctx.deps.codec
    if not codec.keyed or (wanted := wanted_tags.tags(ctx, key, observed)).issubset(have):
        return ()
    return find_conflicts(codec, wanted, have, _find_own_tags(ctx, key, observed, have))


def _find_own_tags(ctx: PassContext, key: NodeKey, observed: Observed, have: Collection[str]) -> frozenset[str]:
    """Return what we may have attached: with an older spec, another key of the ring, or an earlier name of the node."""
    codec = ctx.deps.codec
    entry = ctx.journal.get(key)
    ours = ctx.journal.tags | proofs.seals(ctx, key, observed) | frozenset(entry.node_tags if entry else ())
    ours |= lost_seal(ctx, key, observed, have)
    if observed.carried:
        return ours
    # A tag may have no room for the whole name, so that it is not only read.
    marks = codec.read(have).nodes
    for name in {key.with_id(observed.id), *(mark.key for mark in marks)}:
        seals = {ctx.keys.seal(digest, name, observed.target) for digest in ctx.keys.readable}
        for seal in seals & {mark.word for mark in marks}:
            ours |= codec.label(name) | {codec.node(name, seal)}
    return ours


def lost_seal(ctx: PassContext, key: NodeKey, observed: Observed, have: Collection[str]) -> frozenset[str]:
    """Return the value in place of our seal, if a person accepted its record, or decided about it."""
    codec = ctx.deps.codec
    if not codec.keyed:
        return frozenset()
    if not (proofs.is_accepted(ctx, key, observed, have) or proofs.is_decided(ctx, key, observed, have)):
        return frozenset()
    place = codec.key(proofs.seal_mark(ctx, key, observed))
    return frozenset(tag for tag in have if codec.key(tag) == place)


async def split_attachable(
    ctx: PassContext, key: NodeKey, observed: Observed
) -> tuple[frozenset[str], frozenset[str] | None]:
    """Return what may be attached without overwriting anything, and what is there, None where that was not read.

    The rest is remembered, to be told. Raises CloudError.
    """
    wanted = wanted_tags.tags(ctx, key, observed)
    if not ctx.deps.codec.keyed:
        return wanted, observed.tags
    have = observed.tags
    if have is None or observed.carried:
        have = await ctx.deps.tagger.tags_of(observed.target)
    ctx.node(key).mark_memory.foreign_values = find_foreign_values(ctx, key, observed, have)
    return wanted - {tag for tag, _ in ctx.node(key).mark_memory.foreign_values}, have


async def detach_exact(ctx: PassContext, changes: Sequence[TagChange]) -> Mapping[str, CloudError]:
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


def find_superseded(codec: Codec, tags: Collection[str], wanted: Collection[str]) -> frozenset[str]:
    """Return those of ``tags`` that an attach of ``wanted`` overwrites, so that no detach is needed."""
    keys = {codec.key(tag) for tag in wanted} if codec.keyed and tags else set()
    return frozenset(tag for tag in tags if codec.key(tag) in keys)


def explain_taken_proof(
    ctx: PassContext, key: NodeKey, observed: Observed, pairs: Taken, have: Collection[str]
) -> Blocked | None:
    """Report that the mark that proves is among ``pairs``: without it nothing is changed. ``have``: all tags there."""
    present = dict(pairs).get(proofs.seal_mark(ctx, key, observed)) if pairs else None
    if present is None:
        return None
    what = f"{observed.name} ({observed.id})"
    if not observed.carried and proofs.marks_name(ctx, key, have):
        return Blocked(Reason.TAG_TAKEN, f"{what}: {_other_operator(ctx.deps.codec.key(present))}", observed=observed)
    detach = ctx.deps.codec.detach_command(observed.target, [present])
    return Blocked(
        Reason.TAG_TAKEN,
        f"{what}: {describe_pairs(pairs)}, so the mark of {key} cannot be attached. If the resource was made for this "
        f"object, detach that tag: {detach}",
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


def report_foreign_values(ctx: PassContext) -> None:
    """Note them on what is Ready: the object is ready without them."""
    for key in ctx.graph.nodes:
        outcome = ctx.outcomes.get(key)
        if isinstance(outcome, Ready) and ctx.node(key).mark_memory.foreign_values:
            ctx.outcomes[key] = add_note(outcome, ctx.node(key).mark_memory.foreign_values)


def add_note(outcome: Ready, pairs: Taken) -> Ready:
    note = f"{describe_pairs(pairs)}: it is not overwritten. Change it in the cloud, or the manifest"
    notes = [outcome.note, note] if outcome.note else [note]
    return replace(outcome, reason=outcome.reason or Reason.TAG_TAKEN, note="; ".join(notes))


def describe_pairs(pairs: Taken) -> str:
    return ", ".join(f"it has the tag {present} of others, where {tag} is wanted" for tag, present in pairs)
