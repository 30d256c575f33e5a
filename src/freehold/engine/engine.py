"""The main path: :func:`ensure` creates and keeps what is wanted, :func:`release` deletes what is owned.

Both are level-triggered: called again and again with the newest spec and journal. Each call is one *pass*: it does what
can be done now, never waits, and returns when to come back. A pass may be cut off between any two calls (``*``: the
phase calls the cloud). Phases are files of :mod:`phases`; its docstring says what each reads and writes.

:func:`ensure` has four stages::

    at rest   quick_confirm*       the tag index, or lists that all objects share, show that nothing has changed: the
                                   pass ends
    learn     observe*             read what is recorded
              intents*             resolve creates that were interrupted
              human_decisions*     act on what a person has decided
              detach*              take marks off carriers whose resource is gone
              read_marks*          a record whose mark is read back is OWNED
              recovery*            record what the marks prove to be ours and no record holds; the pass ends if no node
                                   wants it
    create    drift*               add the parts that a resource must have before anything that depends on it is created
              given_requirements*  look into given resources for what must be inside them
              create*              look for what exists; one patch of the journal with the exact requests of this wave;
                                   the whole wave at once; one patch with the ids
    keep      drift*               bring mutable attributes and parts to the spec
              mark*                attach marks and tags
              detach*              take off tags that are not wanted any more
              given_tags*          put the user's tags on what is not ours
              renewal*             bring seals of an older key to the writing one
              prune*               delete surplus where its kind, or a person, allows that; report the rest

:func:`release` deletes in waves, the resources first that nothing else of ours needs::

    learn     intents*, human_decisions*, detach*   as above
              lost_marks*          read what a person has given up
    delete    a round; steps in brackets are left out if nothing that may leave is present and the tag index was read:
              observe*             read what may leave now; what is gone leaves the journal, and what that frees is read
              [child_owners*       wait for what a machine of this cluster, for example, still has: ends the stage]
              [read_marks*,        once after the process began the delete: read the tag index, and record what its
               recovery*           marks prove to be ours and no record holds]
              [read_marks*         read the marks of what may leave; what had its marks and has lost one is kept, with
                                   what it needs]
              [mark*               attach the marks of records whose marks were never read back]
              [delete*             one patch that records the requests; for what is proven the parts that hold it, then
                                   the delete]
              another round if that freed something; else
              collect*             before anything of the network goes: what the cluster's own controllers made in it;
                                   another round if that has just ended
    check     final_check*         if a delete was refused because something is inside: find it by its nonce
              delete*              once nothing moves by itself and the settle time is over: child_owners and collect
                                   again; recovery records what the index shows, final_check what native lists show of
                                   ours; if nothing is left, given_tags takes the user's tags off what is not ours

The spec never decides what :func:`release` deletes. Its graph helps the last look, and the reconciler keeps the
finalizer while the adapter cannot tell the graph yet (``UndecidedSpec``).
"""

from __future__ import annotations

import logging
from math import inf

from freehold.engine import consumed, polling
from freehold.engine.context import PassContext
from freehold.engine.decisions import Decision
from freehold.engine.deletion_order import add_edges
from freehold.engine.errors import CloudError
from freehold.engine.graph import Graph
from freehold.engine.interface import EngineDeps, PassResult
from freehold.engine.inventory import TagsByTarget
from freehold.engine.journal import Journal, RecordState, Store
from freehold.engine.outcomes import Blocked, Outcome, Ready, Reason, Waiting
from freehold.engine.phases import (
    child_owners,
    collect,
    create,
    delete,
    detach,
    drift,
    final_check,
    given_requirements,
    given_tags,
    human_decisions,
    intents,
    keyed_tags,
    lost_marks,
    mark,
    observe,
    prune,
    quick_confirm,
    read_marks,
    recovery,
    renewal,
)
from freehold.engine.resources import NodeKey
from freehold.engine.state import ObjectState

_LOG = logging.getLogger(__name__)


