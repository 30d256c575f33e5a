"""The main path: :func:`ensure` brings what is wanted about, :func:`release` deletes what is owned.

Both are level-triggered: called again and again with the newest spec and journal, each call one *pass*
that does what can be done now and says when to come back. A pass never waits.

A creating pass moves in phases, and may be cut off between any two calls::

    look*   native reads of what is recorded; witnesses of open intents; candidates for new nodes
    intend  one patch of the journal: the exact requests of this wave
    create* the whole wave at once
    record  one patch: the ids
    mark*   attach the marks; a later look reads them back, which closes the intent

A deleting pass::

    resolve open intents  ->  prove by marks, read in this pass  ->  record the requests  ->  delete*
    ->  observe until gone  ->  nothing of ours in journal, index and native lists  ->  released
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from freehold.lifecycle.context import EngineDeps, PassContext, PassResult
from freehold.lifecycle.errors import CloudError, TokenReused, Unknown
from freehold.lifecycle.graph import Graph, Node
from freehold.lifecycle.inventory import TagsByTarget
from freehold.lifecycle.journal import Entry, Journal, Phase, Store
from freehold.lifecycle.kinds import NodeKey, Observed
from freehold.lifecycle.outcomes import Blocked, Ready, Reason, Surplus, Waiting, of_error
from freehold.lifecycle.phases import create, delete, drift, final_check, intents, mark, observe, recovery, renewal
from freehold.lifecycle.port import WouldWrite
from freehold.lifecycle.state import ObjectState


async def ensure(
    deps: EngineDeps,
    graph: Graph,
    journal: Journal,
    store: Store,
    state: ObjectState,
    user_tags: frozenset[str] = frozenset(),
) -> PassResult:
    """One pass towards what ``graph`` wants.

    Raises StaleObject when the object changed underneath, and CloudError when the journal cannot be saved or
    the shared index cannot be read: the next pass starts from what is on record.
    """
    ctx = PassContext(deps, graph, journal, store, state, user_tags)
    if not _may_start(ctx) or await _is_idle(ctx):
        return ctx.finish()
    ctx.deep = ctx.now >= state.deep_at
    if ctx.deep:
        state.parts_checked.clear()
    ctx.journal = replace(ctx.journal, tags=ctx.journal.tags | user_tags)
    left_to_prune = state.delete_sent.keys() & set(_prunable(ctx))
    await observe.recorded(ctx, [*graph.nodes, *(key for key in _surplus_keys(ctx) if key not in left_to_prune)])
    await intents.resolve_open(ctx)
    await mark.detach_retired(ctx)
    marked = await mark.verify(ctx, list(ctx.journal.ours))
    if _must_read_marks_first(ctx):
        marked = await mark.read(ctx)
    await recovery.by_marks(ctx, marked)
    create.drop_stale_refs(ctx)
    wave = await create.select(ctx)
    ctx.creating = [node.key for node in wave]
    for node in wave:
        ctx.outcomes[node.key] = Waiting(Reason.CREATING, 0.0, "is being created")
    _explain_requirements(ctx)
    await _create(ctx, wave)
    mark.gate_ready_on_mark(ctx, list(graph.nodes))
    await drift.to_spec(ctx)
    await mark.attach(ctx, list(ctx.journal.ours))
    await mark.detach_dropped(ctx)
    mark.gate_ready_on_mark(ctx, list(graph.nodes))
    await renewal.renew(ctx)
    await _prune(ctx, marked)
    await ctx.save()
    _report_surplus(ctx)
    if ctx.deep:
        state.deep_at = ctx.now + deps.intervals.deep * ctx.jitter
    return ctx.finish()


async def plan(deps: EngineDeps, graph: Graph, journal: Journal, store: Store, state: ObjectState) -> PassResult:
    """What :func:`ensure` would do: the same code behind a port that stops at the first write.

    Nodes in ``creating`` would be created now; those that wait for a requirement, after it.
    """
    ctx = PassContext(deps, graph, journal, store, state.dry_run_copy())
    if not _may_start(ctx):
        return ctx.finish()
    ctx.deep = True
    try:
        await observe.recorded(ctx, list(graph.nodes))
        await intents.resolve_open(ctx)
        wave = await create.select(ctx)
        ctx.creating = [node.key for node in wave]
        for node in wave:
            ctx.outcomes[node.key] = Waiting(Reason.CREATING, 0.0, "would be created")
        _explain_requirements(ctx)
        await _create(ctx, wave)
    except WouldWrite:
        pass
    return ctx.finish()


def _may_start(ctx: PassContext) -> bool:
    """Whether this process can check what the journal says; and what it remembers is of this very journal.

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
    if not missing and not ctx.journal.key and ctx.owner.uuid not in ctx.deps.ring.unkeyed:
        message = (
            "its records are from before the key ring, which does not count them: nothing is done for it. If it was "
            "there before the ring: freehold keys require --undo"
        )
        ctx.outcomes[NodeKey("key", "none")] = Blocked(Reason.KEY_MISSING, message, ctx.deps.intervals.slow)
    if ctx.outcomes:
        return False
    if not state.recognises(ctx.journal):
        state.reset(ctx.now)
    state.confirmed = ctx.journal
    return True


