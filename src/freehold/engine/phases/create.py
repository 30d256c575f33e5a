"""Create: for each wanted node without a resource use what exists, report why it cannot, or create it.

A name proves nothing, so nothing is ever adopted because of its name. The journal is written twice around a wave of
creates: the exact requests before it, the ids after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from freehold.engine import birth_marks, create_identity, polling, proofs, wanted_tags
from freehold.engine.context import PassContext
from freehold.engine.deletion_order import with_edges
from freehold.engine.durations import Verb
from freehold.engine.errors import CloudError, Invalid, NotFound, Retryable, TokenReused, Unknown
from freehold.engine.graph import Naming, Node
from freehold.engine.journal import Entry, Phase, after_refusal, let_go, unmanaged
from freehold.engine.kinds import Tagging
from freehold.engine.outcomes import Blocked, Reason, Waiting, of_error
from freehold.engine.ownership import UUID, Marks, Strength
from freehold.engine.phases import intents, observe, parts, prune, recovery, reveal
from freehold.engine.resources import NodeKey, Observed, Ref, Request, State, Want
from freehold.engine.state import Existence, MarkState


def drop_stale_refs(ctx: PassContext) -> None:
    """Forget records that the spec contradicts: a given id that is another one now, or a node that is given now."""
    for key, node in ctx.graph.nodes.items():
        entry = ctx.journal.get(key)
        if entry is None or not entry.id:
            continue
        given = node.given(ctx.ready_nodes) if node.given and node.requires <= ctx.ready_nodes.keys() else ""
        if entry.phase is Phase.GIVEN:
            stale = given != entry.id if given else node.given is None
        elif entry.phase is Phase.REUSED:
            seen = ctx.node(key).last_seen
            stale = bool(given) or (seen is not None and seen.name != node.name)
        else:
            stale = bool(given) and given != entry.id
        if stale:
            _release_given(ctx, key, entry)


def _release_given(ctx: PassContext, key: NodeKey, entry: Entry) -> None:
    """What was given is forgotten; what is ours stays on record under a name of its own, as surplus."""
    if entry.phase.ours:
        ctx.journal = ctx.journal.put(recovery.free_key(ctx, key, entry.id), replace(entry, earlier=()))
    ctx.journal = ctx.journal.put(key, let_go(entry))
    ctx.state.forget(key)
    ctx.outcomes.pop(key, None)
    ctx.ready_nodes.pop(key, None)


def _released_before(ctx: PassContext, key: NodeKey) -> Observed | None:
    """Our earlier resource for this node, replaced by a given one and now wanted again."""
    for other, entry in ctx.journal.ours.items():
        namesake = other.kind == key.kind and other.logical.startswith(f"{key.logical}~")
        if namesake and entry.opened and other not in ctx.graph.nodes:  # not one that only a mark brought to light
            known = ctx.node(other)
            trusted = known.existence is Existence.PRESENT and known.marks is not MarkState.DOUBTED
            if trusted and known.observed.state in (State.PENDING, State.READY):
                return known.observed
    return None


async def select(ctx: PassContext) -> list[Node]:
    """Nodes without a resource whose requirements are ready: use what exists, report why not, or return them."""
    todo: list[Node] = []
    for node in ctx.graph.wave(ctx.ready_nodes):
        entry = ctx.journal.get(node.key)
        if entry and entry.phase is not Phase.VACANT:
            continue
        known = ctx.node(node.key)
        if known.deferred and ctx.now < known.retry_at:
            ctx.outcomes[node.key] = replace(known.deferred, after=known.retry_at - ctx.now)
        elif node.given:
            await _given(ctx, node)
        elif returning := _released_before(ctx, node.key):
            observe.record_owned(ctx, node.key, returning, entry)
        else:
            todo.append(node)
    unknown = [node for node in todo if _may_exist(ctx, node)]
    wants = [Want(n.key, n.name, n.request(ctx.ready_nodes), birth_marks.sought(ctx, n.key)) for n in unknown]
    found = await observe.find(ctx, wants)
    create: list[Node] = []
    for node in todo:
        candidates = found.get(node.key, ())
        if isinstance(candidates, CloudError):
            ctx.block(node.key, of_error(candidates))
        elif await _decide_by_candidates(ctx, node, candidates):
            create.append(node)
    return create


def _may_exist(ctx: PassContext, node: Node) -> bool:
    """Whether something may be there already: ours, made by an earlier process, or anybody's of this name."""
    free = ctx.kind(node.key).nameless or _is_in_new_home(ctx, node)
    return not (free and ctx.state.minted) or ctx.state.planning