async def ensure(
    deps: EngineDeps,
    graph: Graph,
    journal: Journal,
    store: Store,
    state: ObjectState,
    user_tags: frozenset[str] = frozenset(),
    decisions: tuple[Decision, ...] = (),
) -> PassResult:
    """Make one pass towards what ``graph`` wants. ``decisions`` are a person's, not acted on yet.

    Raises StaleObject when the object changed underneath, and CloudError when the journal cannot be saved or
    the shared index cannot be read: the next pass starts from what is on record.
    """
    wanted = consumed.leave_out_gone(graph, journal, deps.registry)
    ctx = PassContext(deps, wanted, journal, store, state, user_tags, decisions=decisions)
    if not _journal_is_readable(ctx) or await _is_at_rest(ctx):
        return ctx.result()
    marked = await _learn(ctx)
    ctx.graph = consumed.leave_out_gone(graph, ctx.journal, deps.registry)
    if _may_be_wanted_by_another_name(ctx, journal):
        await ctx.save()
        return ctx.result()
    await _create(ctx)
    await _keep(ctx, marked)
    _plan_next_looks(ctx)
    return ctx.result()


async def _is_at_rest(ctx: PassContext) -> bool:
    """Return whether shared readings show that nothing has changed; if not, nothing of them is used."""
    flags = ctx.deps.flags
    flags.look = _is_planned_look(ctx)
    ctx.was_at_rest = flags.look and bool(ctx.state.at_rest)
    if await _ends_at_rest(ctx):
        return True
    if flags.look and not ctx.decisions and await quick_confirm.confirm_by_lists(ctx):
        _plan_deep_look(ctx, "by shared lists")
        return True
    flags.look = False
    return False


async def _learn(ctx: PassContext) -> TagsByTarget:
    """Find out what exists and what is ours. Returns the marks that the index showed; empty if it was not read."""
    ctx.deep = ctx.now >= ctx.state.deep_at
    if ctx.deep:
        ctx.state.check_parts_again()
    ctx.journal = ctx.journal.with_tags(ctx.journal.tags | ctx.user_tags)
    left_to_prune = prune.find_being_pruned(ctx)
    surplus = [key for key in prune.find_surplus(ctx) if key not in left_to_prune]
    await observe.read_recorded(ctx, [*ctx.graph.nodes, *surplus])
    await intents.resolve_open(ctx)
    await human_decisions.apply_decisions(ctx)
    await detach.detach_retired(ctx)
    marked = await read_marks.verify_marks(ctx, list(ctx.journal.claimed))
    if _must_read_marks_first(ctx):
        marked = await read_marks.read_index(ctx)
    await recovery.record_marked(ctx, marked)
    if ctx.deep:
        await recovery.record_unlisted(ctx)
    return marked


async def _create(ctx: PassContext) -> None:
    """Create every node whose requirements are ready and of which nothing exists: the wave of this pass."""
    create.drop_stale_refs(ctx)
    await drift.add_essential_parts(ctx)
    await given_requirements.check_given(ctx)
    wave = await given_requirements.filter_wave(ctx, await create.select_wave(ctx))
    ctx.creating = [node.key for node in wave]
    for node in wave:
        ctx.outcomes[node.key] = Waiting(Reason.CREATING, 0.0, "is being created")
    _explain_requirements(ctx)
    await create.send_wave(ctx, wave)
    await given_requirements.check_given(ctx)


async def _keep(ctx: PassContext, marked: TagsByTarget) -> None:
    """Bring what exists to the spec: attributes, parts, marks, tags and seals; delete surplus that may go."""
    mark.hold_unmarked(ctx, list(ctx.graph.nodes))
    await drift.apply_spec(ctx)
    given_requirements.report_unreadable(ctx)
    await mark.attach_marks(ctx, list(ctx.journal.claimed))
    await detach.detach_dropped(ctx)
    await given_tags.apply_spec(ctx, marked)
    mark.hold_unmarked(ctx, list(ctx.graph.nodes))
    keyed_tags.report_foreign_values(ctx)
    await renewal.renew_seals(ctx)
    ctx.journal = add_edges(ctx.journal, ctx.graph, ctx.as_wanted)
    await prune.prune_surplus(ctx, marked)
    await ctx.save()
    prune.report_surplus(ctx)


def _plan_next_looks(ctx: PassContext) -> None:
    if ctx.deep:
        ctx.state.full_read_due = False
    ctx.state.looked_at = ctx.now
    polling.plan_again(ctx)
    _plan_deep_look(ctx, "each resource itself")


