"""Parts: what is inside a resource and has no mark of its own is brought to the spec, and taken out before a delete.

A part is changed or removed only if all parts of its sort are ours (:attr:`Kind.parts.exclusive`), or if the journal
says that we added this one: it is recorded before it is added. What others put there, also before us, stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError, Held, Invalid, NotFound, Quota, Unknown
from freehold.engine.kinds import Kind
from freehold.engine.outcomes import Category, Repair, describe_repair
from freehold.engine.port import run_together
from freehold.engine.resources import NodeKey, Part, Ref
from freehold.engine.state import earliest

WAITING_LOOK, WAITING_LOOKS = 5.0, 60.0
"""Seconds until the next look at parts that do not serve yet: at first, and at most."""

Inside = Mapping[NodeKey, frozenset[Part] | CloudError]
"""What is inside resources, or why it could not be read."""


@dataclass(frozen=True, slots=True)
class PartsDiff:
    """How the parts that are there differ from the wanted ones.

    ``changed``: those that are there, ours and do something else than is wanted; as wanted, with their ids.
    """

    missing: frozenset[Part]
    surplus: frozenset[Part]
    changed: tuple[Part, ...]


def diff_parts(have: frozenset[Part], wish: frozenset[Part], ours: frozenset[Part]) -> PartsDiff:
    """Compare what is there (``have``) with what is wanted; ``ours`` are those that may be changed or removed."""
    changed = tuple(replace(part, id=is_.id) for part, is_ in _find_differing(have, wish) if is_ in ours)
    return PartsDiff(wish - have, (have - wish) & ours, changed)


def find_wanted(ctx: PassContext, key: NodeKey) -> frozenset[Part] | None:
    """Return what is wanted inside; None while something that the parts name is not ready."""
    node = ctx.graph.nodes[key]
    if ctx.kind(key).parts.driver is None:
        return frozenset()
    named = node.requires | node.parts_require
    return node.parts(ctx.ready_nodes) if named <= ctx.ready_nodes.keys() else None


def are_looked_at(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether the spec says all that is to be inside.

    It does not of our own resource that it hands over, or gives by its id and where others may put nothing.
    """
    kind, entry, node = ctx.kind(key), ctx.journal.entries[key], ctx.graph.nodes[key]
    wish = find_wanted(ctx, key)
    left_alone = ctx.category(key) is Category.SHARED or (node.given and kind.parts.exclusive)
    if kind.parts.driver is None or left_alone or wish is None:
        return False
    return bool(wish or kind.parts.exclusive or entry.parts)


def find_claimable(ctx: PassContext, key: NodeKey) -> tuple[str, ...]:
    """Return the wanted parts that leave with the wish for them if we add them, although others may add some beside
    them.

    What the spec gives by its id keeps what we added: the spec need not say that any more.
    """
    return _pick_claimable(ctx, key, find_wanted(ctx, key))


def _pick_claimable(ctx: PassContext, key: NodeKey, wish: frozenset[Part] | None) -> tuple[str, ...]:
    """Return :func:`find_claimable` of what is wanted: ``wish``, as :func:`find_wanted` has found it."""
    kind, node, entry = ctx.kind(key), ctx.graph.nodes[key], ctx.journal.get(key)
    kept = entry.parts if entry else ()
    if wish is None or (node.given and kind.parts.exclusive):
        return kept
    if node.shared:
        return kept  # what was put in once is on record
    ours = {str(part) for part in wish if part.kind not in kind.parts.exclusive and not part.retain}
    return tuple(sorted(ours.union(kept if node.given else ())))


async def look_inside(ctx: PassContext, keys: Sequence[NodeKey]) -> Inside:
    """Return what is inside: as the look at the resource showed it, else by a call, once between two deep passes."""
    shown = {key: seen for key in keys if (seen := ctx.node(key).observed.parts) is not None}
    asked = [key for key in keys if key not in shown and not ctx.node(key).parts.checked]
    found: dict[NodeKey, frozenset[Part] | CloudError] = dict(shown)
    for key, answer in zip(asked, await run_together([read_inside(ctx, key) for key in asked]), strict=True):
        if isinstance(answer, Exception) and not isinstance(answer, CloudError):
            raise answer
        found[key] = answer
    return found


