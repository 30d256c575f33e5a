"""Streams on real HTTP: what each viewer is sent, what a slow one costs, and how they end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from freehold.page import server as servers
from freehold.page import streams as streams_module
from harness.page_feed import WIDGETS, Reader, ReaderGate, widget
from harness.page_server import SECONDS, EventReader, ServedFeed, serve_feed


@pytest.fixture
def gate() -> ReaderGate:
    return ReaderGate({"right": Reader(everywhere=True), "of-a": Reader(name="reader of a", namespaces=["a"])})


@pytest_asyncio.fixture
async def page(gate: ReaderGate) -> AsyncIterator[ServedFeed]:
    async with serve_feed(gate, beat=0.05) as served:
        yield served


async def read_names(events: EventReader) -> list[str]:
    """Read a message of rows: the names of those that changed, and the keys of those that went."""
    name, data = await events.read()
    assert name == "rows", (name, data)
    message: Any = json.loads(data)
    return [*(row["name"] for row in message["changed"]), *message["gone"]]


async def read_reset(events: EventReader) -> None:
    """Read to the next reset."""
    while (event := await events.read())[0] == "rows":
        pass
    assert event == ("reset", "{}")


async def wait_for(page: ServedFeed, viewers: int) -> None:
    """Wait until so many streams are open."""
    async with asyncio.timeout(SECONDS):
        while page.feed.viewers != viewers:
            await asyncio.sleep(0.01)


async def test_changes_are_sent_from_a_place_on(page: ServedFeed) -> None:
    place = page.feed.seq
    async with page.stream(place) as events:
        page.feed.note(WIDGETS, None, one := widget("one"))
        assert await read_names(events) == ["one"]
        page.feed.note(WIDGETS, one, None)
        assert await read_names(events) == ["Widget/default/one"]
    async with page.stream(place) as again:
        assert await read_names(again) == ["one"]


@pytest.mark.parametrize("after", ["", "0", "-1", "x", "9" * 30, "١"])
async def test_a_place_of_nowhere_is_a_reset_and_the_stream_goes_on(page: ServedFeed, after: str) -> None:
    async with page.stream(after) as events:
        assert await events.read() == ("reset", "{}")
        page.feed.note(WIDGETS, None, widget("one"))
        assert await read_names(events) == ["one"]


async def test_beats_tell_place_and_time(page: ServedFeed) -> None:
    async with page.stream(page.feed.seq) as events:
        name, data = await events.read_any()
    assert name == "beat"
    assert json.loads(data).keys() == {"seq", "now"}
    assert json.loads(data)["seq"] == page.feed.seq


async def test_a_reader_of_one_namespace_hears_of_no_other(page: ServedFeed) -> None:
    async with page.stream(page.feed.seq, "of-a") as theirs, page.stream(page.feed.seq) as all_of_it:
        page.feed.note(WIDGETS, None, other := widget("other", namespace="b"))
        assert await read_names(all_of_it) == ["other"]
        page.feed.note(WIDGETS, other, None)
        assert await read_names(all_of_it) == ["Widget/b/other"]
        page.feed.note(WIDGETS, None, own := widget("own", namespace="a"))
        assert await read_names(theirs) == ["own"]
        page.feed.note(WIDGETS, own, None)  # the last one of its namespace
        assert await read_names(theirs) == ["Widget/a/own"]


async def test_more_or_less_rights_begin_anew(page: ServedFeed, gate: ReaderGate) -> None:
    for namespace in ("a", "b"):
        page.feed.note(WIDGETS, None, widget("one", namespace=namespace))
    async with page.stream(page.feed.seq, "of-a") as events:
        gate.readers["of-a"].namespaces = ["a", "b"]
        await read_reset(events)
        gate.readers["of-a"].namespaces = []
        await read_reset(events)
        page.feed.note(WIDGETS, None, widget("two", namespace="a"))
        for _ in range(5):
            assert (await events.read_any())[0] == "beat"


@pytest.mark.parametrize("is_silent", [True, False])
async def test_a_token_that_counts_no_more_ends_its_stream(page: ServedFeed, gate: ReaderGate, is_silent: bool) -> None:
    async with page.stream(page.feed.seq) as events:
        await events.read_any()
        gate.is_silent = is_silent
        del gate.readers["right"]
        assert await events.read() == ("", "")
    await wait_for(page, 0)


async def test_rights_that_cannot_be_read_end_the_stream(
    page: ServedFeed, gate: ReaderGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with page.stream(page.feed.seq, "of-a") as events:
        await events.read_any()
        monkeypatch.setattr(streams_module._Stream, "send_news", _fail_to_read_rights)
        assert await events.read() == ("", "")


async def _fail_to_read_rights(stream: object) -> bool:
    raise streams_module.GateUnavailable("the API server cannot be asked")


async def test_whoever_goes_is_counted_no_more(page: ServedFeed) -> None:
    async with page.stream():
        await wait_for(page, 1)
    await wait_for(page, 0)


async def test_one_more_than_the_bound_is_told_so(page: ServedFeed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "MOST_STREAMS", 2)
    async with page.stream(), page.stream():
        answer = await page.session.get(f"{page.url}/api/stream", headers=page.headers())
        assert answer.status == 503
        assert (await answer.json())["problem"].startswith("2 viewers look at this page already")


async def test_no_viewer_has_all_streams(page: ServedFeed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_module, "MOST_OF_ONE", 2)
    async with page.stream(), page.stream():
        answer = await page.session.get(f"{page.url}/api/stream", headers=page.headers())
        assert answer.status == 503
        assert "in 2 tabs already: close one" in (await answer.json())["problem"]
        async with page.stream(page.feed.seq, token="of-a") as another:
            assert (await another.read_any())[0] == "beat"
    await wait_for(page, 0)
    async with page.stream(page.feed.seq) as again:
        assert (await again.read_any())[0] == "beat"


async def test_a_viewer_who_takes_nothing_holds_nobody_up_and_is_dropped(
    page: ServedFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "SLOW_SECONDS", 0.2)
    _, writer = await asyncio.open_connection("127.0.0.1", page.port, limit=1)
    head = f"GET /api/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {page.token}\r\n\r\n"
    writer.write(head.encode())
    await wait_for(page, 1)
    async with page.stream(page.feed.seq) as events:
        async with asyncio.timeout(SECONDS):
            size = 0
            while page.feed.viewers == 2:
                size += 1
                page.feed.note(WIDGETS, None, widget("x" * 400_000, size))
                assert await read_names(events) == ["x" * 400_000]
    writer.close()


async def test_the_server_stops_at_once_with_streams_open(gate: ReaderGate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "STOP_SECONDS", 10 * SECONDS)
    async with asyncio.timeout(SECONDS), serve_feed(gate) as page:
        answer = await page.session.get(f"{page.url}/api/stream", headers=page.headers())
        assert await EventReader(answer).read() == ("reset", "{}")
