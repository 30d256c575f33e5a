"""The ring that this operator works with: read before anything is served, and again when it changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from freehold.lifecycle.keys import KeyRing
from freehold.operator.keyring import RingError, RingStore, UnreachableRing
from freehold.operator.keyring_use import Needs, opened_ring

_LOG = logging.getLogger(__name__)

HURRY_SECONDS = 5.0
"""Wall seconds between two reads at least, however many objects miss a key."""


class RingKeeper:
    """Holds the newest ring. Without one ``problem`` says why, and nothing may be served.

    ``poll`` is wall seconds between reads, ``hurry`` the least of them. ``changed`` is called when a ring came, or
    is another one.
    """

    def __init__(
        self, store: RingStore, needed: Needs, now: Callable[[], float], poll: float, hurry: float = HURRY_SECONDS
    ) -> None:
        self._store = store
        self._needed = needed
        self._now = now
        self._poll = poll
        self._least = min(poll, hurry)
        self._ring: KeyRing | None = None
        self._asked = asyncio.Event()
        self.problem = f"the key ring in {store.where} has not been read yet"
        self.changed: Callable[[], None] = lambda: None

    @property
    def ring(self) -> KeyRing:
        """Raises RingError while there is none."""
        if self._ring is None:
            raise RingError(self.problem)
        return self._ring

    def missed(self) -> None:
        """An object names a key that the ring lacks: perhaps it has been added since."""
        self._asked.set()

    async def refresh(self) -> None:
        """Read the ring now."""
        try:
            document = (await opened_ring(self._store, self._needed, self._now())).document
            assert document is not None
            ring = document.ring()
        except UnreachableRing as problem:
            if self._ring is None:
                self._refuse(problem)
            return  # a place that does not answer for a moment takes nothing back
        except RingError as problem:
            self._refuse(problem)
            return
        news = ring != self._ring
        self._ring, self.problem = ring, ""
        if news:
            _LOG.info("key ring in %s: %d keys, %s writes", self._store.where, len(ring.keys), ring.writing)
            self.changed()

    async def run(self) -> None:
        """Read it again and again, until cancelled."""
        while True:
            await asyncio.sleep(self._least)
            if self._ring is not None:
                try:
                    async with asyncio.timeout(self._poll - self._least):
                        await self._asked.wait()
                except TimeoutError:
                    pass  # nobody is in a hurry: the usual time has come
            self._asked.clear()
            await self.refresh()

    def _refuse(self, problem: RingError) -> None:
        if problem.message != self.problem:
            _LOG.error("not ready: %s", problem.message)
        self._ring, self.problem = None, problem.message
