"""What the live page costs: its first view of a thousand clusters, the way of an update, and ten viewers.

The page's process holds the objects as the operator does, and reconciles nothing, so that its CPU is the page's own.
API server, page and viewers are processes; the viewers are clients of HTTP, and for the first view a browser.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import re
import tempfile
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import aiohttp

from benchmarks import herd
from benchmarks.operator import POWERVS_CLUSTERS, served_api
from benchmarks.processes import Child, Usage, child
from benchmarks.rows import Row
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import Json, Key, key_of

CLUSTERS = 1000
VIEWERS = 10
WRITES_A_SECOND = 10
SECONDS = 20.0
UPDATES = 40
PATIENCE = 60.0

MOST_KILOBYTES, MOST_SECONDS, MOST_DELAY, MOST_SHARE = 300, 1.0, 0.2, 5.0
SOURCE = "target of this project; the objects are those of benchmarks/herd.py"

_LINKED = re.compile(r"""(?:href|src)="(/?[\w./-]+\.(?:css|js|svg|ico|png))\"""")
_IMPORTED = re.compile(r"""^\s*(?:import|export)\b[^"'();]*["'](\.{1,2}/[\w./-]+)["']""", re.MULTILINE)


def measure() -> Iterator[Row]:
    """Measure the cost of writes nobody looks at first: whoever has looked is waited for a while."""
    prepared = herd.idle(CLUSTERS)
    with served_api(POWERVS_CLUSTERS, prepared.objects) as (api, _), child("page", api) as page:
        told = page.heard()
        _wait_until_held(page)
        writer = _Writer(api, prepared.objects)
        base = asyncio.run(_cpu_of_writes(page, writer))
        place = _Place(told["url"], told["token"])
        yield from asyncio.run(_first_view(place))
        yield from _first_view_in_a_browser(place)
        yield asyncio.run(_updates(place, writer))
        yield asyncio.run(_viewers(place, page, writer, base))


def _wait_until_held(page: Child) -> None:
    """Wait until the page's process holds all objects and has nothing to do."""
    deadline = time.monotonic() + PATIENCE
    while (told := page.ask())["held"] < CLUSTERS or told["queued"]:
        if time.monotonic() > deadline:
            raise AssertionError(f"the objects were not held in {PATIENCE:.0f} s: {told}")
        time.sleep(0.1)


@dataclass(frozen=True)
class _Place:
    url: str
    token: str

    def connect(self) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {self.token}", "Accept-Encoding": "gzip"}
        return aiohttp.ClientSession(self.url, headers=headers, auto_decompress=False)


# --- writes ------------------------------------------------------------------------------------


@dataclass
class _Writer:
    """Changes the status of one object after the other, so that its row changes."""

    api: str
    objects: Sequence[Json]
    _turn: Iterator[int] = field(default_factory=itertools.count)

    async def write(self, client: KubeClient) -> Key:
        """Write one status."""
        turn = next(self._turn)
        raw = self.objects[turn % len(self.objects)]
        first, *others = raw["status"]["resources"]
        state = "Waiting" if turn // len(self.objects) % 2 == 0 else "Ready"
        await client.patch_status(
            POWERVS_CLUSTERS, key_of(raw), {"status": {"resources": [{**first, "state": state}, *others]}}
        )
        return key_of(raw)

    async def write_on(self, seconds: float) -> None:
        """Write so often a second, for so long."""
        async with KubeClient(Connection(self.api)) as client:
            begun = time.monotonic()
            for number in range(int(seconds * WRITES_A_SECOND)):
                await asyncio.sleep(max(0.0, begun + number / WRITES_A_SECOND - time.monotonic()))
                await self.write(client)


async def _cpu_of_writes(page: Child, writer: _Writer) -> float:
    """Measure the page's CPU-seconds during the writes."""
    before = Usage.of(await asyncio.to_thread(page.ask))
    await writer.write_on(SECONDS)
    return Usage.of(await asyncio.to_thread(page.ask)).cpu - before.cpu


# --- the first view ----------------------------------------------------------------------------


async def _first_view(place: _Place) -> list[Row]:
    """Fetch what a browser fetches: the page, all that it imports at once, the session and the objects."""
    begun = time.monotonic()
    async with place.connect() as session:
        size, seen, left = 0, {"/"}, ["/"]
        while left:
            answers = await asyncio.gather(*(_fetch(session, path) for path in left))
            found = [each for path, (_, text) in zip(left, answers, strict=True) for each in _find_needed(path, text)]
            size += sum(sent for sent, _ in answers)
            left = [each for each in dict.fromkeys(found) if each not in seen]
            seen.update(left)
        files = size
        size += (await _fetch(session, "/api/session"))[0]
        sent, objects = await _fetch(session, "/api/objects")
        size += sent + (await _fetch(session, "/api/stream?after=0", whole=False))[0]
    seconds = time.monotonic() - begun
    unit, fetched = f"kB sent, {CLUSTERS} clusters", "s until all of it is fetched"
    how = f"{SOURCE}; {len(seen)} files of {files / 1000:.0f} kB, and {len(objects) / 1000:.0f} kB of objects, packed"
    first = f"{SOURCE}; nobody has looked before, so each row is built"
    return [
        Row("page.first.bytes", round(size / 1000, 1), unit, MOST_KILOBYTES, source=how),
        Row("page.first.fetched", round(seconds, 2), fetched, MOST_SECONDS, source=first),
    ]


