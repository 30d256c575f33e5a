"""The simulated clouds as a child process: it ends with us, however we end; its world stays in a file.

Its standard input is a pipe that we hold: the kernel closes it when we die, and the simulator stops.
Until it has, it holds the lock on its world, so the next one cannot start on a world that is still written.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from freehold.cli.errors import CliError
from freehold.cli.local.access import SPEED
from freehold.cli.local.clocks import continue_clock
from freehold.cli.local.state_directory import Lock, StateDirectory, write_whole
from freehold.engine.clock import SystemClock
from freehold.kube.object_client import explain_unreachable

if TYPE_CHECKING:
    from freehold.providers.access.limits import Limits

CALLS_A_SECOND = 10.0
"""What the operator allows itself for each API of a real cloud (``freehold.providers.access.limits``)."""

_START_SECONDS = 120.0
_STOP_SECONDS = 10.0


@asynccontextmanager
async def simulated_cloud(
    state: StateDirectory, speed: float = SPEED, settings: Path | None = None, *, keep: bool = True
) -> AsyncIterator[str]:
    """Run the simulator on the world of ``state``; gives its base URL. Raises CliError when it does not start.

    ``settings``: a file that replaces the settings which the world had before, with ``keep`` for good.
    """
    text = _read_settings(settings) if settings else ""
    used = settings or (state.simulator_settings if state.simulator_settings.exists() else None)
    lock = Lock(state.world_lock)
    await _take(lock)
    with state.simulator_log.open("w") as complaints:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "freehold_sim", "--speed", str(speed),
            "--state", str(state.world), "--prepared", "--until-stdin-closes",
            *(("--settings", str(used)) if used else ()),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=complaints,
            pass_fds=(lock.descriptor,), start_new_session=True,
        )  # fmt: skip
    lock.let_go()
    try:
        url = await _read_announcement(process, state.simulator_log, used)
        if text and keep:
            write_whole(state.simulator_settings, text)
        yield url
    finally:
        if process.stdin is not None:
            process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        if process.returncode is None:
            process.kill()
            await process.wait()


def _read_settings(settings: Path) -> str:
    """Read the settings; the simulator knows what may be in them. Raises CliError for a file that is no JSON."""
    try:
        text = settings.read_text()
        json.loads(text)
    except OSError as problem:
        raise CliError(f"the settings {settings} cannot be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise CliError(f"the settings {settings} are not JSON: {problem}") from problem
    return text


async def _take(lock: Lock) -> None:
    deadline = time.monotonic() + _STOP_SECONDS
    while not lock.take():
        if time.monotonic() > deadline:
            raise CliError("another simulator still runs on this state directory; end it, or choose --state DIR")
        await asyncio.sleep(0.05)


async def _read_announcement(process: asyncio.subprocess.Process, log: Path, settings: Path | None) -> str:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
        return str(json.loads(line)["url"])
    except (TimeoutError, ValueError, KeyError):
        given = f" with the settings in {settings}" if settings else ""
        raise CliError(f"the simulated cloud did not start{given}: {_complaint(log)}") from None


def _complaint(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    last = lines[-1].removeprefix("freehold_sim: ") if lines else f"it gave no answer in {_START_SECONDS:.0f} s"
    if "No module named" in last:
        return f"{last}; install it with the extra: pip install 'freehold[simulate]'"
    return last


async def ask(base: str, path: str, body: Any = None) -> Any:
    """GET, or POST with a body, at the simulator's admin API (``/_sim/<path>``). Raises CliError with its words."""
    method = "GET" if body is None else "POST"
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
            session.request(method, f"{base}/_sim/{path}", json=body) as response,
        ):
            answer = await response.json()
    except (aiohttp.ClientError, TimeoutError) as problem:
        raise CliError(f"the simulated cloud at {base} cannot be reached: {explain_unreachable(problem)}") from problem
    if response.status != 200:
        raise CliError(f"the simulated cloud refuses {path}: {answer.get('error', response.status)}")
    return answer


async def clock_of(base: str) -> SystemClock:
    """Continue the simulator's domain clock here."""
    return continue_clock(await ask(base, "clock"))


def limits_of(clock: SystemClock, simulator: str) -> Limits:
    """Limit how often the operator asks the cloud: a simulated one, in the seconds of its own clock.

    At the rate for a real cloud a call would wait for its turn for minutes of simulated time, and a create is not sent
    so long after the write that allows it (ADR 2): several clusters at a high speed would never be Ready.
    """
    from freehold.providers.access.limits import Limits

    return Limits(CALLS_A_SECOND * max(clock.speed, 1.0)) if simulator else Limits()
