"""Detach: take off what is wanted no more: tags that the spec dropped, and marks of carried resources that are gone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from freehold.engine import proofs, wanted_tags
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError, NotFound
from freehold.engine.inventory import TagChange
from freehold.engine.journal import Entry
from freehold.engine.outcomes import Blocked, Reason, outcome_of_error
from freehold.engine.phases import keyed_tags
from freehold.engine.resources import NodeKey, Ref
from freehold.engine.state import Attached


async def detach_dropped(ctx: PassContext) -> None:
    """Take off what the spec asked for before and asks for no more, wherever we may have put it."""
    ours = {
        key: entry
        for key, entry in ctx.journal.claimed.items()
        if entry.target
        and not entry.carried
        and ctx.is_believed(key)
        and not _is_left_alone(ctx, key)
        and _is_seen(ctx, key)
    }
    of_user = _find_unwanted(ctx, ctx.journal.tags, ctx.user_tags)
    replaced = keyed_tags.find_superseded(ctx.deps.codec, of_user, ctx.user_tags)
    kept = frozenset() if _shown_as_wanted(ctx) else replaced | _find_superseded_by_nodes(ctx, of_user)
    if of_user and (ctx.journal.open or any(_has_no_seal_of_ours(ctx, key) for key in ctx.journal.claimed)):
        kept = of_user  # a resource that an open intent made may have them since its create; another still has them
    off = {key: _find_dropped(ctx, key, of_user - replaced - kept) for key in ours}
    changes = {ours[key].target: tags for key, tags in off.items() if tags}
    if changes:
        failed = await keyed_tags.detach_exact(ctx, [TagChange(target, changes[target]) for target in sorted(changes)])
        ctx.state.detached = Attached(ctx.now, frozenset().union(*changes.values()))
        wrong = {target: e for target, e in failed.items() if not isinstance(e, NotFound)}
        ctx.outcomes |= {key: outcome_of_error(wrong[e.target]) for key, e in ours.items() if e.target in wrong}
        if wrong:
            return
    for key, tags in off.items():
        _forget_node_tags(ctx, key, tags)
    ctx.journal = ctx.journal.with_tags(ctx.user_tags | kept)


def _find_unwanted(ctx: PassContext, tags: Collection[str], wanted: frozenset[str]) -> frozenset[str]:
    """Return those of ``tags`` that are not wanted, and no marks: a forged record may name any."""
    codec = ctx.deps.codec
    kept = codec.fold(wanted)
    return frozenset(tag for tag in tags if kept.isdisjoint(codec.fold([tag])) and not codec.is_mark(tag))


def _find_superseded_by_nodes(ctx: PassContext, of_user: frozenset[str]) -> frozenset[str]:
    """Return those that a node's own tags overwrite: until that is seen, the value that is there is still ours."""
    own = frozenset(tag for key in ctx.graph.nodes for tag in wanted_tags.node_tags(ctx, key))
    return keyed_tags.find_superseded(ctx.deps.codec, of_user, own)


def _find_dropped(ctx: PassContext, key: NodeKey, of_user: frozenset[str]) -> frozenset[str]:
    """Return what is to be taken off: of the user's tags, and of those that the node had before.

    Of what the node refuses only what is there: an earlier version may have put it on.
    """
    if key not in ctx.graph.nodes:
        return of_user
    refused = wanted_tags.find_refused_tags(ctx, key) & (ctx.node(key).observed.tags or frozenset())
    had = {*of_user, *ctx.journal.entries[key].node_tags, *refused} - wanted_tags.node_tags(ctx, key)
    if not had:
        return frozenset()
    wanted = wanted_tags.tags(ctx, key, ctx.node(key).observed)
    off = _find_unwanted(ctx, had, wanted)
    return off - keyed_tags.find_superseded(ctx.deps.codec, off, wanted)


def _forget_node_tags(ctx: PassContext, key: NodeKey, off: frozenset[str]) -> None:
    """Forget what was taken off and, once a read has shown what is wanted, what that has replaced."""
    entry = ctx.journal.entries[key]
    if key in ctx.graph.nodes:
        left = wanted_tags.node_tags(ctx, key) if key in ctx.verified else frozenset(entry.node_tags) - off
        if tuple(sorted(left)) != entry.node_tags:
            ctx.record(key, replace(entry, node_tags=tuple(sorted(left))))


def node_tags_are_recorded(ctx: PassContext) -> bool:
    """Return whether the record says that each resource of ours has the tags of its node, and no others of it."""
    ours = ctx.journal.claimed
    return all(set(ours[key].node_tags) == wanted_tags.node_tags(ctx, key) for key in ctx.graph.nodes if key in ours)


def _shown_as_wanted(ctx: PassContext) -> bool:
    """Return whether this pass has read all that we want on all that is ours."""
    ours = (key for key, e in ctx.journal.claimed.items() if key in ctx.graph.nodes and e.target and not e.carried)
    return all(key in ctx.verified for key in ours)


def _is_seen(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether the last look showed it, and on this very target."""
    seen, entry = ctx.node(key).last_seen, ctx.journal.entries[key]
    return bool(seen and ctx.node(key).absent_since is None and seen.target == entry.target and not seen.carried)


def _is_left_alone(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether this pass has seen that somebody else has a claim to it, or a value in place of our seal."""
    outcome = ctx.outcomes.get(key)
    claimed = isinstance(outcome, Blocked) and outcome.reason is Reason.NOT_OWNED
    return claimed or _has_no_seal_of_ours(ctx, key)


def _has_no_seal_of_ours(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether another's value is in the place of our seal: a person is to find out whose it is."""
    outcome = ctx.outcomes.get(key)
    return isinstance(outcome, Blocked) and outcome.reason is Reason.TAG_TAKEN


async def detach_retired(ctx: PassContext) -> None:
    """Take the marks of carried resources that are gone off their carrier, which may be somebody else's.

    The cloud is asked again first: what exists keeps its mark, even if the journal calls it gone.
    """
    stale = {key: e for key, e in ctx.journal.entries.items() if e.earlier and e.target}
    for key, entry in stale.items():
        try:
            await _retire(ctx, key, entry)
        except CloudError as error:
            ctx.outcomes.setdefault(key, outcome_of_error(error))


async def _retire(ctx: PassContext, key: NodeKey, entry: Entry) -> None:
    refs = [Ref(id_, entry.target) for id_ in entry.earlier if proofs.is_carried_by(ctx, key, id_, entry.target)]
    existing = await ctx.kind(key).driver.observe(refs) if key.kind in ctx.deps.registry else {}
    gone = [ref.id for ref in refs if ref.id not in existing]
    if gone:
        tags = frozenset(mark for id_ in gone for mark in proofs.carried_marks(ctx, key, id_, entry.target))
        failed = (await keyed_tags.detach_exact(ctx, [TagChange(entry.target, tags)])).get(entry.target)
        if failed is not None and not isinstance(failed, NotFound):
            raise failed
    ctx.record(key, replace(entry, earlier=()))
