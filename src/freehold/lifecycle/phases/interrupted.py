"""What an interrupted create may have made, and who else claims that: a person decides by it. Reads only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from freehold.lifecycle import birth_marks, create_identity, proofs
from freehold.lifecycle.context import PassContext
from freehold.lifecycle.journal import Entry
from freehold.lifecycle.keys import is_same
from freehold.lifecycle.ownership import Strength
from freehold.lifecycle.resources import NodeKey, Observed, Ref, State, Want


async def candidates(ctx: PassContext, key: NodeKey, entry: Entry) -> Sequence[Observed]:
    """Everything in its place with its name or a nonce of it; unless that tells, also what has lost its tags.

    Raises CloudError.
    """
    request = entry.request or {}
    want = Want(key, str(request.get("name", "")), request, birth_marks.sought(ctx, key))
    found = (await ctx.kind(key).driver.find([want])).get(key, ()) if request else ()
    of_node = {each.id: each for each in found if not birth_marks.is_of_another_node(ctx, want, each)}
    if not any(birth_marks.matches_own_create(ctx, key, each) for each in of_node.values()):
        of_node = {each.id: each for each in await stripped(ctx, key, entry)} | of_node
    return list(of_node.values())


async def stripped(ctx: PassContext, key: NodeKey, entry: Entry) -> Sequence[Observed]:
    """What the create may have made and somebody has taken tags off since, and what a person was asked about already.

    Not what has another owner's mark, or is on record here or for another object. Raises CloudError.
    """
    driver = ctx.kind(key).stripped
    if driver is None or not entry.request:
        return ()
    sent = create_identity.birth_of(ctx, key, entry.attempt).marks | ctx.journal.tags | frozenset(entry.node_tags)
    found = {each.id: each for each in await driver.stripped(entry.request, sent)}
    if more := _asked(ctx, key, entry) - found.keys():
        found |= await ctx.kind(key).driver.observe([Ref(ident) for ident in sorted(more)])
    recorded = {known.id for other, known in ctx.journal.entries.items() if other.kind == key.kind}
    free = [each for each in found.values() if each.id not in recorded and each.state is not State.DELETING]
    free = [each for each in free if not _is_anothers(ctx, key, each, each.tags or ())]
    owned = await ctx.deps.others.owning(ctx.owner, key.kind, {each.id for each in free}) if free else {}
    return [each for each in free if each.id not in owned]


def asked_about(ctx: PassContext, key: NodeKey, entry: Entry, ids: Sequence[str]) -> Entry:
    """``entry``, with what a person is asked about: a tag that somebody puts on it, or its use, is no answer."""
    return replace(entry, candidates=tuple(ids), signature=_signature(ctx, key, entry, ids))


def _asked(ctx: PassContext, key: NodeKey, entry: Entry) -> set[str]:
    """Only the operator's own word: whoever may edit the object could have a person be shown any resource."""
    if not entry.candidates or entry.key not in ctx.keys.readable:
        return set()
    own = is_same(entry.signature, _signature(ctx, key, entry, entry.candidates))
    return set(entry.candidates) if own else set()


def _signature(ctx: PassContext, key: NodeKey, entry: Entry, ids: Sequence[str]) -> str:
    return ctx.keys.signature(entry.key, "candidates", "\0".join((str(key), str(entry.attempt), *ids)))


async def claimed_by(ctx: PassContext, key: NodeKey, seen: Observed) -> str:
    """Another owner's claim to it, for a person: its mark, or its record. Empty where there is none."""
    owned = await ctx.deps.others.owning(ctx.owner, key.kind, {seen.id})
    if objects := owned.get(seen.id):
        return f"an owner already: it is on record as that of {', '.join(objects)}"
    if not seen.target:
        return ""
    tags = seen.tags if seen.tags is not None else await ctx.deps.tagger.tags_of(seen.target)
    if seen.carried:
        codec, own = ctx.deps.codec, ctx.owner.uuid.casefold()
        ident = codec.carried_id(key.kind, seen.id).casefold()
        marks = [mark for mark in codec.read(tags).carried if (mark.kind, mark.id.casefold()) == (key.kind, ident)]
        others = sorted({mark.uuid for mark in marks if mark.uuid.casefold() != own})
        return f"a mark of uuid {', '.join(others)} on {seen.target}" if others else ""
    return proofs.evidence(ctx, key, seen, tags).source if _is_anothers(ctx, key, seen, tags) else ""


def _is_anothers(ctx: PassContext, key: NodeKey, seen: Observed, tags: Collection[str]) -> bool:
    return proofs.evidence(ctx, key, seen, tags).strength in (Strength.OTHERS, Strength.DISPUTED)
