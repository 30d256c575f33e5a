"""Create: for each wanted node without a resource use what exists, report why it cannot, or create it.

:func:`select_wave` looks for what exists and returns what is to be created; :func:`send_wave` creates it. A name proves
nothing, so nothing is ever adopted because of its name. The journal is written twice around a wave of creates: the
exact requests before it, the ids after it. A create of unknown outcome stays an open intent (:mod:`intents`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from freehold.engine import birth_marks, create_identity, polling, proofs, wanted_tags
from freehold.engine.context import PassContext
from freehold.engine.deletion_order import with_edges
from freehold.engine.durations import Verb
from freehold.engine.errors import CloudError, Invalid, NoCapacity, NotFound, Retryable, TokenReused, Unknown
from freehold.engine.graph import Naming, Node
from freehold.engine.journal import MOST_VANISHED, Entry, RecordState, after_refusal, let_go, record_unmanaged
from freehold.engine.kinds import Tagging
from freehold.engine.outcomes import Blocked, Reason, Waiting, outcome_of_error
from freehold.engine.ownership import UUID, Marks, Strength
from freehold.engine.phases import intents, observe, parts, prune, recovery, resolve_secrets
from freehold.engine.port import run_together
from freehold.engine.resources import NodeKey, Observed, Ref, Request, State, Want
from freehold.engine.secret_values import without_digests
from freehold.engine.state import Existence, MarkState

ANOTHER_PLACE = 1.0
"""Seconds until the spec is asked for another place when the cloud has no room in one."""
SECRET_SECONDS = 20.0
"""Seconds until a secret that could not be read is asked for again: nothing tells when it is made."""


def drop_stale_refs(ctx: PassContext) -> None:
    """Forget records that the spec contradicts: a given id that is another one now, or a node that is given now."""
    for key, node in ctx.graph.nodes.items():
        entry = ctx.journal.get(key)
        if entry is None or not entry.id:
            continue
        given = node.given(ctx.ready_nodes) if node.given and node.requires <= ctx.ready_nodes.keys() else ""
        if entry.state is RecordState.GIVEN:
            stale = given != entry.id if given else node.given is None
        elif entry.state is RecordState.REUSED:
            stale = bool(given) or _has_another_name(ctx, node)
        else:
            stale = bool(given) and given != entry.id
        if stale:
            _release_record(ctx, key, entry)


def _has_another_name(ctx: PassContext, node: Node) -> bool:
    """Return whether what was last seen of others is not what the node names now."""
    seen, attribute = ctx.node(node.key).last_seen, ctx.kind(node.key).naming.name_attribute
    if seen is None or not attribute:
        return seen is not None and seen.name != node.name
    known = node.requires <= ctx.ready_nodes.keys()
    return known and node.request(ctx.ready_nodes)[attribute] != seen.attributes.get(attribute)


def _release_record(ctx: PassContext, key: NodeKey, entry: Entry) -> None:
    """Forget what was given; keep what is ours on record under a name of its own, as surplus."""
    if entry.state.is_claimed:
        ctx.record(recovery.free_key(ctx, key, entry.id), replace(entry, earlier=()))
    ctx.record(key, let_go(entry))
    ctx.state.forget(key)
    ctx.outcomes.pop(key, None)
    ctx.ready_nodes.pop(key, None)


def _find_released(ctx: PassContext, key: NodeKey) -> Observed | None:
    """Return our earlier resource for this node, which was replaced by a given one and is wanted again."""
    for other, entry in ctx.journal.claimed.items():
        namesake = other.kind == key.kind and other.logical.startswith(f"{key.logical}~")
        if namesake and entry.opened and other not in ctx.graph.nodes:  # not one that only a mark brought to light
            known = ctx.node(other)
            trusted = known.existence is Existence.PRESENT and known.marks is not MarkState.DOUBTED
            if trusted and known.observed.state in (State.PENDING, State.READY):
                return known.observed
    return None


async def select_wave(ctx: PassContext) -> list[Node]:
    """Return the nodes to be created now: requirements ready, nothing there that can be used, nothing in the way."""
    todo: list[Node] = []
    for node in ctx.graph.wave(ctx.ready_nodes):
        entry = ctx.journal.get(node.key)
        if entry and entry.state is not RecordState.VACANT:
            continue
        known = ctx.node(node.key)
        if known.deferred and ctx.now < known.retry_at and not _asks_for_another_place(ctx, node):
            ctx.outcomes[node.key] = replace(known.deferred, after=known.retry_at - ctx.now)
        elif node.given:
            await _use_given(ctx, node)
        elif returning := _find_released(ctx, node.key):
            observe.record_claim(ctx, node.key, returning, entry)
        else:
            todo.append(node)
    unknown = [node for node in todo if _may_exist(ctx, node)]
    wants = [Want(n.key, n.name, n.request(ctx.ready_nodes), birth_marks.sought(ctx, n.key)) for n in unknown]
    found = await observe.find_candidates(ctx, wants)
    create: list[Node] = []
    for node in todo:
        candidates = found.get(node.key, ())
        if isinstance(candidates, CloudError):
            ctx.block(node.key, outcome_of_error(candidates))
        elif await _decide_by_candidates(ctx, node, candidates):
            create.append(node)
    return create


def _asks_for_another_place(ctx: PassContext, node: Node) -> bool:
    """Return whether the cloud had no room for what was asked for last, and the spec allows something else."""
    full = ctx.node(node.key).no_room_for
    return full is not None and node.request(ctx.ready_nodes) != full


def _may_exist(ctx: PassContext, node: Node) -> bool:
    """Return whether something may be there already: ours, made by an earlier process, or anybody's of this name."""
    free = ctx.kind(node.key).naming.has_no_name or _is_in_new_home(ctx, node)
    return not (free and ctx.state.identity_is_new) or ctx.state.planning