def _must_read_marks_first(ctx: PassContext) -> bool:
    """Whether something may be created by a process that did not mint the identity, and marks are to be read before.

    The journal may be an older one, and names may have changed since; marks have not. Read when this process
    first sees the object, and again when nothing can be under way any more.
    """
    state, entries = ctx.state, ctx.journal.entries
    if state.minted or all(key in entries and entries[key].id for key in ctx.graph.nodes):
        return False
    settled = state.first_seen + max(kind.settle for kind in ctx.deps.registry.values())
    return state.marks_read_at < state.first_seen or ctx.now >= settled > state.marks_read_at


async def _is_idle(ctx: PassContext) -> bool:
    """A shallow pass: everything was Ready at the last look, and the shared index still shows our marks.

    What that look had to say besides (drift, surplus) stays said.
    """
    state, deps = ctx.state, ctx.deps
    if ctx.now >= state.deep_at or not ctx.graph.nodes.keys() <= ctx.journal.entries.keys():
        return False
    if ctx.journal.tags != ctx.user_tags:
        return False
    entries = {key: ctx.journal.entries[key] for key in ctx.graph.nodes}
    if any(_unfinished(ctx, key, entry) for key, entry in ctx.journal.entries.items()):
        return False
    if not {key for key, outcome in state.settled.items() if isinstance(outcome, Ready)} >= entries.keys():
        return False
    snapshot = await deps.inventory.shared(deps.intervals.shallow)
    for key, entry in entries.items():
        observed = state.seen[key]
        if entry.phase is Phase.OWNED and ctx.kind(key).markable and not entry.carried:
            have = deps.codec.fold(snapshot.targets.get(entry.target, frozenset()))
            if not deps.codec.fold(ctx.marks(key, observed) | ctx.user_tags) <= have:
                state.invalidate()  # missing from an index is a hint: ask the resource itself
                return False
    ctx.outcomes.update(state.settled)
    return True


def _unfinished(ctx: PassContext, key: NodeKey, entry: Entry) -> bool:
    """What was pruned leaves only the number of its attempt behind: that is no work."""
    if entry.phase is Phase.VACANT:
        return key in ctx.graph.nodes or bool(entry.earlier)
    return entry.phase in (Phase.INTENDED, Phase.RECORDED)


def _explain_requirements(ctx: PassContext) -> None:
    """Say of every node that has no outcome yet what it waits for."""
    for key in ctx.graph.order:
        if key in ctx.outcomes:
            continue
        nodes = ctx.graph.nodes
        names = ", ".join(sorted(f"{r.kind} {nodes[r].name}" for r in nodes[key].requires if r not in ctx.ready_nodes))
        ctx.outcomes[key] = Waiting(Reason.REQUIREMENT, ctx.deps.intervals.slow, f"waits for {names}")


async def _create(ctx: PassContext, wave: Sequence[Node]) -> None:
    """Intend, create, record: two patches around one wave of creates."""
    for node in wave:
        entry = ctx.journal.get(node.key)
        opened = round(ctx.deps.clock.now(), 3)
        intent = replace(
            entry or Entry(Phase.INTENDED),
            phase=Phase.INTENDED,
            opened=opened,
            key=ctx.keys.writing,
            by=ctx.deps.identity,
            request=dict(node.request(ctx.ready_nodes)),
            parts=drift.claimed_parts(ctx, node.key),
        )
        ctx.journal = ctx.journal.put(node.key, intent)
    await ctx.save()
    if not wave:
        return
    ctx.state.last_sent = ctx.now
    results = await ctx.deps.port.all([_send(ctx, node.key) for node in wave])
    for node, result in zip(wave, results, strict=True):
        _created(ctx, node.key, result)
    await ctx.save()
    for defect in results:
        if not isinstance(defect, Observed | CloudError):
            raise defect  # not before what the others made is on record


async def _send(ctx: PassContext, key: NodeKey) -> Observed:
    entry = ctx.journal.entries[key]
    assert entry.request is not None
    return await ctx.kind(key).driver.create(entry.request, intents.birth_of(ctx, key, entry.attempt))


