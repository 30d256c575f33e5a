"""Prune: what is ours and no longer wanted is reported, and deleted where its kind, or a person, allows that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import inf

from freehold.engine import deletion_order
from freehold.engine.context import PassContext
from freehold.engine.decisions import Conclusion
from freehold.engine.drivers import User
from freehold.engine.errors import CloudError
from freehold.engine.graph import Node
from freehold.engine.inventory import TagsByTarget
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Category, Ready, Reason, Surplus, Waiting, outcome_of_error
from freehold.engine.phases import delete, read_marks, recovery
from freehold.engine.resources import NodeKey, Ref

_MOST_NAMED = 5


def find_surplus(ctx: PassContext) -> list[NodeKey]:
    """Return what is ours, of a kind we know, and no longer wanted."""
    return [k for k in ctx.journal.claimed if k not in ctx.graph.nodes and k.kind in ctx.deps.registry]


def find_prunable(ctx: PassContext) -> list[NodeKey]:
    """Return the surplus that may be deleted: by its kind or by a decision, while nothing of ours depends on it."""
    may = [key for key in find_surplus(ctx) if _is_prunable(ctx, key) or key in ctx.approved]
    ours, entries = ctx.journal.claimed, ctx.journal.entries
    needed = deletion_order.find_needed_keys(ours, entries, ctx.deps.registry) if may else set()
    owned = [key for key in may if ctx.journal.entries[key].state is RecordState.OWNED and key not in needed]
    return [*owned, *(key for key in find_being_pruned(ctx) if key not in owned)]


def _is_prunable(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether its kind lets it go; what the in-cluster provider manages goes with the object, or by a person."""
    return ctx.kind(key).deletion.prunable and ctx.category(key) is not Category.SHARED


def find_being_pruned(ctx: PassContext) -> list[NodeKey]:
    """Return the surplus whose deletion has been requested."""
    return [key for key in find_surplus(ctx) if ctx.node(key).delete_sent is not None]


async def prune_surplus(ctx: PassContext, marked: TagsByTarget) -> None:
    """Delete surplus that the marks prove now, and observe until it is gone."""
    _refuse(ctx, _find_needed(ctx))
    free = find_prunable(ctx)
    for key in free:
        if ctx.node(key).delete_sent is None and ctx.node(key).look_at == inf:
            ctx.node(key).look_now()  # it was as wanted; now it is not wanted
    present = await delete.observe_present(ctx, free)
    if not marked and read_marks.asks_index(ctx, present):
        try:
            marked = await read_marks.read_index(ctx)
        except CloudError as error:
            ctx.outcomes.update(dict.fromkeys(present, outcome_of_error(error)))
            return
        await recovery.record_marked(ctx, marked)  # who disputes it, too
    proven = await delete.prove_present(ctx, present, marked)
    await delete.request_deletes(ctx, proven - await _find_held(ctx, proven))
    _answer_decisions(ctx)


def _find_needed(ctx: PassContext) -> Mapping[NodeKey, str]:
    """Return what a person approved although something that stays depends on it."""
    if not ctx.approved:
        return {}
    ours, found = ctx.journal.claimed, dict[NodeKey, str]()
    stays = ours.keys() - ctx.approved.keys()
    each = deletion_order.requirements_of_each(stays, ours, ctx.journal.entries, ctx.deps.registry)
    for key, needed in each.items():
        found |= dict.fromkeys(needed & ctx.approved.keys(), f"this object's {key} depends on it")
    return found


async def _find_held(ctx: PassContext, proven: Collection[NodeKey]) -> frozenset[NodeKey]:
    """Return what a person approved and is not deleted in this pass; refuse what is in use.

    All of it is looked at before the first delete: what goes first (routes, listeners) is what the users of the rest
    (a subnet with machines, the load balancer of the endpoint) live on.
    """
    if ctx.approved.keys().isdisjoint(proven):
        return frozenset()
    registry, entries = ctx.deps.registry, ctx.journal.entries
    approved = frozenset(ctx.approved)
    unwanted = {key for key in find_surplus(ctx) if ctx.node(key).last_seen and ctx.node(key).delete_sent is None}
    needed = {key for each in approved for key in deletion_order.requirements(each, unwanted, entries, registry)}
    users: dict[NodeKey, list[User]] = {}
    for key in sorted(unwanted & (needed | approved)):
        try:
            users[key] = await _list_users(ctx, key)
        except CloudError as error:
            ctx.outcomes[key] = outcome_of_error(error)
            return approved
    _refuse_used(ctx, users)
    waiting = {key: each for key in ctx.approved if (each := _join_names(users.get(key, ())))}
    for key, names in waiting.items():
        ctx.requeue(key, Waiting(Reason.DEPENDENTS, 5.0, f"waits for {names}"))
    return approved - ctx.approved.keys() | waiting.keys()


