"""A simulated cloud over HTTP on this machine only, its world kept in a file."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from freehold_sim.clock import ScaledClock
from freehold_sim.http import Request, Response, TransportFault
from freehold_sim.ibm import store
from freehold_sim.ibm.admin import PREFIX, Admin
from freehold_sim.ibm.cloud import SimulatedIBM
from freehold_sim.ibm.settings import Settings

_HEARTBEAT = 1.0
"""Wall seconds between saves of the clock. A restart skips one interval, so time never runs backwards."""

_START = 1_790_000_000.0


@dataclass(frozen=True)
class Options:
    """How to serve: `port` 0 picks a free one; `state` None keeps nothing; `speed` is domain time over wall time.

    `until_stdin_closes` ties the simulator to the process that holds the other end of its standard input.
    """

    port: int = 0
    speed: float = 1.0
    seed: int = 1
    state: Path | None = None
    ready_file: Path | None = None
    until_stdin_closes: bool = False


class Server:
    """One world behind one HTTP listener; saves after every change."""

    def __init__(self, options: Options, settings: Settings) -> None:
        saved = store.load(options.state) if options.state else None
        origin = saved.time + _HEARTBEAT * options.speed if saved else _START
        clock = ScaledClock(options.speed, origin)
        self.cloud = SimulatedIBM(clock, settings, seed=options.seed)
        if saved:
            self.cloud.world.data, self.cloud.calls = saved.data, saved.calls
        self._admin = Admin(self.cloud, clock)
        self._options = options
        self._asked = False
        self._save()

    async def serve(self, ready: Callable[[int], None], stop: asyncio.Event) -> None:
        """Listen until `stop` is set; calls `ready` with the port once connections are accepted."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", self._options.port).start()
            port: int = runner.addresses[0][1]
            async with self._beating():
                ready(port)
                await stop.wait()
        finally:
            await runner.cleanup()
            self._save()

    @asynccontextmanager
    async def _beating(self) -> AsyncIterator[None]:
        beat = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(_HEARTBEAT)
            if self._asked:
                self._asked = False
                self._save()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Request(request.method, request.rel_url.raw_path, dict(request.query), headers, await request.read())
        self._asked = True
        try:
            answer = self._serve(asked)
        except TransportFault:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        return web.Response(status=answer.status, body=answer.body, headers=dict(answer.headers))

    def _serve(self, asked: Request) -> Response:
        try:
            return self._admin.handle(asked) if asked.path.startswith(PREFIX) else self.cloud.handle(asked)
        finally:
            if self.cloud.world.touched:
                self._save()

    def _save(self) -> None:
        self.cloud.world.touched = False
        if self._options.state is not None:
            store.save(self.cloud, self._options.state)


async def run(options: Options, settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. The ready file, once it exists, holds {"url", "port", "pid"}."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.until_stdin_closes:
        _stop_at_end_of_input(loop, stop)

    def announce(port: int) -> None:
        ready = {"url": f"http://127.0.0.1:{port}", "port": port, "pid": os.getpid()}
        if options.ready_file is None:
            print(json.dumps(ready), flush=True)
            return
        fresh = options.ready_file.with_name(options.ready_file.name + ".new")
        fresh.write_text(json.dumps(ready))
        fresh.replace(options.ready_file)

    await Server(options, settings).serve(announce, stop)


def _stop_at_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    descriptor = sys.stdin.fileno()

    def read() -> None:
        if not os.read(descriptor, 4096):
            loop.remove_reader(descriptor)
            stop.set()

    loop.add_reader(descriptor, read)
