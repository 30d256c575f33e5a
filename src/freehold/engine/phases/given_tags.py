"""Given tags: the user's and the node's tags on resources that are not ours: given by id, or used by their name.

Only what is missing there is attached, and recorded before that (:attr:`Journal.attached`); only what is recorded is
taken off again, when the spec drops the tag or the resource, or the object is deleted. A tag that somebody else put
there stays. A tag that another live object of this API server has on record too stays for that object. Where tags are
a map, a key that has another's value is told and left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from freehold.engine import wanted_tags
from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError, NotFound, Unavailable, Unknown
from freehold.engine.inventory import TagChange, TagsByTarget
from freehold.engine.journal import AttachedTags, RecordState
from freehold.engine.kinds import Tagging
from freehold.engine.outcomes import Kept, Ready, Reason, Waiting, outcome_of_error
from freehold.engine.phases import keyed_tags
from freehold.engine.resources import NodeKey
from freehold.engine.state import RetryPause

Wanted = Mapping[str, frozenset[str]]
"""The tags that belong on each target that is not ours."""

KIND = "tags"
"""In place of a kind, in outcomes about tags on a resource that is not ours."""


def find_targets(ctx: PassContext) -> Mapping[str, NodeKey]:
    """Return what tags of the spec may belong on and is not ours, with the node that uses it."""
    found: dict[str, NodeKey] = {}
    for key in ctx.graph.nodes:
        if target := _target(ctx, key):
            found[target] = key
    return found


def _target(ctx: PassContext, key: NodeKey) -> str:
    """Return the target of what this node uses and is not ours; empty where it is ours, or cannot be tagged."""
    entry = ctx.journal.get(key)
    if entry is None or entry.state not in (RecordState.GIVEN, RecordState.REUSED) or entry.carried:
        return ""
    return entry.target if ctx.kind(key).tagging is not Tagging.NEVER else ""


def tags_by_target(ctx: PassContext) -> Mapping[str, frozenset[str]]:
    """Return what belongs on each target. Of a key that two nodes want on one resource, the first one's counts."""
    codec = ctx.deps.codec
    found: dict[str, dict[str, str]] = {}
    for key in ctx.graph.nodes:
        if target := _target(ctx, key):
            tags = {codec.key(tag): tag for tag in wanted_tags.tags_on_given(ctx, key)}
            found[target] = tags | found.get(target, {})
    return {target: frozenset(tags.values()) for target, tags in found.items()}


def is_settled(ctx: PassContext) -> bool:
    """Return whether, as far as this process knows, the tags are where the spec wants them and nowhere else."""
    wanted = tags_by_target(ctx)
    if any(_find_dropped(ctx, target, row, wanted) for target, row in ctx.journal.attached.items()):
        return False
    return all(ctx.state.given_tags.checked.get(target) == tags for target, tags in wanted.items() if tags)


def are_renewed(ctx: PassContext) -> bool:
    """Return whether each record that counts is signed with the writing key."""
    return all(row.key == ctx.keys.writing for _, row in _list_signed(ctx))


async def is_confirmed(ctx: PassContext) -> bool:
    """Return whether the index shows all of them. One read for all; none where nothing is wanted. Raises CloudError."""
    wanted = tags_by_target(ctx)
    if any(_find_dropped(ctx, target, row, wanted) for target, row in ctx.journal.attached.items()):
        return False
    wanted = {target: tags for target, tags in wanted.items() if tags}
    if not wanted:
        return True
    fold = ctx.deps.codec.fold
    shown = await ctx.deps.tagger.find_marked(ctx.owner.uuid, wanted)
    if not all(fold(tags) <= fold(shown.get(target, frozenset())) for target, tags in wanted.items()):
        return False
    ctx.state.given_tags.checked.update(wanted)
    return True


async def apply_spec(ctx: PassContext, shown: TagsByTarget) -> None:
    """Attach what is missing, take off what is wanted no more. ``shown``: what the index showed in this pass."""
    wanted, uses = tags_by_target(ctx), find_targets(ctx)
    for target, row in _list_signed(ctx):
        if row.key != ctx.keys.writing:
            _record(ctx, target, row.tags)
    await _attach(ctx, {target: tags for target, tags in wanted.items() if uses[target] in ctx.ready_nodes}, shown)
    await _take_off(ctx, wanted)
    _note_refused(ctx, uses, wanted)


async def take_tags_back(ctx: PassContext) -> bool:
    """Take off all of them before the object goes. True if nothing is left to do."""
    await _take_off(ctx, {})
    for target in sorted(ctx.journal.attached.keys() - dict(_list_signed(ctx)).keys()):
        tags = ", ".join(ctx.journal.attached[target].tags)
        message = f"tags {tags} on {target} stay: their record is not signed with a key of this operator's"
        ctx.outcomes[NodeKey(KIND, target)] = Kept(Reason.NOT_OWNED, message)
    return not dict(_list_signed(ctx))


