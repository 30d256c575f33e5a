"""Watches: changes of a collection from a resourceVersion on, as a stream of JSON lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from freehold_apiserver import errors, listing, requests
from freehold_apiserver.conversion import show
from freehold_apiserver.rendering import View
from freehold_apiserver.resources import Resource
from freehold_apiserver.selectors import Matches
from freehold_apiserver.store import Change, Json, Store, Stored, encode

BOOKMARK_SECONDS = 60.0
DEFAULT_TIMEOUT_SECONDS = 1800.0
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def event(kind: str, body: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), body)


class Watch:
    """One watch. The constructor raises the errors that precede the stream (400, 504)."""

    def __init__(
        self, store: Store, resource: Resource, namespace: str | None, query: Mapping[str, str], view: View
    ) -> None:
        self._store = store
        self._resource = resource
        self._namespace = namespace
        self._view = view
        self._matches: Matches | None = listing.matcher(resource, query)
        self._bookmarks = requests.flag(query, "allowWatchBookmarks")
        self._send_initial = query.get("sendInitialEvents", "").lower() == "true"
        self.timeout = float(requests.number(query, "timeoutSeconds") or DEFAULT_TIMEOUT_SECONDS)
        asked = requests.number(query, "resourceVersion")
        if asked and asked > store.revision:
            raise errors.too_large(asked, store.revision)
        self._from_state = not asked or self._send_initial
        self._revision = store.revision if self._from_state else asked or 0

    async def lines(self, closing: asyncio.Event) -> AsyncIterator[bytes]:
        """Events until the timeout, until the server closes, or until history is compacted (an ERROR event)."""
        woken = asyncio.Event()
        stop_listening = self._store.listen(self._resource.collection, woken.set)
        closer = asyncio.ensure_future(closing.wait())
        closer.add_done_callback(lambda _: woken.set())
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout
        try:
            starting = self._from_state
            while not closing.is_set():
                woken.clear()
                try:
                    batch = await self._rendered(self._initial() if starting else self._changes())
                    if starting and self._send_initial and self._bookmarks:
                        batch += self._bookmark({INITIAL_EVENTS_END: "true"})
                    starting = False
                except errors.ApiError as problem:
                    yield event("ERROR", encode(problem.status()))
                    return
                if batch:
                    yield batch
                    continue
                left = deadline - loop.time()
                if left <= 0:
                    return
                try:
                    async with asyncio.timeout(min(left, BOOKMARK_SECONDS)):
                        await woken.wait()
                except TimeoutError:
                    if self._bookmarks:
                        yield self._bookmark()
        finally:
            stop_listening()
            closer.cancel()

    async def _rendered(self, events: list[tuple[str, Stored]]) -> bytes:
        """Return the lines of events. Raises 500 where the objects cannot be converted."""
        if not events:
            return b""
        shown = await show([stored for _, stored in events], self._resource)
        lines = (event(kind, self._view.one(each)) for (kind, _), each in zip(events, shown, strict=True))
        return b"".join(lines)

    def _initial(self) -> list[tuple[str, Stored]]:
        found = self._store.scan_at(self._resource.collection, self._revision, self._namespace)
        return [("ADDED", each) for each in found if self._selects(each.obj)]

    def _changes(self) -> list[tuple[str, Stored]]:
        """Return the changes since the last call. Raises 410 Expired."""
        latest = self._store.revision
        changes = self._store.changes_after(self._resource.collection, self._revision)
        events = [found for change in changes if (found := self._event(change))]
        self._revision = latest
        return events

    def _event(self, change: Change) -> tuple[str, Stored] | None:
        if self._namespace is not None and change.key[0] != self._namespace:
            return None
        if self._matches is None:
            return change.type, change.new
        # An object that starts or stops matching is ADDED or DELETED for this watch.
        before = change.old is not None and self._selects(change.old.obj)
        after = change.type != "DELETED" and self._selects(change.new.obj)
        if not before and not after:
            return None
        kind = "MODIFIED" if before and after else "ADDED" if after else "DELETED"
        return kind, change.new

    def _selects(self, obj: Json) -> bool:
        return self._matches is None or self._matches(obj)

    def _bookmark(self, annotations: Mapping[str, str] | None = None) -> bytes:
        meta: dict[str, Any] = {"resourceVersion": str(self._revision)}
        if annotations:
            meta["annotations"] = dict(annotations)
        return event("BOOKMARK", self._view.bookmark(meta))
