"""Observe: read what is recorded from the cloud itself, and list what has a wanted name. Nothing here writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

from freehold.engine import birth_marks, consumed, polling
from freehold.engine.birth_marks import CLOCK_SKEW
from freehold.engine.context import PassContext
from freehold.engine.deletion_order import with_edges
from freehold.engine.durations import Verb
from freehold.engine.errors import CloudError
from freehold.engine.journal import Entry, RecordState, end_attempt, let_go
from freehold.engine.outcomes import Blocked, Category, Ready, Reason, Repair, Waiting, outcome_of_error
from freehold.engine.port import run_together
from freehold.engine.resources import NodeKey, Observed, Ref, State, Want
from freehold.engine.state import Existence, earliest

SHARED_LOOK = 8.0
"""Seconds for which a list counts that objects share while they make something."""


async def read_recorded(ctx: PassContext, keys: Iterable[NodeKey]) -> None:
    """Ask for the state of everything whose id is known and whose time has come, one call a kind where it can."""
    due: list[NodeKey] = []
    for key in keys:
        entry = ctx.journal.get(key)
        if entry and entry.id:
            if ctx.is_due(key):
                due.append(key)
            elif ctx.node(key).look_at < inf:
                ctx.outcomes[key] = ctx.pending_outcome(key)
            elif ctx.node(key).last_seen is not None:
                assess(ctx, key, ctx.node(key).observed)
    shared = await read_shared(ctx, due)
    for key, seen in {**shared, **await read_each(ctx, [key for key in due if key not in shared])}.items():
        ctx.node(key).look_now()  # this read decides when the next one is due
        if isinstance(seen, CloudError):
            ctx.outcomes[key] = outcome_of_error(seen)
        elif seen is None:
            _note_absent(ctx, key)
        else:
            ctx.remember(key, seen)
            assess(ctx, key, seen)


async def read_shared(ctx: PassContext, keys: Collection[NodeKey]) -> Mapping[NodeKey, Observed]:
    """Return what is under way of the kinds that many objects make at once, as a list that they share shows it.

    What the list does not show, or may show as it was before our last write, is read itself: so is the end of a delete.
    """
    found: dict[NodeKey, Observed] = {}
    if ctx.deps.lists is None:
        return found
    pending = [key for key in keys if ctx.kind(key).reads.made_together and _is_under_way(ctx, key)]
    for kind in sorted({key.kind for key in pending}):
        refs = [
            Ref(ctx.journal.entries[key].id, ctx.journal.entries[key].target) for key in pending if key.kind == kind
        ]
        rows = await ctx.deps.lists.show(kind, refs, ctx.owner.uuid, SHARED_LOOK)
        shown = {ident: row.observed for ident, row in rows.items()}
        found |= {key: seen for key in pending if key.kind == kind and (seen := pick_recorded(ctx, key, shown))}
    return found


def _is_under_way(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether a look would only show how far its create, or the delete that we sent, has come."""
    node = ctx.node(key)
    if node.delete_sent is not None:
        ends = node.last_seen is not None and node.last_seen.state is State.DELETING
        return ends and ctx.now - node.delete_sent > SHARED_LOOK
    attached = node.mark_memory.attached
    is_old = attached is None or ctx.now - attached.at > SHARED_LOOK
    return node.existence is Existence.PRESENT and node.observed.state is State.PENDING and is_old


async def read_kind(ctx: PassContext, kind: str, keys: Sequence[NodeKey]) -> Mapping[str, Observed]:
    """Read all of one kind in one driver call."""
    refs = []
    for key in keys:
        entry = ctx.journal.entries[key]
        old = bool(entry.opened) and ctx.deps.clock.now() - entry.opened > ctx.kind(key).settle + CLOCK_SKEW
        refs.append(Ref(entry.id, entry.target, delete_requested=old and ctx.node(key).delete_sent is not None))
    return await ctx.deps.registry[kind].driver.observe(refs)