def _is_in_new_home(ctx: PassContext, node: Node) -> bool:
    """Whether its node was never tried and what contains it is ours: then nothing of its name can be there.

    After a refused create something may be there all the same.
    """
    home = ctx.kind(node.key).home
    homes = [entry for key in node.requires if key.kind == home and (entry := ctx.journal.get(key))]
    return bool(homes) and all(entry.phase.ours for entry in homes) and ctx.journal.get(node.key) is None


async def _given(ctx: PassContext, node: Node) -> None:
    assert node.given is not None
    id_ = node.given(ctx.ready_nodes)
    try:
        observed = (await ctx.kind(node.key).driver.observe([Ref(id_)])).get(id_)
    except CloudError as error:
        ctx.block(node.key, of_error(error))
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
    entry = unmanaged(ctx.journal.get(node.key), Phase.GIVEN, observed)
    ctx.journal = ctx.journal.put(node.key, entry)
    ctx.remember(node.key, observed)
    observe.assess(ctx, node.key, observed)


async def _decide_by_candidates(ctx: PassContext, node: Node, candidates: Sequence[Observed]) -> bool:
    """Use, record or report what was found under its name; True when it is to be created (the order of ADR 3)."""
    key = node.key
    try:
        ours = await _claimed(ctx, key, candidates)
    except CloudError as error:
        ctx.block(key, of_error(error))
        return False
    if len(ours) == 1:
        observe.record_owned(ctx, key, ours[0], ctx.journal.get(key))
        return False
    if ours:
        ctx.block(key, intents.ambiguous(ctx, key, ours))
        return False
    if forgotten := [c for c in candidates if birth_marks.has_unspent_birth_mark(ctx, key, c)]:
        ctx.block(key, _forgotten(ctx, key, forgotten))
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
        await _namesake(ctx, node, named[0])
        return False
    if occupied := prune.holds_place(ctx, node):
        ctx.outcomes[key] = occupied  # looked at in each pass: it asks nobody, and a prune ends it
        return False
    if reason := _why_not_created(ctx, node) or await _foreseen(ctx, node):
        ctx.block(key, reason)
        return False
    return True


def _forgotten(ctx: PassContext, key: NodeKey, found: Sequence[Observed]) -> Blocked:
    """Made by an attempt that a restored journal does not know: another one would be a second resource."""
    ids = ", ".join(sorted(c.id for c in found))
    ways = "; ".join(proofs.how_to_detach(ctx, c.target, c.tags or ()) for c in found)
    return Blocked(
        Reason.AMBIGUOUS,
        f"{ids} has a birth mark of {key} that is on no record: this object was restored from an older backup, or "
        f"somebody copied the mark. Delete {ids} in the cloud if it was made for this object; if it was not, {ways}",
        ctx.deps.intervals.slow,
    )


async def _claimed(ctx: PassContext, key: NodeKey, candidates: Sequence[Observed]) -> Sequence[Observed]:
    """What a restored journal may have forgotten: ours by sealed mark or birth mark, asked where unclear."""
    ours = intents.matching_own_create(ctx, key, candidates)
    unread = {c.target for c in candidates if c.tags is None and c.target}
    if len(ours) == 1 or len(candidates) < 2 or not unread:
        return ours
    return intents.matching_own_create(
        ctx, key, candidates, {target: await ctx.deps.tagger.tags_of(target) for target in unread}
    )


