"""Mark: attach what proves ownership, read it back, heal what was stripped; the user's tags go the same way.

A record counts as owned (OWNED) only when its mark has been *read back*. Tags are added and removed, never replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf

from freehold.lifecycle import birth_marks, proofs, wanted_tags
from freehold.lifecycle.context import PassContext
from freehold.lifecycle.errors import CloudError, NotFound
from freehold.lifecycle.inventory import TagChange, TagsByTarget
from freehold.lifecycle.journal import Entry, Phase
from freehold.lifecycle.keys import UNKEYED
from freehold.lifecycle.kinds import NodeKey, Observed, Ref
from freehold.lifecycle.outcomes import Blocked, Ready, Reason, Waiting, of_error
from freehold.lifecycle.ownership import Strength
from freehold.lifecycle.phases import given_tags, keyed_tags, observe
from freehold.lifecycle.state import Attached, Existence, MarkState, NodeState


async def verify(ctx: PassContext, keys: Collection[NodeKey]) -> TagsByTarget:
    """Read marks back: in the looks at the resources, else by one search for all, then from the resources themselves.

    Covers records whose mark was never read back and, in a deep pass, everything of ours. Returns what
    the search showed, empty when none was needed.
    """
    due = [key for key in keys if _verification_due(ctx, key)]
    for key in [key for key in due if not ctx.kind(key).markable]:
        _close_unmarkable(ctx, key)
        due.remove(key)
    if not due:
        return {}
    try:
        marked = await read(ctx) if ctx.deep or asks_index(ctx, due) else {}
    except CloudError as error:
        ctx.outcomes.update(dict.fromkeys(due, of_error(error)))
        for key in due:
            ctx.node(key).marks_doubted = True
        return {}
    looks = {key: ctx.node(key).observed for key in due}
    shown = {key: _indexed(ctx, key, marked) if seen.tags is None else seen.tags for key, seen in looks.items()}
    unclear = [key for key, seen in looks.items() if _is_unclear(ctx, key, seen, shown[key])]
    asked = await _ask(ctx, unclear)
    for key, tags in {**shown, **asked}.items():
        if isinstance(tags, CloudError):
            ctx.outcomes[key] = of_error(tags)
            ctx.node(key).marks_doubted = True
        else:
            if key in asked and looks[key].tags is not None:
                ctx.node(key).last_seen = looks[key] = replace(looks[key], tags=tags)
            _judge_marks(ctx, key, looks[key], tags)
    return marked


def _is_unclear(ctx: PassContext, key: NodeKey, seen: Observed, shown: Collection[str]) -> bool:
    """Whether the resource is asked itself: what was attached since its last look, no look and no index has shown."""
    if seen.tags is not None:
        return ctx.deps.tagger.asks_resources and not ctx.node(key).seen_since_attach
    return not is_complete(ctx, key, seen, shown)


async def _ask(ctx: PassContext, keys: Collection[NodeKey]) -> Mapping[NodeKey, frozenset[str] | CloudError]:
    """What the resources themselves, or their carriers, have, as few calls as the cloud allows."""
    targets = {key: ctx.journal.entries[key].target for key in keys}
    answers = await ctx.deps.tagger.tags_of_each(list(dict.fromkeys(targets.values()))) if targets else {}
    return {key: answers[target] for key, target in targets.items()}


async def tags_now(
    ctx: PassContext, keys: Collection[NodeKey], marked: TagsByTarget
) -> Mapping[NodeKey, frozenset[str] | CloudError]:
    """The tags by which each is proven, or why they cannot be read: as look or index show them, else asked."""
    shown: dict[NodeKey, frozenset[str] | CloudError] = {}
    unclear: list[NodeKey] = []
    for key in keys:
        seen = ctx.node(key).observed
        shown[key] = tags = seen.tags if seen.tags is not None else marked.get(seen.target, frozenset())
        if seen.target and proofs.evidence(ctx, key, seen, tags).strength is not Strength.PROVEN:
            unclear.append(key)
    return {**shown, **await _ask(ctx, unclear)}


def asks_index(ctx: PassContext, keys: Collection[NodeKey]) -> bool:
    """Whether the index can show tags of them that no look at them has shown, and they are not asked themselves."""
    if ctx.deps.tagger.asks_resources:
        return False
    return any(ctx.node(key).observed.tags is None and ctx.kind(key).indexed for key in keys)


async def read(ctx: PassContext) -> TagsByTarget:
    """Read the index: all targets with our uuid mark, our carriers, and what else the user's tags belong on."""
    also = {e.target for e in ctx.journal.entries.values() if e.carried and e.target}
    also |= {target for target, tags in given_tags.tags_by_target(ctx).items() if tags}
    marked = await ctx.deps.tagger.marked(ctx.owner.uuid, also)
    ctx.state.marks_read_at = ctx.now  # not before it answered: creates rest on it
    return marked


