"""Native lists that many objects share: one page shows the resources of a hundred clusters.

A list may be behind, step back or miss a page. It only confirms that something is as it was: what it does not show like
that is asked for by its id. No proof is read from it, and nothing is changed because of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf

from freehold.engine.clock import Clock
from freehold.engine.drivers import Listed, Listing
from freehold.engine.errors import CloudError
from freehold.engine.inventory import Snapshot, TagsByTarget
from freehold.engine.kinds import Registry
from freehold.engine.ownership import Codec
from freehold.engine.resources import Part, Ref

_LOG = logging.getLogger(__name__)

WINDOW = 1200.0
"""Seconds for which an object that asked counts as one that shares a list: two rounds of looks."""


@dataclass
class _SharedList:
    """One list: its last reading, and who asked for it."""

    rows: Mapping[str, Listed] = field(default_factory=dict)
    taken: float = -inf
    pages: int = 1
    asked: dict[str, float] = field(default_factory=dict)
    swept: float = 0.0
    marks: Snapshot | None = None
    """The tags of all its rows, None where it shows none."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    def asks(self, asker: str, now: float) -> None:
        """Count who asks; those that have not asked for long are dropped from time to time."""
        self.asked[asker] = now
        if now - self.swept > WINDOW:
            self.asked = {each: at for each, at in self.asked.items() if at >= now - WINDOW}
            self.swept, self.pages = now, 1  # the account may have shrunk

    def sharers(self, now: float) -> int:
        return sum(at >= now - WINDOW for at in self.asked.values())


@dataclass(frozen=True)
class Marked:
    """What has marks of one owner, and of which kinds that is all there is."""

    tags: TagsByTarget = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()


class SharedLists:
    """The lists of one account. ``registry`` is the account's own: what its drivers read is nobody's pass.

    ``sharers``: for how many objects a list pays.
    """

    def __init__(self, registry: Registry, clock: Clock, sharers: int = 2) -> None:
        self._registry = registry
        self._clock = clock
        self._sharers = sharers
        self._lists: dict[tuple[str, str], _SharedList] = {}

    async def show(self, kind: str, refs: Sequence[Ref], asker: str, max_age: float) -> Mapping[str, Listed]:
        """Return what lists at most ``max_age`` seconds old show of ``refs``; nothing where a list does not pay.

        It does not pay for fewer objects than it has pages.
        """
        listing = self._registry[kind].reads.listing if kind in self._registry else None
        if listing is None:
            return {}
        found: dict[str, Listed] = {}
        for name in sorted({listing.list_of(ref) for ref in refs}):
            rows = await self._rows(listing, kind, name, asker, max_age)
            found |= {ref.id: rows[ref.id] for ref in refs if ref.id in rows and listing.list_of(ref) == name}
        return found

    def recall_marked(self, uuid: str, codec: Codec, max_age: float) -> Marked:
        """Return what lists that are at most ``max_age`` seconds old show with marks of this owner. No reading."""
        now, kinds = self._clock.monotonic(), set[str]()
        tags: dict[str, frozenset[str]] = {}
        for (kind, _), shared in self._lists.items():
            if shared.marks is not None and now - shared.taken <= max_age:
                kinds.add(kind)
                tags |= shared.marks.find_targets(uuid, codec)
        return Marked(tags, frozenset(kinds))

    async def _rows(self, listing: Listing, kind: str, name: str, asker: str, max_age: float) -> Mapping[str, Listed]:
        now = self._clock.monotonic()
        shared = self._lists.setdefault((kind, name), _SharedList())
        shared.asks(asker, now)
        if now - shared.taken <= max_age:
            return shared.rows
        if shared.sharers(now) < max(self._sharers, shared.pages):
            shared.rows = {}
            return {}
        async with shared.reading:
            if self._clock.monotonic() - shared.taken > max_age:
                await self._read(listing, name, shared)
        return shared.rows

    async def _read(self, listing: Listing, name: str, shared: _SharedList) -> None:
        """Read a list; one that cannot be read shows nothing: each resource is asked for by id, which reports the
        error.

        A list has resources of others too: one of a form that nobody knew must not keep ours from being looked at.
        """
        taken, rows = self._clock.monotonic(), tuple[Listed, ...]()
        try:
            rows = tuple(await listing.read_rows(name))
        except CloudError:
            shared.pages = 1
        except (KeyError, TypeError, ValueError) as defect:
            _LOG.warning("a list of the account cannot be read, and is not used: %s: %s", type(defect).__name__, defect)
        else:
            shared.pages = max(1, ceil(len(rows) / listing.page))
        before = shared.rows
        shared.rows, shared.taken = {row.observed.id: _same(before.get(row.observed.id), row) for row in rows}, taken
        shown = {row.observed.target: row.observed.tags for row in shared.rows.values()}
        tags = {target: some for target, some in shown.items() if some is not None}
        shared.marks = Snapshot(tags, taken) if tags and len(tags) == len(shown) else None


def _same(before: Listed | None, row: Listed) -> Listed:
    """Return the row of before where nothing has changed: objects at rest remember it, and one of the two is enough."""
    return before if before == row and _behaviors(before) == _behaviors(row) else row


def _behaviors(row: Listed) -> set[tuple[Part, str]]:
    """Return what parts do, which their equality leaves out."""
    return {(part, part.behavior) for part in (*(row.parts or ()), *(row.observed.parts or ()))}
