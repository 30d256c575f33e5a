"""Servers in a thread of this process: ``freehold serve`` on a state directory, and its simulated clouds alone.

A process for each would spend two CPU-seconds on imports. Commands find them as they find one of another process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from freehold.cli.local.access import SPEED, ServeOptions
from freehold.cli.local.server_process import Running, live_server
from freehold.cli.local.simulator import simulated_cloud as by_process
from freehold.cli.local.state_directory import LiveServer, Lock, StateDirectory
from freehold_sim.server import Options, Server

T = TypeVar("T")


@contextmanager
def served(state: StateDirectory, options: ServeOptions) -> Iterator[LiveServer]:
    """The API server, the operator and the clouds of ``state``, as ``freehold serve`` has them."""
    with running(state, options) as whole:
        yield whole.server


@contextmanager
def running(state: StateDirectory, options: ServeOptions) -> Iterator[Running]:
    """The same, with its live page."""

    @asynccontextmanager
    async def whole() -> AsyncIterator[Running]:
        lock = Lock(state.lock)
        assert lock.take()
        async with live_server(state, lock, options) as found:
            yield found

    with in_a_thread(whole()) as found:
        yield found


@contextmanager
def simulator(
    world: Path, speed: float = 1.0, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[str]:
    """The simulated clouds of a state directory on their file, at the speed of this world; gives their URL."""
    with in_a_thread(_simulator(world, speed, settings)) as url:
        yield url


@asynccontextmanager
async def _simulator(
    world: Path, speed: float, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> AsyncIterator[str]:
    stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
    server = Server(Options(speed=speed, state=world, settings=settings or {}))
    serving = asyncio.ensure_future(server.serve(port.set_result, stop))
    await asyncio.wait((serving, port), return_when=asyncio.FIRST_COMPLETED)
    try:
        yield f"http://127.0.0.1:{await port}"
    finally:
        stop.set()
        await serving


@asynccontextmanager
async def simulated_cloud(
    state: StateDirectory, speed: float = SPEED, settings: Path | None = None, *, keep: bool = True
) -> AsyncIterator[str]:
    """What a command has instead of the process that its own function of this name starts: the same on its own loop."""
    if settings is not None or state.simulator_settings.exists():
        async with by_process(state, speed, settings, keep=keep) as url:
            yield url
        return
    lock = Lock(state.world_lock)
    assert lock.take()
    try:
        async with _simulator(state.world, speed) as url:
            yield url
    finally:
        lock.release()


@contextmanager
def in_a_thread(whole: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Hold ``whole`` open on an event loop of its own for the length of the block."""
    opened: Future[T] = Future()
    loop, left = asyncio.new_event_loop(), asyncio.Event()

    async def hold() -> None:
        async with whole as given:
            opened.set_result(given)
            await left.wait()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(hold())
        except BaseException as problem:
            if opened.done():
                raise
            opened.set_exception(problem)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield opened.result()
    finally:
        loop.call_soon_threadsafe(left.set)
        thread.join()
