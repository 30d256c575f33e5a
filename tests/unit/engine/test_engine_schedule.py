"""When the next look is due: seldom enough to be cheap, early enough for the object as a whole to be fast."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isclose

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from freehold.engine import errors
from freehold.engine.clock import ManualClock
from freehold.engine.dry_run import dry_run_deps
from freehold.engine.dry_run_overlay import Overlay
from freehold.engine.durations import SLOWEST, Span, Verb, estimate
from freehold.engine.outcomes import Ready
from freehold.engine.resources import NodeKey
from freehold.engine.schedule import ANY_PACE, LATE, LATEST, SHORTEST, NextLook, Task, next_look, pace_of
from harness.rows import over_rows
from lab.life import Life
from lab.outage import outage
from lab.world import TRAITS, MemoryWorld, node

NET, VM, DISK = (NodeKey(kind, "main") for kind in ("net", "vm", "disk"))


def _looks(duration: float, published: float, samples: Iterable[Span] = ()) -> list[float]:
    """The times of all looks at a resource that is alone, until one shows that it is there."""
    known, at = list(samples), [0.0]
    while at[-1] < duration:
        tasks = {NET: Task(estimate(published, known), spent=at[-1], looked=at[-1])}
        at.append(at[-1] + next_look(NET, tasks, pace_of(tasks.values(), [tasks[NET].estimate])).wait)
    return at[1:]


@over_rows("factor", (0.3, 0.35, 0.5, 0.77, 1.0, 1.5, 2.0, 3.0, 10.0))
@over_rows("published", (30.0, 300.0))
def test_a_duration_that_is_not_known_costs_few_looks_and_little_time(published: float, factor: float) -> None:
    """However fast the cloud is: a look that is planned for a slow one is late by more than a fast one takes."""
    looks = _looks(published * factor, published)
    assert looks[-1] <= published * factor * 1.6 + 6 * SHORTEST
    assert len(looks) <= 30


def test_the_pace_is_what_all_that_was_seen_allows() -> None:
    seen = [estimate(100.0, [Span(20, 60)]), estimate(10.0, [Span(4, 10)])]
    low, high = pace_of([Task(estimate(200.0, []), spent=95.0, looked=90.0)], seen)
    assert isclose(low, 0.45), "what is under way tells how long it takes at least"
    assert isclose(high, 0.6)


def test_what_disagrees_has_no_pace() -> None:
    assert pace_of([], [estimate(100.0, [Span(40, 50)]), estimate(100.0, [Span(190, 200)])]) == ANY_PACE


def test_the_first_create_of_a_kind_is_looked_for_where_the_pace_expects_it() -> None:
    """In a cloud that is twice as slow, with one hedging look before: it may be faster in this."""
    tasks, pace = {NET: Task(estimate(300.0, []))}, Span(1.9, 2.0)
    hedge = next_look(NET, tasks, pace).wait
    assert hedge <= 301.0
    tasks = {NET: Task(estimate(300.0, []), spent=500.0, looked=500.0)}
    assert 570.0 <= 500.0 + next_look(NET, tasks, pace).wait <= 602.0


def test_a_look_that_became_due_before_its_plan_changed_is_due_at_once() -> None:
    """All else is ready earlier than was thought, and nobody has looked at this one since its create was sent."""
    waits = Task(estimate(240.0, []), before=25.0, spent=231.0)
    done = Task(estimate(300.0, [Span(130, 170)]), before=86.0, spent=171.0, done=True)
    assert next_look(NET, {NET: waits, VM: done}, Span(0.3, 0.57)).wait == 0.0


def test_the_published_time_itself_is_looked_at() -> None:
    assert _looks(300.0, 300.0)[-1] <= 301.0


@given(st.floats(10.0, 290.0), st.floats(0.3, 3.0))
def test_from_the_third_on_a_few_looks_find_it_almost_at_once(published: float, factor: float) -> None:
    duration, samples = published * factor, list[Span]()
    for _ in range(2):
        looks = [0.0, *_looks(duration, published, samples)]
        samples.append(Span(looks[-2], looks[-1]))
    looks = _looks(duration, published, samples)
    assert len(looks) <= 3
    assert looks[-1] <= duration * (1 + 2 * LATE) + 2 * SHORTEST


def test_what_has_time_to_spare_beside_the_longest_chain_is_looked_at_once() -> None:
    exact = estimate(100.0, [Span(99, 100)])
    wide = estimate(100.0, [Span(40, 90)])
    slow = estimate(500.0, [Span(499, 500)])
    alone = next_look(NET, {NET: Task(wide)})
    beside = next_look(NET, {NET: Task(wide), VM: Task(slow)})
    assert alone.wait < beside.wait
    assert beside.wait >= 90
    before = {NET: Task(wide, then=frozenset({VM})), VM: Task(slow), DISK: Task(exact)}
    assert isclose(next_look(NET, before).late, LATE * (40 + 499)), "what waits for it leaves nothing to spare"


_spans = st.tuples(st.floats(0.0, 1e5), st.floats(0.0, 1e5)).map(lambda ends: Span(min(ends), max(ends)))
_tasks = st.builds(
    Task,
    estimate=st.builds(estimate, st.floats(0.0, 1e4), st.lists(_spans, max_size=5)),
    before=st.floats(0.0, 1e6),
    spent=st.floats(0.0, 1e6),
    looked=st.floats(0.0, 1e6),
    done=st.booleans(),
    then=st.frozensets(st.sampled_from((NET, VM, DISK))),
)


_AT_ONCE = estimate(0.0, [])
_ALMOST_AT_ONCE = Task(estimate(5e-324, []), before=43.0)


@example({NET: _ALMOST_AT_ONCE, VM: Task(_AT_ONCE), DISK: Task(_AT_ONCE)})
@given(st.fixed_dictionaries({NET: _tasks, VM: _tasks, DISK: _tasks}))
def test_the_wait_is_bounded_for_any_durations_and_any_edges(tasks: Mapping[NodeKey, Task]) -> None:
    """Users can edit recorded edges into a cycle."""
    look = next_look(NET, tasks)
    assert isinstance(look, NextLook)
    assert 0.0 <= look.wait <= max(LATEST, SLOWEST * tasks[NET].estimate.published)


def test_the_log_tells_at_debug_level_what_each_look_is_planned_for(caplog: pytest.LogCaptureFixture) -> None:
    world = MemoryWorld()
    with caplog.at_level(logging.DEBUG, logger="freehold.engine.polling"):
        Life(world).create()
    told = [record.getMessage() for record in caplog.records]
    assert any("balancer/web: next look in " in line and "published" in line for line in told), told


def test_a_duration_is_learned_only_from_a_create_whose_beginning_this_process_saw() -> None:
    """After a restart the beginning is not known: what would be learned is too short."""
    world = MemoryWorld(nodes=[node("hub/core")])
    life = Life(world)
    life.once()
    assert life.deps.durations.estimate("hub", Verb.CREATE, 20.0).samples == 0
    life.restart()
    life.create()
    assert life.deps.durations.estimate("hub", Verb.CREATE, 20.0).samples == 0
    other = Life(MemoryWorld(nodes=[node("hub/core")]))
    other.create()
    learned = other.deps.durations.estimate("hub", Verb.CREATE, 20.0)
    assert learned.samples == 1
    assert learned.span.low < 20.0 <= learned.span.high


def test_a_plan_learns_nothing() -> None:
    """It runs on a clock of its own."""
    life = Life(MemoryWorld())
    assert dry_run_deps(life.deps, Overlay(ManualClock())).durations is not life.deps.durations


HUB, SITE = NodeKey("hub", "core"), NodeKey("site", "home")


def _twice_as_fast() -> Life:
    """Both are being created, in a cloud that takes half of what its documents say."""
    published = {**TRAITS, "hub": replace(TRAITS["hub"], create_time=100.0, delete_time=100.0)}
    published["site"] = replace(TRAITS["site"], create_time=400.0, delete_time=400.0)
    world = MemoryWorld(nodes=[node("hub/core"), node("site/home")], traits=published)
    world.cloud.traits = {
        kind: replace(each, create_time=each.create_time / 2, delete_time=each.delete_time / 2)
        for kind, each in published.items()
    }
    return Life(world)


def test_what_ends_early_moves_the_looks_at_all_that_is_under_way() -> None:
    life = _twice_as_fast()
    life.once()
    planned = life.state.node(SITE).look_at
    life.world.clock.advance(51.0)
    done = life.once()
    assert done is not None and isinstance(done.outcomes[HUB], Ready)
    assert life.world.clock.monotonic() < life.state.node(SITE).look_at < planned - 10.0


def test_a_look_that_the_cloud_has_put_off_is_not_moved() -> None:
    """It said when to ask again: an earlier look would be refused once more."""
    life = _twice_as_fast()
    life.create()
    life.deleting = True
    while life.state.node(SITE).delete_sent is None or life.state.node(HUB).delete_sent is None:
        done = life.once()
        life.world.clock.advance(min(done.after, 2.0) if done else 1.0)
    with outage(life, "list_site", errors.Throttled("slow down", retry_after=700.0)):
        while life.state.node(SITE).look_at < life.world.clock.monotonic() + 600.0:
            life.once()
            life.world.clock.advance(2.0)
    appointed = life.state.node(SITE).look_at
    life.world.clock.advance(60.0)
    life.once()
    assert life.state.node(SITE).look_at == appointed


def test_deep_passes_wait_for_a_create_until_it_takes_longer_than_any_is_believed_to() -> None:
    """One that never ends must not keep everything else of the object from being looked at."""
    life = _twice_as_fast()
    life.world.cloud.traits = {**life.world.cloud.traits, "site": replace(TRAITS["site"], create_time=1e9)}
    begun, overdue, looks = life.world.clock.monotonic(), SLOWEST * 400.0, []
    while (since := life.world.clock.monotonic() - begun) < overdue + 3 * life.deps.intervals.deep:
        done = life.once()
        assert done is not None
        looks += [since] if done.looked else []
        life.world.clock.advance(max(done.after, 1.0))
    assert looks[:1] == [0.0] and looks[1:] and looks[1] >= overdue
