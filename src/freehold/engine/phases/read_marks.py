"""Read marks: a record counts as owned (OWNED) only when a read has shown the mark that proves it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from freehold.engine import birth_marks, proofs, wanted_tags
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagsByTarget
from freehold.engine.journal import Entry, RecordState
from freehold.engine.outcomes import Blocked, Reason, Repair, Waiting, outcome_of_error
from freehold.engine.ownership import Strength
from freehold.engine.phases import given_tags, keyed_tags, observe
from freehold.engine.resources import NodeKey, Observed
from freehold.engine.state import Existence, MarkState, NodeState

MAY_GO = "the delete that was asked for may still take effect; it is marked again after that"


async def verify_marks(ctx: PassContext, keys: Collection[NodeKey]) -> TagsByTarget:
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
        marked = await read_index(ctx) if ctx.deep or asks_index(ctx, due) else {}
    except CloudError as error:
        ctx.outcomes.update(dict.fromkeys(due, outcome_of_error(error)))
        for key in due:
            ctx.node(key).mark_memory.doubted = True
        return {}
    looks = {key: ctx.node(key).observed for key in due}
    shown = {key: _tags_in_index(ctx, key, marked) if seen.tags is None else seen.tags for key, seen in looks.items()}
    unclear = [key for key, seen in looks.items() if _is_unclear(ctx, key, seen, shown[key])]
    asked = await _ask(ctx, unclear)
    for key, tags in {**shown, **asked}.items():
        if isinstance(tags, CloudError):
            ctx.outcomes[key] = outcome_of_error(tags)
            ctx.node(key).mark_memory.doubted = True
        else:
            if key in asked and looks[key].tags is not None:
                ctx.node(key).last_seen = looks[key] = replace(looks[key], tags=tags)
            _judge_marks(ctx, key, looks[key], tags)
    return marked


def _is_unclear(ctx: PassContext, key: NodeKey, seen: Observed, shown: Collection[str]) -> bool:
    """Return whether the resource is asked itself: what was attached since its last look, no look and no index shows.

    The index may still show what ours had, under an id that another one has got since.
    """
    if seen.tags is not None:
        return ctx.deps.tagger.asks_resources and not ctx.node(key).mark_memory.seen_since_attach
    return ctx.may_be_another(key) or not is_complete(ctx, key, seen, shown)


async def _ask(ctx: PassContext, keys: Collection[NodeKey]) -> Mapping[NodeKey, frozenset[str] | CloudError]:
    """Read what the resources themselves, or their carriers, have, in as few calls as the cloud allows."""
    targets = {key: ctx.journal.entries[key].target for key in keys}
    answers = await ctx.deps.tagger.tags_of_each(list(dict.fromkeys(targets.values()))) if targets else {}
    return {key: answers[target] for key, target in targets.items()}


async def read_tags_now(
    ctx: PassContext, keys: Collection[NodeKey], marked: TagsByTarget
) -> Mapping[NodeKey, frozenset[str] | CloudError]:
    """Return the tags by which each is proven, or why they cannot be read: as look or index show them, else asked.

    In a delete each is asked: the index may still show a mark that somebody has taken off to keep the resource.
    """
    shown: dict[NodeKey, frozenset[str] | CloudError] = {}
    unclear: list[NodeKey] = []
    for key in keys:
        seen = ctx.node(key).observed
        shown[key] = tags = seen.tags if seen.tags is not None else marked.get(seen.target, frozenset())
        # The index may show what ours had, under that id.
        is_behind = seen.tags is None and (ctx.state.releasing or ctx.kind(key).naming.id_returns)
        if seen.target and (is_behind or proofs.evidence(ctx, key, seen, tags).strength is not Strength.PROVEN):
            unclear.append(key)
    return {**shown, **await _ask(ctx, unclear)}


def asks_index(ctx: PassContext, keys: Collection[NodeKey]) -> bool:
    """Return whether the index can show tags of them that no look showed, and they are not asked themselves."""
    if ctx.deps.tagger.asks_resources:
        return False
    return any(ctx.node(key).observed.tags is None and ctx.kind(key).reads.indexed for key in keys)


async def read_index(ctx: PassContext) -> TagsByTarget:
    """Read the index: all targets with our uuid mark, our carriers, and what else the user's tags belong on."""
    also = {e.target for e in ctx.journal.entries.values() if e.carried and e.target}
    also |= {target for target, tags in given_tags.tags_by_target(ctx).items() if tags}
    marked = await ctx.deps.tagger.find_marked(ctx.owner.uuid, also)
    ctx.state.marks_read_at = ctx.now  # not before it answered: creates rest on it
    return marked


