"""Keeper of the operator's key ring: it reads the ring before anything is served, and again when it changes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from freehold.controllers.keyring.needs import Needs, open_ring
from freehold.controllers.keyring.stored_form import STALE_SECONDS, RingError, RingStore, UnreachableRing
from freehold.engine.keys import KeyRing

_LOG = logging.getLogger(__name__)

SOONEST_SECONDS = 5.0
"""The least wall seconds between two reads, however many objects name a missing key."""


class RingKeeper:
    """The newest ring. If there is none, ``problem`` says why, and nothing may be served.

    ``poll`` is the usual wall seconds between reads, ``soonest`` the least. ``on_change`` is called when a ring was
    read that differs from the one before.
    """

    def __init__(
        self,
        store: RingStore,
        needed: Needs,
        now: Callable[[], float],
        poll: float,
        soonest: float = SOONEST_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._read_needs = needed
        self._now = now
        self._monotonic = monotonic
        self._poll = poll
        self._least = min(poll, soonest)
        self._ring: KeyRing | None = None
        self._read_at = float("-inf")
        self._read_requested = asyncio.Event()
        self.problem = f"the key ring in {store.where} has not been read yet"
        self.on_change: Callable[[], None] = lambda: None

    @property
    def ring(self) -> KeyRing:
        """The ring. Raises RingError while there is none."""
        self._refuse_stale()
        if self._ring is None:
            raise RingError(self.problem)
        return self._ring

    def report_missing_key(self) -> None:
        """Request a read: an object names a key that the ring lacks, and which may have been added since."""
        self._read_requested.set()

    async def refresh(self) -> None:
        """Read the ring now."""
        began = self._monotonic()
        try:
            found = await open_ring(self._store, self._read_needs, self._now())
            read_at = began if found.document else float("-inf")
            if found.document is None:
                raise UnreachableRing(f"the key ring in {self._store.where} went while it was read")
            ring = found.document.build_ring()
        except UnreachableRing as problem:
            # The place does not answer: the ring that was read before stays valid until it is stale.
            if self._ring is None:
                self._refuse(problem)
            self._refuse_stale(problem.message)
            return
        except RingError as problem:
            self._refuse(problem)
            return
        self._read_at = read_at
        news = ring != self._ring
        self._ring, self.problem = ring, ""
        if news:
            _LOG.info("key ring in %s: %d keys, %s writes", self._store.where, len(ring.keys), ring.writing)
            self.on_change()

    async def run(self) -> None:
        """Read the ring periodically until cancelled."""
        while True:
            await asyncio.sleep(self._least)
            if self._ring is not None:
                try:
                    async with asyncio.timeout(self._poll - self._least):
                        await self._read_requested.wait()
                except TimeoutError:
                    pass  # no object misses a key: the usual interval
            self._read_requested.clear()
            await self.refresh()

    def _refuse_stale(self, why: str = "it was not read lately") -> None:
        if self._ring is not None and self._monotonic() - self._read_at > STALE_SECONDS:
            self._refuse(UnreachableRing(f"the key ring in {self._store.where} is too old to be used: {why}"))

    def _refuse(self, problem: RingError) -> None:
        if problem.message != self.problem:
            _LOG.error("not ready: %s", problem.message)
        self._ring, self.problem = None, problem.message