def _refuse_used(ctx: PassContext, users: dict[NodeKey, list[User]]) -> None:
    """Refuse what is used by what stays, what that depends on, and what depends on it; drop users that have gone.

    Afterwards ``users`` has only those that go, too.
    """
    registry, ours = ctx.deps.registry, ctx.journal.claimed
    by_id = {entry.id: key for key, entry in ours.items() if entry.id}
    stays: dict[NodeKey, str] = {}
    while True:
        why: dict[NodeKey, str] = {}
        for key in users.keys() - stays.keys():
            users[key] = [each for each in users[key] if each.id not in ctx.state.gone]
            if names := _join_names(each for each in users[key] if by_id.get(each.id) not in ctx.approved):
                why[key] = f"it is in use: {names}"
        why = {**_find_needed(ctx), **why}
        for key in ctx.approved.keys() - why.keys():
            if serves := sorted(deletion_order.requirements(key, stays, ctx.journal.entries, registry)):
                why[key] = f"it serves {serves[0]}, which stays: {stays[serves[0]]}"
        if not why:
            return
        stays |= why
        _refuse(ctx, why)


def _join_names(users: Iterable[User]) -> str:
    names = [each.text for each in users]
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


async def _list_users(ctx: PassContext, key: NodeKey) -> list[User]:
    """Return the objects that name it by id, name or address, and what the cloud shows to use it."""
    kind, seen = ctx.kind(key), ctx.node(key).observed
    addresses = {str(seen.attributes.get(name, "")) for name in kind.attributes.addresses}
    words = {seen.id, seen.id.rpartition("/")[2], seen.name, seen.target, *addresses}
    objects = await ctx.deps.others.naming(ctx.owner, words)
    users = await kind.deletion.usage.users(Ref(seen.id, seen.target)) if kind.deletion.usage else ()
    return [*(User(f"{each} names it") for each in objects), *users]


def _answer_decisions(ctx: PassContext) -> None:
    """Answer decisions: what the cloud, or what is inside, does not let go is not asked for again and stays surplus."""
    for key, decision in ctx.approved.items():
        if key not in ctx.journal.claimed:
            ctx.decided.append(Conclusion(decision, True, f"{decision.id} is gone"))
    held = {}
    for key in ctx.approved:
        outcome = ctx.outcomes.get(key)
        if isinstance(outcome, Blocked) or (isinstance(outcome, Waiting) and outcome.reason is Reason.IN_USE):
            held[key] = outcome.message
            ctx.node(key).look_now()
    _refuse(ctx, held)


def _refuse(ctx: PassContext, why: Mapping[NodeKey, str]) -> None:
    for key, message in why.items():
        if decision := ctx.approved.pop(key, None):
            ctx.outcomes.pop(key, None)
            ctx.decided.append(Conclusion(decision, False, message))


def explain_conflict(ctx: PassContext, node: Node) -> Blocked | None:
    """Say why the cloud would refuse to create ``node``: surplus has what it needs."""
    wanted, conflict_reason = node.request(ctx.ready_nodes), ctx.kind(node.key).creation.conflict_reason
    for key in find_surplus(ctx):
        seen = ctx.node(key).last_seen if key.kind == node.key.kind else None
        if seen and (what := conflict_reason(wanted, seen)):
            message = (
                f"{what} is held by {key} ({seen.id}), which is ours and the spec no longer wants: {ctx.prune_command} "
                f"deletes it, and {node.title} is created then"
            )
            return Blocked(Reason.IN_USE, message, ctx.deps.intervals.slow)
    return None


def report_surplus(ctx: PassContext) -> None:
    """Report what is ours and no longer wanted; only prunable kinds are deleted."""
    for key in find_surplus(ctx):
        outcome, entry = ctx.outcomes.get(key), ctx.journal.entries[key]
        being_deleted = isinstance(outcome, Waiting) and (ctx.kind(key).deletion.prunable or key in ctx.approved)
        if entry.id and not being_deleted and not isinstance(outcome, Blocked):
            message = f"{entry.id} is ours and the spec no longer wants it"
            ctx.outcomes[key] = Surplus(
                ctx.node(key).last_seen, f"{message}; it goes with the object, or with {ctx.prune_command}"
            )
    waits = any(ctx.node(key).parts.waiting for key in ctx.graph.nodes)
    unfinished = waits or any(isinstance(outcome, Waiting | Blocked) for outcome in ctx.outcomes.values())
    at_rest = {key: o for key, o in ctx.outcomes.items() if isinstance(o, Ready | Surplus)}
    ctx.state.at_rest = {} if unfinished else at_rest
    if ctx.state.at_rest:
        ctx.state.forget_times()
