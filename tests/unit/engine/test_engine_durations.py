"""What is learned of durations: it follows what was seen, and nothing absurd moves it for long."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from freehold.engine import polling
from freehold.engine.clock import ManualClock
from freehold.engine.context import PassContext
from freehold.engine.durations import SAMPLE_LIFE, DurationKey, Durations, Span, Verb, estimate
from freehold.engine.resources import NodeKey
from freehold.engine.state import Started
from lab.life import Handle, Life
from lab.world import MemoryWorld, node

NET = NodeKey("net", "main")
PUBLISHED = 100.0
HOURS = Span(20_000.0, 36_000.0)

spans = st.tuples(st.floats(0.0, 1e5), st.floats(0.0, 1e5)).map(lambda ends: Span(min(ends), max(ends)))


def test_without_a_sample_the_published_time_counts_with_room_for_slower_and_faster_clouds() -> None:
    found = estimate(PUBLISHED, [])
    assert found.samples == 0
    assert found.span.low < PUBLISHED / 2 < PUBLISHED * 2 < found.span.high


def test_samples_that_agree_narrow_the_span_to_what_they_have_in_common() -> None:
    assert estimate(PUBLISHED, [Span(80, 120), Span(100, 150)]).span == (100, 120)


def test_one_absurd_sample_moves_nothing() -> None:
    """A resource that hung for hours, or a laptop that slept, must not delay the looks at the next cluster."""
    assert estimate(PUBLISHED, [HOURS]).span.low < PUBLISHED
    found = estimate(PUBLISHED, [Span(80, 120), HOURS, Span(90, 110)])
    assert 80 <= found.span.low <= found.span.high <= 120


def test_a_cloud_that_becomes_slower_is_followed_after_three_samples() -> None:
    before, after = [Span(80, 100)] * 5, [Span(300, 320)] * 3
    assert estimate(PUBLISHED, [*before, *after][-5:]).span == (300, 320)


def test_durations_that_vary_make_the_span_wide() -> None:
    found = estimate(PUBLISHED, [Span(50, 55), Span(100, 105), Span(150, 155), Span(98, 103)])
    assert found.span.low < 100
    assert found.span.high > 105


@given(st.floats(0.0, 1e4), st.lists(spans, max_size=5))
def test_any_samples_give_a_span(published: float, samples: list[Span]) -> None:
    low, high = estimate(published, samples).span
    assert 0.0 <= low <= high


def test_durations_are_kept_apart_by_kind_region_and_verb_and_forgotten_after_a_day() -> None:
    clock = ManualClock()
    known = Durations(clock)
    known.add(DurationKey("net", "dal10", Verb.CREATE), Span(50, 60))
    assert known.estimate("net", Verb.CREATE, PUBLISHED, "dal10").span == (50, 60)
    assert known.estimate("net", Verb.CREATE, PUBLISHED).span == (50, 60), "a region that is not known yet: all count"
    assert known.estimate("net", Verb.CREATE, PUBLISHED, "lon06").samples == 0
    assert known.estimate("net", Verb.DELETE, PUBLISHED, "dal10").samples == 0
    assert known.estimate("vm", Verb.CREATE, PUBLISHED, "dal10").samples == 0
    clock.advance(SAMPLE_LIFE + 1)
    assert known.estimate("net", Verb.CREATE, PUBLISHED, "dal10").samples == 0


def _released_net() -> PassContext:
    """In a pass of its delete."""
    life = Life(MemoryWorld(nodes=[node("net/main")]))
    life.create()
    life.state.releasing = True
    return PassContext(life.deps, life.graph, life.journal, Handle(life.stored), life.state)


def test_a_delete_that_is_sent_once_more_is_timed_from_the_first_request() -> None:
    ctx = _released_net()
    polling.note_start(ctx, NET, Verb.DELETE)
    begun = ctx.node(NET).timing.started
    ctx.node(NET).timing.started = begun and replace(begun, at=begun.at - 50.0)
    polling.note_start(ctx, NET, Verb.DELETE)
    polling.note_finish(ctx, NET, Verb.DELETE)
    assert ctx.node(NET).timing.took == 50.0


def test_how_long_a_create_takes_does_not_count_for_the_delete_that_ends_it() -> None:
    ctx = _released_net()
    ctx.node(NET).timing.started = Started(Verb.CREATE, ctx.now - 50.0, ctx.now - 50.0)
    polling.note_finish(ctx, NET, Verb.DELETE)
    assert ctx.node(NET).timing.took == 0.0
    assert ctx.deps.durations.estimate("net", Verb.DELETE, PUBLISHED).samples == 0
