"""Human decisions: act on what a person has decided, after the evidence has been read anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from freehold.engine import decisions, proofs
from freehold.engine import journal as journals
from freehold.engine.context import PassContext
from freehold.engine.decisions import Conclusion, Decision, Verdict
from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagChange
from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import outcome_of_error
from freehold.engine.phases import keyed_tags, lost_tags, observe
from freehold.engine.phases.prune import find_being_pruned
from freehold.engine.resources import NodeKey, Observed, Ref

SOON = 30.0
"""Seconds until a decision is looked at again that comes before its question."""


async def apply_decisions(ctx: PassContext) -> None:
    """Act on each pending decision. One that needs an answer of the cloud which does not come stays pending."""
    for decision in ctx.decisions:
        if not decisions.is_signed(decision, ctx.keys):
            why = "it is not signed with a key of this operator's"
            ctx.decided.append(Conclusion(decision, False, why, is_signed=False))
            continue
        if ctx.deps.clock.now() - decision.at > decisions.LIFE and decision.about not in find_being_pruned(ctx):
            _refuse(ctx, decision, "it is too old to be acted on: decide again")
            continue
        match decision.verdict:
            case Verdict.MINE:
                await _accept(ctx, decision)
            case Verdict.NOT_MINE:
                await _reject(ctx, decision)
            case Verdict.PRUNE:
                _approve_prune(ctx, decision)


async def _accept(ctx: PassContext, decision: Decision) -> None:
    """Record it as the result of the create that was cut off, or sign its record; then it is marked."""
    key = decision.about
    entry = ctx.journal.get(key)
    is_recorded = entry is not None and entry.state.is_claimed and entry.id == decision.id
    would_keep = ctx.state.releasing and entry is not None and entry.had_marks  # if it has lost a mark (ADR 7)
    if is_recorded and ctx.is_believed(key) and not would_keep:
        ctx.decided.append(Conclusion(decision, True, f"{decision.id} is on record as ours"))
        return
    is_open = entry is not None and entry.state is RecordState.INTENDED and entry.attempt == decision.attempt
    if entry is None or key.kind not in ctx.deps.registry or not (is_open or is_recorded):
        _refuse(ctx, decision, f"what became of {key} is known meanwhile")
        return
    try:
        among = await (read_recorded(ctx, key, entry) if is_recorded else lost_tags.find_candidates(ctx, key, entry))
        seen = next((one for one in among if one.id == decision.id), None)
        whose = (await lost_tags.find_claims(ctx, key, [seen])).get(seen.id, "") if seen else ""
    except CloudError as error:
        ctx.outcomes[key] = outcome_of_error(error)
        return
    if seen is None:
        _refuse(ctx, decision, f"{decision.id} does not exist, or the create of {key} cannot have made it")
    elif whose:
        _refuse(ctx, decision, f"{decision.id} has {whose}")
    elif not is_recorded and lost_tags.is_unasked(ctx, key, seen):
        ctx.come_back_after(SOON)
    else:
        observe.record_claim(ctx, key, seen, replace(entry, deleting=0.0))
        ctx.decided.append(
            Conclusion(decision, True, f"{seen.name} ({seen.id}) is on record as ours, by {decision.by}")
        )


async def read_recorded(ctx: PassContext, key: NodeKey, entry: Entry) -> Sequence[Observed]:
    """Return the resource that ``entry`` names, read now; none if it does not exist."""
    seen = (await ctx.kind(key).driver.observe([Ref(entry.id, entry.target)])).get(entry.id)
    return (seen,) if seen else ()


async def _reject(ctx: PassContext, decision: Decision) -> None:
    """Close a create as one without effect, or let what has gone, once or again and again, be made once more."""
    key = decision.about
    entry, node = ctx.journal.get(key), ctx.node(key)
    if decision.id:
        await _drop_record(ctx, decision, entry)
        return
    if entry is not None and entry.attempt == decision.attempt + 1:  # a crash came between the record and the answer
        ctx.decided.append(Conclusion(decision, True, f"the create of {key} counts as one without effect"))
        return
    if (
        entry is None
        or entry.attempt != decision.attempt
        or entry.state not in (RecordState.INTENDED, RecordState.VACANT)
    ):
        _refuse(ctx, decision, f"what became of {key} is known meanwhile")
        return
    if entry.state is RecordState.INTENDED:
        left = ctx.kind(key).settle - (ctx.now - (ctx.now if node.open_since is None else node.open_since))
        if left > 0:  # its request may still take effect, and what it makes would be nobody's
            ctx.come_back_after(left)
            return
        ctx.journal = journals.close_refused(ctx.journal, key)
    # The attempt is spent either way: a decision that is acted on twice must not close the next create.
    entry = replace(ctx.journal.entries[key], gone="", fails=0, attempt=decision.attempt + 1)
    ctx.record(key, entry)
    node.open_since = node.deferred = None
    node.look_at = node.retry_at = float("-inf")
    ctx.outcomes.pop(key, None)
    ctx.decided.append(
        Conclusion(decision, True, f"the create of {key} counts as one without effect, by {decision.by}")
    )


async def _drop_record(ctx: PassContext, decision: Decision, entry: Entry | None) -> None:
    """Give up what is ours, or take a record that we did not sign out.

    The attempt of such a record is not spent: its nonce may be on a resource of ours.
    """
    key = decision.about
    if entry is None or entry.id != decision.id or not entry.state.is_claimed:
        ctx.decided.append(Conclusion(decision, True, f"{decision.id} is on record as ours no more"))
    elif ctx.is_believed(key):
        await _give_up(ctx, decision, entry)
    else:
        ctx.record(key, replace(journals.let_go(entry), attempt=entry.attempt))
        _forget(ctx, key)
        ctx.decided.append(Conclusion(decision, True, f"{decision.id} is off the record of {key}, by {decision.by}"))


async def _give_up(ctx: PassContext, decision: Decision, entry: Entry) -> None:
    """Take our marks off, then forget it. Its id stays on record as given up: an index may show the marks for a while,
    and a nonce of ours may be in its name."""
    key = decision.about
    try:
        seen = next(iter(await read_recorded(ctx, key, entry)), None)
        if seen is None:
            _refuse(ctx, decision, f"{decision.id} does not exist")
            return
        tags = seen.tags if seen.tags is not None or not seen.target else await ctx.deps.tagger.tags_of(seen.target)
        if marks := proofs.own_marks(ctx, key, seen, tags or ()):
            failed = await keyed_tags.detach_exact(ctx, [TagChange(seen.target, marks)])
            if error := failed.get(seen.target):
                raise error
    except CloudError as error:
        ctx.outcomes[key] = outcome_of_error(error)
        return
    given_up = replace(entry, state=RecordState.GIVEN_UP, deleting=0.0, key="", signature="", request=None)
    ctx.journal = ctx.journal.put(key, journals.let_go(entry)).put(key.with_id(entry.id), given_up)
    _forget(ctx, key)
    said = (
        f"{seen.name} ({seen.id}) is not this object's any more, by {decision.by}: our marks are off it, and it stays"
    )
    ctx.decided.append(Conclusion(decision, True, said))


def _forget(ctx: PassContext, key: NodeKey) -> None:
    ctx.state.forget(key)
    ctx.outcomes.pop(key, None)
    ctx.ready_nodes.pop(key, None)


def _approve_prune(ctx: PassContext, decision: Decision) -> None:
    """Approve the delete of surplus: :mod:`prune` carries it out, in as many passes as that takes."""
    key = decision.about
    entry = ctx.journal.get(key)
    if entry is None or not entry.state.is_claimed or entry.id != decision.id:
        ctx.decided.append(Conclusion(decision, True, f"{decision.id} is on record as ours no more"))
    elif key in ctx.graph.nodes:
        _refuse(ctx, decision, f"the spec wants {key} again")
    elif ctx.state.releasing:
        _refuse(ctx, decision, "it goes with the object")
    else:
        ctx.approved[key] = decision


def _refuse(ctx: PassContext, decision: Decision, why: str) -> None:
    ctx.decided.append(Conclusion(decision, False, why))
