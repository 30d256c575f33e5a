"""Ports on a loop in virtual time: one that takes time for each call, and one that notes who waits for a turn."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeVar

from freehold.engine.port import Call, Effect
from freehold.providers.access.ports import PacedPort

T = TypeVar("T")
LATENCY = 0.1
"""Seconds that a call takes."""


class LoopPort:
    """Sends inline, after the time that a call takes."""

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            return await call.run()
        await asyncio.sleep(LATENCY)
        return call.run()


@dataclass
class Waits:
    """How long an object that has something to do got no call through, for want of a worker or of a token."""

    inner: PacedPort
    loop: asyncio.AbstractEventLoop
    waiting: Counter[str] = field(default_factory=Counter)
    since: dict[str, float] = field(default_factory=dict)
    due: dict[str, float] = field(default_factory=dict)
    longest: float = 0.0
    sent: Counter[tuple[str, bool]] = field(default_factory=Counter)

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            return await self.inner.send(call)
        sender = call.sender
        if not self.waiting[sender]:
            self.since[sender] = self.due.pop(sender, self.loop.time())
        self.waiting[sender] += 1
        try:
            return await self.inner.send(call)
        finally:
            self.waiting[sender] -= 1
            self.sent[call.api, call.look] += 1
            if sender and not call.look:
                self.longest = max(self.longest, self.loop.time() - self.since[sender])
            self.since[sender] = self.loop.time()

    def wants(self, sender: str, since: float) -> None:
        """Its pass begins, and was due then."""
        self.due[sender] = since