def _is_in_new_home(ctx: PassContext, node: Node) -> bool:
    """Return whether its node was never tried and what contains it is ours: then nothing of its name can be there.

    After a refused create something may be there all the same.
    """
    home = ctx.kind(node.key).parent_kind
    homes = [entry for key in node.requires if key.kind == home and (entry := ctx.journal.get(key))]
    return bool(homes) and all(entry.state.is_claimed for entry in homes) and ctx.journal.get(node.key) is None


async def _use_given(ctx: PassContext, node: Node) -> None:
    assert node.given is not None
    id_ = node.given(ctx.ready_nodes)
    try:
        observed = (await ctx.kind(node.key).driver.observe([Ref(id_)])).get(id_)
    except CloudError as error:
        ctx.block(node.key, outcome_of_error(error))
        return
    if observed is None:
        ctx.block(
            node.key,
            Blocked(
                Reason.NOT_FOUND,
                node.absent(id_),
                ctx.deps.intervals.slow,
            ),
        )
        return
    proven = proofs.evidence(ctx, node.key, observed, observed.tags or ()).strength is Strength.PROVEN
    if proven and not recovery.is_given_up(ctx, node.key.kind, id_):
        observe.record_claim(ctx, node.key, observed, ctx.journal.get(node.key))  # its record was lost
        return
    entry = record_unmanaged(ctx.journal.get(node.key), RecordState.GIVEN, observed)
    ctx.record(node.key, entry)
    ctx.remember(node.key, observed)
    observe.assess(ctx, node.key, observed)


async def _decide_by_candidates(ctx: PassContext, node: Node, candidates: Sequence[Observed]) -> bool:
    """Use, record or report what was found under its name; True when it is to be created (the order of ADR 3)."""
    key = node.key
    try:
        ours = await _find_claimed(ctx, key, candidates)
    except CloudError as error:
        ctx.block(key, outcome_of_error(error))
        return False
    if len(ours) == 1:
        observe.record_claim(ctx, key, ours[0], ctx.journal.get(key))
        return False
    if ours:
        ctx.block(key, intents.report_ambiguous(ctx, key, ours))
        return False
    if forgotten := [c for c in candidates if birth_marks.has_unspent_birth_mark(ctx, key, c)]:
        ctx.block(key, _report_forgotten(ctx, key, forgotten))
        return False
    named = [c for c in candidates if c.state is not State.DELETING]
    if len(named) > 1:
        ids = ", ".join(sorted(c.id for c in named))
        ctx.block(
            key,
            Blocked(
                Reason.AMBIGUOUS,
                f"{len(named)} resources of kind {key.kind} are named {node.name} ({ids}): give the id in the spec",
                ctx.deps.intervals.slow,
            ),
        )
        return False
    if candidates and not named:
        ctx.block(key, Waiting(Reason.DELETING, 15.0, f"an older {node.name} is still being deleted"))
        return False
    if named:
        await _decide_about_namesake(ctx, node, named[0])
        return False
    if occupied := prune.explain_conflict(ctx, node):
        ctx.outcomes[key] = occupied  # looked at in each pass: it asks nobody, and a prune ends it
        return False
    if reason := _why_not_created(ctx, node) or await _foresee_refusal(ctx, node):
        ctx.block(key, reason)
        return False
    return True


