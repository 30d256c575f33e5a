"""Given requirements: what must be inside resources of others, which are never changed, and who is blocked without it.

A given resource that lacks it will not do itself. One of ours that depends on it is not created, or not Ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from freehold.engine.context import PassContext
from freehold.engine.errors import CloudError
from freehold.engine.graph import MissingInside, Node
from freehold.engine.outcomes import Blocked, Category, Ready, Reason, outcome_of_error
from freehold.engine.port import run_together
from freehold.engine.resources import NodeKey, Part, Ref


class Demand(NamedTuple):
    """A resource of others, ``place``, must hold what ``missing_inside`` looks for; else ``key`` is blocked."""

    key: NodeKey
    place: NodeKey
    missing_inside: MissingInside


def find_demands(ctx: PassContext) -> Sequence[Demand]:
    """Return what this graph asks of resources that are on record and not ours."""
    found = []
    for key, node in ctx.graph.nodes.items():
        entry = ctx.journal.get(key)
        theirs = bool(entry and entry.id and not entry.state.is_claimed)
        if theirs and node.missing_inside:
            found.append(Demand(key, key, node.missing_inside))
        elif not theirs and node.traffic_via:
            found.append(Demand(key, *node.traffic_via))
    return [one for one in found if _is_of_others(ctx, one.place)]


def _is_of_others(ctx: PassContext, place: NodeKey) -> bool:
    entry = ctx.journal.get(place)
    return bool(entry and entry.id and ctx.kind(place).parts.driver and ctx.category(place) is Category.UNMANAGED)


async def check_given(ctx: PassContext) -> None:
    """Look into given resources once between two deep looks, and block what is Ready and depends on what is missing.

    What could not be looked into takes nothing down that is Ready: :func:`report_unreadable` says so.
    """
    ready = [one for one in find_demands(ctx) if isinstance(ctx.outcomes.get(one.key), Ready)]
    due = [one for one in ready if not ctx.node(one.place).parts.unreadable]
    for one, refusal in zip(due, await _find_refusals(ctx, due), strict=True):
        if refusal and refusal.reason is not Reason.UNFIT:
            ctx.node(one.place).parts.unreadable = refusal.message
        elif refusal:
            ctx.node(one.key).look_now()
            ctx.outcomes[one.key] = refusal
            ctx.ready_nodes.pop(one.key, None)


def report_unreadable(ctx: PassContext) -> None:
    """Note what could not be looked into; it is looked at again in the next round."""
    for one in find_demands(ctx):
        outcome, why = ctx.outcomes.get(one.key), ctx.node(one.place).parts.unreadable
        if why and isinstance(outcome, Ready) and not outcome.note:
            note = f"whether it can be reached is not known: {why}"
            ctx.outcomes[one.key] = replace(outcome, note=note)


async def filter_wave(ctx: PassContext, wave: Sequence[Node]) -> list[Node]:
    """Return those of the wave that may be created: what others must let traffic through to is let through."""
    wanted = {node.key for node in wave}
    due = [one for one in find_demands(ctx) if one.key in wanted]
    refused = {one.key: refusal for one, refusal in zip(due, await _find_refusals(ctx, due), strict=True) if refusal}
    for key, refusal in refused.items():
        ctx.block(key, refusal)
    return [node for node in wave if node.key not in refused]


async def _find_refusals(ctx: PassContext, due: Sequence[Demand]) -> Sequence[Blocked | None]:
    results = await run_together([_read_inside(ctx, one.place) for one in due])
    return [_judge(ctx, one, result) for one, result in zip(due, results, strict=True)]


async def _read_inside(ctx: PassContext, place: NodeKey) -> frozenset[Part] | None:
    """Read what is inside; None where an earlier look found all that is needed and showed no parts itself."""
    driver, entry, seen = ctx.kind(place).parts.driver, ctx.journal.entries[place], ctx.node(place).last_seen
    assert driver is not None
    if seen is not None and seen.parts is not None:
        return seen.parts
    return None if ctx.node(place).parts.checked else await driver.parts(Ref(entry.id, entry.target))


def _judge(ctx: PassContext, one: Demand, result: frozenset[Part] | Exception | None) -> Blocked | None:
    if isinstance(result, CloudError):
        outcome = outcome_of_error(result)
        return Blocked(outcome.reason, outcome.message, outcome.after)
    if isinstance(result, Exception):
        raise result
    if result is None or not (why := one.missing_inside(result)):
        ctx.node(one.place).parts.checked = True
        return None
    node, entry = ctx.graph.nodes[one.place], ctx.journal.entries[one.place]
    where = f"{node.field}: " if node.field else ""
    message = f"{where}{one.place.kind} {node.name} ({entry.id.rpartition('/')[2]}) {why}"
    return Blocked(Reason.UNFIT, message, ctx.deps.intervals.slow)