async def read_each(ctx: PassContext, keys: Collection[NodeKey]) -> Mapping[NodeKey, Observed | CloudError | None]:
    """Read natively, one call a kind where the driver can; None is what the cloud does not know.

    A list leaves out what the credentials may not see, so what is missing among several is asked for by
    itself, where a refusal is an error; except where we asked for its deletion.
    """
    by_kind: dict[str, list[NodeKey]] = {}
    for key in sorted(keys):
        by_kind.setdefault(key.kind, []).append(key)
    results = await run_together([read_kind(ctx, kind, group) for kind, group in by_kind.items()])
    found: dict[NodeKey, Observed | CloudError | None] = {}
    for group, result in zip(by_kind.values(), results, strict=True):
        if isinstance(result, Exception) and not isinstance(result, CloudError):
            raise result
        for key in group:
            found[key] = result if isinstance(result, CloudError) else pick_recorded(ctx, key, result)
    missing = [k for k, seen in found.items() if seen is None and len(by_kind[k.kind]) > 1]
    missing = [key for key in missing if ctx.node(key).delete_sent is None]
    again = await run_together([read_kind(ctx, key.kind, [key]) for key in missing])
    for key, result in zip(missing, again, strict=True):
        if isinstance(result, Exception) and not isinstance(result, CloudError):
            raise result
        found[key] = result if isinstance(result, CloudError) else pick_recorded(ctx, key, result)
    return found


def pick_recorded(ctx: PassContext, key: NodeKey, found: Mapping[str, Observed]) -> Observed | None:
    """Return what has the recorded id, unless that is a later resource with the same one."""
    entry = ctx.journal.entries[key]
    seen = found.get(entry.id)
    known = entry.incarnation if seen is not None and seen.incarnation else ""
    ctx.node(key).id_taken = bool(known) and seen is not None and known != seen.incarnation
    return None if ctx.node(key).id_taken else seen


def assess(ctx: PassContext, key: NodeKey, observed: Observed) -> None:
    """Set the outcome that the observed state means, before marks and parts are considered."""
    shown = observed.vendor_state or observed.state.value
    match observed.state:
        case State.READY if why_unfit := _explain_problem(ctx, key, observed):
            ctx.node(key).look_now()
            ctx.outcomes[key] = Blocked(Reason.UNFIT, why_unfit, ctx.deps.intervals.slow, observed)
        case State.READY if ctx.delete_is_fresh(key):
            after = polling.plan_look(ctx, key, Verb.DELETE)
            message = "delete requested; the cloud still reports it as available"
            _wait_until_appointed(ctx, key, Waiting(Reason.DELETING, after, message, observed))
        case State.READY:
            polling.note_finish(ctx, key, Verb.CREATE)
            ctx.node(key).delete_sent = None
            ctx.node(key).deferred = None
            _forget_refused_delete(ctx, key)
            ctx.ready_nodes[key] = observed
            ctx.outcomes[key] = Ready(observed, ctx.category(key))
            ctx.node(key).look_at = inf
        case State.PENDING:
            after = polling.plan_look(ctx, key, Verb.CREATE)
            _wait_until_appointed(ctx, key, Waiting(Reason.PROVISIONING, after, f"its state is {shown}", observed))
        case State.DELETING:
            after = polling.plan_look(ctx, key, Verb.DELETE)
            _wait_until_appointed(ctx, key, Waiting(Reason.DELETING, after, f"its state is {shown}", observed))
        case State.FAILED:
            ctx.outcomes[key] = Blocked(
                Reason.FAILED,
                f"{observed.name} ({observed.id}) is {shown}: look at it in the cloud; delete it there to have it "
                f"created again{_explain_decision(ctx, key)}",
                ctx.deps.intervals.slow,
                observed,
            )


def _forget_refused_delete(ctx: PassContext, key: NodeKey) -> None:
    """Take back a refused delete of what is wanted again: if it goes now, that is not our delete."""
    entry = ctx.journal.get(key)
    if entry and entry.deleting and key in ctx.graph.nodes and not ctx.state.releasing and not ctx.may_be_another(key):
        ctx.record(key, replace(entry, deleting=0.0))


def _explain_decision(ctx: PassContext, key: NodeKey) -> str:
    return (
        f", and then decide: {ctx.resolve_command(key)} --not-mine --yes"
        if ctx.kind(key).creation.never_recreate
        else ""
    )


def _explain_problem(ctx: PassContext, key: NodeKey, observed: Observed) -> str:
    node = ctx.graph.nodes.get(key)
    return node.given_problem(observed) if node and ctx.category(key) is Category.UNMANAGED else ""


def _wait_until_appointed(ctx: PassContext, key: NodeKey, outcome: Waiting) -> None:
    """Keep a requeue time that is set already; else set one."""
    appointed = ctx.node(key).look_at
    if appointed > ctx.now:
        ctx.outcomes[key] = replace(outcome, after=appointed - ctx.now)
    else:
        ctx.requeue(key, outcome)


