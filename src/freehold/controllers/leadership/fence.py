"""Fence of cloud writes by the certain time of a Lease."""

from __future__ import annotations

from typing import Any

from freehold.controllers.leadership.interface import Leadership
from freehold.engine.port import Call, Effect, Port, too_late

WRITE_SECONDS = 5.0
"""The time that one write is assumed to need: 3 s to connect (providers/aws/session.py), and 2 s until the cloud has
it. The SDKs wait for an answer for longer than a Lease lasts, but by then the cloud has accepted the request or not."""


class LeaseFence:
    """A port that begins no call to the cloud which may not end while this process leads for certain.

    It is looked at when the call is queued for a thread, and again in that thread, right before the socket: the process
    may have been stopped in between. A read needs no time, but some must be left. Writes of our own objects pass: they
    carry a resourceVersion.
    """

    def __init__(self, inner: Port, leadership: Leadership) -> None:
        self._inner = inner
        self._leadership = leadership

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            return await self._inner.send(call)
        self._require_time(call)
        return await self._inner.send(call._replace(run=lambda: self._run(call)))

    def _run(self, call: Call) -> Any:
        self._require_time(call)
        return call.run()

    def _require_time(self, call: Call) -> None:
        left = self._leadership.remaining()
        if left <= 0 or (call.effect is Effect.WRITE and left < WRITE_SECONDS):
            raise too_late(call)
