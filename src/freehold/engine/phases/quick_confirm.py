"""Quick confirm: a look at an object at rest by lists that all objects share. It changes nothing and proves nothing.

If everything is shown as wanted, the pass ends. Otherwise it continues as if no list had been read: it reads each
resource by itself, and the marks of this object.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import inf

from freehold.engine import proofs
from freehold.engine.context import PassContext
from freehold.engine.deletion_order import add_edges
from freehold.engine.drivers import Listed
from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagsByTarget
from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Ready
from freehold.engine.phases import (
    detach,
    drift,
    given_requirements,
    given_tags,
    keyed_tags,
    observe,
    parts,
    read_marks,
    recovery,
)
from freehold.engine.resources import NodeKey, Observed, Part, Ref, State
from freehold.engine.shared_lists import Marked


def is_unfinished(ctx: PassContext, key: NodeKey, entry: Entry) -> bool:
    """Return whether a record leaves work: not what was pruned, of which only the number of its attempt is left."""
    if entry.state is RecordState.VACANT:
        return key in ctx.graph.nodes or bool(entry.earlier)
    return entry.state in (RecordState.INTENDED, RecordState.RECORDED)


async def confirm_by_lists(ctx: PassContext) -> bool:
    """Return whether all is confirmed; the outcomes are set then. If not, nothing of what was read is used."""
    if await _is_confirmed(ctx):
        return True
    ctx.ready_nodes.clear()
    ctx.outcomes.clear()
    return False


async def _is_confirmed(ctx: PassContext) -> bool:
    if not _is_settled(ctx):
        return False
    try:
        rows = await _read_rows(ctx)
        if rows is None or not _are_unchanged(ctx, rows) or not await _marks_are_complete(ctx, rows):
            return False
        if not await given_tags.is_confirmed(ctx):
            return False
        asked = given_requirements.find_demands(ctx)
        inside = {key: await _read_parts(ctx, key, row, {one.place for one in asked}) for key, row in rows.items()}
    except CloudError:  # the pass goes on, meets it again and tells of it
        return False
    if any(one.missing_inside(inside[one.place] or frozenset()) for one in asked):
        return False
    if any(part.waits for found in inside.values() for part in found or ()):
        return False
    if not all(drift.is_as_wanted(ctx, key, rows[key].observed, inside[key]) for key in rows if _is_ours(ctx, key)):
        return False
    ctx.deep = True
    for key, row in rows.items():
        _remember(ctx, key, row.observed, inside[key])
    ctx.outcomes.update(ctx.state.at_rest or {key: Ready(ctx.node(key).observed, ctx.category(key)) for key in rows})
    ctx.state.at_rest = {key: o for key, o in ctx.outcomes.items() if isinstance(o, Ready)}
    return True


def _is_settled(ctx: PassContext) -> bool:
    """Return whether the record leaves nothing to do: complete, signed with today's key, and no more on it."""
    journal, graph = ctx.journal, ctx.graph
    if ctx.deps.lists is None or journal.tags != ctx.user_tags or add_edges(journal, graph) != journal:
        return False
    if any(is_unfinished(ctx, key, entry) for key, entry in journal.entries.items()):
        return False
    if any(entry.key != ctx.keys.writing or not ctx.is_believed(key) for key, entry in journal.claimed.items()):
        return False
    if not detach.node_tags_are_recorded(ctx):
        return False
    if journal.key != ctx.keys.writing or not given_tags.are_renewed(ctx):
        return False
    if not journal.claimed.keys() <= graph.nodes.keys():
        return False
    return all(key in journal.entries and journal.entries[key].id for key in graph.nodes)


def _is_ours(ctx: PassContext, key: NodeKey) -> bool:
    return ctx.journal.entries[key].state is RecordState.OWNED


async def _read_rows(ctx: PassContext) -> Mapping[NodeKey, Listed] | None:
    """Return a row for each resource; None when one is missing.

    Lists first, so that no read of a resource was in vain; all of them, because each counts who asks.
    """
    rows = await _read_shown(ctx, listed=True)
    if rows is None:
        return None
    others = await _read_shown(ctx, listed=False)
    return None if others is None else {**rows, **others}


async def _read_shown(ctx: PassContext, *, listed: bool) -> Mapping[NodeKey, Listed] | None:
    """Return the rows of the kinds that have lists, or of those that are read themselves."""
    found: dict[NodeKey, Listed | None] = {}
    for kind in sorted({key.kind for key in ctx.graph.nodes}):
        if (ctx.deps.registry[kind].reads.listing is not None) is listed:
            keys = [key for key in ctx.graph.nodes if key.kind == kind]
            shown = await (_read_lists(ctx, kind, keys) if listed else _read_themselves(ctx, kind, keys))
            themselves = {ident: row.observed for ident, row in shown.items()}
            for key in keys:
                found[key] = shown[ctx.journal.entries[key].id] if observe.pick_recorded(ctx, key, themselves) else None
    rows = {key: row for key, row in found.items() if row is not None}
    return rows if len(rows) == len(found) else None


async def _read_themselves(ctx: PassContext, kind: str, keys: Sequence[NodeKey]) -> Mapping[str, Listed]:
    return {ident: Listed(seen) for ident, seen in (await observe.read_kind(ctx, kind, keys)).items()}


