"""What an interrupted create may have made, and who else claims that: a person decides by it. Reads only."""

from __future__ import annotations

from collections.abc import Sequence

from freehold.lifecycle import birth_marks, proofs
from freehold.lifecycle.context import PassContext
from freehold.lifecycle.journal import Entry
from freehold.lifecycle.ownership import Strength
from freehold.lifecycle.resources import NodeKey, Observed, State, Want


async def candidates(ctx: PassContext, key: NodeKey, entry: Entry) -> Sequence[Observed]:
    """Everything in its place with its name or a nonce of it; where there is none, what has no tags and fits.

    Raises CloudError.
    """
    request = entry.request or {}
    want = Want(key, str(request.get("name", "")), request, birth_marks.sought(ctx, key))
    found = (await ctx.kind(key).driver.find([want])).get(key, ()) if request else ()
    of_node = [each for each in found if not birth_marks.is_of_another_node(ctx, want, each)]
    return of_node or await untagged(ctx, key, entry)


async def untagged(ctx: PassContext, key: NodeKey, entry: Entry) -> Sequence[Observed]:
    """What the create may have made and somebody has stripped of all its tags since, if nobody else has it on record.

    Of a kind that is found by its name or by its client token there is none. Raises CloudError.
    """
    driver = ctx.kind(key).untagged
    if driver is None or not entry.request:
        return ()
    recorded = {(known.kind, each.id) for known, each in ctx.journal.entries.items()}
    found = [each for each in await driver.untagged(entry.request) if each.state is not State.DELETING]
    free = [each for each in found if (key.kind, each.id) not in recorded]
    return [each for each in free if not await ctx.deps.others.owning(ctx.owner, key.kind, each.id)]


async def claimed_by(ctx: PassContext, key: NodeKey, seen: Observed) -> str:
    """Another owner's claim to it, for a person: its mark, or its record. Empty where there is none."""
    objects = await ctx.deps.others.owning(ctx.owner, key.kind, seen.id)
    if objects:
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
    evidence = proofs.evidence(ctx, key, seen, tags)
    return evidence.source if evidence.strength in (Strength.OTHERS, Strength.DISPUTED) else ""
