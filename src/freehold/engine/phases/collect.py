"""Collect: before anything of the network goes, what the cluster's own controllers have made in it is collected.

Load balancers and machines of ours go first: as long as they are there, the cluster's controllers may work, and make
again what is collected (docs/reference/gc.md).
"""

from __future__ import annotations

from freehold.engine import proofs
from freehold.engine.collection import ALL, KIND, Site
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.journal import Phase
from freehold.engine.outcomes import Blocked, Reason, Waiting, of_error
from freehold.engine.ownership import Strength
from freehold.engine.phases import inner_owners, lost_marks, observe, read_marks
from freehold.engine.resources import NodeKey, Observed, State


async def is_done(ctx: PassContext) -> bool:
    """Whether the network may go; else the outcomes say what is left to be collected. Asked once a pass."""
    if not ctx.collected and not any(key.kind == KIND for key in ctx.outcomes):
        ctx.collected = await _is_swept(ctx)
    if not ctx.collected:
        why = "waits for what the cluster's own controllers have made, which is collected first"
        for key in _known_ones(ctx):
            if ctx.kind(key).network:
                ctx.outcomes[key] = Waiting(Reason.DEPENDENTS, ctx.deps.intervals.slow, why, ctx.node(key).last_seen)
    return ctx.collected


async def _is_swept(ctx: PassContext) -> bool:
    collection = ctx.deps.collection
    assert collection is not None
    if await inner_owners.hold(ctx, ()):
        return False
    if first := _goes_before(ctx):
        ctx.outcomes[NodeKey(KIND, ALL)] = Waiting(
            Reason.DEPENDENTS, ctx.deps.intervals.slow, f"are collected when {first.kind} {first.logical} has gone"
        )
        return False
    refused = any(ctx.kind(key).network and ctx.node(key).refused_since is not None for key in _known_ones(ctx))
    swept = await collection.sweep(lambda: site(ctx), refused=refused)
    ctx.outcomes.update({NodeKey(KIND, name): outcome for name, outcome in swept.outcomes.items()})
    ctx.collection = swept
    return swept.done


def _known_ones(ctx: PassContext) -> list[NodeKey]:
    """Return what is ours of the kinds that this version knows."""
    return sorted(key for key in ctx.journal.ours if key.kind in ctx.deps.registry)


def _goes_before(ctx: PassContext) -> NodeKey | None:
    """Return a resource of ours that is none of the network and whose delete the cloud has not taken yet."""
    for key in _known_ones(ctx):
        kind, node = ctx.kind(key), ctx.node(key)
        stays = node.unproven or lost_marks.is_lost(ctx, key) or not ctx.journal.entries[key].id
        leaves = node.delete_sent is not None or node.itself_gone
        leaves = leaves or (node.last_seen is not None and node.last_seen.state is State.DELETING)
        if not (kind.network or stays or leaves):
            return key
    return None


async def site(ctx: PassContext) -> Site | Waiting | Blocked:
    """Find the network of the object, if its marks prove it now, or it was given. What has gone holds nothing."""
    for key, entry in ctx.journal.entries.items():
        kind = ctx.deps.registry.get(key.kind)
        if kind is None or not kind.holds_external or not entry.id:
            continue
        if entry.phase is Phase.GIVEN:
            return Site(ctx.owner, entry.id, given=True)
        if not entry.phase.ours:
            continue
        seen = (await observe.by_key(ctx, [key]))[key]
        if isinstance(seen, CloudError):
            return of_error(seen)
        if seen is not None:
            return await _if_proven(ctx, key, seen)
    return Site(ctx.owner)


async def _if_proven(ctx: PassContext, key: NodeKey, seen: Observed) -> Site | Waiting | Blocked:
    """An id in the journal may be anybody's, who may edit the object: only the marks tell that it is ours."""
    ctx.node(key).last_seen = seen
    tags = (await read_marks.tags_now(ctx, [key], {}))[key]
    if isinstance(tags, CloudError):
        return of_error(tags)
    proven = proofs.evidence(ctx, key, seen, tags).strength is Strength.PROVEN
    return Site(ctx.owner, seen.id) if proven else Site(ctx.owner)