async def _read_lists(ctx: PassContext, kind: str, keys: Sequence[NodeKey]) -> Mapping[str, Listed]:
    assert ctx.deps.lists is not None
    refs = [Ref(ctx.journal.entries[key].id, ctx.journal.entries[key].target) for key in keys]
    return await ctx.deps.lists.show(kind, refs, ctx.owner.uuid, _max_age(ctx))


def _max_age(ctx: PassContext) -> float:
    """Return how old a shared reading may be, in seconds: younger than the last pass that read itself."""
    return min(ctx.deps.intervals.shared, ctx.now - ctx.state.looked_at)


def _are_unchanged(ctx: PassContext, rows: Mapping[NodeKey, Listed]) -> bool:
    """Return whether each is ready, on record just so, and as its own read last showed it."""
    for key, row in rows.items():
        seen, entry = row.observed, ctx.journal.entries[key]
        if seen.state is not State.READY or (seen.target, seen.carried) != (entry.target, entry.carried):
            return False
        if not _is_unchanged(ctx.node(key).last_seen, seen):
            return False
        if not entry.state.is_claimed and ctx.graph.nodes[key].given_problem(seen):
            return False
    ctx.ready_nodes.update({key: row.observed for key, row in rows.items()})
    return True


def _is_unchanged(known: Observed | None, row: Observed) -> bool:
    if known is None:
        return True
    same = (known.id, known.name, known.state) == (row.id, row.name, row.state)
    return same and all(known.attributes.get(name) == value for name, value in row.attributes.items())


async def _marks_are_complete(ctx: PassContext, rows: Mapping[NodeKey, Listed]) -> bool:
    """Return whether the index shows all wanted marks, no other seal, and nothing that is not on record."""
    marked = await read_shown_marks(ctx, _max_age(ctx))
    ours = {key: row.observed for key, row in rows.items() if _is_ours(ctx, key) and ctx.kind(key).markable}
    shown = {**marked, **await _read_unlisted(ctx, ours)}
    for key, seen in ours.items():
        tags = seen.tags if seen.tags is not None else shown.get(seen.target, frozenset())
        if (
            not read_marks.is_complete(ctx, key, seen, tags)
            or keyed_tags.find_foreign_values(ctx, key, seen, tags) != ctx.node(key).mark_memory.foreign_values
        ):
            return False
        old = proofs.seals(ctx, key, seen) - {proofs.seal_mark(ctx, key, seen)}
        if not ctx.deps.codec.fold(old).isdisjoint(ctx.deps.codec.fold(tags)):
            return False  # a seal of an older key is left to be detached
    told = dict(ctx.state.copied)
    return not recovery.is_anything_unrecorded(ctx, marked) and not ctx.outcomes and ctx.state.copied == told


async def read_shown_marks(ctx: PassContext, max_age: float) -> TagsByTarget:
    """Return what has marks of this object: as shared lists show it, and of what they show no tags, the index."""
    lists, uuid, codec = ctx.deps.lists, ctx.owner.uuid, ctx.deps.codec
    listed = lists.recall_marked(uuid, codec, max_age) if lists else Marked()
    return {**(await ctx.deps.inventory.read_snapshot(max_age, listed.kinds)).find_targets(uuid, codec), **listed.tags}


async def _read_unlisted(ctx: PassContext, ours: Mapping[NodeKey, Observed]) -> TagsByTarget:
    """Return the tags of what no index lists and no list shows with its tags. Raises CloudError."""
    asked = sorted({seen.target for key, seen in ours.items() if seen.tags is None and not ctx.kind(key).reads.indexed})
    found: dict[str, frozenset[str]] = {}
    for target, tags in (await ctx.deps.tagger.tags_of_each(asked) if asked else {}).items():
        if isinstance(tags, CloudError):
            raise tags
        found[target] = tags
    return found


async def _read_parts(
    ctx: PassContext, key: NodeKey, row: Listed, places: Collection[NodeKey]
) -> frozenset[Part] | None:
    """Return what is inside, read itself where the list does not show it; None where nothing is looked at.

    ``places`` are resources of others in which something must be.
    """
    driver = ctx.kind(key).parts.driver
    wanted = parts.are_looked_at(ctx, key) if _is_ours(ctx, key) else key in places
    if driver is None or not wanted:
        return None
    if row.parts is not None:
        return row.parts
    if row.observed.parts is not None:
        return row.observed.parts
    return await parts.read_inside(ctx, key)


def _remember(ctx: PassContext, key: NodeKey, seen: Observed, inside: frozenset[Part] | None) -> None:
    """Remember what was shown: after a restart there is nothing else to compare the next list with."""
    node = ctx.node(key)
    if node.last_seen is None:
        node.last_seen = seen  # the list's own row, as long as it can be: a thousand objects would double it
        if inside is not None:
            wanted = parts.find_wanted(ctx, key) or frozenset()
            ids = sorted(part.id for part in inside if part in wanted)
            node.last_seen = replace(seen, attributes={**seen.attributes, "parts": ids})
    node.look_at = inf
    node.parts.checked = True
