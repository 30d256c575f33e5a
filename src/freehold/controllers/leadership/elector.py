"""Elector: takes Leases, renews them, and gives them back. All I/O of leadership is here.

The certain time of a Lease counts from the moment before the request that renewed it was sent. The others wait from
the moment at which they see the renewal, which is later: so they never overlap, even if requests are delayed, lost
or repeated.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from freehold.controllers.leadership import lease as leases
from freehold.controllers.leadership.interface import LeadershipLost
from freehold.controllers.leadership.lease import LEASES, LeaseRecord, Observation
from freehold.controllers.observers import Standing
from freehold.kube.errors import AlreadyExists, Conflict, KubeError, ObjectNotFound
from freehold.kube.resources import Json, Key, Resource

_LOG = logging.getLogger(__name__)

REQUEST_SECONDS = 4.0
"""The longest that one request may take: of a server that hangs, another attempt is left before the Lease expires."""
SHORTEST_SLEEP = 0.01
"""The least seconds of a sleep, so that rounding does not leave one that does not move the clock."""
RELEASE_ATTEMPTS, RELEASE_SECONDS = 3, 2.0
"""All of them together leave 20 s of Kubernetes' half minute of grace to the passes in hand."""
HELD_SECONDS = leases.LEASE_SECONDS - leases.MARGIN_SECONDS


class LeaseStore(Protocol):
    """The part of a client of the API server that is used here."""

    async def get(self, resource: Resource, key: Key) -> Json: ...

    async def create(self, resource: Resource, obj: Json) -> Json: ...

    async def replace(self, resource: Resource, obj: Json) -> Json: ...