def _may_be_wanted_by_another_name(ctx: PassContext, before: Journal) -> bool:
    """Return whether the marks showed a resource without a node, which the spec may mean: the next pass decides.

    A create now could make a second one of what the spec means.
    """
    return any(key not in before.entries and key not in ctx.graph.nodes for key in ctx.journal.claimed)


def _plan_deep_look(ctx: PassContext, how: str) -> None:
    """Plan the next deep look for the round of all objects; during a create, for the one after that."""
    state, ctx.looked = ctx.state, ctx.deep
    if any(_is_under_way(ctx, key, outcome) for key, outcome in ctx.outcomes.items()):
        if ctx.deep or state.deep_at > -inf:
            state.deep_at = ctx.next_round + ctx.deps.intervals.deep
    elif ctx.deep:
        state.deep_at = ctx.next_round
    else:
        state.deep_at = min(state.deep_at, ctx.next_round)
    if ctx.deep and _LOG.isEnabledFor(logging.DEBUG):
        who, seconds = f"{ctx.owner.namespace}/{ctx.owner.name}", state.deep_at - ctx.now
        _LOG.debug("%s: looked at everything, %s; next in %.0f s, in the round of all objects", who, how, seconds)


def _is_under_way(ctx: PassContext, key: NodeKey, outcome: Outcome) -> bool:
    """Return whether it is being created, for no longer than any create is believed to take."""
    waits = isinstance(outcome, Waiting) and outcome.reason in (Reason.CREATING, Reason.PROVISIONING)
    return waits and not polling.is_overdue(ctx, key)


def _is_planned_look(ctx: PassContext) -> bool:
    """Return whether this is the look of an object at rest whose time has come, or the first one of this process."""
    state = ctx.state
    if ctx.now < state.deep_at or state.full_read_due or state.releasing:
        return False
    return bool(state.at_rest) or state.looked_at == -inf


def _journal_is_readable(ctx: PassContext) -> bool:
    """Return whether this process can check the journal. What it remembers is dropped if it is of another journal.

    A journal that is neither what this process last read or wrote, nor what it last tried to write, was put there by
    somebody else (a restore, GitOps, another process): creates of its time may be under way.
    """
    state = ctx.state
    missing = ctx.deps.ring.missing(ctx.journal.keys, ctx.owner.uuid)
    for digest in missing:
        ctx.outcomes[NodeKey("key", digest)] = Blocked(
            Reason.KEY_MISSING,
            f"key {digest}, which this object's records are signed with, is not in the operator's key ring: nothing is "
            "read, created or deleted. Add it with `freehold keys add FILE`, from the ring that has it",
            ctx.deps.intervals.slow,
        )
    if missing:
        return False
    if not state.recognises(ctx.journal):
        state.reset(ctx.now)
    state.confirmed = ctx.journal
    return True


def _must_read_marks_first(ctx: PassContext) -> bool:
    """Return whether marks must be read before a create, because an earlier process may have made something.

    The journal may be an older one, and names may have changed since; marks have not. Read when this process
    first sees the object, and again when nothing can be under way any more.
    """
    state, entries = ctx.state, ctx.journal.entries
    if state.identity_is_new or all(key in entries and entries[key].id for key in ctx.graph.nodes):
        return False
    settled = state.first_seen + ctx.longest_settle()
    return state.marks_read_at < state.first_seen or ctx.now >= settled > state.marks_read_at