def _indexed(ctx: PassContext, key: NodeKey, marked: TagsByTarget) -> frozenset[str]:
    """What the index shows, without what it may still show although we took it off."""
    tags, off = marked.get(ctx.journal.entries[key].target, frozenset()), ctx.state.detached
    if off is None or ctx.now - off.at >= ctx.kind(key).settle:
        return tags
    fold = ctx.deps.codec.fold
    return frozenset(tag for tag in tags if not fold([tag]) & fold(off.tags))


def _verification_due(ctx: PassContext, key: NodeKey) -> bool:
    """Whether its marks are to be read in this pass.

    Not while the last read did not show the resource: later reads tell whether it lost its marks or is gone.
    """
    entry, node = ctx.journal.get(key), ctx.node(key)
    if not entry or not entry.id or node.existence is not Existence.PRESENT:
        return False
    if not ctx.kind(key).markable:
        return entry.phase is Phase.RECORDED
    if not entry.target:
        return False
    if node.marks is MarkState.DOUBTED:
        return True
    if entry.phase is Phase.OWNED:
        return ctx.deep or not ctx.is_signed(key)
    return entry.phase is Phase.RECORDED and _may_be_readable(ctx, node)


def _may_be_readable(ctx: PassContext, node: NodeState) -> bool:
    """Whether a read may show the marks of a new record."""
    if node.observed.tags is not None:
        return node.attached is None or node.seen_since_attach or ctx.deps.tagger.asks_resources
    if node.attached is None:
        # Recorded by an earlier process or recovered: it may be marked already.
        return not ctx.state.minted
    return ctx.now - node.attached.at >= _lag(ctx, node.observed) - 0.001


def _lag(ctx: PassContext, seen: Observed) -> float:
    """Seconds until a fresh mark is usually readable: where the index is asked, that is behind."""
    return 0.0 if seen.tags is not None or ctx.deps.tagger.asks_resources else ctx.deps.intervals.tag_lag


