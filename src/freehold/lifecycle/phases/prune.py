"""Prune: what is ours and no longer wanted is reported, and deleted where its kind allows that."""

from __future__ import annotations

from math import inf

from freehold.lifecycle import deletion_order
from freehold.lifecycle.context import PassContext
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.inventory import TagsByTarget
from freehold.lifecycle.journal import Phase
from freehold.lifecycle.kinds import NodeKey
from freehold.lifecycle.outcomes import Blocked, Ready, Surplus, Waiting, of_error
from freehold.lifecycle.phases import delete, mark, recovery


def surplus(ctx: PassContext) -> list[NodeKey]:
    """Ours, of a kind we know, and no longer wanted."""
    return [k for k in ctx.journal.ours if k not in ctx.graph.nodes and k.kind in ctx.deps.registry]


def prunable(ctx: PassContext) -> list[NodeKey]:
    """Surplus that may be deleted: its kind is prunable, and nothing of ours depends on it."""
    needed = deletion_order.needed(ctx.journal.ours, ctx.journal.entries, ctx.deps.registry)
    keys = [key for key in surplus(ctx) if ctx.kind(key).prunable and key not in needed]
    return [k for k in keys if ctx.journal.entries[k].phase is Phase.OWNED or ctx.node(k).delete_sent is not None]


async def prune(ctx: PassContext, marked: TagsByTarget) -> None:
    """Delete surplus that the marks prove now, and observe until it is gone."""
    free = prunable(ctx)
    for key in free:
        if ctx.node(key).delete_sent is None and ctx.node(key).look_at == inf:
            ctx.node(key).look_now()  # it was as wanted; now it is not wanted
    present = await delete.observe_present(ctx, free)
    if present and not marked:
        try:
            marked = await mark.read(ctx)
        except CloudError as error:
            ctx.outcomes.update(dict.fromkeys(present, of_error(error)))
            return
        await recovery.by_marks(ctx, marked)  # who disputes it, too
    await delete.request(ctx, await delete.prove(ctx, present, marked))


def report_surplus(ctx: PassContext) -> None:
    """Report what is ours and no longer wanted; only prunable kinds are deleted."""
    for key in surplus(ctx):
        outcome, entry = ctx.outcomes.get(key), ctx.journal.entries[key]
        being_deleted = isinstance(outcome, Waiting) and ctx.kind(key).prunable
        if entry.id and not being_deleted and not isinstance(outcome, Blocked):
            message = f"{entry.id} is ours and the spec no longer wants it"
            ctx.outcomes[key] = Surplus(ctx.node(key).last_seen, f"{message}; it goes with the object")
    unfinished = any(isinstance(outcome, Waiting | Blocked) for outcome in ctx.outcomes.values())
    at_rest = {key: o for key, o in ctx.outcomes.items() if isinstance(o, Ready | Surplus)}
    ctx.state.at_rest = {} if unfinished else at_rest
    if ctx.state.at_rest:
        ctx.state.forget_times()
