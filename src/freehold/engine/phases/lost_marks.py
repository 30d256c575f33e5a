"""Lost marks: in a delete, what had its marks read back and has lost one is kept, with what it needs (ADR 7).

The two marks allow the delete (docs/reference/requirements.md T9). Who takes one off keeps the resource, and the delete
goes on without it. Reads lag, so that a mark counts as lost when reads have not shown it for the settle time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from freehold.engine import proofs
from freehold.engine.context import PassContext
from freehold.engine.deletion_order import requirements
from freehold.engine.errors import CloudError
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Kept, Outcome, Reason, Waiting, outcome_of_error
from freehold.engine.phases import observe, referenced_parts
from freehold.engine.resources import NodeKey, Observed, State
from freehold.engine.state import earliest

RECHECK = 30.0
"""Seconds between two looks at what may have lost a mark, or may have gone."""


def judge_loss(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> None:
    """Keep the resource once its mark counts as lost; until then its marks are read again."""
    node = ctx.node(key)
    node.mark_memory.lost_since = since = earliest(node.mark_memory.lost_since, ctx.now)
    said = f"{observed.name} ({observed.id}) had our marks, and {_what_is_lost(ctx, observed, tags)}"
    anyway = f"To have it deleted with the object all the same: {ctx.resolve_command(key)} --mine --yes"
    if ctx.is_settled(key, since):
        after = proofs.how_to_delete(ctx, key)
        ctx.outcomes[key] = Kept(Reason.MARK_LOST, f"{said}: it is kept. {anyway}; once the object has gone: {after}")
        return
    left = ctx.kind(key).settle - (ctx.now - since)
    message = f"{said}: unless a later read shows it, it stays. {anyway}"
    ctx.requeue(key, Waiting(Reason.SETTLING, min(left, RECHECK), message, observed))


def _what_is_lost(ctx: PassContext, observed: Observed, tags: Collection[str]) -> str:
    codec = ctx.deps.codec
    lost = sorted(tag for tag in codec.owner(ctx.owner) if not codec.fold([tag]) <= codec.fold(tags))
    if observed.carried:
        return f"the one on its carrier {observed.target} is there no more"
    return f"{' and '.join(lost)} {'is' if len(lost) == 1 else 'are'} not on it any more"


def is_lost(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether reads do not show the marks that it had, for however short a time."""
    return ctx.node(key).mark_memory.lost_since is not None


async def read_given_up(ctx: PassContext) -> None:
    """Read what a person has given up, and what its parts name: while it is there, what it needs stays with it."""
    given_up = {key for key, entry in ctx.journal.entries.items() if entry.state is RecordState.GIVEN_UP}
    for key, seen in (await observe.read_each(ctx, {key for key in given_up if key.kind in ctx.deps.registry})).items():
        node, ident = ctx.node(key), ctx.journal.entries[key].id
        if isinstance(seen, CloudError):
            ctx.outcomes[key] = outcome_of_error(seen)
        elif seen is not None:
            node.last_seen, node.absent_since = seen, None
            if seen.state is State.DELETING:
                ctx.outcomes[key] = Waiting(Reason.DELETING, RECHECK, f"{ident}, which was given up, is being deleted")
        elif ctx.is_settled(key, since := earliest(node.absent_since, ctx.now)):
            ctx.journal = ctx.journal.drop(key)
        else:
            node.absent_since = since
            ctx.outcomes[key] = Waiting(Reason.SETTLING, RECHECK, f"{ident} not found; confirming its deletion")


def find_holders(ctx: PassContext) -> Mapping[NodeKey, NodeKey]:
    """Return what stays with something that has lost a mark, each with that one.

    The cloud refuses its delete, or the delete would destroy or cut off what is kept.
    """
    ours, entries, registry = ctx.journal.claimed, ctx.journal.entries, ctx.deps.registry
    found: dict[NodeKey, NodeKey] = {}
    todo = sorted(key for key, entry in entries.items() if is_lost(ctx, key) or entry.state is RecordState.GIVEN_UP)
    while todo:
        key = todo.pop()
        for other in requirements(key, ours, entries, registry) | referenced_parts.find_named(ctx, key, ours):
            if other not in found and not is_lost(ctx, other) and ctx.node(other).delete_sent is None:
                found[other] = found.get(key, key)
                todo.append(other)
    return found


def explain_kept(ctx: PassContext, key: NodeKey, holder: NodeKey) -> Outcome:
    """Return what becomes of ``key``, which ``holder`` needs."""
    held = f"{holder} ({ctx.journal.entries[holder].id})"
    if is_lost(ctx, holder) and not isinstance(ctx.outcomes.get(holder), Kept):
        return Waiting(Reason.DEPENDENTS, ctx.deps.intervals.slow, f"waits for {held}, which may have lost a mark")
    message = f"{ctx.journal.entries[key].id} is kept: {held} needs it, and stays"
    return Kept(Reason.SERVES_KEPT, f"{message}. It goes with that, or then by hand: {proofs.how_to_delete(ctx, key)}")
