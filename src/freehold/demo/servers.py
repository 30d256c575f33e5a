"""``freehold serve`` as a process that can be killed."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from freehold.cli.errors import CliError

_START_SECONDS = 120.0
_STOP_SECONDS = 30.0


class Server:
    """One process; ``pid`` is for telling about it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def kill(self) -> int:
        """kill -9; the exit code as the system tells it."""
        self._process.kill()
        return await self._process.wait()

    async def stop(self) -> None:
        """Ask it to stop, and wait."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
            except TimeoutError:
                await self.kill()


@asynccontextmanager
async def server(state: Path, simulator: str, options: Sequence[str] = ()) -> AsyncIterator[Server]:
    """Start one on ``state`` and wait until it serves. Raises CliError with its own words when it does not."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "freehold.cli.main", "serve", "--simulate", "--simulator", simulator,
        "--state", str(state), "--until-stdin-closes", *options,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    started = Server(process)
    try:
        assert process.stdout is not None
        try:
            line = (await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)).decode()
        except TimeoutError:
            raise CliError(f"the server did not start in {_START_SECONDS:.0f} s") from None
        if not line.startswith("serving "):
            raise CliError(f"the server did not start: {line.strip() or 'it said nothing'}")
        yield started
    finally:
        await started.stop()