def is_complete(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
    """Whether ``tags`` prove that it is ours, and are all that we want on it."""
    proven = proofs.evidence(ctx, key, observed, tags).strength is Strength.PROVEN
    return proven and not missing(ctx, key, observed, tags)


def missing(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> frozenset[str]:
    """What is to be attached. A tag whose key has another's value is not, but the mark that proves is missed then."""
    fold = ctx.deps.codec.fold
    lacking = fold(wanted_tags.tags(ctx, key, observed)) - fold(tags)
    if taken := keyed_tags.taken(ctx, key, observed, tags):
        lacking -= fold({tag for tag, _ in taken} - {proofs.seal_mark(ctx, key, observed)})
    return lacking


def _judge_marks(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> None:
    entry = ctx.journal.entries[key]
    evidence = proofs.evidence(ctx, key, observed, tags)
    ctx.node(key).marks_doubted = True
    ctx.node(key).taken = taken = keyed_tags.taken(ctx, key, observed, tags)
    complete = is_complete(ctx, key, observed, tags)
    if observed.tags is not None and not complete and ctx.node(key).seen_since_attach:
        ctx.node(key).look_now()  # only another look shows other tags
    if complete:
        ctx.node(key).marks_doubted = False
        _close(ctx, key, entry)
        ctx.verified[key] = frozenset(tags)
    elif evidence.strength in (Strength.OTHERS, Strength.DISPUTED):
        message = (
            f"{observed.name} ({observed.id}) has {evidence.source}: nothing of it is changed until a person has "
            "found out whose it is"
        )
        _exclude(ctx, key, Blocked(Reason.NOT_OWNED, message, observed=observed))
    elif evidence.strength is not Strength.PROVEN and not ctx.is_signed(key):
        if not birth_marks.has_birth_mark(ctx, key, observed):
            _exclude(ctx, key, _unsigned(ctx, key, observed))
            return
        # The signature of its record cannot be checked; its nonce tells what that of an open intent would.
        ctx.node(key).marks_doubted = False
        observe.record_owned(ctx, key, observed, entry)
    elif blocked := keyed_tags.proof_taken(ctx, key, observed, taken):
        _exclude(ctx, key, blocked)
    elif not ctx.is_signed(key):
        ctx.node(key).marks_doubted = False
        lost = keyed_tags.lost_seal(ctx, key, observed, tags)  # ours to replace, after a crash too
        entry = replace(entry, node_tags=tuple(sorted({*entry.node_tags, *lost})))
        observe.record_owned(ctx, key, observed, entry)  # the marks prove it: its record is signed anew
    else:
        ctx.node(key).marks_doubted = False
        if not wanted_tags.lagging(ctx, key, missing(ctx, key, observed, tags)):
            if entry.phase is Phase.OWNED:
                ctx.notes.append(f"{key}: a mark or tag of {entry.id} was missing and is attached again")
            ctx.node(key).attached = None
        ctx.journal = ctx.journal.put(key, replace(entry, phase=Phase.RECORDED))


def _close_unmarkable(ctx: PassContext, key: NodeKey) -> None:
    """Nothing but the record tells of it: it is signed anew only where we signed it, or where it has our nonce."""
    observed = ctx.node(key).observed
    if not ctx.is_signed(key) and birth_marks.has_birth_mark(ctx, key, observed):
        observe.record_owned(ctx, key, observed, ctx.journal.entries[key])
    if ctx.is_signed(key):
        _close(ctx, key, ctx.journal.entries[key])
    else:
        _exclude(ctx, key, _unsigned(ctx, key, observed))


def _exclude(ctx: PassContext, key: NodeKey, why: Blocked) -> None:
    """It may be a stranger's: nothing is changed, and nothing of ours is created in it either."""
    ctx.outcomes[key] = why
    ctx.ready_nodes.pop(key, None)


def _close(ctx: PassContext, key: NodeKey, entry: Entry) -> None:
    """The mark was read back. The record keeps its key until its seal is renewed (:mod:`renewal`)."""
    asked = entry.request or {}
    kept = {name: asked[name] for name in sorted(ctx.kind(key).create_only) if name in asked} or None
    digest = ctx.signing_key(key)
    signature = ctx.keys.signature(digest, key.kind, entry.id)
    record = replace(entry, phase=Phase.OWNED, request=kept, fails=0, signature=signature, key=digest, by="")
    ctx.journal = ctx.journal.put(key, replace(record, node_tags=() if entry.carried else entry.node_tags))


def _unsigned(ctx: PassContext, key: NodeKey, observed: Observed) -> Blocked:
    """An unsigned id: a person, another operator's backup or an attacker wrote it, so it gets no mark of ours."""
    before_ring = ctx.journal.entries[key].key == UNKEYED
    way = "run the operator with the API key that it was recorded with until it is Ready, or " if before_ring else ""
    return Blocked(
        Reason.NOT_OWNED,
        f"{observed.name} ({observed.id}) is in the journal, but neither its marks nor this operator's signature show "
        f"that it is ours: it is neither changed nor deleted. If it was made for this object, {way}delete it in the "
        f"cloud to have it created again; otherwise remove {key} from annotation freehold.dev/journal",
        observed=observed,
    )


async def attach(ctx: PassContext, keys: Collection[NodeKey]) -> None:
    """Attach the marks and the user's tags to what is recorded and not yet marked, batched by the tagger."""
    wanted: dict[str, frozenset[str]] = {}
    due: dict[NodeKey, Observed] = {}
    for key in keys:
        entry, node = ctx.journal.get(key), ctx.node(key)
        observed = node.last_seen
        if not entry or entry.phase is not Phase.RECORDED or observed is None or node.absent_since is not None:
            continue
        if node.marks is MarkState.DOUBTED:
            continue
        if node.attached and wanted_tags.tags(ctx, key, observed) <= node.attached.tags:
            continue
        if not ctx.kind(key).markable or not observed.target or isinstance(ctx.outcomes.get(key), Blocked):
            continue
        if not ctx.is_signed(key):
            ctx.outcomes[key] = _unsigned(ctx, key, observed)
            continue
        if observed.carried and not (
            proofs.is_carried_by(ctx, key, observed.id, observed.target) and _carrier_fits(ctx, key, observed)
        ):
            continue
        try:
            attachable, have = await keyed_tags.attachable(ctx, key, observed)
        except NotFound as error:  # it is new, and the tag service does not know it yet
            ctx.outcomes[key] = Waiting(Reason.MARKING, ctx.deps.intervals.tag_lag, error.message, observed)
            continue
        except CloudError as error:
            ctx.outcomes[key] = of_error(error)
            continue
        if blocked := keyed_tags.proof_taken(ctx, key, observed, ctx.node(key).taken):
            ctx.outcomes[key] = blocked
            continue
        if tags := _not_shown(ctx, observed, attachable, have):
            wanted[observed.target] = wanted.get(observed.target, frozenset()) | tags
            due[key] = observed
        elif observed.tags is None and ctx.node(key).attached is None:  # an attach whose reply was lost has put them on
            ctx.node(key).attached = Attached(ctx.now, wanted_tags.tags(ctx, key, observed))
    if not due:
        return
    for key in due:
        entry = ctx.journal.entries[key]
        record = replace(entry, node_tags=tuple(sorted({*entry.node_tags, *wanted_tags.node_tags(ctx, key)})))
        ctx.journal = ctx.journal.put(key, record)
    # A process that dies here must not forget what it put there, and one that lost its turn must not attach.
    await ctx.save_before_write()
    ctx.state.last_sent = ctx.now
    failed = await ctx.deps.tagger.attach(_together(ctx, wanted, due))
    for key, observed in due.items():
        if observed.target in failed:
            ctx.outcomes[key] = of_error(failed[observed.target])
            continue
        node = ctx.node(key)
        node.attached, node.seen_since_attach = Attached(ctx.now, wanted_tags.tags(ctx, key, observed)), False
        if observed.tags is not None and node.look_at == inf and not ctx.deps.tagger.asks_resources:
            node.look_now()  # the look that reads the marks back


def _not_shown(
    ctx: PassContext, observed: Observed, tags: frozenset[str], have: frozenset[str] | None
) -> frozenset[str]:
    """Those that the last read of its tags did not show; all of them where none was read."""
    if have is None or observed.carried:
        return tags
    fold, there = ctx.deps.codec.fold, ctx.deps.codec.fold(have)
    return frozenset(tag for tag in tags if not fold([tag]) <= there)


def _together(
    ctx: PassContext, wanted: Mapping[str, frozenset[str]], due: Mapping[NodeKey, Observed]
) -> list[TagChange]:
    """The seals of several resources in one value, which one call attaches to all: each fits its own resource only."""
    codec, spelled = ctx.deps.codec, dict(wanted)
    seals = {seen.target: proofs.seal_mark(ctx, key, seen) for key, seen in due.items() if not seen.carried}
    alike: dict[frozenset[str], list[str]] = {}
    for target, seal in seals.items():
        if seal in wanted[target]:
            alike.setdefault(wanted[target] - {seal}, []).append(target)
    for beside, targets in alike.items():
        for start in range(0, len(targets), codec.seals_together):
            some = targets[start : start + codec.seals_together]
            spelled |= dict.fromkeys(some, codec.joined(beside | {seals[target] for target in some}))
    return [TagChange(target, tags) for target, tags in spelled.items()]


async def detach_dropped(ctx: PassContext) -> None:
    """Take off what the spec asked for before and asks for no more, wherever we may have put it."""
    ours = {
        key: entry
        for key, entry in ctx.journal.ours.items()
        if entry.target
        and not entry.carried
        and ctx.is_signed(key)
        and not _is_left_alone(ctx, key)
        and _seen(ctx, key)
    }
    of_user = _no_longer(ctx, ctx.journal.tags, ctx.user_tags)
    replaced = keyed_tags.superseded(ctx.deps.codec, of_user, ctx.user_tags)
    kept = frozenset() if _shown_as_wanted(ctx) else replaced
    if of_user and (ctx.journal.open or any(_has_no_seal_of_ours(ctx, key) for key in ctx.journal.ours)):
        kept = of_user  # a resource that an open intent made may have them since its create; another still has them
    off = {key: _off(ctx, key, of_user - replaced - kept) for key in ours}
    changes = {ours[key].target: tags for key, tags in off.items() if tags}
    if changes:
        failed = await keyed_tags.detach(ctx, [TagChange(target, changes[target]) for target in sorted(changes)])
        ctx.state.detached = Attached(ctx.now, frozenset().union(*changes.values()))
        wrong = {target: e for target, e in failed.items() if not isinstance(e, NotFound)}
        ctx.outcomes |= {key: of_error(wrong[e.target]) for key, e in ours.items() if e.target in wrong}
        if wrong:
            return
    for key, tags in off.items():
        _forget_node_tags(ctx, key, tags)
    ctx.journal = replace(ctx.journal, tags=ctx.user_tags | kept)


def _no_longer(ctx: PassContext, tags: Collection[str], wanted: frozenset[str]) -> frozenset[str]:
    """Those of ``tags`` that are not wanted, and no marks: who may edit the object can write any into its record."""
    fold = ctx.deps.codec.fold
    return frozenset(tag for tag in tags if not fold([tag]) & fold(wanted) and not ctx.deps.codec.is_mark(tag))


def _off(ctx: PassContext, key: NodeKey, of_user: frozenset[str]) -> frozenset[str]:
    """What is to be taken off: of the user's tags, and of those that the node had before."""
    if key not in ctx.graph.nodes:
        return of_user
    wanted = wanted_tags.tags(ctx, key, ctx.node(key).observed)
    off = _no_longer(ctx, {*of_user, *ctx.journal.entries[key].node_tags}, wanted)
    return off - keyed_tags.superseded(ctx.deps.codec, off, wanted)


def _forget_node_tags(ctx: PassContext, key: NodeKey, off: frozenset[str]) -> None:
    """What was taken off and, once a read has shown what is wanted, what that has replaced."""
    entry = ctx.journal.entries[key]
    if key in ctx.graph.nodes:
        left = wanted_tags.node_tags(ctx, key) if key in ctx.verified else frozenset(entry.node_tags) - off
        ctx.journal = ctx.journal.put(key, replace(entry, node_tags=tuple(sorted(left))))


def node_tags_are_recorded(ctx: PassContext) -> bool:
    """Whether the record says that each resource of ours has the tags of its node, and no others of it."""
    ours = ctx.journal.ours
    return all(set(ours[key].node_tags) == wanted_tags.node_tags(ctx, key) for key in ctx.graph.nodes if key in ours)


def _shown_as_wanted(ctx: PassContext) -> bool:
    """Whether this pass has read all that we want on all that is ours: no value of an older spec is left there."""
    ours = (key for key, e in ctx.journal.ours.items() if key in ctx.graph.nodes and e.target and not e.carried)
    return all(key in ctx.verified for key in ours)


def _seen(ctx: PassContext, key: NodeKey) -> bool:
    """Whether the last look showed it, and on this very target."""
    seen, entry = ctx.node(key).last_seen, ctx.journal.entries[key]
    return bool(seen and ctx.node(key).absent_since is None and seen.target == entry.target and not seen.carried)


def _is_left_alone(ctx: PassContext, key: NodeKey) -> bool:
    """Whether this pass has seen that somebody else has a claim to it, or a value in place of our seal."""
    outcome = ctx.outcomes.get(key)
    claimed = isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED
    return claimed or _has_no_seal_of_ours(ctx, key)


def _has_no_seal_of_ours(ctx: PassContext, key: NodeKey) -> bool:
    """Another's value is in its place: a person is to find out whose it is."""
    outcome = ctx.outcomes.get(key)
    return isinstance(outcome, Blocked) and outcome.reason is Reason.TAG_TAKEN


async def detach_retired(ctx: PassContext) -> None:
    """Take the marks of carried resources that are gone off their carrier, which may be somebody else's.

    The cloud is asked again first: what exists keeps its mark, even if the journal calls it gone.
    """
    stale = {key: e for key, e in ctx.journal.entries.items() if e.earlier and e.target}
    for key, entry in stale.items():
        try:
            await _detach_retired(ctx, key, entry)
        except CloudError as error:
            ctx.outcomes.setdefault(key, of_error(error))


async def _detach_retired(ctx: PassContext, key: NodeKey, entry: Entry) -> None:
    refs = [Ref(id_, entry.target) for id_ in entry.earlier if proofs.is_carried_by(ctx, key, id_, entry.target)]
    existing = await ctx.kind(key).driver.observe(refs) if key.kind in ctx.deps.registry else {}
    gone = [ref.id for ref in refs if ref.id not in existing]
    if gone:
        tags = frozenset(mark for id_ in gone for mark in proofs.carried_marks(ctx, key, id_, entry.target))
        failed = (await keyed_tags.detach(ctx, [TagChange(entry.target, tags)])).get(entry.target)
        if failed is not None and not isinstance(failed, NotFound):
            raise failed
    ctx.journal = ctx.journal.put(key, replace(entry, earlier=()))


def _carrier_fits(ctx: PassContext, key: NodeKey, observed: Observed) -> bool:
    kind = ctx.kind(key)
    if not kind.carrier_owned:
        return True
    for other, entry in ctx.journal.entries.items():
        if other.kind == kind.carrier and entry.target == observed.target and entry.phase.ours:
            return True
    ctx.outcomes[key] = Blocked(
        Reason.UNMARKABLE,
        f"{observed.name} ({observed.id}) cannot be tagged, and its {kind.carrier} is not ours to carry our mark: it "
        "is recorded in the journal only, and is not deleted with the object",
        observed=observed,
    )
    return False


def ready_only_if_marked(ctx: PassContext, keys: Collection[NodeKey]) -> None:
    """A resource is not Ready before its mark has been read back."""
    for key in keys:
        entry, outcome = ctx.journal.get(key), ctx.outcomes.get(key)
        if entry and entry.phase is Phase.RECORDED and isinstance(outcome, Ready):
            attached = ctx.node(key).attached
            since = ctx.now - attached.at if attached else 0.0
            left = max(_lag(ctx, outcome.observed) - since, min(max(since, 1.0), 5.0))
            if not entry.target:
                ctx.node(key).look_now()  # its target is not known yet
            ctx.outcomes[key] = Waiting(Reason.MARKING, left, "its mark is not readable yet", outcome.observed)
