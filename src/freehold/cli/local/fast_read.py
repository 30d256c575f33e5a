"""Commands that only ask a server which runs already. No event loop, no aiohttp.

Those imports cost three times what the command itself does. Where no server runs or answers, or it is a real cluster's,
the command goes the long way (``session``), which starts a server, waits, or says what is wrong.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from freehold.cli.errors import CliError
from freehold.cli.local.access import Access
from freehold.cli.local.clocks import continue_clock
from freehold.cli.local.credentials import require_some
from freehold.cli.local.state_directory import CloudChoice, LiveServer, Lock, StateDirectory
from freehold.cli.output.terminal import tell_at_once
from freehold.engine.clock import SystemClock
from freehold.kube.errors import KubeError
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import Json
from freehold.kube.stepping import run_blocking

if TYPE_CHECKING:
    from freehold.cli.local.session import Session

T = TypeVar("T")

_ANSWER_SECONDS = 5.0
_PLAN_SECONDS = 600.0
"""The longest that a server may take for plans: it asks the clouds about each resource."""


class ReadSession(Protocol):
    """A session, as far as a command that only asks needs one. ``clock`` is the domain time of the objects' reports."""

    @property
    def client(self) -> ObjectClient: ...

    @property
    def namespace(self) -> str: ...

    @property
    def clock(self) -> SystemClock: ...

    @property
    def simulated(self) -> bool:
        """Return whether the times that the objects report are a simulated cloud's."""
        ...


@dataclass(frozen=True)
class QuickSession:
    """A session with the server of a state directory."""

    client: ObjectClient
    state: StateDirectory
    clock: SystemClock
    namespace: str = "default"

    @property
    def simulated(self) -> bool:
        return self.state.cloud is CloudChoice.SIMULATED


def read(target: Access, work: Callable[[ReadSession], Coroutine[Any, Any, T]]) -> T:
    """Do ``work`` with a server that runs already, else the long way. Raises CliError."""
    with session(target) as found:
        if found is not None:
            return run_blocked(work(found))
    return run_with_session(target, work)


@contextmanager
def session(target: Access, *, operator: bool = False, timeout: float = 30.0) -> Iterator[QuickSession | None]:
    """Open a session with a server that runs already; None where none does, or with ``operator`` none that runs one.

    ``timeout`` is seconds for one request.
    """
    server = _find_server(target)
    if server is None or target.state is None or (operator and not server.operator):
        yield None
        return
    from freehold.kube.blocking import BlockingClient

    with closing(BlockingClient(server.url, token=server.token, timeout=timeout)) as client:
        client.batches = True
        clock = _read_clock(server)
        yield None if clock is None else QuickSession(client, target.state, clock)


def plan_on_server(target: Access, ask: Callable[[QuickSession], Coroutine[Any, Any, T | None]]) -> T | None:
    """Have the process that serves the state plan, for its account; None where none does that can. Raises CliError."""
    with session(target, operator=True, timeout=_PLAN_SECONDS) as found:
        if found is None:
            return None
        if found.state.choose(target.options.simulate) is CloudChoice.REAL:
            require_some(os.environ)  # planning in this process would refuse, too
        tell_at_once("looking at the clouds")
        return run_blocked(ask(found))


def run_blocked(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that asks only a :class:`QuickSession`. Raises CliError."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C, which is how ``running`` takes it
    try:
        return run_blocking(work)
    except KubeError as problem:
        raise CliError(problem.message) from problem


def _find_server(target: Access) -> LiveServer | None:
    """Who holds the state directory and has said where it serves."""
    if target.state is None:
        return None
    lock = Lock(target.state.lock)
    server = lock.read()
    return server if server is not None and lock.held_elsewhere else None


def _read_clock(server: LiveServer) -> SystemClock | None:
    """Its domain clock; None where it, or its simulated cloud, does not answer just now."""
    try:
        _ask(server.url, "/version", server.token)
        return continue_clock(_ask(server.simulator, "/_sim/clock")) if server.simulator else SystemClock()
    except (KubeError, KeyError, TypeError, ValueError):
        return None


def _ask(base: str, path: str, token: str = "") -> Json:
    from freehold.kube.blocking import BlockingClient

    with closing(BlockingClient(base, token=token, timeout=_ANSWER_SECONDS)) as client:
        return run_blocking(client.request("GET", path))


def run_with_session(target: Access, work: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
    """Do ``work`` on an event loop, with a session of any sort. Raises CliError."""
    from freehold.cli.local.event_loop import run
    from freehold.cli.local.log_file import log_to
    from freehold.cli.local.session import open_session

    if target.state:
        log_to(target.state.log)

    async def whole() -> T:
        async with open_session(target) as found:
            return await work(found)

    return run(whole())
