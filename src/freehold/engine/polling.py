"""Times creates and deletes, and plans the next look at each: :mod:`schedule` decides, :mod:`durations` knows.

What is learned moves looks only. No proof, settle time or read-back is shortened by it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace

from freehold.engine import deletion_order, schedule
from freehold.engine.context import PassContext
from freehold.engine.durations import SLOWEST, DurationKey, Estimate, Span, Verb
from freehold.engine.kinds import Kind
from freehold.engine.outcomes import Waiting
from freehold.engine.resources import NodeKey, Observed, State
from freehold.engine.schedule import Task
from freehold.engine.state import Started, earliest

_LOG = logging.getLogger(__name__)


def note_start(ctx: PassContext, key: NodeKey, verb: Verb) -> None:
    """Note that the cloud took a create or delete that this pass sent; a delete perhaps once more."""
    known = ctx.node(key).timing.started
    if known is None or known.verb is not verb:
        ctx.node(key).timing.started = Started(verb, ctx.now, ctx.now)


def plan_look(ctx: PassContext, key: NodeKey, verb: Verb) -> float:
    """Return the seconds until the next look at what is being created or deleted; the debug log tells why then.

    What this process sent is planned alone: :func:`plan_again` plans all of it together at the end of the pass.
    """
    node = ctx.node(key)
    node.pending_since = earliest(node.pending_since, ctx.now)
    started = node.timing.started
    if started is not None:
        node.timing.started = replace(started, pending_at=ctx.now)
    alone = verb is not _verb(ctx) or (started is not None and started.verb is verb and not ctx.state.planning)
    tasks = {} if alone else _tasks(ctx)
    if key not in tasks:
        tasks = {
            key: Task(
                _estimate(ctx, key, verb), spent=_measure_spent_time(ctx, key), looked=_measure_time_at_look(ctx, key)
            )
        }
    return _plan_next_looks(ctx, [key], verb, tasks)[key]


def plan_again(ctx: PassContext) -> None:
    """Move the looks that are planned by what this pass has seen: ends that came early or late change what is best.

    A pass that leaves no trace moves none: the next one would move them again, at once.
    """
    if ctx.state.planning:
        return
    verb = _verb(ctx)
    waiting = [key for key in ctx.outcomes if _is_timed(ctx, key, verb)]
    if not waiting:
        return
    tasks = _tasks(ctx)
    for key, after in _plan_next_looks(ctx, [key for key in waiting if key in tasks], verb, tasks).items():
        outcome = ctx.outcomes[key]
        assert isinstance(outcome, Waiting)
        ctx.requeue(key, replace(outcome, after=after))


def is_overdue(ctx: PassContext, key: NodeKey) -> bool:
    """Return whether its create takes longer than any is believed to."""
    return _measure_spent_time(ctx, key) > SLOWEST * ctx.kind(key).creation.usual_time


def _is_timed(ctx: PassContext, key: NodeKey, verb: Verb) -> bool:
    """Return whether it waits for the end of what this process sent."""
    node, outcome = ctx.node(key), ctx.outcomes[key]
    if node.timing.started is None or node.timing.started.verb is not verb:
        return False
    return isinstance(outcome, Waiting) and replace(outcome, after=node.timing.planned) == node.deferred


def _plan_next_looks(
    ctx: PassContext, keys: Collection[NodeKey], verb: Verb, tasks: Mapping[NodeKey, Task]
) -> Mapping[NodeKey, float]:
    pace = schedule.pace_of(tasks.values(), _estimate_all_kinds(ctx))
    looks = schedule.next_looks(keys, tasks, pace)
    for key, look in looks.items():
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("%s", _describe_next_look(ctx, key, verb, tasks[key], look))
        ctx.node(key).timing.planned = look.wait
    return {key: look.wait for key, look in looks.items()}


def _estimate_all_kinds(ctx: PassContext) -> list[Estimate]:
    """Return what was learned of the creates and the deletes of all kinds: a slow cloud is slow in both."""
    durations, registry = ctx.deps.durations, ctx.deps.registry
    return [
        durations.estimate(name, verb, _usual_time(registry[name], verb))
        for name, verb in durations.learned_actions
        if name in registry
    ]


def note_finish(ctx: PassContext, key: NodeKey, verb: Verb) -> None:
    """Note that a look showed its end. Only what this process sent itself has a known beginning to learn from."""
    node, begun = ctx.node(key), ctx.node(key).timing.started
    node.timing.started = None
    if begun is None or begun.verb is not verb:
        return
    if begun.at < ctx.now:
        span = Span(begun.pending_at - begun.at, ctx.now - begun.at)
        ctx.deps.durations.add(DurationKey(key.kind, _region(node.last_seen), verb), span)
    node.timing.took = ctx.now - begun.at
    for other in _then(ctx, [key])[key]:
        ctx.node(other).timing.before = max(ctx.node(other).timing.before, node.timing.before + node.timing.took)


def _verb(ctx: PassContext) -> Verb:
    return Verb.DELETE if ctx.state.releasing else Verb.CREATE


def _region(seen: Observed | None) -> str:
    return seen.region if seen else ""


def _estimate(ctx: PassContext, key: NodeKey, verb: Verb) -> Estimate:
    kind, seen = ctx.kind(key), ctx.node(key).last_seen
    return ctx.deps.durations.estimate(key.kind, verb, _usual_time(kind, verb), seen.region if seen else None)


def _usual_time(kind: Kind, verb: Verb) -> float:
    """Return how long a create or delete of this kind takes, as published."""
    return kind.deletion.usual_time if verb is Verb.DELETE else kind.creation.usual_time


def _tasks(ctx: PassContext) -> Mapping[NodeKey, Task]:
    """Return all that is to be created, or deleted, of this object."""
    verb = _verb(ctx)
    ours = ctx.journal.claimed if ctx.state.releasing else ctx.graph.nodes
    keys = [key for key in ours if key.kind in ctx.deps.registry]
    then = _then(ctx, keys)
    return {key: _task(ctx, key, verb, then[key]) for key in keys}


def _task(ctx: PassContext, key: NodeKey, verb: Verb, then: frozenset[NodeKey]) -> Task:
    node = ctx.node(key)
    done = verb is Verb.CREATE and node.last_seen is not None and node.last_seen.state is State.READY
    spent = node.timing.took if done else _measure_spent_time(ctx, key)
    looked = node.timing.took if done else _measure_time_at_look(ctx, key)
    return Task(_estimate(ctx, key, verb), node.timing.before, spent, looked, done, then)


def _measure_spent_time(ctx: PassContext, key: NodeKey) -> float:
    """Return the seconds since the request, or since this process first saw it under way."""
    node = ctx.node(key)
    return ctx.now - (node.timing.started.at if node.timing.started else earliest(node.pending_since, ctx.now))


def _measure_time_at_look(ctx: PassContext, key: NodeKey) -> float:
    """Return how long it had taken at the last look that showed it under way."""
    started = ctx.node(key).timing.started
    return started.pending_at - started.at if started else _measure_spent_time(ctx, key)


def _then(ctx: PassContext, keys: Collection[NodeKey]) -> Mapping[NodeKey, frozenset[NodeKey]]:
    """Return what can only be created when each of these is there, or only deleted when it is gone."""
    if not ctx.state.releasing:
        return {key: ctx.graph.dependents.get(key, frozenset()) for key in keys}
    ours, entries = ctx.journal.claimed, ctx.journal.entries
    each = deletion_order.requirements_of_each(keys, ours, entries, ctx.deps.registry)
    return {key: frozenset(needed - {key}) for key, needed in each.items()}


def _describe_next_look(ctx: PassContext, key: NodeKey, verb: Verb, task: Task, look: schedule.NextLook) -> str:
    low, high = task.estimate.span
    source = f"seen {task.estimate.samples} times" if task.estimate.samples else "published, with room for others"
    return (
        f"{ctx.owner.namespace}/{ctx.owner.name}: {key}: next look in {look.wait:.0f} s; its {verb.value} has taken "
        f"{task.spent:.0f} s of {low:.0f} to {high:.0f} s ({source}); a look may be {look.late:.0f} s late"
    )
