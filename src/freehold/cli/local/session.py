"""One command's way to the Kubernetes API: a real cluster, the live server, or one that it runs itself.

If the live server of another process goes away, ``renew`` finds the next one, or becomes it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from freehold.api.feature_gates import FeatureGates, find_changed_gates, format_gates
from freehold.cli.errors import CliError
from freehold.cli.local.access import Access
from freehold.cli.local.clocks import stopped_clock
from freehold.cli.local.serving_address import connection_to
from freehold.cli.local.simulator import clock_of
from freehold.cli.local.state_directory import CloudChoice, LiveServer, Lock, StateDirectory
from freehold.cli.output.hints import hint, notes
from freehold.cli.output.terminal import tell_at_once
from freehold.engine.clock import SystemClock
from freehold.kube import config
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.errors import KubeError
from freehold.providers.registry import REAL_CLOUDS

if TYPE_CHECKING:
    from freehold.cli.local.server_process import Running
    from freehold.collection.selector import Selector

_PATIENCE_SECONDS = 30.0
"""How long another process may take to start its server, or a reader to finish."""

_LEAST_BYTES = 64 * 1024
"""Free on the disk of the state directory; with less the store cannot be relied on to take one more object."""


class Session:
    """A client that can be renewed. ``clock`` is the domain time of what the objects report.

    ``gates`` are those of the operator that another process runs on the state directory; None where none is known.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._stack = AsyncExitStack()
        self._client: KubeClient | None = None
        self.clock = SystemClock()
        self.running: Running | None = None
        self.namespace = "default"
        self.simulator = ""
        self.gates: frozenset[str] | None = None

    @property
    def client(self) -> KubeClient:
        if self._client is None:
            raise RuntimeError("the session is not open")
        return self._client

    @property
    def embedded(self) -> bool:
        return not self._access.kubeconfig

    def describe(self) -> str:
        """Say whose API this is, and which cloud is behind it."""
        if not self.embedded:
            cloud = f", with the simulated clouds at {self.simulator}" if self.simulator else ""
            return f"cluster {self.client.connection.server}{cloud}"
        state = self._access.state
        assert state is not None
        if not self.simulated:
            return f"{REAL_CLOUDS}, state in {state.path}"
        return f"simulated clouds, state in {state.path}; times are simulated, {self.clock.speed:g} s in a real one"

    @property
    def log(self) -> Path | None:
        """Return the operator's log, where it is on this machine."""
        return self._access.state.log if self._access.state else None

    @property
    def simulated(self) -> bool:
        """Return whether the times that the objects report are a simulated cloud's."""
        state = self._access.state
        return bool(self.simulator) if state is None else state.cloud is CloudChoice.SIMULATED

    def refuse_full_disk(self) -> None:
        """Raise CliError when what this process serves cannot be stored: it would be tried again for ever, unseen."""
        state = self._access.state
        if self.running is not None and state is not None and state.room < _LEAST_BYTES:
            raise CliError(
                f"no room is left for the state in {state.path}; make some and run the same command again: "
                "what was written is kept"
            )

    async def open(self) -> None:
        """Find or start a server. Raises CliError."""
        if self._access.kubeconfig:
            connection = config.load(kubeconfig=self._access.kubeconfig)
            self.namespace = connection.namespace
            self.simulator = self._access.options.simulator
            if self.simulator:
                self.clock = await clock_of(self.simulator)
            await self._use(connection)
            return
        state = self._access.state
        assert state is not None
        lock = Lock(state.lock)
        if self._access.join:
            await self._join(lock, state)
            return
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not lock.take():
            server = lock.read()
            if server is not None and await self._usable(server, operator=self._access.options.operator):
                _refuse_settings(server, self._access.options.settings)
                if self._access.options.operator:
                    _require_gates(server, self._access.options.gates)
                    _require_selector(server, self._access.options.gc_selector)
                    await _require_ring(state)
                await self._use(connection_to(server))
                return
            if time.monotonic() > deadline:
                answers = server is not None and await self._usable(server, operator=False)
                raise CliError(_busy(state, server, answers=answers))
            await asyncio.sleep(0.1)
        if self._access.options.install:  # objects alone are read in no time
            tell_at_once(f"starting on the state in {state.path}")
        from freehold.cli.local.server_process import (
            live_server,  # the whole API server: only where no other process has one
        )

        self.running = await self._stack.enter_async_context(live_server(state, lock, self._access.options))
        self.clock, self.simulator = self.running.clock, self.running.server.simulator
        if not self._access.options.operator and state.cloud is CloudChoice.SIMULATED:
            self.clock = stopped_clock(state.world)
        await self._use(connection_to(self.running.server))

    async def _join(self, lock: Lock, state: StateDirectory) -> None:
        server = lock.read()
        if server is None or not await self._usable(server, operator=True):
            raise CliError(
                f"nothing is at work on {state.path}: something changes only while {hint('serve')}, up or down runs"
            )
        await self._use(connection_to(server))

    async def _usable(self, server: LiveServer, *, operator: bool) -> bool:
        if operator and not server.operator:
            return False
        async with KubeClient(connection_to(server), timeout=5.0) as client:
            try:
                await client.request("GET", "/version")
                self.clock = await clock_of(server.simulator) if server.simulator else SystemClock()
            except (KubeError, CliError):  # it is going away
                return False
        self.simulator = server.simulator
        self.gates = frozenset(server.gates) if server.operator else None
        return True

    async def _use(self, connection: Connection) -> None:
        self._client = await self._stack.enter_async_context(KubeClient(connection))
        self._client.batches = self.embedded

    async def begin(self) -> None:
        """Let the operator that waits begin to work; where another process serves, its own does already."""
        self._access = replace(self._access, options=replace(self._access.options, waits=False))
        if self.running is not None:
            await self.running.begin()

    async def renew(self) -> None:
        """Connect again after the server has gone away. Raises CliError when it was ours, or a real cluster's."""
        if self.running is not None:
            raise CliError("the server of this command has failed; run the command again to go on")
        await self.close()
        await self.open()

    async def close(self) -> None:
        await self._stack.aclose()
        self._stack, self._client, self.running = AsyncExitStack(), None, None


