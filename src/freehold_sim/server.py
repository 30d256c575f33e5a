"""Serves simulated clouds over HTTP on 127.0.0.1, with one clock and one state file."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aiohttp import web

from freehold_sim import store
from freehold_sim.admin import PREFIX, Admin
from freehold_sim.clock import ScaledClock
from freehold_sim.http import Request, Response, TransportFault, joined
from freehold_sim.loading import Clouds
from freehold_sim.simulated import CLOUDS, Maker, SimulatedCloud

_HEARTBEAT = 1.0
"""Wall seconds between saves of the clock. A restart skips one interval, so that time never goes backwards."""

_START = 1_790_000_000.0


@dataclass(frozen=True)
class Options:
    """Server options. `port` 0 picks a free port; `state` None persists nothing; `speed` is domain over wall time.

    Every cloud is served at `/NAME`, and the first of `clouds` at `/` too. Those that `clouds` does not name are loaded
    when they are first asked for. `settings` overrides the settings of each.
    `prepared`: a new account has what people create there before they use Cluster API.
    With `until_stdin_closes` the simulator stops when its standard input is closed, so it ends with its parent process.
    """

    clouds: tuple[str, ...] = ("ibm",)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    port: int = 0
    speed: float = 1.0
    seed: int = 1
    state: Path | None = None
    ready_file: Path | None = None
    until_stdin_closes: bool = False
    prepared: bool = False


class Server:
    """Simulated clouds behind one HTTP listener; saves after every change.

    Raises ValueError for a cloud without an entry in `makers`, and for an unreadable state file.
    """

    def __init__(self, options: Options, makers: Mapping[str, Maker] = CLOUDS) -> None:
        if unknown := sorted({*options.clouds, *options.settings} - makers.keys()):
            raise ValueError(f"unknown cloud {', '.join(unknown)}; supported: {', '.join(makers)}")
        saved = store.load(options.state) if options.state else None
        origin = saved.time + _HEARTBEAT * options.speed if saved else _START
        self._clock = ScaledClock(options.speed, origin)
        held = saved.clouds if saved else {}
        if lost := sorted(held.keys() - makers.keys()):
            raise ValueError(f"{options.state} contains {', '.join(lost)}, which this version does not serve")

        def load(name: str) -> SimulatedCloud:
            cloud = makers[name](self._clock, options.settings.get(name, {}), options.seed)
            if name in held:
                cloud.resume(held[name].state, held[name].calls)
            elif options.prepared:
                cloud.prepare()
            return cloud

        names = tuple(dict.fromkeys((*options.clouds, *makers)))
        later = frozenset(names) - set(options.clouds) - held.keys() - options.settings.keys()
        self.clouds = Clouds(names, later, load)
        self._admin = Admin(self.clouds, self._clock)
        self._options = options
        self._asked = False
        self._encoded: dict[str, str] = {}
        self._next_save: asyncio.Task[None] | None = None
        self._save()

    async def serve(self, ready: Callable[[int], None], stop: asyncio.Event) -> None:
        """Listen until `stop` is set; calls `ready` with the port once connections are accepted."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._respond)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", self._options.port).start()
            port: int = runner.addresses[0][1]
            async with self._heartbeat():
                ready(port)
                await stop.wait()
        finally:
            await runner.cleanup()
            self._save()

    @asynccontextmanager
    async def _heartbeat(self) -> AsyncIterator[None]:
        beat = asyncio.create_task(self._save_periodically())
        try:
            yield
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat

    async def _save_periodically(self) -> None:
        while True:
            await asyncio.sleep(_HEARTBEAT)
            if self._asked:
                self._asked = False
                self._save()

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Request(
            request.method, request.rel_url.raw_path, joined(request.query.items()), headers, await request.read()
        )
        self._asked = True
        try:
            answer = await self._answer_once_saved(asked)
        except TransportFault:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        return web.Response(status=answer.status, body=answer.body, headers=dict(answer.headers))

    def answer(self, asked: Request) -> Response:
        """Route to the admin API or a cloud, and save what changed; raises as `_answer` does."""
        try:
            return self._answer(asked)
        finally:
            self._save_changes()

    def _answer(self, asked: Request) -> Response:
        """Route to the admin API or a cloud. Raises ConnectionReset or ReplyLost when the transport must fail."""
        if asked.path.startswith(PREFIX):
            return self._admin.handle(asked)
        cloud, request = self._addressed(asked)
        return cloud.handle(request)

    def _touched(self) -> list[str]:
        return [name for name, cloud in self.clouds.loaded.items() if cloud.touched]

    async def _answer_once_saved(self, asked: Request) -> Response:
        """Answer when what changed is saved. Requests that come at the same time share a save of the world."""
        try:
            return self._answer(asked)
        finally:
            if self._touched():
                self._next_save = self._next_save or asyncio.create_task(self._save_next())
                await asyncio.shield(self._next_save)

    async def _save_next(self) -> None:
        self._next_save = None
        self._save_changes()

    def _save_changes(self) -> None:
        if touched := self._touched():
            self._save(touched)

    def _addressed(self, asked: Request) -> tuple[SimulatedCloud, Request]:
        """Return the cloud that the path addresses, and the request with that cloud's prefix removed."""
        name, _, rest = asked.path.removeprefix("/").partition("/")
        if name in self.clouds:
            return self.clouds[name], replace(asked, path=f"/{rest}")
        return self.clouds[next(iter(self.clouds))], asked

    def _save(self, touched: Collection[str] | None = None) -> None:
        """Save the clouds that were touched, and of the others what was saved last; by default all anew."""
        for name, cloud in self.clouds.loaded.items():
            cloud.touched = False
            if self._options.state is not None and (touched is None or name in touched or name not in self._encoded):
                self._encoded[name] = store.encode(cloud)
        if self._options.state is not None:
            store.write(self._encoded, self._clock.now(), self._options.state)


async def run(options: Options) -> None:
    """Serve until SIGTERM or SIGINT. The ready file contains {"url", "port", "pid"}."""
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

    await Server(options).serve(announce, stop)


def _stop_at_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    descriptor = sys.stdin.fileno()

    def read() -> None:
        if not os.read(descriptor, 4096):
            loop.remove_reader(descriptor)
            stop.set()

    loop.add_reader(descriptor, read)
