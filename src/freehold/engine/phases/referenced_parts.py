"""Referenced parts: delay the delete of a resource that a part of another owned resource refers to.

The cloud refuses the delete of a security group that a rule of another group names. The rule is taken out with its own
group (:func:`parts.remove_holding`), whose marks are read for its delete: both go in one wave, and nothing is refused.
Pure, but for what was seen.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from freehold.engine.context import PassContext
from freehold.engine.deletion_order import requirements_of_each
from freehold.engine.resources import NodeKey, Part
from freehold.engine.value_texts import texts_in


def hold_back(ctx: PassContext, free: Collection[NodeKey]) -> dict[NodeKey, NodeKey]:
    """Return what of ``free``, on which nothing depends, must wait, each with one that names it and waits, too.

    Only while something that goes frees the first of them: what waits for each other is tried, and the cloud decides.
    """
    entries, registry = ctx.journal.entries, ctx.deps.registry
    waiting = sorted(key for key in ctx.journal.claimed if key not in free)
    named = _named_by(ctx, waiting, free)
    if not named:
        return {}
    going = set(free) - named.keys()
    freed = set().union(*requirements_of_each(going, ctx.journal.claimed.keys(), entries, registry).values())
    return _named_by(ctx, [key for key in waiting if key in freed], free)


def _named_by(ctx: PassContext, others: Sequence[NodeKey], free: Collection[NodeKey]) -> dict[NodeKey, NodeKey]:
    """Return what of ``free`` they name, and what that names in turn, each with one that names it."""
    found: dict[NodeKey, NodeKey] = {}
    todo = list(others)
    while todo:
        other = todo.pop()
        named = sorted(find_named(ctx, other, free) - found.keys())
        found |= dict.fromkeys(named, other)
        todo += named
    return found


def find_named(ctx: PassContext, other: NodeKey, keys: Collection[NodeKey]) -> set[NodeKey]:
    """Return those of ``keys`` that a part of ``other`` names."""
    words = _find_words(ctx, other)
    return {key for key in keys if key != other and ctx.journal.entries[key].id in words}


def find_unseen(ctx: PassContext, keys: Collection[NodeKey]) -> list[NodeKey]:
    """Return what may name one of ``keys`` and was not looked at yet: others of their kinds."""
    kinds = {key.kind for key in keys if ctx.kind(key).parts.holding}
    return [
        key
        for key, entry in ctx.journal.claimed.items()
        if key.kind in kinds and key not in keys and entry.id and ctx.node(key).last_seen is None
    ]


def _find_words(ctx: PassContext, other: NodeKey) -> set[str]:
    """Return all words in those of its parts that hold up what they name."""
    kind, seen = ctx.deps.registry.get(other.kind), ctx.node(other).last_seen
    if kind is None or seen is None:
        return set()
    held = (_words(part) for part in seen.parts or () if part.kind in kind.parts.holding)
    return set().union(*held) - {""}


def _words(part: Part) -> set[str]:
    return {*part.natural_key.split(), part.behavior, *texts_in(part.request)}