def _created(ctx: PassContext, key: NodeKey, result: Observed | Exception) -> None:
    """An id is recorded; an unknown effect stays an open intent; a refusal closes it: nothing happened."""
    entry = ctx.journal.entries[key]
    if isinstance(result, Observed):
        ctx.state.made[key, entry.attempt] = result
        observe.record_owned(ctx, key, result, entry)
        ctx.state.look_at.setdefault(key, ctx.now)
        if ctx.kind(key).born_with_parts:
            ctx.state.parts_checked.add(key)
    elif isinstance(result, Unknown | TokenReused):
        ctx.state.open_since[key] = ctx.now
        ctx.requeue(key, Waiting(Reason.RETRYING, 5.0, result.message))
    elif isinstance(result, CloudError):
        ctx.journal = ctx.journal.put(key, replace(entry, phase=Phase.VACANT, request=None, opened=0.0, key="", by=""))
        ctx.block(key, of_error(result))


def _surplus_keys(ctx: PassContext) -> list[NodeKey]:
    """Ours, of a kind we know, and no longer wanted."""
    return [k for k in ctx.journal.ours if k not in ctx.graph.nodes and k.kind in ctx.deps.registry]


def _requirements(ctx: PassContext, key: NodeKey) -> tuple[str, ...]:
    return ctx.kind(key).requires if key.kind in ctx.deps.registry else ()


def _prunable(ctx: PassContext) -> list[NodeKey]:
    """Surplus that may go: its kind allows it, and nothing of ours is in the way."""
    needed = {required for key in ctx.journal.ours for required in _requirements(ctx, key)}
    keys = [key for key in _surplus_keys(ctx) if ctx.kind(key).prunable and key.kind not in needed]
    return [k for k in keys if ctx.journal.entries[k].phase is Phase.OWNED or k in ctx.state.delete_sent]


async def _prune(ctx: PassContext, marked: TagsByTarget) -> None:
    """Delete what is surplus and proven now; see that it goes."""
    free = _prunable(ctx)
    for key in free:
        if key not in ctx.state.delete_sent and ctx.state.look_at.get(key) == float("inf"):
            del ctx.state.look_at[key]  # it stood as wanted; now it is not wanted
    standing = await delete.observe_present(ctx, free)
    if standing and not marked:
        try:
            marked = await mark.read(ctx)
        except CloudError as error:
            ctx.outcomes.update(dict.fromkeys(standing, of_error(error)))
            return
        await recovery.by_marks(ctx, marked)  # who disputes it, too
    await delete.request(ctx, await delete.prove(ctx, standing, marked))


def _report_surplus(ctx: PassContext) -> None:
    """Ours, but no longer wanted: reported, and deleted only where the kind allows it."""
    for key in _surplus_keys(ctx):
        outcome, entry = ctx.outcomes.get(key), ctx.journal.entries[key]
        leaving_now = isinstance(outcome, Waiting) and ctx.kind(key).prunable
        if entry.id and not leaving_now and not isinstance(outcome, Blocked):
            message = f"{entry.id} is ours and the spec no longer wants it"
            ctx.outcomes[key] = Surplus(ctx.state.seen.get(key), f"{message}; it goes with the object")
    said = ctx.outcomes.items()
    stirs = any(isinstance(outcome, Waiting | Blocked) for _, outcome in said)
    ctx.state.settled = {} if stirs else {k: o for k, o in said if isinstance(o, Ready | Surplus)}


async def release(deps: EngineDeps, graph: Graph, journal: Journal, store: Store, state: ObjectState) -> PassResult:
    """One pass of deleting everything that is provably owned, whatever the spec says today.

    ``graph`` serves only to look for strays of our own in native lists; it may be empty. Raises as
    :func:`ensure` does.
    """
    ctx = PassContext(deps, graph, journal, store, state)
    if not _may_start(ctx):
        return ctx.finish()
    if not state.releasing:
        state.invalidate()
        state.releasing = True
    await intents.resolve_open(ctx)
    await mark.detach_retired(ctx)
    standing, held = await delete.observe_owned(ctx), frozenset[NodeKey]()
    if standing or not state.index_read:
        marked = await mark.read(ctx)
        state.index_read = True
        await recovery.by_marks(ctx, marked)
        proven = await delete.prove(ctx, standing, marked)
        await mark.attach(ctx, list(ctx.journal.ours))
        held = await delete.request(ctx, proven & delete.next_wave(ctx))  # marks may have shown what has to go first
    if held:
        await final_check.by_nonce(ctx, {})  # what holds it may be ours and forgotten
    delete.next_wave(ctx)
    done = await delete.finished(ctx)
    await ctx.save()
    return ctx.finish(released=done)
