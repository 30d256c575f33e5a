"""The production port: SDK calls in a bounded thread pool, behind the rate limiter, with an audit line each."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

from freehold.lifecycle.errors import Throttled, Unavailable
from freehold.lifecycle.port import Call, Effect, Port
from freehold.operator.audit import Audit
from freehold.operator.limits import Limits

T = TypeVar("T")


STALE_WRITE = 30.0
"""Wall seconds after which a write that is still queued is not sent any more. What it was decided on is old: the
marks that allow a delete, or, for a create, the time in which another process takes it to have had its effect."""


class ThreadPort:
    """Sends blocking calls in ``pool`` and awaits store writes on the loop. Counts calls by API."""

    def __init__(self, pool: Executor, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._limits = limits
        self._now = now
        self.counts: Counter[str] = Counter()

    async def send(self, call: Call) -> Any:
        self.counts[f"{call.api}.{call.operation}"] += 1
        if call.effect is Effect.STORE:
            reply = call.run()
            return await reply if inspect.isawaitable(reply) else reply
        decided = self._now()
        bucket = self._limits.bucket(call.api)
        await bucket.take()
        try:
            reply = await asyncio.get_running_loop().run_in_executor(self._pool, self._sent, call, decided)
        except Throttled:
            bucket.throttled()
            raise
        bucket.served()
        return reply

    def _sent(self, call: Call, decided: float) -> Any:
        waited = self._now() - decided
        if call.effect is Effect.WRITE and waited > STALE_WRITE:
            what = f"{call.operation.replace('_', ' ')} ({call.subject})"
            raise Unavailable(f"{what} waited {waited:.0f} s for its turn and was not sent; it is decided anew")
        return call.run()

    async def all(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
        results = await asyncio.gather(*work, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, Exception):
                raise result
        return results  # type: ignore[return-value]  # what is left is a result or an Exception


class ObjectPort:
    """One object's port: what it changes is audited under its name."""

    def __init__(self, inner: Port, subject: str, audit: Audit) -> None:
        self._inner = inner
        self._subject = subject
        self._audit = audit

    async def send(self, call: Call) -> Any:
        if call.effect is not Effect.WRITE:
            return await self._inner.send(call)
        self._audit.sent(self._subject, call)
        try:
            reply = await self._inner.send(call)
        except BaseException as error:
            self._audit.done(self._subject, call, error)
            raise
        self._audit.done(self._subject, call, None)
        return reply

    async def all(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
        return await self._inner.all(work)
