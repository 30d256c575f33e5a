"""Commands that only ask: a server which runs already, else the store itself. No event loop, no aiohttp.

Those imports cost three times what the command itself does. Where a server does not answer, or is a real cluster's, or
the store must be made or mended first, the command goes the long way (``session``), which starts a server, waits, or
says what is wrong.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from freehold.cli.access import Access
from freehold.cli.clocks import continued, stopped_clock
from freehold.cli.errors import CliError
from freehold.cli.state_directory import CloudChoice, LiveServer, Lock, StateDirectory
from freehold.engine.clock import SystemClock
from freehold.kube.errors import KubeError
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import Json
from freehold.kube.stepping import run_blocking

if TYPE_CHECKING:
    from freehold.cli.session import Session

T = TypeVar("T")

_ANSWER_SECONDS = 5.0


class ReadSession(Protocol):
    """What a command that only asks needs of a session. ``clock`` is the domain time of what the objects report."""

    @property
    def client(self) -> ObjectClient: ...

    @property
    def namespace(self) -> str: ...

    @property
    def clock(self) -> SystemClock: ...

    @property
    def simulated(self) -> bool:
        """Whether the times that the objects report are a simulated cloud's."""
        ...


@dataclass(frozen=True)
class QuickSession:
    """With the server that serves a state directory, or with its store."""

    client: ObjectClient
    state: StateDirectory
    clock: SystemClock
    namespace: str = "default"

    @property
    def simulated(self) -> bool:
        return self.state.cloud is CloudChoice.SIMULATED


def read(target: Access, work: Callable[[ReadSession], Coroutine[Any, Any, T]]) -> T:
    """Do ``work`` with a server that runs already, else with the store, else the long way. Raises CliError."""
    for way in (session, _of_store):
        with way(target) as found:
            if found is not None:
                return finished(work(found))
    return the_long_way(target, work)


@contextmanager
def session(target: Access, *, operator: bool = False, timeout: float = 30.0) -> Iterator[QuickSession | None]:
    """With the server that runs already; None where there is none, or with ``operator`` none that runs one.

    ``timeout`` is seconds for one request.
    """
    server = _serving(target)
    if server is None or target.state is None or (operator and not server.operator):
        yield None
        return
    from freehold.kube.blocking import BlockingClient  # HTTP, which is not needed where no server runs

    with closing(BlockingClient(server.url, token=server.token, timeout=timeout)) as client:
        client.batches = True
        clock = _answers(server)
        yield None if clock is None else QuickSession(client, target.state, clock)


@contextmanager
def _of_store(target: Access) -> Iterator[QuickSession | None]:
    """With the store, where no other process has it; None where it cannot be read as it is."""
    if target.state is None:
        yield None
        return
    from freehold.cli.stored import stored_client  # the resources of the API server

    with stored_client(target.state) as client:
        simulated = target.state.cloud is CloudChoice.SIMULATED
        clock = stopped_clock(target.state.world) if simulated else SystemClock()
        yield None if client is None else QuickSession(client, target.state, clock)


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What comes of a coroutine that asks only a :class:`QuickSession`. Raises CliError."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C, which is how ``running`` takes it
    try:
        return run_blocking(work)
    except KubeError as problem:
        raise CliError(problem.message) from problem


def _serving(target: Access) -> LiveServer | None:
    """Who holds the state directory and has said where it serves."""
    if target.state is None:
        return None
    lock = Lock(target.state.lock)
    server = lock.read()
    return server if server is not None and lock.held_elsewhere else None


def _answers(server: LiveServer) -> SystemClock | None:
    """Its domain clock; None where it, or its simulated cloud, does not answer just now."""
    try:
        _asked(server.url, "/version", server.token)
        return continued(_asked(server.simulator, "/_sim/clock")) if server.simulator else SystemClock()
    except (KubeError, KeyError, TypeError, ValueError):
        return None


def _asked(base: str, path: str, token: str = "") -> Json:
    from freehold.kube.blocking import BlockingClient

    with closing(BlockingClient(base, token=token, timeout=_ANSWER_SECONDS)) as client:
        return run_blocking(client.request("GET", path))


def the_long_way(target: Access, work: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
    """Do ``work`` on an event loop, with a session of any sort. Raises CliError."""
    from freehold.cli.logs import log_to
    from freehold.cli.running import run
    from freehold.cli.session import opened

    if target.state:
        log_to(target.state.log)

    async def whole() -> T:
        async with opened(target) as found:
            return await work(found)

    return run(whole())