async def _ends_at_rest(ctx: PassContext) -> bool:
    """End a shallow pass early: everything was Ready at the last look, and the shared index still shows our marks.

    Its other outcomes (drift, surplus) are reported again.
    """
    state, deps = ctx.state, ctx.deps
    if ctx.decisions or ctx.now >= state.deep_at or not ctx.graph.nodes.keys() <= ctx.journal.entries.keys():
        return False
    if ctx.journal.tags != ctx.user_tags or not given_tags.is_settled(ctx) or not detach.node_tags_are_recorded(ctx):
        return False
    entries = {key: ctx.journal.entries[key] for key in ctx.graph.nodes}
    if any(quick_confirm.is_unfinished(ctx, key, entry) for key, entry in ctx.journal.entries.items()):
        return False
    if not {key for key, outcome in state.at_rest.items() if isinstance(outcome, Ready)} >= entries.keys():
        return False
    try:
        shown = await quick_confirm.read_shown_marks(ctx, deps.intervals.shallow)
    except CloudError:  # only a hint is missing, and nothing follows from it: the next pass asks again
        ctx.outcomes.update(state.at_rest)
        return True
    for key, entry in entries.items():
        observed = state.node(key).observed
        if (
            entry.state is not RecordState.OWNED
            or not ctx.kind(key).markable
            or not ctx.kind(key).reads.indexed
            or entry.carried
        ):
            continue
        if read_marks.find_missing(ctx, key, observed, shown.get(entry.target, frozenset())):
            state.invalidate()  # missing from an index is a hint: ask the resource itself
            return False
    ctx.outcomes.update(state.at_rest)
    return True


def _explain_requirements(ctx: PassContext) -> None:
    """Give every node without an outcome the requirement that it waits for."""
    for key in ctx.graph.order:
        if key in ctx.outcomes:
            continue
        nodes = ctx.graph.nodes
        unfinished = sorted(r for r in nodes[key].requires if not _is_done(ctx, r))
        names = ", ".join(sorted(f"{r.kind} {ctx.graph.title(r)}" for r in unfinished))
        if unfinished:
            after, waits_for = ctx.deps.intervals.slow, tuple(unfinished)
            ctx.outcomes[key] = Waiting(Reason.REQUIREMENT, after, f"waits for {names}", waits_for=waits_for)
        else:  # what it needs was found in this pass
            ctx.outcomes[key] = Waiting(Reason.REQUIREMENT, 1.0, "is looked for in the next pass")


def _is_done(ctx: PassContext, key: NodeKey) -> bool:
    return isinstance(ctx.outcomes.get(key), Ready) and key in ctx.ready_nodes


async def release(
    deps: EngineDeps,
    graph: Graph,
    journal: Journal,
    store: Store,
    state: ObjectState,
    decisions: tuple[Decision, ...] = (),
) -> PassResult:
    """Make one pass of deleting everything that is provably owned. The spec never decides what is deleted.

    ``graph`` only helps to find unrecorded resources of ours in native lists; it may be empty. Raises as
    :func:`ensure` does.
    """
    ctx = PassContext(deps, graph, journal, store, state, decisions=decisions)
    deps.flags.look = False
    if not _journal_is_readable(ctx):
        return ctx.result()
    if not state.releasing:
        state.invalidate()
        state.releasing = True
    await intents.resolve_open(ctx)
    await human_decisions.apply_decisions(ctx)
    await detach.detach_retired(ctx)
    await lost_marks.read_given_up(ctx)
    in_use = await _delete_waves(ctx)
    if in_use:
        await final_check.record_by_nonce(ctx, {})  # what blocks the delete may be an unrecorded resource of ours
    delete.select_wave(ctx)  # for the report: it says what each of the rest waits for
    done = await delete.is_finished(ctx)
    await ctx.save()
    polling.plan_again(ctx)
    return ctx.result(released=done)


async def _delete_waves(ctx: PassContext) -> frozenset[NodeKey]:
    """Delete what may leave now, then what it freed where it has gone at once. As :func:`delete.request_deletes`."""
    state, in_use = ctx.state, frozenset[NodeKey]()
    marked: TagsByTarget = {}
    while True:
        present = await delete.observe_owned(ctx)
        if present or not state.index_read:
            if await child_owners.hold_delete(ctx, present):
                return in_use
            if not state.index_read:
                marked = await read_marks.read_index(ctx)
                await recovery.record_marked(ctx, marked)
            state.index_read = True
            proven = await delete.prove_present(ctx, present, marked)
            await mark.attach_marks(ctx, list(ctx.journal.claimed))
            wave = delete.select_wave(ctx)  # the marks may have shown what must be deleted first
            in_use |= await delete.request_deletes(ctx, proven & wave)
            if delete.select_wave(ctx) - wave:
                continue
        if ctx.network_is_free or not await collect.is_collected(ctx):
            return in_use