async def _fetch(session: aiohttp.ClientSession, path: str, *, whole: bool = True) -> tuple[int, str]:
    """Fetch a path; the bytes of head and body as they were sent, and the text."""
    async with session.get(path) as answer:
        answer.raise_for_status()
        body = await answer.read() if whole else b""
        head = sum(len(name) + len(value) + 4 for name, value in answer.raw_headers)
        packed = answer.headers.get("Content-Encoding") == "gzip"
    return head + len(body), (gzip.decompress(body) if packed else body).decode(errors="replace")


def _find_needed(path: str, text: str) -> list[str]:
    """Find the files that a file needs before anything is seen."""
    pattern = _LINKED if path == "/" else _IMPORTED if path.endswith(".js") else None
    return [urljoin(path, each) for each in pattern.findall(text)] if pattern else []


def _first_view_in_a_browser(place: _Place) -> Iterator[Row]:
    """Measure in headless Chromium, where there is one, until the list is shown; the least of some views counts."""
    try:
        from harness import browser as browsers
    except ImportError:
        return
    if browsers.find_what_lacks():
        return
    with tempfile.TemporaryDirectory() as folder, browsers.browser(Path(folder)) as browser, browser.viewer() as viewer:
        seconds = min(_open(viewer, place) for _ in range(3))
    unit = f"s until the list is shown, {CLUSTERS} clusters"
    yield Row("page.first.shown", round(seconds, 2), unit, MOST_SECONDS, source=f"{SOURCE}; headless Chromium")


def _open(viewer: Any, place: _Place) -> float:
    """Open the page anew, and return the browser's own seconds from there until rows are in the list."""
    viewer.open(f"{place.url}/#token={place.token}")
    shown = "return document.querySelector('main [data-key]') ? performance.now() : 0"
    return float(viewer.until(lambda: viewer.script(shown), "the list of objects")) / 1000


# --- updates -----------------------------------------------------------------------------------


@dataclass
class _Viewer:
    """A stream of the page. ``heard``: the time at which a row of an object came last."""

    heard: dict[str, float] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def hear_of(self, objects: int) -> None:
        """Wait until it has rows of so many objects. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            while len(self.heard) < objects:
                self.news.clear()
                await self.news.wait()

    async def follow(self, lines: AsyncIterable[bytes]) -> None:
        event = ""
        async for line in lines:
            if line.startswith(b"event:"):
                event = line[6:].strip().decode()
            elif line.startswith(b"data:") and event == "rows":
                now = time.monotonic()
                self.heard.update((row["key"], now) for row in json.loads(line[5:])["changed"])
                self.news.set()


@asynccontextmanager
async def _watching(place: _Place) -> AsyncIterator[_Viewer]:
    """Look at the page as a browser does: the objects, then the stream."""
    viewer = _Viewer()
    async with place.connect() as session:
        async with session.get("/api/objects") as answer:
            seq = json.loads(gzip.decompress(await answer.read()))["seq"]
        async with session.get(f"/api/stream?after={seq}", timeout=aiohttp.ClientTimeout(total=None)) as stream:
            stream.raise_for_status()
            task = asyncio.create_task(viewer.follow(stream.content))
            try:
                yield viewer
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


async def _updates(place: _Place, writer: _Writer) -> Row:
    """Measure from before a status is sent to the API server until a viewer has the row."""
    delays = []
    async with KubeClient(Connection(writer.api)) as client, _watching(place) as viewer:
        for number in range(UPDATES):
            await asyncio.sleep(0.15 + 0.013 * (number % 10))  # at different times of the page's own rhythm
            begun = time.monotonic()
            key = f"{POWERVS_CLUSTERS.kind}/{await writer.write(client)}"
            async with asyncio.timeout(PATIENCE):
                while viewer.heard.get(key, 0.0) < begun:
                    viewer.news.clear()
                    await viewer.news.wait()
            delays.append(viewer.heard[key] - begun)
    delays.sort()
    how = f"{SOURCE}; of {UPDATES} writes the slowest twentieth is left out, the median is {delays[UPDATES // 2]:.3f}"
    delay = delays[-1 - UPDATES // 20]
    return Row("page.update", round(delay, 3), "s from status write to viewer", MOST_DELAY, source=how)


async def _viewers(place: _Place, page: Child, writer: _Writer, base: float) -> Row:
    """Measure the CPU that ten viewers cost more than none, with the same writes."""
    async with AsyncExitStack() as stack:
        viewers = [await stack.enter_async_context(_watching(place)) for _ in range(VIEWERS)]
        used = await _cpu_of_writes(page, writer)
        for each in viewers:
            await each.hear_of(int(SECONDS * WRITES_A_SECOND))
    share = 100.0 * (used - base) / SECONDS
    how = f"{SOURCE}; {WRITES_A_SECOND} status writes a second: {100 * base / SECONDS:.1f} % with nobody who looks"
    unit = f"% of a core more, {VIEWERS} viewers, {CLUSTERS} clusters"
    return Row("page.viewers.cpu", round(share, 1), unit, MOST_SHARE, source=how)
