"""Collect: before anything of the network goes, what the cluster's own controllers have made in it is collected.

Load balancers and machines of ours go first: as long as they are there, the cluster's controllers may work, and make
again what is collected (docs/reference/gc.md).
"""

from __future__ import annotations

from freehold.engine import proofs
from freehold.engine.collection import ALL, KIND, Site
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Reason, Waiting, outcome_of_error
from freehold.engine.ownership import Strength
from freehold.engine.phases import child_owners, lost_marks, observe, read_marks
from freehold.engine.resources import NodeKey, Observed, State


async def is_collected(ctx: PassContext) -> bool:
    """Return whether the network may go; else the outcomes say what is left to be collected. Asked once a pass."""
    if not ctx.network_is_free and not any(key.kind == KIND for key in ctx.outcomes):
        ctx.network_is_free = await _is_swept(ctx)
    if not ctx.network_is_free:
        why = "waits for what the cluster's own controllers have made, which is collected first"
        for key in _list_known(ctx):
            if ctx.kind(key).deletion.after_collection:
                ctx.outcomes[key] = Waiting(Reason.DEPENDENTS, ctx.deps.intervals.slow, why, ctx.node(key).last_seen)
    return ctx.network_is_free


async def _is_swept(ctx: PassContext) -> bool:
    collection = ctx.deps.collection
    assert collection is not None
    if await child_owners.hold_delete(ctx, ()):
        return False
    if first := _find_first_to_go(ctx):
        ctx.outcomes[NodeKey(KIND, ALL)] = Waiting(
            Reason.DEPENDENTS, ctx.deps.intervals.slow, f"are collected when {first.kind} {first.logical} has gone"
        )
        return False
    refused = any(
        ctx.kind(key).deletion.after_collection and ctx.node(key).refused_since is not None for key in _list_known(ctx)
    )
    swept = await collection.sweep(lambda: find_site(ctx), refused=refused)
    ctx.outcomes.update({NodeKey(KIND, name): outcome for name, outcome in swept.outcomes.items()})
    ctx.collection = swept
    return swept.done


def _list_known(ctx: PassContext) -> list[NodeKey]:
    """Return what is ours of the kinds that this version knows."""
    return sorted(key for key in ctx.journal.claimed if key.kind in ctx.deps.registry)


def _find_first_to_go(ctx: PassContext) -> NodeKey | None:
    """Return a resource of ours that is none of the network and goes first.

    Until the cloud has taken its delete, or until it has gone where the cluster's controllers run in it.
    """
    for key in _list_known(ctx):
        kind, node = ctx.kind(key), ctx.node(key)
        stays = node.mark_memory.unproven or lost_marks.is_lost(ctx, key) or not ctx.journal.entries[key].id
        leaves = node.delete_sent is not None
        leaves = leaves or (node.last_seen is not None and node.last_seen.state is State.DELETING)
        leaves = node.itself_gone or (leaves and not kind.deletion.before_collection)
        if not (kind.deletion.after_collection or stays or leaves):
            return key
    return None


async def find_site(ctx: PassContext) -> Site | Waiting | Blocked:
    """Find the network of the object, if its marks prove it now, or it was given. What has gone holds nothing."""
    for key, entry in ctx.journal.entries.items():
        kind = ctx.deps.registry.get(key.kind)
        if kind is None or not kind.deletion.holds_external or not entry.id:
            continue
        if entry.state is RecordState.GIVEN:
            return Site(ctx.owner, entry.id, given=True)
        if not entry.state.is_claimed:
            continue
        seen = (await observe.read_each(ctx, [key]))[key]
        if isinstance(seen, CloudError):
            return outcome_of_error(seen)
        if seen is not None:
            return await _site_if_proven(ctx, key, seen)
    return Site(ctx.owner)


async def _site_if_proven(ctx: PassContext, key: NodeKey, seen: Observed) -> Site | Waiting | Blocked:
    """Return the network only if its marks prove it: an id in the journal may be anybody's, who may edit the object."""
    ctx.node(key).last_seen = seen
    tags = (await read_marks.read_tags_now(ctx, [key], {}))[key]
    if isinstance(tags, CloudError):
        return outcome_of_error(tags)
    proven = proofs.evidence(ctx, key, seen, tags).strength is Strength.PROVEN
    return Site(ctx.owner, seen.id) if proven else Site(ctx.owner)
