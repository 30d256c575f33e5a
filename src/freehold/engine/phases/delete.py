"""Delete: prove, request the deletion, observe until gone, and check that nothing of ours stays behind.

In this order: :func:`select_wave` (what nothing else of ours needs), :func:`observe_owned`, :func:`prove_present`,
:func:`request_deletes`; in later passes :func:`observe_owned` until it has gone; :func:`is_finished` at the end. All
works from what is *owned* (journal and index), not from today's spec. The marks are read in the same pass as the delete
is sent. What they do not prove is marked first, if its marks were never read back, or kept and named.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from freehold.engine import birth_marks, consumed, polling, proofs, wanted_tags
from freehold.engine.context import PassContext
from freehold.engine.deletion_order import next_delete_wave
from freehold.engine.durations import Verb
from freehold.engine.errors import CloudError, InUse, NotFound
from freehold.engine.inventory import TagChange, TagsByTarget
from freehold.engine.journal import RecordState, let_go
from freehold.engine.outcomes import Blocked, Kept, Reason, Waiting, outcome_of_error
from freehold.engine.ownership import Evidence, Strength
from freehold.engine.phases import (
    child_owners,
    collect,
    final_check,
    given_tags,
    keyed_tags,
    lost_marks,
    observe,
    parts,
    read_marks,
    recovery,
    referenced_parts,
)
from freehold.engine.port import run_together
from freehold.engine.resources import NodeKey, Observed, Ref, State
from freehold.engine.state import earliest

RECHECK = 300.0
"""Most seconds between looks at what blocks a delete and only a person can move."""


def select_wave(ctx: PassContext) -> frozenset[NodeKey]:
    """Return what nothing else of ours depends on; a kind this version does not know blocks and is named."""
    ours = set(ctx.journal.claimed)
    unknown = {key for key in ours if key.kind not in ctx.deps.registry}
    for key in unknown:
        ctx.outcomes[key] = Blocked(
            Reason.UNKNOWN_KIND, f"{key} is ours and of a kind that this version does not know: use a newer one"
        )
    # Whoever may edit the object can have invented an id that nothing proves: nothing of ours waits for it.
    unproven = {key for key in ours - unknown if ctx.node(key).mark_memory.unproven}
    stays = lost_marks.find_holders(ctx)
    ctx.outcomes.update({key: lost_marks.explain_kept(ctx, key, holder) for key, holder in stays.items()})
    free = next_delete_wave(ours - unproven - stays.keys(), ctx.journal.entries, ctx.deps.registry)
    held = referenced_parts.hold_back(ctx, free - unknown)
    now = (free - unknown - held.keys()) | unproven
    for key in ours - unknown - now - stays.keys():
        why = "what depends on it"
        if key in held:
            why = f"{held[key].kind} {ctx.node(held[key]).observed.name}, which names it: they go together"
        ctx.outcomes[key] = Waiting(Reason.DEPENDENTS, ctx.deps.intervals.slow, f"waits for {why}")
    return frozenset(key for key in now if ctx.journal.entries[key].id)


async def observe_owned(ctx: PassContext) -> frozenset[NodeKey]:
    """Look at everything that may leave now; what is seen gone frees what it depended on in the same pass.

    Not at the network before the collection is done (:mod:`phases.collect`).
    """
    observed: set[NodeKey] = set()
    present: frozenset[NodeKey] = frozenset()
    while now := {
        key for key in select_wave(ctx) - observed if ctx.network_is_free or not ctx.kind(key).deletion.after_collection
    }:
        observed |= now
        present |= await observe_present(ctx, now, referenced_parts.find_unseen(ctx, now))
    return present


async def observe_present(
    ctx: PassContext, keys: Collection[NodeKey], beside: Collection[NodeKey] = ()
) -> frozenset[NodeKey]:
    """Observe what is due; what is gone leaves the journal. Returns what is still present and may be deleted.

    ``beside``: others, of the kinds of ``keys``, that are looked at with it.
    """
    due = [key for key in keys if ctx.is_due(key)]
    for key in set(keys) - set(due):
        ctx.outcomes[key] = ctx.pending_outcome(key)
    present: set[NodeKey] = set()
    for key in (left := [key for key in due if ctx.node(key).itself_gone]):
        await _leave_record(ctx, key)
    asked = set(due) - set(left)
    more = {key for key in beside if key.kind in {each.kind for each in asked}}
    shared = await observe.read_shared(ctx, asked)
    for key, seen in {**shared, **await observe.read_each(ctx, (asked - shared.keys()) | more)}.items():
        if key in more:
            ctx.node(key).last_seen = seen if isinstance(seen, Observed) else None
        elif isinstance(seen, CloudError):
            ctx.requeue(key, _as_waiting(seen))
        elif seen is None:
            await _note_absent(ctx, key)
        else:
            ctx.remember(key, seen)
            if seen.state is State.DELETING:
                after = polling.plan_look(ctx, key, Verb.DELETE)
                ctx.requeue(key, Waiting(Reason.DELETING, after, f"is {seen.vendor_state or 'deleting'}", seen))
            elif ctx.delete_is_fresh(key):
                after = polling.plan_look(ctx, key, Verb.DELETE)
                ctx.requeue(key, Waiting(Reason.DELETING, after, "delete was requested", seen))
            else:
                present.add(key)
    return frozenset(present)


async def _note_absent(ctx: PassContext, key: NodeKey) -> None:
    """Conclude that it has gone if the cloud took our request, or its consumer has had it.

    Else a read may lag, and the settle time decides.
    """
    entry = ctx.journal.entries[key]
    since = ctx.node(key).absent_since = earliest(ctx.node(key).absent_since, ctx.now)
    had = consumed.may_be_gone(key, ctx.journal, ctx.deps.registry)
    if ctx.node(key).delete_sent is None and not ctx.is_settled(key, since) and not had:
        left = min(ctx.kind(key).settle - (ctx.now - since), 30.0)
        ctx.requeue(key, Waiting(Reason.SETTLING, left, f"{entry.id} not found; confirming its deletion"))
        return
    if not ctx.node(key).id_taken:
        ctx.absent.add(entry.id)
    await _leave_record(ctx, key)


async def _leave_record(ctx: PassContext, key: NodeKey) -> None:
    """Take a resource that has gone off the record, once the cloud has taken away what is left of it."""
    kind, entry = ctx.kind(key), ctx.journal.entries[key]
    ctx.node(key).itself_gone = True
    try:
        left = await kind.deletion.leftovers.leftovers(Ref(entry.id, entry.target)) if kind.deletion.leftovers else ()
    except CloudError as error:
        ctx.requeue(key, _as_waiting(error))
        return
    if left:
        after = polling.plan_look(ctx, key, Verb.DELETE)
        message = f"{entry.id} has gone; the cloud still takes away what remains of it: {', '.join(left)}"
        ctx.requeue(key, Waiting(Reason.DELETING, after, message))
        return
    await _conclude_gone(ctx, key)


async def _conclude_gone(ctx: PassContext, key: NodeKey) -> None:
    """Detach its mark from a carrier that stays, then take it out of the journal."""
    entry = ctx.journal.entries[key]
    carrier_ours = any(e.target == entry.target and not e.carried for k, e in ctx.journal.claimed.items() if k != key)
    if entry.carried and not carrier_ours and proofs.is_carried_by(ctx, key, entry.id, entry.target):
        marks = proofs.carried_marks(ctx, key, entry.id, entry.target)
        failed = await keyed_tags.detach_exact(ctx, [TagChange(entry.target, marks)])
        error = failed.get(entry.target)
        if error is not None and not isinstance(error, NotFound):
            ctx.requeue(key, _as_waiting(error))
            return
    polling.note_finish(ctx, key, Verb.DELETE)
    if ctx.node(key).delete_sent is not None:
        ctx.state.deleted.add(entry.id)
    id_taken = ctx.node(key).id_taken
    ctx.state.forget(key)
    if not id_taken:
        ctx.state.gone |= {entry.id} if entry.carried else {entry.id, entry.target}
    ctx.outcomes.pop(key, None)
    ctx.record(key, birth_marks.without_resource(ctx, key, let_go(entry)))


def _as_waiting(error: CloudError) -> Waiting:
    outcome = outcome_of_error(error)
    return outcome if isinstance(outcome, Waiting) else Waiting(outcome.reason, outcome.after, outcome.message)


async def prove_present(ctx: PassContext, present: Collection[NodeKey], marked: TagsByTarget) -> frozenset[NodeKey]:
    """Return those that marks read in this pass prove; heal, keep or report the others."""
    # A kind that can bear no mark and has no carrier: the signed record is its only proof. No kind of AWS or IBM Cloud
    # is one; the rule is for a cloud that has such kinds.
    proven = {key for key in present if not ctx.kind(key).markable and ctx.is_signed(key)}
    shown = await read_marks.read_tags_now(ctx, sorted(set(present) - proven), marked)
    for key, tags in shown.items():
        observed, entry = ctx.node(key).observed, ctx.journal.entries[key]
        if isinstance(tags, CloudError):
            ctx.requeue(key, _as_waiting(tags))
            continue
        evidence = proofs.evidence(ctx, key, observed, tags)
        ctx.node(key).mark_memory.unproven = False
        if _has_lost_marks(ctx, key, evidence):
            lost_marks.judge_loss(ctx, key, observed, tags)
            continue
        ctx.node(key).mark_memory.lost_since = None
        if evidence.strength is Strength.PROVEN:
            proven.add(key)
        elif evidence.strength is Strength.OTHERS and _marks_may_lag(ctx, key, observed):
            after = ctx.deps.intervals.tag_lag
            ctx.requeue(key, Waiting(Reason.MARKING, after, "its marks are not readable yet", observed))
        elif evidence.strength is Strength.OTHERS:
            ctx.notes.append(f"{key}: {observed.id} has {evidence.source}: it is kept")
            ctx.record(key, replace(entry, state=RecordState.THEIRS, deleting=0.0, key=""))
        elif evidence.strength is Strength.DISPUTED:
            ctx.outcomes[key] = _report_disputed(ctx, key, observed, tags, evidence)
        elif evidence.strength is not Strength.HEALABLE and birth_marks.has_birth_mark(ctx, key, observed):
            # The signature of its record cannot be checked; its nonce tells what that of an open intent would.
            observe.record_claim(ctx, key, observed, entry)
            _mark_again(ctx, key, observed)
        elif evidence.strength is Strength.HEALABLE and not observed.target and observed.state is not State.PENDING:
            ctx.outcomes[key] = Blocked(
                Reason.UNMARKABLE,
                f"{observed.name} ({observed.id}) has nothing that could bear a mark, so nothing but our record says "
                "that it is ours: delete it in the cloud, and the delete goes on",
                RECHECK,
                observed,
            )
        elif evidence.strength is Strength.HEALABLE:
            _mark_again(ctx, key, observed)
        else:
            ctx.node(key).mark_memory.unproven = True
            ctx.outcomes[key] = _report_unproven(ctx, key, observed, evidence)
    return frozenset(proven)


def _has_lost_marks(ctx: PassContext, key: NodeKey, evidence: Evidence) -> bool:
    """Return whether its marks were there and only the record shows now that it is ours (ADR 7)."""
    return evidence.strength is Strength.HEALABLE and ctx.state.releasing and ctx.journal.entries[key].had_marks


def _report_disputed(
    ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str], evidence: Evidence
) -> Blocked:
    fold = ctx.deps.codec.fold
    own = fold(ctx.deps.codec.owner(ctx.owner) | proofs.seals(ctx, key, observed))
    ours = {tag for tag in tags if fold([tag]) & own}
    return Blocked(
        Reason.NOT_OWNED,
        f"{observed.name} ({observed.id}) has our marks and {evidence.source}: two owners claim it, so nobody deletes "
        f"it. If it is not of this object, {proofs.how_to_detach(ctx, observed.target, ours)}. If it is, "
        f"{proofs.how_to_detach(ctx, observed.target, set(tags) - ours)}",
        RECHECK,
        observed,
    )


def _report_unproven(ctx: PassContext, key: NodeKey, observed: Observed, evidence: Evidence) -> Blocked:
    """Report what a restored or edited journal, or a lost key, leaves without proof: neither deleted nor forgotten."""
    return Blocked(
        Reason.NOT_OWNED,
        f"{observed.name} ({observed.id}) is on record for {key}, and nothing proves now that it is ours "
        f"({evidence.source}). To decide: {ctx.resolve_command(key)} --mine, and it is deleted; or --not-mine, and it "
        "stays",
        RECHECK,
        observed,
    )


def _marks_may_lag(ctx: PassContext, key: NodeKey, observed: Observed) -> bool:
    return wanted_tags.lagging(ctx, key, wanted_tags.marks(ctx, key, observed))


def _mark_again(ctx: PassContext, key: NodeKey, observed: Observed) -> None:
    """Mark it (again) because of its record, or its birth mark; the proof is read in a later pass."""
    if left := ctx.seconds_of_delete(key):
        ctx.node(key).mark_memory.doubted = True
        ctx.requeue(key, Waiting(Reason.SETTLING, left, read_marks.MAY_GO, observed))
        return
    ctx.node(key).mark_memory.doubted = False
    if not _marks_may_lag(ctx, key, observed):
        ctx.node(key).mark_memory.attached = None
    ctx.record(key, ctx.believe_again(key).to_mark_again())
    ctx.requeue(
        key, Waiting(Reason.MARKING, ctx.deps.intervals.tag_lag, "is marked again before it is deleted", observed)
    )


async def _find_foreign_children(ctx: PassContext, key: NodeKey) -> Waiting | None:
    """Return what its delete would destroy that is not provably ours (a stranger's VM in a workspace), or None."""
    kind, entry = ctx.kind(key), ctx.journal.entries[key]
    if not kind.deletion.contains or kind.deletion.container is None:
        return None
    if (left := ctx.seconds_until_settled()) > 0:
        message = f"a create that was cut off may still take effect in {entry.id}, which is deleted after that"
        return Waiting(Reason.SETTLING, left, message, ctx.node(key).last_seen)
    children = await kind.deletion.container.children(Ref(entry.id, entry.target))
    own = (
        key for key in ctx.journal.claimed if not (ctx.node(key).mark_memory.unproven or lost_marks.is_lost(ctx, key))
    )
    ours = {ctx.journal.entries[key].id for key in own}
    foreign = [child for child in children if child.id not in ours and child.state is not State.DELETING]
    if foreign:
        names = ", ".join(sorted(f"{child.name} ({child.id})" for child in foreign))
        message = f"{entry.id} holds what is not provably ours: {names}. Remove it, or move it, and the delete goes on"
        return Waiting(Reason.IN_USE, RECHECK, message, ctx.node(key).last_seen)
    being_deleted = [child for child in children if child.state is State.DELETING]
    if being_deleted:
        return Waiting(Reason.DEPENDENTS, 10.0, f"{being_deleted[0].name} in it is still being deleted")
    return None


async def request_deletes(ctx: PassContext, proven: Collection[NodeKey]) -> frozenset[NodeKey]:
    """Record the requests in one patch, then send them together.

    Returns what something holds that nobody has looked for yet, or not for long: it may be ours and forgotten.
    """
    if not proven:
        return frozenset()
    keys = sorted(proven)
    stamp = round(ctx.deps.clock.now(), 3)
    for key in keys:
        entry = ctx.journal.entries[key]
        if not entry.deleting or ctx.may_be_another(key):
            # The marks of all that is proven were read in this pass. OWNED says that already; on a record that is only
            # RECORDED (marked again, or sealed by an interrupted process) it is noted here. If the delete is refused
            # and somebody takes a mark off, the resource has lost it, and is kept and not marked again (ADR 7).
            entry = replace(entry, read_back=entry.state is not RecordState.OWNED)
            ctx.record(key, replace(entry, deleting=stamp))
    await ctx.save()
    in_use: set[NodeKey] = set()
    # All of them before the first delete: two resources may hold each other by their parts.
    out = await run_together([_remove_holding_parts(ctx, key) for key in keys])
    results = await run_together([_request_delete(ctx, key, done) for key, done in zip(keys, out, strict=True)])
    for key, result in zip(keys, results, strict=True):
        if result is None:
            seen = replace(ctx.node(key).observed, state=State.DELETING)
            ctx.node(key).last_seen = seen
            ctx.node(key).pending_since = None
            ctx.node(key).delete_sent = ctx.now
            polling.note_start(ctx, key, Verb.DELETE)
            after = polling.plan_look(ctx, key, Verb.DELETE)
            ctx.requeue(key, Waiting(Reason.DELETING, after, "delete was requested", seen))
            if ctx.kind(key).deletion.gone_at_once:
                await _conclude_delete(ctx, key)
        elif isinstance(result, Waiting):
            in_use |= {key} if result.reason is Reason.IN_USE else set()
            ctx.requeue(key, result)
        elif isinstance(result, NotFound):
            # Seen a moment ago: one of the two reads is behind. The next looks decide.
            ctx.requeue(key, Waiting(Reason.DELETING, 5.0, "the cloud no longer knows it", ctx.node(key).observed))
        elif isinstance(result, InUse):
            message = f"{result.message}" + (f" (held by {result.blocker})" if result.blocker else "")
            first = ctx.node(key).refused_since is None
            since = ctx.node(key).refused_since = earliest(ctx.node(key).refused_since, ctx.now)
            after = min(max(10.0, (ctx.now - since) / 4), RECHECK)
            in_use |= {key} if first or after == RECHECK else set()
            ctx.requeue(key, Waiting(Reason.IN_USE, after, message, ctx.node(key).observed))
        elif isinstance(result, CloudError):
            ctx.requeue(key, _wait_longer(ctx, key, _as_waiting(result)))
        else:
            raise result
    return frozenset(in_use)


async def _conclude_delete(ctx: PassContext, key: NodeKey) -> None:
    """Conclude the delete. The last look at the index asks for what that still shows."""
    ctx.node(key).itself_gone = True
    if ctx.kind(key).deletion.leftovers is None:
        await _conclude_gone(ctx, key)


def _wait_longer(ctx: PassContext, key: NodeKey, outcome: Waiting) -> Waiting:
    """Wait longer each time for what is pruned: the object is at rest otherwise."""
    since = ctx.node(key).refused_since = earliest(ctx.node(key).refused_since, ctx.now)
    return outcome if ctx.state.releasing else replace(outcome, after=max(outcome.after, (ctx.now - since) / 4))


async def _remove_holding_parts(ctx: PassContext, key: NodeKey) -> Waiting | None:
    """Take out the parts that would refuse the delete, unless that waits for what is inside."""
    if not ctx.kind(key).parts.holding:
        return None
    occupied = await _find_foreign_children(ctx, key)
    if occupied is None:
        await parts.remove_holding(ctx, key)
        serving, left = await parts.find_draining(ctx, key)
        if serving:
            message = f"was taken out of service; {serving} still ends what it had begun, for {left:.0f} s at most"
            return Waiting(Reason.DELETING, left, message, ctx.node(key).last_seen)
    return occupied


async def _request_delete(ctx: PassContext, key: NodeKey, parts_out: Waiting | Exception | None) -> Waiting | None:
    """Look inside as late as can be, then ask for the delete; ``parts_out``: why its parts are not taken out."""
    if isinstance(parts_out, Exception):
        raise parts_out
    if parts_out is not None:
        return parts_out
    occupied = await _find_foreign_children(ctx, key)
    if occupied is None:
        entry = ctx.journal.entries[key]
        told = ctx.kind(key).deletion.told
        set_ = frozenset(name for name in told if entry.request and entry.request.get(name))
        await ctx.kind(key).driver.delete(Ref(entry.id, entry.target, told=set_))
    return occupied


async def is_finished(ctx: PassContext) -> bool:
    """Return whether all is over: no open intent, settled, and native lists and index show nothing of ours."""
    _report_unmanaged(ctx)
    unclean = any(entry.earlier for entry in ctx.journal.entries.values())
    if unclean or any(key not in ctx.outcomes for key in ctx.journal.claimed) or _is_moving(ctx):
        return False
    left = ctx.seconds_until_settled()
    if left > 0:
        ctx.outcomes[NodeKey("finalizer", "settle")] = Waiting(
            Reason.SETTLING, left, "a create or a mark that was cut off may still take effect"
        )
        return False
    if await child_owners.hold_delete(ctx, ()) or not await collect.is_collected(ctx):
        return False
    try:
        marked = await ctx.deps.tagger.find_marked(ctx.owner.uuid)
    except CloudError as error:
        ctx.outcomes[NodeKey("finalizer", "index")] = outcome_of_error(error)
        return False
    await recovery.record_marked(ctx, marked, last=True)
    await final_check.record_by_nonce(ctx, marked)
    # What could not be read may still exist, so nothing is released without an answer.
    kept = {key for key, outcome in ctx.outcomes.items() if isinstance(outcome, Kept)}
    if ctx.journal.claimed.keys() - kept or any(isinstance(o, Blocked | Waiting) for o in ctx.outcomes.values()):
        return False
    return await given_tags.take_tags_back(ctx)


def _is_moving(ctx: PassContext) -> bool:
    """Return whether something goes on by itself. What only a person can move does not keep us from looking on."""
    waits = [o for o in ctx.outcomes.values() if isinstance(o, Waiting) and o.reason is not Reason.DEPENDENTS]
    return bool(waits) or not all(
        isinstance(ctx.outcomes[key], Blocked | Waiting | Kept) for key in ctx.journal.claimed
    )


def _report_unmanaged(ctx: PassContext) -> None:
    for key, entry in ctx.journal.entries.items():
        if entry.state is RecordState.GIVEN:
            ctx.outcomes[key] = Kept(Reason.GIVEN, f"{entry.id} was given, not made here")
        elif entry.state is RecordState.THEIRS:
            ctx.outcomes[key] = Kept(Reason.NOT_OWNED, f"{entry.id} has only another owner's marks now: it is theirs")
        elif entry.state is RecordState.GIVEN_UP and key not in ctx.outcomes:
            ctx.outcomes[key] = Kept(Reason.GIVEN_UP, f"{entry.id} was given up by a person: it is not ours any more")
        elif entry.state is RecordState.REUSED:
            ctx.outcomes[key] = Kept(Reason.REUSED_BY_NAME, f"{entry.id} existed before and was used by its name")