@asynccontextmanager
async def open_session(access: Access) -> AsyncIterator[Session]:
    """Open a session for the length of a command."""
    session = Session(access)
    try:
        await session.open()
        yield session
    finally:
        await session.close()


def _require_gates(server: LiveServer, wanted: FeatureGates) -> None:
    """Refuse a server that has a gate otherwise than this command was told: the operator there acts by its own."""
    if differing := find_changed_gates(wanted) & (wanted ^ frozenset(server.gates)):
        states = (f"{gate} {'off' if gate in wanted else 'on'}" for gate in sorted(differing))
        raise CliError(
            f"process {server.pid} serves this state with {', '.join(states)}: end it, and run this command "
            f"again, or {hint('serve', f'--feature-gates={format_gates(wanted, differing)}')}"
        )


def _require_selector(server: LiveServer, wanted: Selector | None) -> None:
    """Refuse a server that collects other clusters than this command was told."""
    if wanted is not None and wanted.text != server.gc_selector:
        theirs = f"--gc-selector={server.gc_selector!r}" if server.gc_selector else "no --gc-selector"
        raise CliError(
            f"process {server.pid} serves this state with {theirs}: end it, and run this command again, or "
            f"{hint('serve', f'--gc-selector={wanted.text}')}"
        )


def _refuse_settings(server: LiveServer, settings: Path | None) -> None:
    """Refuse settings for the simulated cloud of another process, which runs with its own."""
    if settings is not None and (server.operator or server.simulator):
        raise CliError(
            f"process {server.pid} serves this state, and its cloud has settings of its own: end it, and run this "
            f"command again, for {settings}; or leave --simulate-settings out"
        )


async def _require_ring(state: StateDirectory) -> None:
    """Raise CliError without a key ring: the operator of another process serves nothing, and only its log says so."""
    from freehold.controllers.keyring.file import FileRing
    from freehold.controllers.keyring.stored_form import RingError

    try:
        found = await FileRing(state.keys).read()
    except RingError as problem:
        raise CliError(problem.message, notes()) from problem
    if found.document is None:
        raise CliError(
            f"the key ring {state.keys} is gone, and nothing is served without it; put it back from a backup, or: "
            f"{hint('keys add', 'FILE')}"
        )


def _busy(state: StateDirectory, server: LiveServer | None, *, answers: bool) -> str:
    if server is None:
        return f"another process holds {state.lock} but serves nothing yet; wait for it, or end it"
    if answers:
        return (
            f"process {server.pid} holds the state in {state.path} without an operator: it reads, or waits for the "
            "answer to a question; answer it, or end that process, and run this command again"
        )
    return (
        f"process {server.pid} holds the state in {state.path} but its server at {server.url} does not answer; "
        "end that process and run this command again"
    )