async def read_inside(ctx: PassContext, key: NodeKey) -> frozenset[Part]:
    """Read what is inside; where nothing lists that, which of those on record are there. Raises CloudError."""
    rules, entry = ctx.kind(key).parts, ctx.journal.entries[key]
    if rules.finder is not None:
        known = frozenset(map(Part.parse, entry.parts))
        return await rules.finder.find_parts(_ref_of(ctx, key), known) if known else known
    assert rules.driver is not None
    return await rules.driver.parts(_ref_of(ctx, key))


async def claim_missing(ctx: PassContext, inside: Inside) -> None:
    """Record what will be added, before it is there: later it is told from what others put there.

    What is there although each add of it was refused has been put there by others meanwhile. What is missing makes
    a write of the object also where there is nothing new to record: some parts are added by creates (port.FencedPort).
    """
    before, lacking, put_by_others = ctx.journal, False, dict[NodeKey, frozenset[str]]()
    for key, have in inside.items():
        if isinstance(have, CloudError):
            continue
        entry, node = ctx.journal.entries[key], ctx.node(key)
        wish = find_wanted(ctx, key)
        missing = {str(part) for part in wish or () if part not in have}
        theirs = node.parts.refused & set(map(str, have))
        ours = missing & set(_pick_claimable(ctx, key, wish)) - set(entry.parts)
        node.parts.refused |= ours
        put_by_others[key] = theirs
        if ours or theirs:
            ctx.record(key, replace(entry, parts=tuple(sorted({*entry.parts, *ours} - theirs))))
        lacking = lacking or bool(missing)
    if lacking:
        await ctx.save_before_write()
    elif ctx.journal != before:
        await ctx.save()
    for key, theirs in put_by_others.items():  # not before it is on record: a write that is refused forgets nothing
        ctx.node(key).parts.refused -= theirs


def find_first_parts(ctx: PassContext, key: NodeKey) -> list[Part]:
    """Return what is to be put into a shared resource and has not been, as far as is on record."""
    kind, node, entry = ctx.kind(key), ctx.graph.nodes[key], ctx.journal.entries[key]
    ready = node.requires | node.parts_require <= ctx.ready_nodes.keys()
    if kind.parts.driver is None or ctx.category(key) is not Category.SHARED or not ready:
        return []
    put = set(entry.parts) if entry.shared else set()
    return sorted((part for part in node.first_parts(ctx.ready_nodes) if str(part) not in put), key=str)


async def add_first_parts(ctx: PassContext, key: NodeKey) -> None:
    """Put them in. They go on record afterwards: a process that dies in between puts them in again, which changes
    nothing unless the provider has taken one out meanwhile."""
    if due := find_first_parts(ctx, key):
        entry = ctx.journal.entries[key]
        added = await _add(ctx, key, _ref_of(ctx, key), due)
        put = {*entry.parts, *map(str, added.taken)}
        ctx.record(key, replace(entry, parts=tuple(sorted(put))))
        added.raise_error()


def is_ours(ctx: PassContext, key: NodeKey, part: Part) -> bool:
    """Return whether it may be changed or removed."""
    ours = set(ctx.journal.entries[key].parts) - ctx.node(key).parts.refused
    return part.kind in ctx.kind(key).parts.exclusive or str(part) in ours


def compare(ctx: PassContext, key: NodeKey, have: frozenset[Part], wish: frozenset[Part]) -> PartsDiff:
    """Compare, with nothing surplus where the spec need not say what is inside, nor changed where the kind cannot."""
    asked = have if ctx.kind(key).parts.changer else have - wish
    found = diff_parts(have, wish, frozenset(part for part in asked if is_ours(ctx, key, part)))
    return replace(found, surplus=frozenset()) if ctx.graph.nodes[key].given else found


def describe_other_behavior(have: Collection[Part], wish: Collection[Part]) -> list[str]:
    """Return the parts that do something else than is wanted, for a person."""
    pairs = [(part, is_.behavior, part.behavior) for part, is_ in _find_differing(have, wish)]
    return [f"{part} is {is_!r}, the spec says {says!r}" for part, is_, says in pairs]


def _find_differing(have: Collection[Part], wish: Collection[Part]) -> list[tuple[Part, Part]]:
    """Return the wanted parts that are there with another behavior, each with the part that is there."""
    there = {part: part for part in have}
    pairs = [(part, there[part]) for part in sorted(wish, key=str) if part in there]
    return [(part, is_) for part, is_ in pairs if part.behavior and is_.behavior and part.behavior != is_.behavior]


