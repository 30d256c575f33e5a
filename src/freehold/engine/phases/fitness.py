"""Fitness: what must be inside resources of others, which are never changed, and who is blocked while it is not.

A given resource that lacks it is unfit itself. One of ours that depends on it is not created, or not Ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.graph import Lacks, Node
from freehold.engine.outcomes import Blocked, Category, Ready, Reason, of_error
from freehold.engine.resources import NodeKey, Part, Ref


class Demand(NamedTuple):
    """``place``, a resource of others, must hold what ``lacks`` looks for; else ``key`` is blocked."""

    key: NodeKey
    place: NodeKey
    lacks: Lacks


def demands(ctx: PassContext) -> Sequence[Demand]:
    """What this graph asks of resources that are on record and not ours."""
    found = []
    for key, node in ctx.graph.nodes.items():
        entry = ctx.journal.get(key)
        theirs = bool(entry and entry.id and not entry.phase.ours)
        if theirs and node.lacks:
            found.append(Demand(key, key, node.lacks))
        elif not theirs and node.through:
            found.append(Demand(key, *node.through))
    return [one for one in found if _is_of_others(ctx, one.place)]


def _is_of_others(ctx: PassContext, place: NodeKey) -> bool:
    entry = ctx.journal.get(place)
    return bool(entry and entry.id and ctx.kind(place).parts and ctx.category(place) is Category.UNMANAGED)


async def check(ctx: PassContext) -> None:
    """Look into them once between two deep looks; what is Ready and depends on what is missing is blocked.

    What could not be looked into takes nothing down that is Ready: :func:`tell` says so.
    """
    ready = [one for one in demands(ctx) if isinstance(ctx.outcomes.get(one.key), Ready)]
    due = [one for one in ready if not ctx.node(one.place).inside_unknown]
    for one, refusal in zip(due, await _refusals(ctx, due), strict=True):
        if refusal and refusal.reason is not Reason.UNFIT:
            ctx.node(one.place).inside_unknown = refusal.message
        elif refusal:
            ctx.node(one.key).look_now()
            ctx.outcomes[one.key] = refusal
            ctx.ready_nodes.pop(one.key, None)


def tell(ctx: PassContext) -> None:
    """That what others must let through to could not be looked at; it is looked at again in the next round."""
    for one in demands(ctx):
        outcome, why = ctx.outcomes.get(one.key), ctx.node(one.place).inside_unknown
        if why and isinstance(outcome, Ready) and not outcome.note:
            note = f"whether it can be reached is not known: {why}"
            ctx.outcomes[one.key] = replace(outcome, note=note)


async def admitted(ctx: PassContext, wave: Sequence[Node]) -> list[Node]:
    """Those of the wave that may be created: what others must let traffic through to is let through."""
    wanted = {node.key for node in wave}
    due = [one for one in demands(ctx) if one.key in wanted]
    refused = {one.key: refusal for one, refusal in zip(due, await _refusals(ctx, due), strict=True) if refusal}
    for key, refusal in refused.items():
        ctx.block(key, refusal)
    return [node for node in wave if node.key not in refused]


async def _refusals(ctx: PassContext, due: Sequence[Demand]) -> Sequence[Blocked | None]:
    results = await ctx.deps.port.all([_inside(ctx, one.place) for one in due])
    return [_judged(ctx, one, result) for one, result in zip(due, results, strict=True)]


async def _inside(ctx: PassContext, place: NodeKey) -> frozenset[Part] | None:
    """None where a look before this one found all that is needed, and showed no parts itself."""
    driver, entry, seen = ctx.kind(place).parts, ctx.journal.entries[place], ctx.node(place).last_seen
    assert driver is not None
    if seen is not None and seen.parts is not None:
        return seen.parts
    return None if ctx.node(place).parts_checked else await driver.parts(Ref(entry.id, entry.target))


def _judged(ctx: PassContext, one: Demand, result: frozenset[Part] | Exception | None) -> Blocked | None:
    if isinstance(result, CloudError):
        outcome = of_error(result)
        return Blocked(outcome.reason, outcome.message, outcome.after)
    if isinstance(result, Exception):
        raise result
    if result is None or not (why := one.lacks(result)):
        ctx.node(one.place).parts_checked = True
        return None
    node, entry = ctx.graph.nodes[one.place], ctx.journal.entries[one.place]
    where = f"{node.field}: " if node.field else ""
    message = f"{where}{one.place.kind} {node.name} ({entry.id.rpartition('/')[2]}) {why}"
    return Blocked(Reason.UNFIT, message, ctx.deps.intervals.slow)