def build_identity() -> str:
    """Build the identity of this process, as client-go's users do. No other process ever has it."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Claim:
    """One Lease that this process wants. ``monotonic`` and ``wall`` are times in seconds."""

    def __init__(
        self,
        store: LeaseStore,
        key: Key,
        identity: str,
        *,
        labels: dict[str, str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.key = key
        self._store = store
        self._identity = identity
        self._labels = labels or {}
        self._monotonic = monotonic
        self._wall = wall
        self._stored: Json | None = None
        self._seen: Observation | None = None
        self._gone_since: float | None = None
        self._held_until = -math.inf
        self.problem = ""
        """Why the last attempt failed; empty if it did not."""

    @property
    def is_anothers(self) -> bool:
        """True if another process was seen to hold the Lease."""
        return self.holder not in ("", self._identity)

    @property
    def holder(self) -> str:
        """The holder as last seen; empty if there is none."""
        return self._seen.record.holder if self._seen else ""

    def remaining(self) -> float:
        """Return the seconds for which it is certain that nobody else holds the Lease; 0 if this process does not."""
        return max(0.0, self._held_until - self._monotonic())

    async def attempt(self) -> float:
        """Take or renew the Lease, if that is allowed now. Return the seconds until the next attempt is due."""
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._attempt()
        except (KubeError, TimeoutError) as failure:
            self._stored = None  # whether a write took effect is read
            problem = str(failure) or f"the API server did not answer in {REQUEST_SECONDS:.0f} s"
            if problem != self.problem:
                _LOG.warning("Lease %s: %s", self.key, problem)
            self.problem = problem
            return leases.RETRY_SECONDS
        self.problem = ""
        if self.remaining():
            return leases.RENEW_SECONDS
        return min(leases.RETRY_SECONDS, self.find_wait() or leases.RETRY_SECONDS)

    async def release(self) -> None:
        """Give the Lease back, so that another one takes it at once. It only costs time if that fails."""
        self._held_until = -math.inf
        for _ in range(RELEASE_ATTEMPTS):
            with suppress(KubeError, TimeoutError):
                async with asyncio.timeout(RELEASE_SECONDS):
                    await self._release()
                    return
            await asyncio.sleep(leases.RETRY_SECONDS / 2)

    async def _release(self) -> None:
        stored = await self._store.get(LEASES, self.key)
        record = leases.read_record(stored)
        if record.holder == self._identity:
            await self._put(stored, leases.build_release(record, self._wall()))

    async def _attempt(self) -> None:
        """Write without a read while the Lease is held; after a conflict, and in a follower, read first."""
        if self._stored is not None and self.remaining():
            try:
                await self._write(self._stored)
                return
            except (Conflict, ObjectNotFound):
                pass
        try:
            self.note(await self._store.get(LEASES, self.key))
        except ObjectNotFound:
            self.note(None)
        if self.find_wait():
            return
        try:
            await self._write(self._stored)
        except (AlreadyExists, Conflict):  # another one was faster
            self._stored = None

    def find_wait(self) -> float:
        """Return the seconds for which the Lease must be left to another one, by what was seen last.

        A Lease that somebody deleted is left to its holder, who may not know yet and have renewed it since: the wait
        begins when it is seen to be gone.
        """
        if self._seen is None:
            return 0.0
        if self._gone_since is not None and self.is_anothers:
            return max(0.0, self._gone_since + leases.LEASE_SECONDS - self._monotonic())
        return leases.find_wait(self._seen, self._identity, self._monotonic())

    def note(self, stored: Json | None) -> None:
        """Note what was read; None where there is no such Lease."""
        self._stored = stored
        if stored is None:
            self._gone_since = self._monotonic() if self._gone_since is None else self._gone_since
            return
        self._gone_since = None
        self._seen = leases.observe(self._seen, leases.read_record(stored), self._monotonic())
        if self._seen.record.holder != self._identity:
            self._held_until = -math.inf  # somebody took it, by hand or because it had expired

    async def _write(self, stored: Json | None) -> None:
        sent = self._monotonic()
        record = leases.build_claim(leases.read_record(stored) if stored else None, self._identity, self._wall())
        self.note(await self._put(stored, record))
        self._held_until = sent + HELD_SECONDS

    async def _put(self, stored: Json | None, record: LeaseRecord) -> Json:
        """Create the Lease, or replace the version that was read."""
        if stored is not None:
            spec = {**(stored.get("spec") or {}), **record.build_spec()}
            return await self._store.replace(LEASES, {**stored, "spec": spec})
        metadata = {"name": self.key.name, "namespace": self.key.namespace, "labels": self._labels}
        lease = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata}
        return await self._store.create(LEASES, {**lease, "spec": record.build_spec()})


class Elector:
    """The election of the one process that works on all objects (interface.Leadership)."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._elected = asyncio.Event()

    def holds(self, uid: str) -> bool:
        return self._claim.remaining() > 0

    def remaining(self) -> float:
        return self._claim.remaining()

    def held_share(self) -> float:
        return 1.0

    def read_standing(self) -> Standing:
        """Return the standing, for those who look on."""
        leads = self._claim.remaining() > 0
        return Standing(leads, int(leads), 1, float(leads))

    def retire(self) -> None:
        """Take nothing new: nothing to do, for there is only one Lease."""

    async def wait_until_elected(self) -> None:
        """Wait until this process leads."""
        await self._elected.wait()

    async def run(self) -> None:
        """Try to lead, and go on leading, until cancelled. Raises LeadershipLost."""
        leader = ""
        while True:
            if self._elected.is_set() and not self._claim.remaining():
                raise LeadershipLost(self._explain_loss())
            wait = await self._claim.attempt()
            if self._claim.remaining():
                if not self._elected.is_set():
                    _LOG.info("this process leads: it holds Lease %s", self._claim.key)
                self._elected.set()
                wait = min(wait, self._claim.remaining())
            elif not self._elected.is_set() and self._claim.holder != leader:
                leader = self._claim.holder
                _LOG.info("Lease %s is held by %s; this process follows", self._claim.key, leader or "nobody")
            elif self._elected.is_set():
                continue
            await asyncio.sleep(max(wait, SHORTEST_SLEEP))

    async def release(self) -> None:
        """Give the leadership back."""
        await self._claim.release()

    def _explain_loss(self) -> str:
        claim = self._claim
        why = f"the API server could not be asked in time ({claim.problem})" if claim.problem else "it ran out"
        if claim.is_anothers:
            why = f"{claim.holder} holds it now"
        return f"this process leads no more, for Lease {claim.key} is lost: {why}. It ends, and is to be started anew"
