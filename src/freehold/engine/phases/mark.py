"""Mark: attach what proves ownership, and what was stripped again; the user's tags go the same way.

Tags are added (here) and removed (:mod:`detach`), never replaced; :mod:`read_marks` reads them back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf

from freehold.engine import proofs, wanted_tags
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError, NotFound
from freehold.engine.inventory import TagChange
from freehold.engine.journal import RecordState
from freehold.engine.outcomes import Blocked, Ready, Reason, Waiting, outcome_of_error
from freehold.engine.phases import keyed_tags, read_marks
from freehold.engine.resources import NodeKey, Observed
from freehold.engine.state import Attached, MarkState


async def attach_marks(ctx: PassContext, keys: Collection[NodeKey]) -> None:
    """Attach the marks and the user's tags to what is recorded and not yet marked, batched by the tagger."""
    wanted: dict[str, frozenset[str]] = {}
    due: dict[NodeKey, Observed] = {}
    for key in keys:
        entry, node = ctx.journal.get(key), ctx.node(key)
        observed = node.last_seen
        if not entry or entry.state is not RecordState.RECORDED or observed is None or node.absent_since is not None:
            continue
        if node.marks is MarkState.DOUBTED or (ctx.state.releasing and entry.had_marks):
            continue
        if node.mark_memory.attached and wanted_tags.tags(ctx, key, observed) <= node.mark_memory.attached.tags:
            continue
        if not ctx.kind(key).markable or not observed.target or isinstance(ctx.outcomes.get(key), Blocked):
            continue
        if not ctx.is_believed(key):
            ctx.outcomes[key] = read_marks.report_unsigned(ctx, key, observed)
            continue
        if observed.carried and not (
            proofs.is_carried_by(ctx, key, observed.id, observed.target) and _carrier_fits(ctx, key, observed)
        ):
            continue
        try:
            attachable, have = await keyed_tags.split_attachable(ctx, key, observed)
        except NotFound as error:  # it is new, and the tag service does not know it yet
            ctx.outcomes[key] = Waiting(Reason.MARKING, ctx.deps.intervals.tag_lag, error.message, observed)
            continue
        except CloudError as error:
            ctx.outcomes[key] = outcome_of_error(error)
            continue
        pairs = ctx.node(key).mark_memory.foreign_values
        if blocked := keyed_tags.explain_taken_proof(ctx, key, observed, pairs, have or ()):
            ctx.outcomes[key] = blocked
            continue
        if tags := _find_not_shown(ctx, observed, attachable, have):
            wanted[observed.target] = wanted.get(observed.target, frozenset()) | tags
            due[key] = observed
        elif (
            observed.tags is None and ctx.node(key).mark_memory.attached is None
        ):  # an attach whose reply was lost has put them on
            ctx.node(key).mark_memory.attached = Attached(ctx.now, wanted_tags.tags(ctx, key, observed))
    if not due:
        return
    for key in due:
        entry = ctx.journal.entries[key]
        record = replace(entry, node_tags=tuple(sorted({*entry.node_tags, *wanted_tags.node_tags(ctx, key)})))
        ctx.record(key, record)
    # A process that dies here must not forget what it put there, and one that lost its turn must not attach.
    await ctx.save_before_write()
    ctx.state.last_sent = ctx.now
    failed = await ctx.deps.tagger.attach(_join_seals(ctx, wanted, due))
    for key, observed in due.items():
        if observed.target in failed:
            ctx.outcomes[key] = outcome_of_error(failed[observed.target])
            continue
        node = ctx.node(key)
        node.mark_memory.attached, node.mark_memory.seen_since_attach = (
            Attached(ctx.now, wanted_tags.tags(ctx, key, observed)),
            False,
        )
        if observed.tags is not None and node.look_at == inf and not ctx.deps.tagger.asks_resources:
            node.look_now()  # the look that reads the marks back


def _find_not_shown(
    ctx: PassContext, observed: Observed, tags: frozenset[str], have: frozenset[str] | None
) -> frozenset[str]:
    """Return those that the last read of its tags did not show; all of them where none was read."""
    if have is None or observed.carried:
        return tags
    fold, there = ctx.deps.codec.fold, ctx.deps.codec.fold(have)
    return frozenset(tag for tag in tags if not fold([tag]) <= there)


def _join_seals(
    ctx: PassContext, wanted: Mapping[str, frozenset[str]], due: Mapping[NodeKey, Observed]
) -> list[TagChange]:
    """Join the seals of several resources in one value, which one call attaches: each fits its own only."""
    codec, spelled = ctx.deps.codec, dict(wanted)
    seals = {seen.target: proofs.seal_mark(ctx, key, seen) for key, seen in due.items() if not seen.carried}
    alike: dict[frozenset[str], list[str]] = {}
    for target, seal in seals.items():
        if seal in wanted[target]:
            alike.setdefault(wanted[target] - {seal}, []).append(target)
    for beside, targets in alike.items():
        for start in range(0, len(targets), codec.seals_together):
            some = targets[start : start + codec.seals_together]
            spelled |= dict.fromkeys(some, codec.join_seals(beside | {seals[target] for target in some}))
    return [TagChange(target, tags) for target, tags in spelled.items()]


def _carrier_fits(ctx: PassContext, key: NodeKey, observed: Observed) -> bool:
    kind = ctx.kind(key)
    if not kind.carrier_owned:
        return True
    for other, entry in ctx.journal.entries.items():
        if other.kind == kind.carrier and entry.target == observed.target and entry.state.is_claimed:
            return True
    ctx.outcomes[key] = Blocked(
        Reason.UNMARKABLE,
        f"{observed.name} ({observed.id}) cannot be tagged, and its {kind.carrier} is not ours to carry our mark: it "
        "is recorded in the journal only, and is not deleted with the object",
        observed=observed,
    )
    return False


def hold_unmarked(ctx: PassContext, keys: Collection[NodeKey]) -> None:
    """Let a resource wait that is Ready before its mark has been read back."""
    for key in keys:
        entry, outcome = ctx.journal.get(key), ctx.outcomes.get(key)
        if entry and entry.state is RecordState.RECORDED and isinstance(outcome, Ready):
            attached = ctx.node(key).mark_memory.attached
            since = ctx.now - attached.at if attached else 0.0
            left = max(read_marks.index_lag(ctx, outcome.observed) - since, min(max(since, 1.0), 5.0))
            if not entry.target:
                ctx.node(key).look_now()  # its target is not known yet
            ctx.outcomes[key] = Waiting(Reason.MARKING, left, "its mark is not readable yet", outcome.observed)