@dataclass(frozen=True, slots=True)
class PartsToDo:
    """What is to be done inside one resource: what was there before, what is wanted, and how they differ."""

    before: frozenset[Part]
    wish: frozenset[Part]
    differs: PartsDiff


def plan_changes(ctx: PassContext, key: NodeKey, have: frozenset[Part]) -> PartsToDo:
    """Plan the changes in a resource whose wanted parts are known."""
    wish = find_wanted(ctx, key)
    assert wish is not None
    return PartsToDo(have, wish, compare(ctx, key, have, wish))


async def add_and_change(ctx: PassContext, key: NodeKey, due: PartsToDo) -> None:
    """Add what is missing, and let those of ours that do something else do what is wanted.

    In a resource that is full, what is to go makes room first.
    """
    kind, ref, missing = ctx.kind(key), _ref_of(ctx, key), sorted(due.differs.missing, key=str)
    added = await _add(ctx, key, ref, missing)
    if isinstance(added.error, Quota) and kind.parts.independent and due.differs.surplus:
        await _remove_surplus(ctx, key, due)
        added = await _add(ctx, key, ref, [part for part in missing if part not in added.taken])
    added.raise_error()
    for part in due.differs.changed:
        assert kind.parts.changer is not None
        await kind.parts.changer.change_part(ref, part)
    if missing or due.differs.changed:
        ctx.note_repair(key, *_describe_repairs(missing, due))


_MISSING, _THERE, _ADDED, _REMOVED = "missing", "there", "added again", "removed"


def _describe_repairs(missing: Sequence[Part], due: PartsToDo) -> list[Repair]:
    """Describe what is added and changed in a resource, by part."""
    there = {part: part.behavior for part in due.before}
    changed = sorted(due.differs.changed, key=str)
    return [
        *(Repair(str(part), _MISSING, _ADDED) for part in missing),
        *(describe_repair(str(part), there.get(part, ""), part.behavior) for part in changed),
    ]


async def remove_surplus(ctx: PassContext, key: NodeKey, due: PartsToDo) -> list[str]:
    """Remove what is ours and not wanted, after :func:`add_and_change`.

    Returns the parts whose behavior differs from the wanted one and is not changed.
    """
    differs, have = due.differs, due.before
    if differs.surplus:
        await _remove_surplus(ctx, key, due)
        ctx.note_repair(key, *(Repair(str(part), _THERE, _REMOVED) for part in sorted(differs.surplus, key=str)))
    if differs.missing or differs.surplus or differs.changed:
        have = await _read_after(ctx, key, have - differs.surplus, [*differs.missing, *differs.changed])
    return _conclude_parts(ctx, key, have, due.wish, due.before)


async def remove_surplus_anyway(ctx: PassContext, key: NodeKey, due: PartsToDo) -> None:
    """Remove what is ours and not wanted, although a part that is missing was refused: where none needs another one."""
    if ctx.kind(key).parts.independent:
        await _remove_surplus(ctx, key, due)


async def _remove_surplus(ctx: PassContext, key: NodeKey, due: PartsToDo) -> None:
    """Remove all but what something is in. It is not ours any more: others may put the same there from now on."""
    held = _find_held(ctx, key, due.differs.surplus)
    going = due.differs.surplus - held.keys()
    await _remove(ctx.kind(key), _ref_of(ctx, key), sorted(going, key=str))
    entry, gone = ctx.journal.entries[key], set(map(str, going))
    ctx.record(key, replace(entry, parts=tuple(each for each in entry.parts if each not in gone)))
    for refusal in held.values():
        raise refusal


def _ref_of(ctx: PassContext, key: NodeKey) -> Ref:
    entry = ctx.journal.entries[key]
    return Ref(entry.id, entry.target)


@dataclass(frozen=True, slots=True)
class _Added:
    """``taken``: those that the cloud took. ``error``: why it did not take the first of the others."""

    taken: tuple[Part, ...]
    error: CloudError | None = None

    @property
    def is_about_parts(self) -> bool:
        """Whether something is wrong with one of them, which says nothing of the others."""
        return isinstance(self.error, Invalid | NotFound)

    def raise_error(self) -> None:
        if self.error:
            raise self.error


