"""Every cloud call and every store write is a value that passes one port.

The engine is async code that does no I/O of its own. In production the port runs the vendor's SDK in a
bounded thread pool behind the rate limiter; in tests it runs inline, on one thread, on virtual time,
and can crash, fault, delay or reorder at every call; a plan is the same engine behind a port that
sends reads only (:mod:`dry_run`). Audit and metrics are wrappers of the port too.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

from freehold.engine.clock import Clock
from freehold.engine.errors import Frozen, Unavailable
from freehold.engine.secret_values import SecretValue

T = TypeVar("T")


class Effect(Enum):
    """What a call may change."""

    READ = "read"
    WRITE = "write"  # changes the cloud
    STORE = "store"  # changes our own object behind the Kubernetes API


class Call(NamedTuple):
    """One request, not yet sent.

    ``api`` and ``operation`` name it for limits, metrics and audit (``vpc``, ``create_vpc``);
    ``subject`` is the resource it concerns, fit for a person; ``detail`` is what the audit log keeps
    of the request (never a secret). ``run`` sends it: blocking, or returning an awaitable. ``fenced``: it creates
    or marks something, which nobody may do who has lost the object meanwhile (:class:`FencedPort`);
    ``not_after`` is the monotonic domain time after which it must not be sent any more. ``sender`` is the object that
    it is sent for, where calls take turns; ``look``: it is of a look at what is at rest, and others go first.
    ``hidden`` are the secret values in the request: they are taken out of what is logged of it and of its answer.
    """

    api: str
    operation: str
    effect: Effect
    run: Callable[[], Any]
    subject: str = ""
    detail: Mapping[str, Any] = MappingProxyType({})
    fenced: bool = False
    not_after: float = math.inf
    sender: str = ""
    look: bool = False
    hidden: tuple[SecretValue, ...] = ()


@dataclass
class PassFlags:
    """Flags of the pass under way for the ports of its object. ``look``: the object was at rest when it began."""

    look: bool = False


def too_late(call: Call) -> Unavailable:
    """Return what is raised in place of sending ``call`` after its time."""
    what = f"{call.operation.replace('_', ' ')} ({call.subject})"
    return Unavailable(f"{what} waited too long for its turn and was not sent; it is decided anew")


class Port(Protocol):
    """The one way out of the engine."""

    async def send(self, call: Call) -> Any:
        """Send ``call`` and return its reply; raises only lifecycle errors and StaleObject.

        A port in which calls wait raises :func:`too_late` for one whose ``not_after`` has passed.
        """
        ...


class InlinePort:
    """Runs each call at once on the caller's thread: for tests, and for commands that ask one thing."""

    async def send(self, call: Call) -> Any:
        reply = call.run()
        return await reply if inspect.isawaitable(reply) else reply


class FencedPort:
    """One object's port: creates and attaches follow a write of the object within ``fence`` seconds, or are not sent.

    Compare-and-set orders the writes of the object, not those of the cloud. A process that was stopped between the
    two would create what its successor has created, or mark what it has let go (ADR 2). What remains is
    a process that is stopped between this check and the socket for longer than the settle time.

    Deletes are not fenced. One names an id that this pass has proven ours and put on record as to be deleted, and an id
    is not given again: a late delete finds the same resource or nothing, and never makes a second one. Two gaps stay
    open (docs/explanation/limits.md): ids that are names, and what a person gives up, or marks lose, between the proof
    and the socket.
    """

    def __init__(self, inner: Port, clock: Clock, fence: float) -> None:
        self._inner = inner
        self._clock = clock
        self._fence = fence
        self._allowed_until = -math.inf

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            sent = self._clock.monotonic()
            reply = await self._inner.send(call)
            self._allowed_until = sent + self._fence
            return reply
        if call.fenced:
            if self._clock.monotonic() > self._allowed_until:
                raise too_late(call)
            call = call._replace(not_after=self._allowed_until)
        return await self._inner.send(call)


class ReadOnlyPort:
    """Sends reads. A write of the object is left out, a write to the cloud refused: nothing changes."""

    def __init__(self, inner: Port) -> None:
        self._inner = inner

    async def send(self, call: Call) -> Any:
        if call.effect is Effect.STORE:
            return None
        if call.effect is Effect.WRITE:
            what = f"{call.operation.replace('_', ' ')} ({call.subject})"
            raise Frozen(f"{what} is not sent: nothing of this object is changed now; condition SpecValid says why")
        return await self._inner.send(call)


async def run_together(work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
    """Run independent pieces of work: at once on an event loop, without one in turn. A failure is a result.

    The end of the process is none: what is no Exception is raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return await _run_in_turn(work)
    results: list[T | Exception] = []
    for result in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(result, BaseException) and not isinstance(result, Exception):
            raise result
        results.append(result)
    return results


async def _run_in_turn(work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
    results: list[T | Exception] = []
    try:
        for piece in work:
            try:
                results.append(await piece)
            except Exception as error:  # handed to the caller as a value; nothing is swallowed
                results.append(error)
    finally:
        for piece in work:
            piece.close()  # only one that never ran, because the process is being stopped, minds
    return results