async def _attach(ctx: PassContext, wanted: Wanted, shown: TagsByTarget) -> None:
    changes: list[TagChange] = []
    before = dict(_list_signed(ctx))
    due = {target: tags for target, tags in wanted.items() if _is_due(ctx, target, tags)}
    if len(due) > 1 and not due.keys() <= shown.keys():
        shown = await _index(ctx, due)
    for target, tags in due.items():
        try:
            missing = await _find_missing(ctx, target, tags, shown)
        except CloudError as problem:
            _retry_after(ctx, target, problem)
            continue
        ctx.state.given_tags.checked[target] = tags
        if not missing and not _find_dropped(ctx, target, before.get(target, AttachedTags()), wanted):
            ctx.state.given_tags.refused.pop(target, None)
        if missing:
            changes.append(TagChange(target, missing))
    if not changes:
        return
    await ctx.save_before_write()
    ctx.state.last_sent = ctx.now
    failed = await ctx.deps.tagger.attach(changes)
    for target in {change.target for change in changes} - failed.keys():
        ctx.state.given_tags.refused.pop(target, None)
    for target, error in failed.items():
        ctx.state.given_tags.checked.pop(target, None)
        if not isinstance(error, Unknown):  # nothing happened: whoever attaches it now attaches his own
            _record(ctx, target, before.get(target, AttachedTags()).tags)
        _retry_after(ctx, target, error)


async def _index(ctx: PassContext, due: Collection[str]) -> TagsByTarget:
    try:
        return await ctx.deps.tagger.find_marked(ctx.owner.uuid, due)
    except CloudError:  # each resource is asked itself then
        return {}


def _is_due(ctx: PassContext, target: str, tags: frozenset[str]) -> bool:
    if not tags or _is_held(ctx, target):
        return False
    return ctx.deep or ctx.state.given_tags.checked.get(target) != tags


def _is_held(ctx: PassContext, target: str) -> bool:
    """Return whether its tags were refused lately, and are not tried again yet."""
    refused = ctx.state.given_tags.refused.get(target)
    if refused is None or ctx.now >= refused.until - 0.001:
        return False
    ctx.come_back_after(refused.until - ctx.now)
    return True


def _retry_after(ctx: PassContext, target: str, error: CloudError) -> float:
    """Wait twice as long each time, up to the slow interval: the object is at rest otherwise."""
    before = ctx.state.given_tags.refused.get(target)
    seconds = min(2 * before.waited if before else outcome_of_error(error).after, ctx.deps.intervals.slow)
    ctx.state.given_tags.refused[target] = RetryPause(seconds, ctx.now + seconds, error)
    ctx.come_back_after(seconds)
    return seconds


async def _find_missing(ctx: PassContext, target: str, wanted: frozenset[str], shown: TagsByTarget) -> frozenset[str]:
    """Return the wanted tags that ``target`` lacks. They go on record, as do those of other live objects."""
    fold = ctx.deps.codec.fold
    there = shown.get(target, frozenset())
    if not fold(wanted) <= fold(there):
        there = await ctx.deps.tagger.tags_of(target)
    have, recorded = fold(there), dict(_list_signed(ctx)).get(target, AttachedTags()).tags
    ctx.state.given_tags.foreign_values[target] = taken = keyed_tags.find_conflicts(
        ctx.deps.codec, wanted, there, recorded
    )
    missing = frozenset(tag for tag in wanted if not fold([tag]) & have) - {tag for tag, _ in taken}
    others = fold(wanted) & have - fold(recorded) - ctx.state.given_tags.of_others.get(target, frozenset())
    shared: frozenset[str] = frozenset()
    if others:
        claimed = fold(await ctx.deps.others.tags_on(ctx.owner, target, ctx.deps.ring))
        shared = frozenset(tag for tag in wanted if fold([tag]) & others & claimed)
        known = ctx.state.given_tags.of_others.get(target, frozenset())
        ctx.state.given_tags.of_others[target] = known | others - claimed
    if more := (missing | shared) - frozenset(recorded):
        _record(ctx, target, more | frozenset(recorded))
    return missing