def _note_absent(ctx: PassContext, key: NodeKey) -> None:
    """Treat what a direct read does not show as gone after the settle time: reads lag.

    At once where its consumer has had it: nothing is made in its place.
    """
    entry = ctx.journal.entries[key]
    since = ctx.node(key).absent_since = earliest(ctx.node(key).absent_since, ctx.now)
    had = consumed.may_be_gone(key, ctx.journal, ctx.deps.registry)
    if entry.state is RecordState.GIVEN:
        ctx.outcomes[key] = Blocked(Reason.NOT_FOUND, ctx.graph.nodes[key].absent(entry.id))
    elif not ctx.is_settled(key, since) and not had:
        left = ctx.kind(key).settle - (ctx.now - since)
        message = f"{entry.id} not found; confirming its deletion"
        ctx.requeue(key, Waiting(Reason.SETTLING, min(left, 30.0), message))
    elif entry.state in (RecordState.REUSED, RecordState.THEIRS):
        ctx.notes.append(f"{key}: {entry.id}, used by name, is gone")
        ctx.state.forget(key)
        ctx.record(key, birth_marks.without_resource(ctx, key, let_go(entry)))
    else:
        if ctx.node(key).delete_sent is None and not had:
            ctx.notes.append(f"{key}: {entry.id} is gone, deleted by someone else")
            if key in ctx.graph.nodes and not ctx.kind(key).creation.never_recreate:
                gone = Repair("the resource", f"{entry.id} was deleted", "created anew")
                ctx.note_repair(key, gone, from_outside=True)
        fails = entry.fails + 1 if entry.state is RecordState.RECORDED and not had else 0
        polling.note_finish(ctx, key, Verb.DELETE)
        ctx.state.forget(key)
        ctx.record(key, birth_marks.without_resource(ctx, key, end_attempt(entry, fails=fails)))


def record_claim(ctx: PassContext, key: NodeKey, observed: Observed, entry: Entry | None) -> None:
    """Record a resource that was proven ours; it still has to be marked, or its mark read back."""
    base = entry or Entry(RecordState.RECORDED, opened=ctx.deps.clock.now())
    record = replace(base, state=RecordState.RECORDED, id=observed.id, target=observed.target, carried=observed.carried)
    record = replace(record, signature=ctx.sign(key, observed.id, observed.incarnation), key=ctx.keys.writing, by="")
    record = replace(record, tags=None, had_effect=False, gone="", incarnation=observed.incarnation, candidates=())
    record = replace(record, read_back=False)
    if key in ctx.graph.nodes and not ctx.state.releasing:
        record = with_edges(record, ctx.graph.nodes[key])
    ctx.record(key, record)
    _drop_other_records(ctx, key, observed.id)
    ctx.node(key).open_since = None
    ctx.node(key).answered = ""
    ctx.node(key).look_now()
    ctx.remember(key, observed)
    assess(ctx, key, observed)
    if ctx.state.releasing:
        ctx.node(key).look_now()


def _drop_other_records(ctx: PassContext, key: NodeKey, id_: str) -> None:
    """Drop the record that the resource has under another, unwanted name: it is on record once."""
    for other, entry in ctx.journal.entries.items():
        if other != key and (other.kind, entry.id) == (key.kind, id_) and other not in ctx.graph.nodes:
            ctx.record(other, let_go(entry))
            ctx.state.forget(other)
            ctx.outcomes.pop(other, None)


async def find_candidates(ctx: PassContext, wants: Sequence[Want]) -> dict[NodeKey, Sequence[Observed] | CloudError]:
    """Return everything with a wanted name or a nonce of ours, one call a kind."""
    by_kind: dict[str, list[Want]] = {}
    for want in wants:
        by_kind.setdefault(want.key.kind, []).append(want)
    results = await run_together([ctx.deps.registry[kind].driver.find(group) for kind, group in by_kind.items()])
    found: dict[NodeKey, Sequence[Observed] | CloudError] = {}
    for group, result in zip(by_kind.values(), results, strict=True):
        if isinstance(result, Exception) and not isinstance(result, CloudError):
            raise result
        for want in group:
            found[want.key] = result if isinstance(result, CloudError) else _pick_of_node(ctx, want, result)
    return found


def _pick_of_node(ctx: PassContext, want: Want, found: Mapping[NodeKey, Sequence[Observed]]) -> Sequence[Observed]:
    return [each for each in found.get(want.key, ()) if not birth_marks.is_of_another_node(ctx, want, each)]
