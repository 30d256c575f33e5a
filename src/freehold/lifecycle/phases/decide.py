"""Decide: act on what a person has decided, after the evidence has been read anew."""

from __future__ import annotations

from dataclasses import replace

from freehold.lifecycle import decisions
from freehold.lifecycle import journal as journals
from freehold.lifecycle.context import PassContext
from freehold.lifecycle.decisions import Conclusion, Decision, Verdict
from freehold.lifecycle.errors import CloudError
from freehold.lifecycle.journal import Phase
from freehold.lifecycle.kinds import NodeKey, Observed, Ref
from freehold.lifecycle.outcomes import of_error
from freehold.lifecycle.ownership import Strength
from freehold.lifecycle.phases import observe


async def apply(ctx: PassContext) -> None:
    """Act on each pending decision. One that needs an answer of the cloud which does not come stays pending."""
    for decision in ctx.decisions:
        if not decisions.is_signed(decision, ctx.keys):
            _refuse(ctx, decision, "it is not signed with a key of this operator's")
            continue
        match decision.verdict:
            case Verdict.MINE:
                await _mine(ctx, decision)
            case Verdict.NOT_MINE:
                _not_mine(ctx, decision)
            case Verdict.PRUNE:
                _prune(ctx, decision)


async def _mine(ctx: PassContext, decision: Decision) -> None:
    """It is recorded as the result of the create that was cut off, and is marked like any other."""
    key = decision.about
    entry = ctx.journal.get(key)
    if entry and entry.phase.ours and entry.id == decision.id:
        ctx.decided.append(Conclusion(decision, True, f"{decision.id} is on record as ours"))
        return
    undecided = (
        entry is not None and entry.phase in (Phase.INTENDED, Phase.VACANT) and entry.attempt == decision.attempt
    )
    if key.kind not in ctx.deps.registry or not undecided:
        _refuse(ctx, decision, f"what became of {key} is known meanwhile")
        return
    try:
        seen = (await ctx.kind(key).driver.observe([Ref(decision.id)])).get(decision.id)
        others = await _other_owners(ctx, key, seen) if seen else ""
    except CloudError as error:
        ctx.outcomes[key] = of_error(error)
        return
    if seen is None:
        _refuse(ctx, decision, f"{decision.id} does not exist")
    elif others:
        _refuse(ctx, decision, f"{decision.id} has {others}: detach that mark first, if it is wrong")
    else:
        observe.record_owned(ctx, key, seen, entry)
        ctx.decided.append(
            Conclusion(decision, True, f"{seen.name} ({seen.id}) is on record as ours, by {decision.by}")
        )


async def _other_owners(ctx: PassContext, key: NodeKey, seen: Observed) -> str:
    """Another owner's mark on it, for a person; empty where there is none."""
    if not seen.target:
        return ""
    tags = seen.tags if seen.tags is not None else await ctx.deps.tagger.tags_of(seen.target)
    evidence = ctx.evidence(key, seen, tags)
    return evidence.source if evidence.strength in (Strength.OTHERS, Strength.DISPUTED) else ""


def _not_mine(ctx: PassContext, decision: Decision) -> None:
    """The create that was cut off had no effect, or the one that vanished again and again may be tried once more."""
    key = decision.about
    entry = ctx.journal.get(key)
    if entry is None or entry.attempt != decision.attempt or entry.phase not in (Phase.INTENDED, Phase.VACANT):
        _refuse(ctx, decision, f"what became of {key} is known meanwhile")
        return
    if entry.phase is Phase.INTENDED:
        ctx.journal = journals.refuse(ctx.journal, key)
    entry = ctx.journal.entries[key]
    ctx.journal = ctx.journal.put(key, replace(entry, fails=0))
    node = ctx.node(key)
    node.open_since = node.held = None
    node.look_at = node.retry_at = float("-inf")
    ctx.outcomes.pop(key, None)
    ctx.decided.append(
        Conclusion(decision, True, f"the create of {key} counts as one without effect, by {decision.by}")
    )


def _prune(ctx: PassContext, decision: Decision) -> None:
    """What is approved is deleted by :mod:`prune`, in as many passes as that takes."""
    key = decision.about
    entry = ctx.journal.get(key)
    if entry is None or not entry.phase.ours or entry.id != decision.id:
        ctx.decided.append(Conclusion(decision, True, f"{decision.id} is gone"))
    elif key in ctx.graph.nodes:
        _refuse(ctx, decision, f"the spec wants {key} again")
    elif ctx.state.releasing:
        _refuse(ctx, decision, "it goes with the object")
    else:
        ctx.approved[key] = decision


def _refuse(ctx: PassContext, decision: Decision, why: str) -> None:
    ctx.decided.append(Conclusion(decision, False, why))