def _tags_in_index(ctx: PassContext, key: NodeKey, marked: TagsByTarget) -> frozenset[str]:
    """Return what the index shows, without what it may still show although we took it off."""
    tags, off = marked.get(ctx.journal.entries[key].target, frozenset()), ctx.state.detached
    if off is None or ctx.now - off.at >= ctx.kind(key).settle:
        return tags
    fold = ctx.deps.codec.fold
    return frozenset(tag for tag in tags if not fold([tag]) & fold(off.tags))


def _verification_due(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether its marks are to be read in this pass.

    Not while the last read did not show the resource: later reads tell whether it lost its marks or is gone.
    """
    entry, node = ctx.journal.get(key), ctx.node(key)
    if not entry or not entry.id or node.existence is not Existence.PRESENT:
        return False
    if not ctx.kind(key).markable:
        return entry.state is RecordState.RECORDED
    if not entry.target:
        return False
    if node.marks is MarkState.DOUBTED:
        return True
    if entry.state is RecordState.OWNED:
        return ctx.deep or not ctx.is_believed(key)
    return entry.state is RecordState.RECORDED and _may_be_readable(ctx, node)


def _may_be_readable(ctx: PassContext, node: NodeState) -> bool:
    """Return whether a read may show the marks of a new record."""
    if node.observed.tags is not None:
        return node.mark_memory.attached is None or node.mark_memory.seen_since_attach or ctx.deps.tagger.asks_resources
    if node.mark_memory.attached is None:
        # Recorded by an earlier process or recovered: it may be marked already.
        return not ctx.state.identity_is_new
    return ctx.now - node.mark_memory.attached.at >= index_lag(ctx, node.observed) - 0.001


def index_lag(ctx: PassContext, seen: Observed) -> float:
    """Return the seconds until a fresh mark is usually readable: where the index is asked, that is behind."""
    return 0.0 if seen.tags is not None or ctx.deps.tagger.asks_resources else ctx.deps.intervals.tag_lag


def is_complete(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> bool:
    """Return whether ``tags`` prove that it is ours, and are all that we want on it."""
    proven = proofs.evidence(ctx, key, observed, tags).strength is Strength.PROVEN
    return proven and not find_missing(ctx, key, observed, tags)


def find_missing(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> frozenset[str]:
    """Return what is to be attached. Another's value is not replaced; the proving mark is missed even then."""
    fold = ctx.deps.codec.fold
    lacking = fold(wanted_tags.tags(ctx, key, observed)) - fold(tags)
    if lacking and (taken := keyed_tags.find_foreign_values(ctx, key, observed, tags)):
        lacking -= fold({tag for tag, _ in taken} - {proofs.seal_mark(ctx, key, observed)})
    return lacking


def _judge_marks(ctx: PassContext, key: NodeKey, observed: Observed, tags: Collection[str]) -> None:
    entry = ctx.journal.entries[key]
    evidence = proofs.evidence(ctx, key, observed, tags)
    ctx.node(key).mark_memory.doubted = True
    ctx.node(key).mark_memory.foreign_values = taken = keyed_tags.find_foreign_values(ctx, key, observed, tags)
    complete = evidence.strength is Strength.PROVEN and not find_missing(ctx, key, observed, tags)
    if observed.tags is not None and not complete and ctx.node(key).mark_memory.seen_since_attach:
        ctx.node(key).look_now()  # only another look shows other tags
    if complete:
        ctx.node(key).mark_memory.doubted = False
        _mark_owned(ctx, key, entry, observed)
        ctx.verified[key] = frozenset(tags)
    elif evidence.strength in (Strength.OTHERS, Strength.DISPUTED):
        message = (
            f"{observed.name} ({observed.id}) has {evidence.source}: nothing of it is changed until a person has "
            "found out whose it is"
        )
        _exclude_node(ctx, key, Blocked(Reason.NOT_OWNED, message, observed=observed))
    elif evidence.strength not in (Strength.PROVEN, Strength.HEALABLE) and not ctx.is_believed(key):
        if not birth_marks.has_birth_mark(ctx, key, observed):
            _exclude_node(ctx, key, report_unsigned(ctx, key, observed))
            return
        # The signature of its record cannot be checked; its nonce tells what that of an open intent would.
        ctx.node(key).mark_memory.doubted = False
        observe.record_claim(ctx, key, observed, entry)
    elif blocked := keyed_tags.explain_taken_proof(ctx, key, observed, taken, tags):
        _exclude_node(ctx, key, blocked)
    elif not ctx.is_signed(key):
        ctx.node(key).mark_memory.doubted = False
        lost = keyed_tags.lost_seal(ctx, key, observed, tags)  # ours to replace, after a crash too
        entry = replace(entry, node_tags=tuple(sorted({*entry.node_tags, *lost})))
        observe.record_claim(ctx, key, observed, entry)  # the marks prove it: its record is signed anew
    elif left := ctx.seconds_of_delete(key):
        ctx.requeue(key, Waiting(Reason.SETTLING, left, MAY_GO, observed))
        ctx.ready_nodes.pop(key, None)
    else:
        ctx.node(key).mark_memory.doubted = False
        if not wanted_tags.lagging(ctx, key, find_missing(ctx, key, observed, tags)):
            if entry.state is RecordState.OWNED:
                ctx.notes.append(f"{key}: a mark or tag of {entry.id} was missing and is attached again")
                ctx.note_repair(key, Repair("marks and tags", "one was missing", "attached again"))
            ctx.node(key).mark_memory.attached = None
        ctx.record(key, ctx.believe_again(key).to_mark_again())


def _close_unmarkable(ctx: PassContext, key: NodeKey) -> None:
    """Close a record of what nothing can mark, if we signed it or it has our nonce: only the record tells of it."""
    observed = ctx.node(key).observed
    if not ctx.is_signed(key) and birth_marks.has_birth_mark(ctx, key, observed):
        observe.record_claim(ctx, key, observed, ctx.journal.entries[key])
    if ctx.is_signed(key):
        _mark_owned(ctx, key, ctx.journal.entries[key], observed)
    else:
        _exclude_node(ctx, key, report_unsigned(ctx, key, observed))


def _exclude_node(ctx: PassContext, key: NodeKey, why: Blocked) -> None:
    """Change nothing of what may be a stranger's, and create nothing of ours in it."""
    ctx.outcomes[key] = why
    ctx.ready_nodes.pop(key, None)


def _mark_owned(ctx: PassContext, key: NodeKey, entry: Entry, observed: Observed) -> None:
    """Record that the mark was read back. The record keeps its key until its seal is renewed (:mod:`renewal`)."""
    asked = entry.request or {}
    kept = {name: asked[name] for name in sorted(ctx.kind(key).attributes.create_only) if name in asked} or None
    digest = ctx.signing_key(key)
    incarnation = entry.incarnation or observed.incarnation
    signature = ctx.keys.signature(digest, key.kind, entry.id, incarnation)
    stays = key in ctx.graph.nodes and not ctx.state.releasing
    believed = stays and not ctx.seconds_of_delete(key)
    record = replace(
        entry, state=RecordState.OWNED, request=kept, fails=0, signature=signature, key=digest, by="", read_back=False,
        incarnation=incarnation, deleting=0.0 if believed else entry.deleting,
        node_tags=() if entry.carried else entry.node_tags,
    )  # fmt: skip
    ctx.record(key, record)


def report_unsigned(ctx: PassContext, key: NodeKey, observed: Observed) -> Blocked:
    """Report an unsigned id: anybody may have written it, so it gets no mark of ours."""
    if ctx.may_be_another(key):
        return Blocked(
            Reason.NOT_OWNED,
            f"{observed.name} ({observed.id}) has no mark of ours, and we have asked for its delete: it may be another "
            "one, made when ours had gone. It is neither changed nor deleted. To decide: "
            f"{ctx.resolve_command(key)} --mine, or --not-mine",
            observed=observed,
        )
    return Blocked(
        Reason.NOT_OWNED,
        f"{observed.name} ({observed.id}) is in the journal, but neither its marks nor this operator's signature show "
        f"that it is ours: it is neither changed nor deleted. To decide: {ctx.resolve_command(key)} --mine if it "
        "was made for this object, or --not-mine to have another one created",
        observed=observed,
    )
