"""The page's server on a feed of widgets: real HTTP, and answers that need no operator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

from freehold.controllers.process_server import Address
from freehold.page.answers import build_json
from freehold.page.assets import Asset
from freehold.page.feed import Feed
from freehold.page.gate import Gate, Viewer, read_bearer
from freehold.page.server import PageServer
from freehold.page.streams import BEAT_SECONDS, Streams
from harness.page_feed import GADGETS, WIDGETS, RowCounter

SECONDS = 60.0


class FeedApi:
    """Answers of a feed alone; a path that is not answered here has a defect."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    async def describe_session(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        return await build_json(request, {"viewer": viewer.name, "filler": "x" * 4000})

    async def stream_changes(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        return await self._streams.serve(request, viewer, read_bearer(request.headers.getall("Authorization", [])))

    async def fail(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        raise ZeroDivisionError("a secret of ours")

    list_objects = show_object = show_deletion = show_tags = read_audit = fail


@dataclass
class ServedFeed:
    """A page that is served. ``token`` is shown unless another one is given."""

    feed: Feed
    url: str
    server: PageServer
    session: aiohttp.ClientSession
    rows: RowCounter = field(default_factory=RowCounter)
    token: str = "right"

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def headers(self, token: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token if token is None else token}"}

    @asynccontextmanager
    async def stream(self, after: int | str = "", token: str | None = None) -> AsyncIterator[EventReader]:
        async with self.session.get(f"{self.url}/api/stream?after={after}", headers=self.headers(token)) as answer:
            assert answer.status == 200, await answer.text()
            yield EventReader(answer)


class EventReader:
    """The events of a stream."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer

    async def read(self) -> tuple[str, str]:
        """Read the next event that is no beat: its name and data; two empty ones at the end."""
        while True:
            name, data = await self.read_any()
            if name != "beat":
                return name, data

    async def read_any(self) -> tuple[str, str]:
        async with asyncio.timeout(SECONDS):
            lines = [(await self.answer.content.readline()).decode().rstrip("\n") for _ in range(3)]
        return lines[0].removeprefix("event: "), lines[1].removeprefix("data: ")


@asynccontextmanager
async def serve_feed(
    gate: Gate, assets: Mapping[str, Asset] | None = None, *, loopback_only: bool = False, beat: float = BEAT_SECONDS
) -> AsyncIterator[ServedFeed]:
    """Serve a feed of widgets on this loop."""
    rows = RowCounter()
    now = asyncio.get_running_loop().time
    feed = Feed(rows.build_row, (WIDGETS, GADGETS), now)
    streams = Streams(feed, gate, now, beat)
    server = PageServer(FeedApi(streams), gate, assets or {}, loopback_only=loopback_only)
    server.on_stop(streams.close)
    running = asyncio.create_task(feed.run())
    session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS))
    async with session, server.listen(Address("127.0.0.1", 0)) as found:
        yield ServedFeed(feed, f"http://{found}", server, session, rows)
    running.cancel()