async def _take_off(ctx: PassContext, wanted: Wanted) -> None:
    """Take off what is dropped, not before an attach of an earlier process can no longer put the tag there again."""
    own = {entry.target for entry in ctx.journal.claimed.values() if entry.target and not entry.carried}
    for target, row in list(_list_signed(ctx)):
        dropped = _find_dropped(ctx, target, row, wanted)
        if not dropped:
            continue
        if target in own:  # what is on a resource of ours is in Journal.tags
            _record(ctx, target, ())
            continue
        left = ctx.seconds_until_settled()
        if left > 0:
            ctx.come_back_after(left)
            continue
        if _is_held(ctx, target):
            _tell_held(ctx, target, ctx.state.given_tags.refused[target].until - ctx.now)
            continue
        # What a wanted value replaces is overwritten, and a detach by its key could take that value.
        replaced = keyed_tags.find_superseded(ctx.deps.codec, dropped, wanted.get(target, ()))
        there = replaced if ctx.state.given_tags.checked.get(target) != wanted.get(target) else frozenset()
        if dropped == there:
            continue
        try:
            await _detach(ctx, target, dropped - replaced)
        except CloudError as error:
            _report_held(ctx, target, wanted, error)
        else:
            ctx.state.given_tags.refused.pop(target, None)
            _record(ctx, target, frozenset(row.tags) - (dropped - there))


async def _detach(ctx: PassContext, target: str, dropped: frozenset[str]) -> None:
    fold = ctx.deps.codec.fold
    claimed = fold(await ctx.deps.others.tags_on(ctx.owner, target))
    off = frozenset(tag for tag in dropped if not fold([tag]) & claimed)
    if not ctx.deps.codec.keyed:
        off = await _find_still_there(ctx, target, off)
    failed = (await keyed_tags.detach_exact(ctx, [TagChange(target, off)])).get(target) if off else None
    if failed is not None and not isinstance(failed, NotFound):
        raise failed


async def _find_still_there(ctx: PassContext, target: str, tags: frozenset[str]) -> frozenset[str]:
    fold = ctx.deps.codec.fold
    try:
        have = fold(await ctx.deps.tagger.tags_of(target))
    except (NotFound, Unavailable):
        return tags  # what is not known to the tag service may have tags, or be gone: the detach tells
    return frozenset(tag for tag in tags if fold([tag]) & have)


def _find_dropped(ctx: PassContext, target: str, row: AttachedTags, wanted: Wanted) -> frozenset[str]:
    """Return what is on record and no longer wanted there; nothing of a record that is not ours."""
    if not _is_signed(ctx, target, row):
        return frozenset()
    keep = ctx.deps.codec.fold(wanted.get(target, ()))
    return frozenset(tag for tag in row.tags if not ctx.deps.codec.fold([tag]) & keep)


def _list_signed(ctx: PassContext) -> Iterator[tuple[str, AttachedTags]]:
    """Return the records that we signed: whoever may edit the object can write others, for any resource and any tag."""
    return ((target, row) for target, row in sorted(ctx.journal.attached.items()) if _is_signed(ctx, target, row))


def _is_signed(ctx: PassContext, target: str, row: AttachedTags) -> bool:
    return ctx.keys.are_signed(row.key, row.signature, target, row.tags)


def _record(ctx: PassContext, target: str, tags: Collection[str]) -> None:
    rows = {other: row for other, row in ctx.journal.attached.items() if other != target}
    if tags:
        digest, ordered = ctx.keys.writing, tuple(sorted(tags))
        rows[target] = AttachedTags(ordered, ctx.keys.tags_signature(digest, target, ordered), digest)
    ctx.journal = replace(ctx.journal, attached=rows)


def _note_refused(ctx: PassContext, uses: Mapping[str, NodeKey], wanted: Wanted) -> None:
    """Note on the node that its tags are not as wanted. The object is ready without them: the resource is others'."""
    for target, key in uses.items():
        refused, outcome = ctx.state.given_tags.refused.get(target), ctx.outcomes.get(key)
        taken = tuple(pair for pair in ctx.state.given_tags.foreign_values.get(target, ()) if pair[0] in wanted[target])
        if isinstance(outcome, Ready) and taken:
            ctx.outcomes[key] = keyed_tags.add_note(outcome, taken)
        elif refused is not None and isinstance(outcome, Ready):
            note = f"its tags are not as wanted: {refused.error.message}"
            ctx.outcomes[key] = replace(outcome, reason=outcome_of_error(refused.error).reason, note=note)


def _report_held(ctx: PassContext, target: str, wanted: Wanted, error: CloudError) -> None:
    """Report a tag that should come off by the node that uses the resource, or in its own row on delete."""
    after, first = _retry_after(ctx, target, error), target not in ctx.state.given_tags.held
    ctx.state.given_tags.held[target] = (
        f"{error.message}. Taking our tags off {target} is tried again; or detach them there"
    )
    if target in wanted:
        return
    if first and not ctx.state.releasing:
        ctx.notes.append(ctx.state.given_tags.held[target])
    _tell_held(ctx, target, after)


def _tell_held(ctx: PassContext, target: str, after: float) -> None:
    if ctx.state.releasing and target in ctx.state.given_tags.held:
        ctx.outcomes[NodeKey(KIND, target)] = Waiting(Reason.RETRYING, after, ctx.state.given_tags.held[target])
