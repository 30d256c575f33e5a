"""Layers of the production port: a thread pool under the SDKs, the rate limits, an audit line for each change."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from concurrent.futures import Executor
from math import inf
from typing import Any, TypeVar

from freehold.engine.clock import Clock
from freehold.engine.errors import Throttled
from freehold.engine.port import Call, Effect, PassFlags, Port, too_late
from freehold.engine.secret_values import remove_secret_values, withhold
from freehold.providers.access.audit import Audit, NoAudit
from freehold.providers.access.limits import TokenBuckets, TurnExpired

T = TypeVar("T")


STALE_WRITE = 30.0
"""Wall seconds after which a queued write is not sent any more. Its decision is too old: the
marks that allow a delete, or, for a create, the time within which another process assumes that it took effect."""

THREADS = 32
"""SDK calls in flight, of all accounts of a cloud; more objects than this wait their turn. A thread begins only when
all others have a call."""

PATIENCE = 60.0
"""Wall seconds for which a read that is refused for its rate is sent again, before its pass gets the error."""


class ThreadPort:
    """A port that sends blocking calls in ``pool`` and awaits store writes on the loop."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            reply = call.run()
            return await reply if inspect.isawaitable(reply) else reply
        return await asyncio.get_running_loop().run_in_executor(self._pool, call.run)


class PacedPort:
    """A port within the limit of each API. A call that is refused for its rate is sent again when the cloud allows it.

    The same pass sends it again: a new pass would spend the few calls that the limit allows on the same
    reads, and might never come to its deletes.
    """

    def __init__(
        self, inner: Port, limits: TokenBuckets, clock: Clock, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._inner = inner
        self._limits = limits
        self._clock = clock
        self._now = now

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            return await self._inner.send(call)
        decided = self._now()
        timely = call._replace(run=lambda: self._run(call, decided))
        write = call.effect is Effect.WRITE
        last = decided + (STALE_WRITE if write else PATIENCE)
        until = last if write else inf
        bucket = self._limits.find_bucket(call.api, call.operation)
        while True:
            try:
                sent = await bucket.take(call.sender, write=write, look=call.look, until=until)
                reply = await self._inner.send(timely)
            except TurnExpired as expired:
                raise too_late(call) from expired
            except Throttled as refused:
                bucket.slow_down(refused.retry_after, sent=sent)
                if self._now() + bucket.find_wait() > last:
                    raise
            else:
                bucket.speed_up()
                return reply

    def _run(self, call: Call, decided: float) -> Any:
        stale = call.effect is Effect.WRITE and self._now() - decided > STALE_WRITE
        if stale or self._clock.monotonic() > call.not_after:
            raise too_late(call)
        return call.run()


class ObjectPort:
    """The port of one object: its changes are audited under its name, and its reads have the priority of its pass.

    Secret values go to the cloud only: they are in no line of the audit log and in no error.
    """

    def __init__(self, inner: Port, subject: str, audit: Audit, flags: PassFlags | None = None) -> None:
        self._inner = inner
        self._subject = subject
        self._audit = audit
        self._flags = flags or PassFlags()

    async def send(self, call: Call) -> Any:
        call = call._replace(sender=self._subject, look=self._flags.look)
        if call.effect is not Effect.WRITE:
            return await self._inner.send(call)
        if call.hidden:
            call = call._replace(detail=remove_secret_values(call.detail, call.hidden))
        self._audit.log_sent(self._subject, call)
        try:
            reply = await self._inner.send(call)
        except BaseException as error:
            withhold(error, call.hidden)
            self._audit.log_done(self._subject, call, error)
            raise
        self._audit.log_done(self._subject, call, None)
        return reply


def shared_look_port(inner: Port) -> ObjectPort:
    """Return a port for looks that many objects share: it is no object's, and calls of others go first."""
    return ObjectPort(inner, "", NoAudit(), PassFlags(look=True))
