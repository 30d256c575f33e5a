"""Streams of server-sent events: each viewer has a place in the feed, and is sent what is behind it.

https://html.spec.whatwg.org/multipage/server-sent-events.html is the format.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

from aiohttp import web

from freehold.page.answers import SAFETY, UNKEPT, Problem, dump_json
from freehold.page.feed import Feed
from freehold.page.gate import Gate, GateUnavailable, Places, Rights, TokenRefused, Viewer

MOST_STREAMS = 100
MOST_OF_ONE = 20
"""Streams of one viewer: whoever has a token and many connections keeps nobody else out."""
BEAT_SECONDS = 5.0
SLOW_SECONDS = 30.0
"""Seconds for which a viewer may take nothing before its stream is ended."""

NOWHERE = -1
LONGEST_PLACE = 20
RESET = b"event: reset\ndata: {}\n\n"


class Streams:
    """The streams of one process. ``now`` is domain time, ``beat`` wall seconds."""

    def __init__(self, feed: Feed, gate: Gate, now: Callable[[], float], beat: float = BEAT_SECONDS) -> None:
        self._feed = feed
        self._gate = gate
        self._now = now
        self._beat = beat
        self._closing = False
        self._open: Counter[str] = Counter()
        """How many each viewer has."""

    def close(self) -> None:
        """End all streams."""
        self._closing = True
        self._feed.wake_viewers()

    async def serve(self, request: web.Request, viewer: Viewer, token: str) -> web.StreamResponse:
        """Send what changes until the viewer goes, its token is refused, or ``close``. Raises Problem."""
        self._refuse_too_many(viewer)
        headers = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", **SAFETY, **UNKEPT}
        response = web.StreamResponse(headers=headers)
        with self._feed.watch(), self._count_stream(viewer.name):
            stream = _Stream(self._feed, response, _read_place(request))
            await stream.read_rights(viewer)
            await response.prepare(request)
            if request.method == "HEAD":
                return response
            try:
                await self._follow(stream, token)
            except (TokenRefused, GateUnavailable):
                pass  # it ends here: the viewer connects again, and hears why
            except ConnectionError:  # it has gone, or takes nothing: what is still to be sent is dropped
                if request.transport is not None:
                    request.transport.abort()
        return response

    def _refuse_too_many(self, viewer: Viewer) -> None:
        sentence = ""
        if self._feed.viewers >= MOST_STREAMS:
            sentence = f"{MOST_STREAMS} viewers look at this page already: close one, or try again later"
        elif self._open[viewer.name] >= MOST_OF_ONE:
            sentence = f"{viewer.name} looks at this page in {MOST_OF_ONE} tabs already: close one"
        if sentence:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, sentence)

    @contextmanager
    def _count_stream(self, name: str) -> Iterator[None]:
        """Count a stream of the viewer for the length of the block."""
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]

    async def _follow(self, stream: _Stream, token: str) -> None:
        """Send what changes, and beats. Raises TokenRefused, GateUnavailable, ConnectionError."""
        beat_at = time.monotonic()
        await stream.send_news()
        while not self._closing:
            if time.monotonic() >= beat_at:
                await stream.read_rights(await self._gate.identify(token))
                await stream.send_beat(self._now())
                beat_at = time.monotonic() + self._beat
            if not await stream.send_news():
                await self._feed.wait_for_news(stream.place, beat_at - time.monotonic())


class _Stream:
    """One viewer's stream. ``place`` is that in the feed up to which it was sent everything."""

    def __init__(self, feed: Feed, response: web.StreamResponse, place: int) -> None:
        self.place = place
        self._feed = feed
        self._response = response
        self._viewer: Viewer | None = None
        self._rights = Rights()
        self._asked: Mapping[str, Collection[str]] = {}

    async def read_rights(self, viewer: Viewer, more: Collection[tuple[str, str]] = ()) -> None:
        """Read the rights where there are objects, and in ``more`` places. If they changed, the viewer begins anew."""
        asked: Places = self._feed.places
        if more:
            asked = {each: {*asked[each], *(place[1] for place in more if place[0] == each.kind)} for each in asked}
        rights = await viewer.read_rights(asked)
        by_kind = {each.kind: namespaces for each, namespaces in asked.items()}
        if self._viewer is not None and _have_changed((self._rights, self._asked), (rights, by_kind)):
            self.place = NOWHERE
        self._viewer, self._rights, self._asked = viewer, rights, by_kind

    async def send_news(self) -> bool:
        """Send what is behind the place; return whether there was any."""
        messages = self._feed.list_messages(self.place)
        if messages is None:
            self.place = self._feed.seq
            await self._write(RESET)
            return True
        if not messages:
            return False
        unasked = {place for each in messages for place in each.places if not self._is_asked(*place)}
        if unasked and self._viewer is not None:
            await self.read_rights(self._viewer, unasked)
            return True
        self.place = messages[-1].seq
        await self._write(b"".join(each.render(self._rights) for each in messages))
        return True

    def _is_asked(self, kind: str, namespace: str) -> bool:
        return kind in self._rights.everywhere or namespace in self._asked.get(kind, ())

    async def send_beat(self, now: float) -> None:
        """Show that the stream is alive."""
        await self._write(b"event: beat\ndata: " + dump_json({"seq": self.place, "now": now}) + b"\n\n")

    async def _write(self, data: bytes) -> None:
        """Write once the viewer takes it. Raises ConnectionError where it does not."""
        if not data:
            return
        try:
            async with asyncio.timeout(SLOW_SECONDS):
                await self._response.write(data)
        except TimeoutError:
            raise ConnectionResetError("the viewer takes nothing") from None


_Answered = tuple[Rights, Mapping[str, Collection[str]]]
"""Rights, and the namespaces that they were asked for, by kind."""


def _have_changed(before: _Answered, after: _Answered) -> bool:
    """Return whether some place that was asked for both times was answered differently."""
    (old, old_asked), (new, new_asked) = before, after
    kept = {place for place in old.within if place[1] in new_asked.get(place[0], ())}
    found = {place for place in new.within if place[1] in old_asked.get(place[0], ())}
    return old.everywhere != new.everywhere or kept != found


def _read_place(request: web.Request) -> int:
    """Read the place after which the viewer wants the messages; one that is none of this feed's begins anew."""
    text = request.query.get("after", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_PLACE else NOWHERE