def _report_forgotten(ctx: PassContext, key: NodeKey, found: Sequence[Observed]) -> Blocked:
    """Report what an attempt made that a restored journal does not know: another create would be a second resource."""
    ids = ", ".join(sorted(c.id for c in found))
    ways = "; ".join(proofs.how_to_detach(ctx, c.target, c.tags or ()) for c in found)
    return Blocked(
        Reason.AMBIGUOUS,
        f"{ids} has a birth mark of {key} that is on no record: this object was restored from an older backup, or "
        f"somebody copied the mark. Delete {ids} in the cloud if it was made for this object; if it was not, {ways}",
        ctx.deps.intervals.slow,
    )


async def _find_claimed(ctx: PassContext, key: NodeKey, candidates: Sequence[Observed]) -> Sequence[Observed]:
    """Return the candidates that are ours by sealed mark or birth mark, asked for where unclear."""
    ours = intents.matching_own_create(ctx, key, candidates)
    unread = {c.target for c in candidates if c.tags is None and c.target}
    if len(ours) == 1 or len(candidates) < 2 or not unread:
        return ours
    return intents.matching_own_create(
        ctx, key, candidates, {target: await ctx.deps.tagger.tags_of(target) for target in unread}
    )


async def _decide_about_namesake(ctx: PassContext, node: Node, candidate: Observed) -> None:
    """Decide about a resource with the wanted name and no nonce of ours: a name proves nothing."""
    key, codec = node.key, ctx.deps.codec
    try:
        tags = candidate.tags if candidate.tags is not None else await ctx.deps.tagger.tags_of(candidate.target)
    except CloudError as error:
        ctx.block(key, outcome_of_error(error))
        return
    strength = proofs.evidence(ctx, key, candidate, tags).strength
    marks = codec.read(tags)
    if strength is Strength.PROVEN:
        observe.record_claim(ctx, key, candidate, ctx.journal.get(key))
        return
    if own := next((k for k, e in ctx.journal.claimed.items() if (k.kind, e.id) == (key.kind, candidate.id)), None):
        # A carrier's mark names no node; that of one which was put on record beside another names ``own``.
        proven = candidate.carried or proofs.evidence(ctx, own, candidate, tags).strength is Strength.PROVEN
        if proven and own not in ctx.graph.nodes and ctx.is_signed(own):
            observe.record_claim(ctx, key, candidate, ctx.journal.get(key))
        else:
            ctx.block(key, _report_own_elsewhere(ctx, own, candidate))
        return
    taken = False if candidate.carried else strength in (Strength.OTHERS, Strength.DISPUTED, Strength.COPIED)
    if taken:
        message = f"{node.name} ({candidate.id}) {_explain_owner(ctx, marks, candidate)}"
        ctx.block(key, Blocked(Reason.NAME_TAKEN, message, ctx.deps.intervals.slow, candidate))
        return
    young = ctx.kind(key).settle - (ctx.deps.clock.now() - candidate.created_at) if candidate.created_at else 0.0
    if young > 0:
        message = f"{node.name} ({candidate.id}) was created a moment ago; waiting for its ownership tags"
        ctx.block(key, Waiting(Reason.SETTLING, min(young, 30.0), message))
    elif node.naming is Naming.EXPLICIT:
        ctx.record(key, record_unmanaged(ctx.journal.get(key), RecordState.REUSED, candidate))
        ctx.remember(key, candidate)
        observe.assess(ctx, key, candidate)
    else:
        ctx.block(
            key,
            Blocked(
                Reason.NAME_TAKEN,
                f"{node.name} ({candidate.id}) exists and is not ours: {node.name_taken_advice}",
                ctx.deps.intervals.slow,
                candidate,
            ),
        )


