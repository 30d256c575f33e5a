"""Lost tags: what an interrupted create may have made and who else claims that, for a person to decide (ADR 7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from freehold.engine import birth_marks, create_identity, proofs
from freehold.engine.context import PassContext
from freehold.engine.journal import Entry
from freehold.engine.keys import is_same
from freehold.engine.ownership import Strength
from freehold.engine.resources import NodeKey, Observed, Ref, State, Want


async def find_candidates(ctx: PassContext, key: NodeKey, entry: Entry) -> Sequence[Observed]:
    """Return everything in its place with its name or a nonce of it; if that does not tell, also what lost its tags.

    Raises CloudError.
    """
    request = entry.request or {}
    want = Want(key, str(request.get("name", "")), request, birth_marks.sought(ctx, key))
    found = (await ctx.kind(key).driver.find([want])).get(key, ()) if request else ()
    of_node = {each.id: each for each in found if not birth_marks.is_of_another_node(ctx, want, each)}
    if not any(birth_marks.matches_own_create(ctx, key, each) for each in of_node.values()):
        of_node = {each.id: each for each in await _find_stripped(ctx, key, entry)} | of_node
    return list(of_node.values())


async def ask_person(ctx: PassContext, key: NodeKey) -> Sequence[str]:
    """Return the ids of what an open create may have made and has lost its tags, once its settle time is over.

    They go on record, so that a tag which somebody puts on one, or its use, is no answer. The first look decides which
    they are: what shows later was not made by this create. Raises CloudError.
    """
    entry = ctx.journal.entries[key]
    found = {each.id for each in await _find_stripped(ctx, key, entry)}
    ids = tuple(sorted(found | {ident for ident in _read_asked(ctx, key, entry) if _is_only_missed(ctx, key, ident)}))
    signature = _signature(ctx, ctx.signing_key(key), key, entry, ids) if ids else ""
    ctx.record(key, replace(entry, candidates=ids, signature=signature))
    return ids


def is_unasked(ctx: PassContext, key: NodeKey, seen: Observed) -> bool:
    """Return whether it has lost its tags, and no person was asked about it yet."""
    entry = ctx.journal.entries[key]
    told = ctx.kind(key).creation.find_untagged is None or birth_marks.has_birth_mark(ctx, key, seen)
    return not told and seen.id not in _read_asked(ctx, key, entry)


async def _find_stripped(ctx: PassContext, key: NodeKey, entry: Entry) -> Sequence[Observed]:
    """Return what it may have made and somebody has taken tags off since; once a person was asked, of that what is
    there.

    Not what has another owner's mark, or is on record here or for another object.
    """
    driver = ctx.kind(key).creation.find_untagged
    if driver is None or not entry.request:
        return ()
    if asked := _read_asked(ctx, key, entry):
        found = await ctx.kind(key).driver.observe([Ref(ident) for ident in sorted(asked)])
    else:
        sent = create_identity.birth_of(ctx, key, entry.attempt).marks | ctx.journal.tags | frozenset(entry.node_tags)
        found = {each.id: each for each in await driver.find_untagged(entry.request, sent)}
    there = [each for each in found.values() if each.state is not State.DELETING]
    _note_missed(ctx, asked, {each.id for each in there})
    recorded = {known.id for other, known in ctx.journal.entries.items() if other.kind == key.kind}
    free = [each for each in there if each.id not in recorded]
    free = [each for each in free if not _is_anothers(ctx, key, each, each.tags or ())]
    ids = {each.id for each in free}
    owned = await ctx.deps.others.owning(ctx.owner, key.kind, ids, ctx.deps.ring) if free else {}
    return [each for each in free if each.id not in owned]


def _note_missed(ctx: PassContext, asked: Collection[str], there: Collection[str]) -> None:
    for ident in asked:
        if ident in there:
            ctx.state.missed.pop(ident, None)
        else:
            ctx.state.missed.setdefault(ident, ctx.now)


def _is_only_missed(ctx: PassContext, key: NodeKey, ident: str) -> bool:
    """Return whether it was missed for less than the settle time: reads lag, so that it may be there."""
    since = ctx.state.missed.get(ident)
    return since is not None and not ctx.is_settled(key, since)


def _read_asked(ctx: PassContext, key: NodeKey, entry: Entry) -> frozenset[str]:
    """Return the ids that a person was asked about, if the operator signed them: ids may be forged."""
    if not entry.candidates:
        return frozenset()
    signatures = [_signature(ctx, digest, key, entry, entry.candidates) for digest in ctx.keys.readable]
    return frozenset(entry.candidates if any(is_same(entry.signature, each) for each in signatures) else ())


def _signature(ctx: PassContext, digest: str, key: NodeKey, entry: Entry, ids: Sequence[str]) -> str:
    return ctx.keys.signature(digest, "candidates", "\0".join((str(key), str(entry.attempt), *ids)))


async def find_claims(ctx: PassContext, key: NodeKey, several: Sequence[Observed]) -> Mapping[str, str]:
    """Return other owners' claims to these resources, for a person: a mark, or a record. Without those that have none.

    Raises CloudError.
    """
    owned = await ctx.deps.others.owning(ctx.owner, key.kind, {each.id for each in several}) if several else {}
    found = {
        ident: f"an owner already: it is on record as that of {', '.join(objects)}" for ident, objects in owned.items()
    }
    for seen in several:
        if seen.id not in found and seen.target and (mark := await _describe_foreign_mark(ctx, key, seen)):
            found[seen.id] = mark
    return found


async def _describe_foreign_mark(ctx: PassContext, key: NodeKey, seen: Observed) -> str:
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