async def _add(ctx: PassContext, key: NodeKey, ref: Ref, missing: Sequence[Part]) -> _Added:
    """Add the missing parts, in one call where the kind can."""
    kind = ctx.kind(key)
    groups = [missing] if missing and kind.parts.batches else [[part] for part in missing]
    added = await _send_groups(ctx, key, ref, groups)
    if added.is_about_parts and len(missing) > 1 and kind.parts.batches and kind.parts.independent:
        return await _send_groups(ctx, key, ref, [[part] for part in missing])
    return added


async def _send_groups(ctx: PassContext, key: NodeKey, ref: Ref, groups: Sequence[Sequence[Part]]) -> _Added:
    """Send one group after the other. An error ends it, unless it is about one of parts that are independent."""
    added = _Added(())
    for group in groups:
        try:
            await _send(ctx, key, ref, group)
        except CloudError as error:
            added = replace(added, error=added.error or error)
            if not (ctx.kind(key).parts.independent and isinstance(error, Invalid | NotFound)):
                break
        else:
            added = replace(added, taken=(*added.taken, *group))
    return added


async def _send(ctx: PassContext, key: NodeKey, ref: Ref, group: Sequence[Part]) -> None:
    """Add parts. One of which no answer tells may be there; what is wrong with a single one is told with its field."""
    kind, node, names = ctx.kind(key), ctx.node(key), {str(part) for part in group}
    assert kind.parts.driver is not None
    try:
        if kind.parts.batches is not None:
            await kind.parts.batches.add_parts(ref, group)
        else:
            await kind.parts.driver.add_part(ref, group[0])
    except Unknown:
        node.parts.refused -= names
        node.parts.unknown_at = ctx.now
        raise
    except (Invalid, NotFound) as refused:
        if len(group) == 1:
            raise refused.with_field(ctx.graph.nodes[key].part_field(group[0])) from refused
        raise
    node.parts.refused -= names
    node.parts.taken_out = None


def _find_held(ctx: PassContext, key: NodeKey, surplus: Collection[Part]) -> dict[Part, CloudError]:
    """Return those that are to go and that something of ours is in which the spec no longer wants, each with what to
    say.

    The cloud would refuse each time, and a plan would not know it.
    """
    kind, node, found = ctx.kind(key), ctx.graph.nodes[key], dict[Part, CloudError]()
    for part in sorted(surplus, key=str):
        for other in sorted(ctx.journal.claimed.keys() - ctx.graph.nodes.keys()):
            seen = ctx.node(other).last_seen
            if seen and kind.parts.is_occupied(part, other.kind, seen):
                message = (
                    f"{part} cannot go while {other} ({seen.id}) is in it, which is ours and the spec no longer wants; "
                    f"{ctx.prune_command} deletes that"
                )
                found[part] = Held(message).with_field(node.part_field(part))
    return found


async def _remove(kind: Kind, ref: Ref, parts: Sequence[Part]) -> None:
    if parts and kind.parts.batches is not None:
        await kind.parts.batches.remove_parts(ref, parts)
        return
    assert kind.parts.driver is not None
    for part in parts:
        await kind.parts.driver.remove_part(ref, part)


async def _read_after(ctx: PassContext, key: NodeKey, left: frozenset[Part], new: Collection[Part]) -> frozenset[Part]:
    """Return what is inside after our writes: read again, or as the writes were answered."""
    if ctx.node(key).observed.parts is None:
        return await read_inside(ctx, key)
    return (left - frozenset(new)) | frozenset(new)


def _may_appear(ctx: PassContext, key: NodeKey, part: str, before: frozenset[Part]) -> bool:
    """Return whether a part that is on record and was not there may be the effect of an add that is still under way."""
    node, state = ctx.node(key), ctx.state
    since = node.parts.unknown_at if state.identity_is_new else max(node.parts.unknown_at, state.first_seen)
    return part not in set(map(str, before)) and not ctx.is_settled(key, since)