def _explain_owner(ctx: PassContext, marks: Marks, seen: Observed) -> str:
    """Say whose it is: another owner's, or that of an earlier object of our name, now lost or elsewhere."""
    own = {name.casefold() for name in ctx.deps.codec.read(ctx.deps.codec.owner(ctx.owner)).owners}
    owners = ", ".join(sorted(marks.owners)) or "another owner"
    others = {uuid for uuid in marks.uuids if UUID.fullmatch(uuid) and uuid.casefold() != ctx.owner.uuid.casefold()}
    if others and marks.owners and {name.casefold() for name in marks.owners} <= own:
        since = f", made {datetime.fromtimestamp(seen.created_at, UTC):%Y-%m-%d %H:%M} UTC" if seen.created_at else ""
        uuid = sorted(others)[0]
        return (
            f"has the marks of an earlier {owners} with uuid {uuid}{since}, which was lost, or is in another API "
            "server. Choose another name for the cluster. freehold orphans lists all that the earlier one made; if it "
            f"was lost and is to go on, delete this object, and then: freehold recover --uuid {uuid}"
        )
    return f"belongs to {owners}: choose another name, or remove that resource"


def _report_own_elsewhere(ctx: PassContext, own: NodeKey, seen: Observed) -> Waiting | Blocked:
    """Report a namesake that is ours under another key, and that :func:`_find_released` did not take back."""
    what = f"{seen.name} ({seen.id}) is this object's own, on record as {own}"
    if own in ctx.graph.nodes:
        return Blocked(
            Reason.AMBIGUOUS, f"{what}, which the spec wants too: give one of the two another name", 300.0, seen
        )
    if seen.state is State.FAILED:
        return Blocked(
            Reason.FAILED, f"{what}, and has failed: delete it in the cloud to have it created anew", observed=seen
        )
    return Waiting(Reason.SETTLING, 30.0, f"{what}; it is used again when its marks have been read", seen)


def _why_not_created(ctx: PassContext, node: Node) -> Waiting | Blocked | None:
    """Decide why no create is sent although nothing has its name; None if it is sent. Changes nothing."""
    key, kind = node.key, ctx.kind(node.key)
    entry = ctx.journal.get(key)
    if entry and entry.gone and kind.creation.never_recreate:
        message = (
            f"{node.name} ({entry.gone}) has gone and was not deleted by this operator. It is not made again by "
            f"itself: find out who deleted it, then decide: {ctx.resolve_command(key)} --not-mine --yes"
        )
        return Blocked(Reason.GONE, message, ctx.deps.intervals.slow)
    if entry and entry.fails >= MOST_VANISHED:
        message = (
            f"{key} was created {entry.fails} times and vanished each time before it could be marked: "
            f"find out who deletes it, then try again: {ctx.resolve_command(key)} --not-mine --yes"
        )
        return Blocked(Reason.VANISHING, message, ctx.deps.intervals.slow)
    if not ctx.state.identity_is_new and not ctx.is_settled(key, ctx.state.first_seen):
        left = kind.settle - (ctx.now - ctx.state.first_seen)
        return Waiting(Reason.SETTLING, left, "a create of an earlier process may still take effect")
    if kind.carrier and kind.carrier_owned and kind.tagging is Tagging.NEVER:
        carriers = [k for k in node.requires if k.kind == kind.carrier]
        if not any((e := ctx.journal.get(k)) and e.state.is_claimed for k in carriers):
            message = f"{key} cannot be tagged, and its {kind.carrier} is not ours, so it cannot carry our mark"
            return Blocked(Reason.UNMARKABLE, message)
    return None


async def _foresee_refusal(ctx: PassContext, node: Node) -> Waiting | Blocked | None:
    """Say in a plan what the cloud would refuse a create for, as the pass that sends it does."""
    around = ctx.kind(node.key).creation.neighbours
    home = next((key for key in node.requires if key.kind == ctx.kind(node.key).parent_kind), None)
    if not ctx.deps.foresees or around is None or home is None:
        return None
    try:
        refusal = around.refusal(node.request(ctx.ready_nodes), await around.neighbours(Ref(ctx.ready_nodes[home].id)))
    except CloudError as error:
        return outcome_of_error(error)
    return outcome_of_error(refusal) if refusal else None