async def _namesake(ctx: PassContext, node: Node, candidate: Observed) -> None:
    """A resource with the wanted name and no nonce of ours: a name proves nothing."""
    key, codec = node.key, ctx.deps.codec
    try:
        tags = candidate.tags if candidate.tags is not None else await ctx.deps.tagger.tags_of(candidate.target)
    except CloudError as error:
        ctx.block(key, of_error(error))
        return
    strength = proofs.evidence(ctx, key, candidate, tags).strength
    marks = codec.read(tags)
    if strength is Strength.PROVEN:
        observe.record_owned(ctx, key, candidate, ctx.journal.get(key))
        return
    if own := next((k for k, e in ctx.journal.ours.items() if (k.kind, e.id) == (key.kind, candidate.id)), None):
        # A carrier's mark names no node; that of one which was put on record beside another names ``own``.
        proven = candidate.carried or proofs.evidence(ctx, own, candidate, tags).strength is Strength.PROVEN
        if proven and own not in ctx.graph.nodes and ctx.is_signed(own):
            observe.record_owned(ctx, key, candidate, ctx.journal.get(key))
        else:
            ctx.block(key, _own_under_another_key(ctx, own, candidate))
        return
    taken = False if candidate.carried else strength in (Strength.OTHERS, Strength.DISPUTED, Strength.COPIED)
    if taken:
        message = f"{node.name} ({candidate.id}) {_whose(ctx, marks, candidate)}"
        ctx.block(key, Blocked(Reason.NAME_TAKEN, message, ctx.deps.intervals.slow, candidate))
        return
    young = ctx.kind(key).settle - (ctx.deps.clock.now() - candidate.created_at) if candidate.created_at else 0.0
    if young > 0:
        message = f"{node.name} ({candidate.id}) was created a moment ago; waiting for its ownership tags"
        ctx.block(key, Waiting(Reason.SETTLING, min(young, 30.0), message))
    elif node.naming is Naming.EXPLICIT:
        ctx.journal = ctx.journal.put(key, unmanaged(ctx.journal.get(key), Phase.REUSED, candidate))
        ctx.remember(key, candidate)
        observe.assess(ctx, key, candidate)
    else:
        ctx.block(
            key,
            Blocked(
                Reason.NAME_TAKEN,
                f"{node.name} ({candidate.id}) exists and is not ours: {node.if_taken}",
                ctx.deps.intervals.slow,
                candidate,
            ),
        )


def _whose(ctx: PassContext, marks: Marks, seen: Observed) -> str:
    """Another owner's, or that of an earlier object of our name: its store was lost, or it lives somewhere else."""
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


def _own_under_another_key(ctx: PassContext, own: NodeKey, seen: Observed) -> Waiting | Blocked:
    """Of what :func:`_released_before` did not take back."""
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
    """Why no create is sent although nothing has its name. Decides; changes nothing."""
    key, kind = node.key, ctx.kind(node.key)
    entry = ctx.journal.get(key)
    if entry and entry.gone and kind.once:
        message = (
            f"{node.name} ({entry.gone}) has gone and was not deleted by this operator. It is not made again by "
            f"itself: find out who deleted it, then decide: {ctx.resolve(key)} --not-mine --yes"
        )
        return Blocked(Reason.GONE, message, ctx.deps.intervals.slow)
    if entry and entry.fails >= kind.attempts:
        message = (
            f"{key} was created {entry.fails} times and vanished each time before it could be marked: "
            f"find out who deletes it, then try again: {ctx.resolve(key)} --not-mine --yes"
        )
        return Blocked(Reason.VANISHING, message, ctx.deps.intervals.slow)
    if not ctx.state.minted and not ctx.settled(key, ctx.state.first_seen):
        left = kind.settle - (ctx.now - ctx.state.first_seen)
        return Waiting(Reason.SETTLING, left, "a create of an earlier process may still take effect")
    if kind.carrier and kind.carrier_owned and kind.tagging is Tagging.NEVER:
        carriers = [k for k in node.requires if k.kind == kind.carrier]
        if not any((e := ctx.journal.get(k)) and e.phase.ours for k in carriers):
            message = f"{key} cannot be tagged, and its {kind.carrier} is not ours, so it cannot carry our mark"
            return Blocked(Reason.UNMARKABLE, message)
    return None


