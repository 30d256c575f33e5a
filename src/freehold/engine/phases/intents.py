"""Intents: did an interrupted create take effect, and which resource did it make?

The only write to the cloud is the replay of a client token: asking that witness means sending the request again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from types import MappingProxyType

from freehold.engine import birth_marks, create_identity, proofs
from freehold.engine.birth_marks import CLOCK_SKEW
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError, Invalid, NameTaken, NeedsPerson, NotFound, TokenReused
from freehold.engine.inventory import TagsByTarget
from freehold.engine.journal import Entry, RecordState, end_attempt
from freehold.engine.kinds import Witness
from freehold.engine.outcomes import Blocked, Reason, Waiting, outcome_of_error
from freehold.engine.ownership import Strength
from freehold.engine.phases import lost_tags, observe, recovery, resolve_secrets
from freehold.engine.resources import NodeKey, Observed, Want
from freehold.engine.state import earliest


async def resolve_open(ctx: PassContext) -> None:
    """Resolve every create of which we do not know whether it took effect.

    The five workflows are those of docs/reference/requirements.md W17 to W22, the edge cases W4 to W7.

    ====================  =====================  ==================================================
    workflow              witnesses              edge cases 1-4
    ====================  =====================  ==================================================
    tags on create        mark                   1 none; 2-4 found by the mark that was born with it
    token, tags after     mark, token            1 marked later; 2-4 the same request answers the same
    tags after, no token  mark, nonce            1 marked later; 2-4 found by the nonce in its body
    token, no tags        token                  1 none; 2-4 the same request answers the same
    neither               nonce, else key        1 none; 2-4 nonce finds it; by key only: presumed
    ====================  =====================  ==================================================

    Nothing is ever deleted to roll back, so edge case 3 (the rollback fails) cannot arise.
    """
    _record_made(ctx)
    open_now = {key: entry for key, entry in ctx.journal.open.items() if key.kind in ctx.deps.registry}
    if not open_now:
        return
    due = [key for key in open_now if ctx.is_due(key)]
    for key in open_now.keys() - set(due):
        ctx.outcomes[key] = ctx.pending_outcome(key)
    for key in due:
        ctx.node(key).open_since = earliest(ctx.node(key).open_since, ctx.now)
    if not due:
        return
    found = await observe.find_candidates(ctx, [_make_want(ctx, key, open_now[key]) for key in due])
    marked = await _read_marks(ctx, due, found)
    for key in due:
        outcome = found.get(key)
        if isinstance(outcome, NotFound):
            outcome = ()  # what it would stand in is gone
        if isinstance(outcome, CloudError):
            ctx.outcomes[key] = outcome_of_error(outcome)
        elif isinstance(marked, CloudError):
            ctx.outcomes[key] = outcome_of_error(marked)
        else:
            await _resolve(ctx, key, open_now[key], outcome or (), marked)


def _record_made(ctx: PassContext) -> None:
    """Record what creates of this process returned and no record holds: the save failed, or lost to another process."""
    for (key, attempt), made in list(ctx.state.create_replies.items()):
        on_record = {(other.kind, entry.id) for other, entry in ctx.journal.entries.items()}
        if (key.kind, made.id) in on_record:
            continue
        entry = ctx.journal.get(key)
        if entry is None or entry.state is RecordState.VACANT or (key in ctx.journal.open and entry.attempt == attempt):
            observe.record_claim(ctx, key, made, entry)
        else:
            recovery.put_on_record(ctx, key, made, "was created by this process and could not be put on record then")


def _make_want(ctx: PassContext, key: NodeKey, entry: Entry) -> Want:
    request = entry.request or {}
    return Want(key, str(request.get("name", "")), request, birth_marks.sought(ctx, key))


async def _read_marks(
    ctx: PassContext, keys: Sequence[NodeKey], found: Mapping[NodeKey, Sequence[Observed] | CloudError]
) -> TagsByTarget | CloudError:
    """Search once for the marks of candidates whose tags did not come with them; not at all when there is none."""
    unread = [
        c.target
        for key in keys
        if ctx.kind(key).markable and not isinstance(found.get(key, ()), CloudError)
        for c in found.get(key, ())  # type: ignore[union-attr]  # errors were sorted out above
        if c.tags is None
    ]
    if not unread:
        return {}
    try:
        return await ctx.deps.tagger.find_marked(ctx.owner.uuid, unread)
    except CloudError as error:
        return error


async def _resolve(
    ctx: PassContext, key: NodeKey, entry: Entry, candidates: Sequence[Observed], marked: TagsByTarget
) -> None:
    """Ask the witnesses in turn: ours, or no effect, or wait, or unclear."""
    ours = matching_own_create(ctx, key, candidates, marked)
    if len(ours) == 1:
        observe.record_claim(ctx, key, ours[0], entry)
    elif ours:
        ctx.outcomes[key] = report_ambiguous(ctx, key, ours)
    elif foreign := [c for c in candidates if birth_marks.has_birth_mark(ctx, key, c)]:
        ctx.outcomes[key] = _report_not_from_intent(ctx, key, foreign)
    elif entry.key not in ctx.keys.readable:
        ctx.outcomes[key] = await _report_key_lost(ctx, key, entry)
    elif entry.had_effect:
        await _look_for_effect(ctx, key, candidates)
    elif unknown := _find_forgotten(ctx, key, candidates):
        _retry_later(ctx, key, _report_token_refused(ctx, key, unknown, "a later attempt has made something"))
    elif (still := ctx.node(key).deferred) and still.reason is Reason.PRESUMED_ONLY and _pick_young(entry, candidates):
        _retry_later(ctx, key, still)  # a person decides; sending it once more would be refused once more
    elif Witness.TOKEN in ctx.kind(key).witnesses and _token_protects(ctx, key, entry):
        await _replay(ctx, key, entry, candidates)
    else:
        await _resolve_without_token(ctx, key, entry, candidates)


async def _resolve_without_token(ctx: PassContext, key: NodeKey, entry: Entry, candidates: Sequence[Observed]) -> None:
    """Decide when no witness shows an effect: there was none, unless nothing tells ours from a namesake."""
    if not ctx.kind(key).tells_apart and candidates:
        names = ", ".join(c.id for c in candidates)
        ctx.outcomes[key] = Blocked(
            Reason.PRESUMED_ONLY,
            f"ownership of {names} is unknown: a create of {key} was interrupted, and it has its name. To decide: "
            f"{ctx.resolve_command(key)} --mine, or --not-mine; or delete it in the cloud to have it created again",
            ctx.deps.intervals.slow,
        )
    else:
        await _close_without_effect(ctx, key, entry)


async def _ask_person(ctx: PassContext, key: NodeKey) -> Waiting | Blocked | None:
    """Ask a person, where something that has lost its tags may be what the create made (ADR 7)."""
    try:
        ids = await lost_tags.ask_person(ctx, key)
    except CloudError as error:
        return outcome_of_error(error)
    if not ids:
        return None
    to_decide = f"The evidence, and to decide: {ctx.resolve_command(key)}"
    if len(ids) == 1:
        again = "" if ctx.state.releasing else " to have it created again"
        to_decide = f"{to_decide} --mine, or --not-mine; or delete it in the cloud{again}"
    return Blocked(
        Reason.PRESUMED_ONLY,
        f"a create of {key} was cut off, and nothing has its marks. It may have made {', '.join(ids)}, which nothing "
        f"tells from anybody's. {to_decide}",
        ctx.deps.intervals.slow,
    )


def _find_forgotten(ctx: PassContext, key: NodeKey, candidates: Sequence[Observed]) -> list[Observed]:
    """Return what an attempt made that a restored journal forgot: an earlier token would make it again."""
    if not ctx.kind(key).spends_tokens:
        return []
    return [c for c in candidates if birth_marks.has_unspent_birth_mark(ctx, key, c)]


def matching_own_create(
    ctx: PassContext, key: NodeKey, candidates: Sequence[Observed], marked: TagsByTarget = MappingProxyType({})
) -> Sequence[Observed]:
    """Return the candidates with a sealed mark of this node; if there is none, those with a birth mark of ours.

    A carrier's mark without a seal can be written by everybody who may tag the carrier: it makes no candidate better
    than another one with our birth mark.
    """
    sealed = [
        c for c in candidates if _is_sealed(ctx, key, c, c.tags if c.tags is not None else marked.get(c.target, ()))
    ]
    return sealed or [c for c in candidates if birth_marks.matches_own_create(ctx, key, c)]


def _is_sealed(ctx: PassContext, key: NodeKey, candidate: Observed, tags: Collection[str]) -> bool:
    proven = proofs.evidence(ctx, key, candidate, tags).strength is Strength.PROVEN
    return proven and (not candidate.carried or proofs.has_seal(ctx, key, candidate, tags))


def report_ambiguous(ctx: PassContext, key: NodeKey, several: Sequence[Observed]) -> Blocked:
    ids = ", ".join(sorted(c.id for c in several))
    return Blocked(
        Reason.AMBIGUOUS,
        f"{ids} all have the birth mark of {key}, so somebody copied it: remove the mark from what is not ours, or say "
        f"which one is: freehold resolve {ctx.owner.name} -n {ctx.owner.namespace} ID --mine",
        ctx.deps.intervals.slow,
    )


def _report_not_from_intent(ctx: PassContext, key: NodeKey, foreign: Sequence[Observed]) -> Blocked:
    """Report our birth mark where age or creator do not fit. Nothing is created: our clock may be wrong."""
    told = sorted((c.name, c.id, birth_marks.not_from_intent(ctx, key, c)) for c in foreign)
    reasons = "; ".join(f"{name} ({id_}): {why}" for name, id_, why in told)
    return Blocked(
        Reason.AMBIGUOUS,
        f"a resource has the birth mark of {key} and was not made by its create: {reasons}. To see the evidence, and "
        f"to decide whether it is this object's: {ctx.resolve_command(key)}",
        ctx.deps.intervals.slow,
    )


def _retry_later(ctx: PassContext, key: NodeKey, outcome: Waiting | Blocked) -> None:
    ctx.block(key, outcome)
    ctx.node(key).look_at = ctx.node(key).retry_at


def _pick_young(entry: Entry, candidates: Sequence[Observed]) -> list[Observed]:
    """Return those that are not older than the create that was sent."""
    return [c for c in candidates if c.created_at is None or c.created_at >= entry.opened - CLOCK_SKEW]


def record_used_token(ctx: PassContext, key: NodeKey) -> None:
    """Record that the client token has made something with another request or tags: that is found, not made again.

    On record, because once the token has expired the cloud says nothing of it any more.
    """
    ctx.node(key).open_since = ctx.now
    ctx.record(key, replace(ctx.journal.entries[key], had_effect=True))


async def _look_for_effect(ctx: PassContext, key: NodeKey, candidates: Sequence[Observed]) -> None:
    """Look for what its marks or birth mark show, late where reads lag; after the settle time a person decides."""
    since = earliest(ctx.node(key).open_since, ctx.now)
    if ctx.is_settled(key, since):
        why = "its client token was used with another request before"
        _retry_later(ctx, key, await _ask_person(ctx, key) or _report_token_refused(ctx, key, candidates, why))
        return
    left = min(ctx.kind(key).settle - (ctx.now - since), 30.0)
    ctx.requeue(key, Waiting(Reason.SETTLING, left, "its client token has made something before; looking for that"))


def _report_token_refused(ctx: PassContext, key: NodeKey, candidates: Sequence[Observed], why: str) -> Blocked:
    """Report a create that may have had an effect which its replay does not answer with: another may be a duplicate."""
    ids = ", ".join(sorted(c.id for c in candidates)) or "what it made"
    return Blocked(
        Reason.PRESUMED_ONLY,
        f"a create of {key} was cut off, and sending it again is refused ({why}): {ids} may be ours, which "
        f"cannot be proved. To decide: {ctx.resolve_command(key)} --mine, or --not-mine",
        ctx.deps.intervals.slow,
    )


async def _report_key_lost(ctx: PassContext, key: NodeKey, entry: Entry) -> Waiting | Blocked:
    """Report a create whose nonce cannot be computed, so that nothing tells whether it took effect."""
    try:
        settled = ctx.is_settled(key, earliest(ctx.node(key).open_since, ctx.now))
        ids = await lost_tags.ask_person(ctx, key) if settled else ()
    except CloudError as error:
        return outcome_of_error(error)
    opened = datetime.fromtimestamp(entry.opened, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    lost = f"its key {entry.key} is lost" if entry.key else "its record names no key, so somebody else wrote it"
    made = f"It may have made {', '.join(ids)}. The evidence" if ids else "What it may have made"
    return Blocked(
        Reason.AMBIGUOUS,
        f"a create of {key} was cut off at {opened} and {lost}, so its outcome is unknown. "
        f"{made}, and to decide: {ctx.resolve_command(key)}",
        ctx.deps.intervals.slow,
    )


def _token_protects(ctx: PassContext, key: NodeKey, entry: Entry) -> bool:
    """Return whether the cloud surely answers a repeat with the first resource, and makes no second one."""
    life, age = ctx.kind(key).creation.token_life, ctx.deps.clock.now() - entry.opened
    return life == inf or -CLOCK_SKEW <= age <= life - CLOCK_SKEW  # else expired; or our clock went back


async def _close_without_effect(ctx: PassContext, key: NodeKey, entry: Entry) -> None:
    """Close the intent after the settle time when no witness found an effect, unless a person must say so."""
    since = earliest(ctx.node(key).open_since, ctx.now)
    if not ctx.is_settled(key, since):
        left = min(ctx.kind(key).settle - (ctx.now - since), 30.0)
        why = f": {said}" if (said := ctx.node(key).unanswered) else ""
        ctx.requeue(key, Waiting(Reason.SETTLING, left, f"a create may still take effect{why}"))
        return
    if question := await _ask_person(ctx, key):
        _retry_later(ctx, key, question)
        return
    ctx.node(key).open_since = None
    ctx.node(key).look_now()
    ctx.outcomes.pop(key, None)
    ctx.record(key, end_attempt(entry, fails=entry.fails))


async def _replay(ctx: PassContext, key: NodeKey, entry: Entry, candidates: Sequence[Observed]) -> None:
    """Send the same request under the same token, which answers with the same resource, or creates it now."""
    birth = create_identity.birth_of(ctx, key, entry.attempt)
    try:
        request = await resolve_secrets.resolve_again(ctx, key, entry)
    except CloudError as error:
        _retry_later(ctx, key, outcome_of_error(error))
        return
    if request is None:
        await _resolve_without_token(ctx, key, entry, candidates)
        return
    try:
        await ctx.save_before_write()
        ctx.state.last_sent = ctx.now
        observed = await ctx.kind(key).driver.create(request, birth)
    except TokenReused:
        record_used_token(ctx, key)
        await _look_for_effect(ctx, key, candidates)
    except NameTaken as error:
        if not (young := _pick_young(entry, candidates)):
            await _close_without_effect(ctx, key, entry)  # somebody else's has the name, and had it before
        else:
            _retry_later(ctx, key, _report_token_refused(ctx, key, young, error.message))
    except (Invalid, NotFound):
        # Refused as such, or its place is gone: the token has made nothing, neither now nor before.
        await _close_without_effect(ctx, key, entry)
    except NeedsPerson as error:
        # No quota, no permission: that is no answer about the first request.
        if ctx.kind(key).spends_tokens:
            # It may be the first answer, repeated for as long as the token lives. Reads show what was made.
            ctx.node(key).unanswered = error.message
            await _close_without_effect(ctx, key, entry)
        else:
            _retry_later(ctx, key, outcome_of_error(error))
    except CloudError as error:
        ctx.outcomes[key] = outcome_of_error(error)
    else:
        if reply_counts(ctx, key, observed):
            observe.record_claim(ctx, key, observed, entry)
        else:
            look_for_own(ctx, key, observed)


def reply_counts(ctx: PassContext, key: NodeKey, reply: Observed) -> bool:
    """Return whether what a create answered with is what it made, and not something of that name that was there."""
    return not ctx.kind(key).creation.answers_existing or birth_marks.has_birth_mark(ctx, key, reply)


def look_for_own(ctx: PassContext, key: NodeKey, reply: Observed) -> None:
    """Treat a reply that proves nothing as if it were lost: the witnesses show what was made, or whose it is."""
    ctx.node(key).answered = reply.id
    ctx.node(key).open_since = earliest(ctx.node(key).open_since, ctx.now)
    message = "its create was answered; whether it made this or it was there is read from its birth mark"
    ctx.requeue(key, Waiting(Reason.SETTLING, recovery.SOON, message))