def _conclude_parts(
    ctx: PassContext, key: NodeKey, have: frozenset[Part], wish: frozenset[Part], before: frozenset[Part]
) -> list[str]:
    observed, entry = ctx.node(key).observed, ctx.journal.entries[key]
    ids = sorted(part.id for part in have if part in wish)
    waiting = {str(part): part.waits for part in sorted(have, key=str) if part in wish and part.waits}
    shown = None if observed.parts is None else have
    others = {name: value for name, value in observed.attributes.items() if name != "waiting_parts"}
    attributes = {**others, "parts": ids, **({"waiting_parts": waiting} if waiting else {})}
    ctx.node(key).last_seen = replace(observed, parts=shown, attributes=attributes)
    note_waiting(ctx, key, tuple(f"{part}: {why}" for part, why in waiting.items()))
    claimable = _pick_claimable(ctx, key, wish) if entry.parts else ()
    kept = tuple(part for part in entry.parts if part in claimable or _may_appear(ctx, key, part, before))
    if entry.parts != kept:
        ctx.record(key, replace(entry, parts=kept))
    differ = describe_other_behavior(have, wish)
    if not differ and not waiting:
        ctx.node(key).parts.checked = True
    return differ


def note_waiting(ctx: PassContext, key: NodeKey, waiting: tuple[str, ...]) -> None:
    """Note what inside does not serve yet, and look again: soon at first, then less often."""
    memory = ctx.node(key).parts
    memory.waiting = waiting
    memory.waiting_since = earliest(memory.waiting_since, ctx.now) if waiting else None
    if memory.waiting_since is not None:
        ctx.come_back_after(min(max(WAITING_LOOK, (ctx.now - memory.waiting_since) / 4), WAITING_LOOKS))


def are_as_wanted(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether nothing of ours is left inside that the spec does not want."""
    wish = find_wanted(ctx, key)
    ours = set(ctx.journal.entries[key].parts)
    return (
        wish is not None and ctx.category(key) is not Category.SHARED and ours <= set(_pick_claimable(ctx, key, wish))
    )


def lacks_essential(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether a part is missing without which nothing that depends on it can be made."""
    essential, node = ctx.kind(key).parts.essential, ctx.node(key)
    if not essential or not ctx.journal.entries[key].state.is_claimed or ctx.graph.nodes[key].given:
        return False
    if ctx.category(key) is Category.SHARED:
        return False
    wish = find_wanted(ctx, key)
    if wish is None:
        return True
    needed = frozenset(part for part in wish if part.kind in essential)
    if not needed:
        return False
    have = node.observed.parts
    return not node.parts.checked if have is None else bool(needed - have)


async def remove_holding(ctx: PassContext, key: NodeKey) -> None:
    """Remove the parts of ours that would refuse its delete, or that of what they name. Raises CloudError.

    Where nothing lists them, all that may be there are taken out once: one that is gone already is no error.
    """
    kind = ctx.kind(key)
    if kind.parts.driver is None or not kind.parts.holding:
        return
    if kind.parts.finder is not None:
        if ctx.node(key).parts.taken_out is None and (holding := _may_be_held_by(ctx, key)):
            await _remove(kind, _ref_of(ctx, key), holding)
            ctx.node(key).parts.taken_out = ctx.now
        return
    have = ctx.node(key).observed.parts
    have = await read_inside(ctx, key) if have is None else have
    ours = [part for part in have if part.kind in kind.parts.holding and is_ours(ctx, key, part)]
    await _remove(kind, _ref_of(ctx, key), sorted(ours, key=str))


def _may_be_held_by(ctx: PassContext, key: NodeKey) -> list[Part]:
    """Return what holds it as far as record and spec know: a record that was lost names none."""
    wish = (find_wanted(ctx, key) if key in ctx.graph.nodes else None) or frozenset()
    known = wish.union(map(Part.parse, ctx.journal.entries[key].parts))
    return sorted((part for part in known if part.kind in ctx.kind(key).parts.holding), key=str)


async def find_draining(ctx: PassContext, key: NodeKey) -> tuple[str, float]:
    """Return which parts that were taken out still serve, for a person, and the seconds that are left to them.

    Raises CloudError. They are asked for once: most kinds of draining take a fixed time.
    """
    rules, since = ctx.kind(key).parts, ctx.node(key).parts.taken_out
    if rules.finder is None or since is None:
        return "", 0.0
    left = since + rules.drain_time - ctx.now
    if left <= 0.001:  # as PassContext.is_due
        return "", 0.0
    serving = await rules.finder.find_draining(_ref_of(ctx, key), _may_be_held_by(ctx, key))
    return ", ".join(sorted(map(str, serving))), left