async def _foreseen(ctx: PassContext, node: Node) -> Waiting | Blocked | None:
    """What a plan says of a create that the cloud would refuse: the same as the pass that sends it."""
    around = ctx.kind(node.key).neighbours
    home = next((key for key in node.requires if key.kind == ctx.kind(node.key).home), None)
    if not ctx.deps.foresees or around is None or home is None:
        return None
    try:
        refusal = around.refusal(node.request(ctx.ready_nodes), await around.neighbours(Ref(ctx.ready_nodes[home].id)))
    except CloudError as error:
        return of_error(error)
    return of_error(refusal) if refusal else None


async def create(ctx: PassContext, wave: Sequence[Node]) -> None:
    """Intend, create, record: two patches around one wave of creates."""
    requests = await _requests(ctx, wave)
    wave = [node for node in wave if node.key in requests]
    for node in wave:
        entry = ctx.journal.get(node.key)
        opened = round(ctx.deps.clock.now(), 3)
        intent = replace(
            entry or Entry(Phase.INTENDED),
            phase=Phase.INTENDED,
            opened=opened,
            key=ctx.keys.writing,
            by=ctx.deps.identity,
            request=requests[node.key][0],
            parts=parts.claimable(ctx, node.key) if ctx.kind(node.key).born_with_parts else (),
            node_tags=tuple(sorted(wanted_tags.node_tags(ctx, node.key))),
            shared=node.shared,
            tags=create_identity.bound_tags(ctx, node.key),
        )
        ctx.journal = ctx.journal.put(node.key, with_edges(intent, node))
    await ctx.save()
    if not wave:
        return
    ctx.state.last_sent = ctx.now
    results = await ctx.deps.port.all([_send(ctx, node.key, requests[node.key][1]) for node in wave])
    for node, result in zip(wave, results, strict=True):
        _created(ctx, node.key, result)
    await ctx.save()
    for defect in results:
        if not isinstance(defect, Observed | CloudError):
            raise defect  # not before what the others made is on record


async def _requests(ctx: PassContext, wave: Sequence[Node]) -> dict[NodeKey, tuple[Request, Request]]:
    """As recorded and as sent. What refers to a secret that cannot be read is not created."""
    found: dict[NodeKey, tuple[Request, Request]] = {}
    for node in wave:
        try:
            found[node.key] = await reveal.first(ctx, node.key, node.request(ctx.ready_nodes))
        except CloudError as error:
            ctx.creating.remove(node.key)
            ctx.block(node.key, of_error(error))
    return found


async def _send(ctx: PassContext, key: NodeKey, request: Request) -> Observed:
    attempt = ctx.journal.entries[key].attempt
    return await ctx.kind(key).driver.create(request, create_identity.birth_of(ctx, key, attempt))


def _created(ctx: PassContext, key: NodeKey, result: Observed | Exception) -> None:
    """An id is recorded; an unknown effect stays an open intent; a refusal closes it: nothing happened."""
    entry = ctx.journal.entries[key]
    if isinstance(result, Observed) and not intents.reply_counts(ctx, key, result):
        intents.look_for_own(ctx, key, result)
    elif isinstance(result, Observed):
        ctx.state.made[key, entry.attempt] = result
        polling.started(ctx, key, Verb.CREATE)
        observe.record_owned(ctx, key, result, entry)
        ctx.node(key).look_at = max(ctx.node(key).look_at, ctx.now)
        if ctx.kind(key).born_with_parts:
            ctx.node(key).parts_checked = True
    elif isinstance(result, Unknown | TokenReused):
        ctx.node(key).open_since = ctx.now
        ctx.node(key).unanswered = result.message
        if isinstance(result, TokenReused):
            intents.token_was_used(ctx, key)
        ctx.requeue(key, Waiting(Reason.RETRYING, 5.0, result.message))
    elif isinstance(result, CloudError):
        spent = ctx.kind(key).spends_tokens and not isinstance(result, Retryable)
        ctx.journal = ctx.journal.put(key, after_refusal(entry, token_spent=spent))
        about_it = isinstance(result, Invalid | NotFound)  # what is asked for is wrong, or names what is not there
        ctx.block(key, of_error(result.at(ctx.graph.nodes[key].field) if about_it else result))
