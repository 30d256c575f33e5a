"""The feed: rows are made once, changes of a moment become one message, and nobody's place is lost."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from freehold.kube.resources import Json
from freehold.page import feed as feeds
from freehold.page.feed import Feed, Message
from freehold.page.gate import Rights
from harness.page_feed import EVERYTHING, GADGETS, WIDGETS, RowCounter, SizeRow, widget
from harness.virtual_loop import VirtualLoop

Test = Callable[[Feed, RowCounter], Awaitable[None]]


def run_with_feed(test: Test) -> None:
    """Run a test on virtual time, with a feed that runs."""

    async def run() -> None:
        loop, rows = asyncio.get_running_loop(), RowCounter()
        feed = Feed(rows.build_row, (WIDGETS, GADGETS), loop.time, loop.time)
        running = asyncio.create_task(feed.run())
        try:
            await test(feed, rows)
        finally:
            running.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())


def put(feed: Feed, obj: Json, before: Json | None = None) -> Json:
    feed.note(WIDGETS, before, obj)
    return obj


def read(message: Message, rights: Rights = EVERYTHING) -> Any:
    event = message.render(rights).decode()
    return json.loads(event.partition("data: ")[2]) if event else None


def list_changed(feed: Feed, after: int) -> list[list[str]]:
    messages = feed.list_messages(after)
    assert messages is not None
    return [[row["name"] for row in read(each)["changed"]] for each in messages]


def test_changes_of_a_moment_are_one_message() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        place = (await feed.read_snapshot(EVERYTHING)).seq
        with feed.watch():
            one = put(feed, widget("one"))
            put(feed, widget("two"))
            put(feed, widget("one", 2), one)
            await feed.wait_for_news(place, 1.0)
            await asyncio.sleep(1.0)
        assert [sorted(each) for each in list_changed(feed, place)] == [["one", "two"]]
        assert sorted(rows.built) == ["one", "two"]

    run_with_feed(test)


def test_a_change_is_told_within_200_ms() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        loop = asyncio.get_running_loop()
        with feed.watch():
            await asyncio.sleep(1.0)
            began, place = loop.time(), feed.seq
            put(feed, widget("one"))
            await feed.wait_for_news(place, 10.0)
            assert loop.time() - began <= 0.2

    run_with_feed(test)


def test_nothing_is_computed_while_nobody_looks() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        for size in range(1, 50):
            put(feed, widget("one", size))
            await asyncio.sleep(1.0)
        assert rows.built == []
        assert [json.loads(each) for each in (await feed.read_snapshot(EVERYTHING)).rows] == [
            {"name": "one", "size": 49}
        ]
        assert rows.built == ["one"]

    run_with_feed(test)


def test_whoever_looked_a_while_ago_looks_no_more() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        await feed.read_snapshot(EVERYTHING)
        assert feed.is_watched
        await asyncio.sleep(feeds.LINGER_SECONDS + 1.0)
        assert not feed.is_watched
        put(feed, widget("one"))
        await asyncio.sleep(60.0)
        assert rows.built == []

    run_with_feed(test)


def test_an_object_listed_again_sends_nothing() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        with feed.watch():
            one = put(feed, widget("one"))
            await asyncio.sleep(1.0)
            place = feed.seq
            put(feed, one, one)
            put(feed, widget("one"), one)  # another version, and the same row
            await asyncio.sleep(1.0)
            assert feed.seq == place

    run_with_feed(test)


def test_a_row_is_sent_again_when_something_else_of_its_object_changed() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        with feed.watch():
            put(feed, widget("one"))
            await asyncio.sleep(1.0)
            place = feed.seq
            feed.send_again("Widget/default/one")
            feed.send_again("Widget/default/nobody")
            await asyncio.sleep(1.0)
            put(feed, widget("one"))
            await asyncio.sleep(1.0)
        assert list_changed(feed, place) == [["one"]]

    run_with_feed(test)


def test_bytes_are_shared_by_equal_rights_and_hold_nothing_else() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        with feed.watch():
            place = feed.seq
            put(feed, widget("one", namespace="a"))
            put(feed, widget("two", namespace="b"))
            await asyncio.sleep(1.0)
        (message,) = feed.list_messages(place) or []
        one, same = Rights(within=frozenset({("Widget", "a")})), Rights(within=frozenset({("Widget", "a")}))
        assert message.render(one) is message.render(same)
        assert [row["name"] for row in read(message, one)["changed"]] == ["one"]
        assert message.render(Rights(within=frozenset({("Gadget", "a")}))) == b""
        assert message.render(Rights()) == b""

    run_with_feed(test)


def test_an_object_that_goes_is_told_by_its_key() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        with feed.watch():
            one = put(feed, widget("one", namespace="a"))
            await asyncio.sleep(1.0)
            place = feed.seq
            feed.note(WIDGETS, one, None)
            await asyncio.sleep(1.0)
            (message,) = feed.list_messages(place) or []
        assert read(message)["gone"] == ["Widget/a/one"]
        assert message.render(Rights(within=frozenset({("Widget", "b")}))) == b""
        assert feed.find("Widget/a/one") is None
        assert feed.places == {WIDGETS: frozenset(), GADGETS: frozenset()}

    run_with_feed(test)


def test_an_object_that_came_and_went_is_no_news() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        with feed.watch():
            place = feed.seq
            feed.note(WIDGETS, put(feed, widget("one")), None)
            await asyncio.sleep(1.0)
            assert feed.seq == place

    run_with_feed(test)


def test_whoever_is_too_far_behind_begins_anew() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        with feed.watch():
            place = feed.seq
            for size in range(1, feeds.MOST_MESSAGES + 2):
                put(feed, widget("one", size))
                await asyncio.sleep(1.0)
            assert feed.list_messages(place) is None
            assert len(feed.list_messages(place + 1) or ()) == feeds.MOST_MESSAGES

    run_with_feed(test)


def test_few_large_messages_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_ROWS_KEPT", 25)

    async def test(feed: Feed, rows: RowCounter) -> None:
        with feed.watch():
            for size in range(1, 6):
                for name in range(10):
                    put(feed, widget(f"w{name}", size))
                await asyncio.sleep(1.0)
            assert feed.list_messages(feed.seq - 3) is None
            assert len(feed.list_messages(feed.seq - 2) or ()) == 2

    run_with_feed(test)


@pytest.mark.parametrize("place", [0, -1, 17, 2**53, 2**70])
def test_a_place_of_another_process_begins_anew(place: int) -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        assert feed.list_messages(place) is None

    run_with_feed(test)


def test_a_place_is_a_safe_integer_of_javascript() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        assert 0 <= feed.seq + 2**32 <= 2**53

    run_with_feed(test)


def test_after_another_source_every_place_begins_anew() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        with feed.watch():
            put(feed, widget("one"))
            await asyncio.sleep(1.0)
            place, waiting = feed.seq, asyncio.create_task(feed.wait_for_news(feed.seq, 100.0))
            await asyncio.sleep(0.0)
            feed.clear()
            await waiting
            assert feed.list_messages(place) is None
            assert (await feed.read_snapshot(EVERYTHING)).rows == ()
            assert feed.list_messages(feed.seq) == []

    run_with_feed(test)


def test_a_request_that_is_cut_off_loses_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SLICE_SECONDS", 0.0)

    async def test(feed: Feed, rows: RowCounter) -> None:
        place = feed.seq
        for name in range(5):
            put(feed, widget(f"w{name}"))
        asked = asyncio.create_task(feed.read_snapshot(EVERYTHING))
        while not rows.built:
            await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([asked])
        assert asked.cancelled()
        assert 0 < len(rows.built) < 5
        with feed.watch():
            await asyncio.sleep(1.0)
        told = [name for names in list_changed(feed, place) for name in names]
        assert sorted(told) == [f"w{name}" for name in range(5)]

    run_with_feed(test)


def test_a_source_that_changes_during_a_flush_leaves_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SLICE_SECONDS", 0.0)

    async def test(feed: Feed, rows: RowCounter) -> None:
        for name in range(5):
            put(feed, widget(f"w{name}"))
        asked = asyncio.create_task(feed.read_snapshot(EVERYTHING))
        while not rows.built:
            await asyncio.sleep(0)
        feed.clear()
        put(feed, widget("new"))
        assert (await asked).seq == feed.seq
        assert [json.loads(each)["name"] for each in (await feed.read_snapshot(EVERYTHING)).rows] == ["new"]

    run_with_feed(test)


def test_an_object_without_a_row_is_named_and_the_others_are_shown(caplog: pytest.LogCaptureFixture) -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        one = put(feed, widget("one"))
        put(feed, widget("two"))
        await feed.read_snapshot(EVERYTHING)
        broken = put(feed, widget("one", 0), one)
        assert [json.loads(each)["name"] for each in (await feed.read_snapshot(EVERYTHING)).rows] == ["two"]
        assert feed.unbuilt == [(WIDGETS, broken)]
        put(feed, widget("one", 3), broken)
        assert len((await feed.read_snapshot(EVERYTHING)).rows) == 2
        assert feed.unbuilt == []

    with caplog.at_level(logging.ERROR, "freehold.page.feed"):
        run_with_feed(test)
    assert "no row can be made of Widget/default/one" in caplog.text


def test_a_row_that_changes_by_time_is_made_again() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()

        def build_row(resource: object, raw: Json, now: float) -> SizeRow:
            return SizeRow("one", 2) if now >= 100.0 else SizeRow("one", 1, changes_at=100.0)

        feed = Feed(build_row, (WIDGETS,), loop.time, loop.time)
        running = asyncio.create_task(feed.run())
        with feed.watch():
            put(feed, widget("one"))
            await asyncio.sleep(90.0)
            place = feed.seq
            await asyncio.sleep(30.0)
            (message,) = feed.list_messages(place) or []
        assert read(message)["changed"] == [{"name": "one", "size": 2}]
        running.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())


def test_places_are_those_where_objects_are() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        first = put(feed, widget("one", namespace="a"))
        second = put(feed, widget("two", namespace="a"))
        put(feed, widget("three", namespace="b"))
        put(feed, widget("one", 2, namespace="a"), first)
        assert feed.places[WIDGETS] == {"a", "b"}
        feed.note(WIDGETS, first, None)
        assert feed.places[WIDGETS] == {"a", "b"}
        feed.note(WIDGETS, second, None)
        assert feed.places[WIDGETS] == {"b"}
        assert feed.known_places == {WIDGETS: {"a", "b"}, GADGETS: {"a", "b"}}  # the audit log tells of what has gone

    run_with_feed(test)


def test_in_a_storm_rows_take_a_tenth_of_the_time_and_each_object_has_its_turn() -> None:
    """A row takes 10 ms here, and 50 objects change ten times a second."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        built: Counter[str] = Counter()

        def build_row(resource: object, raw: Json, now: float) -> SizeRow:
            built[raw["metadata"]["name"]] += 1
            return SizeRow("one", raw["spec"]["size"])

        feed = Feed(build_row, (WIDGETS,), loop.time, loop.time, lambda: 0.01 * built.total())
        running = asyncio.create_task(feed.run())
        with feed.watch():
            for size in range(1, 1000):
                for name in range(50):
                    put(feed, widget(str(name), size))
                await asyncio.sleep(0.1)
        assert 7.0 <= 0.01 * built.total() <= 12.0
        assert max(built.values()) - min(built.values()) <= 2
        running.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())


def test_after_a_storm_everything_is_told() -> None:
    async def test(feed: Feed, rows: RowCounter) -> None:
        feed._used = lambda: 0.01 * len(rows.built)
        with feed.watch():
            place = feed.seq
            for name in range(100):
                put(feed, widget(str(name)))
            await asyncio.sleep(100.0)
        told = [name for names in list_changed(feed, place) for name in names]
        assert sorted(told, key=int) == [str(name) for name in range(100)]

    run_with_feed(test)