async def send_wave(ctx: PassContext, wave: Sequence[Node]) -> None:
    """Write the intents in one patch, send the creates together, record the ids in one patch."""
    requests = await _prepare_requests(ctx, wave)
    wave = [node for node in wave if node.key in requests]
    for node in wave:
        entry = ctx.journal.get(node.key)
        opened = round(ctx.deps.clock.now(), 3)
        intent = replace(
            entry or Entry(RecordState.INTENDED),
            state=RecordState.INTENDED,
            opened=opened,
            key=ctx.keys.writing,
            by=ctx.deps.identity,
            request=requests[node.key][0],
            parts=parts.find_claimable(ctx, node.key) if ctx.kind(node.key).parts.born_with else (),
            node_tags=tuple(sorted(wanted_tags.node_tags(ctx, node.key))),
            shared=node.shared,
            tags=create_identity.bound_tags(ctx, node.key),
        )
        ctx.record(node.key, with_edges(intent, node))
    await ctx.save()
    if not wave:
        return
    ctx.state.last_sent = ctx.now
    results = await run_together([_send(ctx, node.key, requests[node.key][1]) for node in wave])
    for node, result in zip(wave, results, strict=True):
        _record_result(ctx, node.key, result)
    await ctx.save()
    for defect in results:
        if not isinstance(defect, Observed | CloudError):
            raise defect  # not before what the others made is on record


async def _prepare_requests(ctx: PassContext, wave: Sequence[Node]) -> dict[NodeKey, tuple[Request, Request]]:
    """Return each request as it is recorded and as it is sent, without those whose secret cannot be read."""
    found: dict[NodeKey, tuple[Request, Request]] = {}
    for node in wave:
        try:
            found[node.key] = await resolve_secrets.resolve_first(ctx, node.key, node.request(ctx.ready_nodes))
        except CloudError as error:
            ctx.creating.remove(node.key)
            outcome = outcome_of_error(error)
            ctx.block(node.key, replace(outcome, after=min(outcome.after, SECRET_SECONDS)))
    return found


async def _send(ctx: PassContext, key: NodeKey, request: Request) -> Observed:
    attempt = ctx.journal.entries[key].attempt
    return await ctx.kind(key).driver.create(request, create_identity.birth_of(ctx, key, attempt))


def _record_result(ctx: PassContext, key: NodeKey, result: Observed | Exception) -> None:
    """Record the id; leave an unknown effect as an open intent; close what was refused, because nothing happened."""
    entry = ctx.journal.entries[key]
    if isinstance(result, Observed) and not intents.reply_counts(ctx, key, result):
        intents.look_for_own(ctx, key, result)
    elif isinstance(result, Observed):
        ctx.state.create_replies[key, entry.attempt] = result
        polling.note_start(ctx, key, Verb.CREATE)
        observe.record_claim(ctx, key, result, entry)
        ctx.node(key).look_at = max(ctx.node(key).look_at, ctx.now)
        if ctx.kind(key).parts.born_with:
            ctx.node(key).parts.checked = True
    elif isinstance(result, Unknown | TokenReused):
        ctx.node(key).open_since = ctx.now
        ctx.node(key).unanswered = result.message
        if isinstance(result, TokenReused):
            intents.record_used_token(ctx, key)
        ctx.requeue(key, Waiting(Reason.RETRYING, 5.0, result.message))
    elif isinstance(result, CloudError):
        spent = ctx.kind(key).spends_tokens and not isinstance(result, Retryable)
        ctx.record(key, after_refusal(entry, token_spent=spent))
        ctx.node(key).no_room_for = None
        if isinstance(result, NoCapacity):
            ctx.node(key).no_room_for = without_digests(entry.request)
            ctx.come_back_after(ANOTHER_PLACE)
        node = ctx.graph.nodes[key]
        field = node.attribute_fields.get(result.attribute, node.field)
        about_it = isinstance(result, Invalid | NotFound)  # what is asked for is wrong, or names what is not there
        ctx.block(key, outcome_of_error(result.with_field(field) if about_it else result))
