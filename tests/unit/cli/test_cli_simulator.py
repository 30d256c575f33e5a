"""The simulator ends with its parent process, however that ends, and its world stays."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from freehold.cli.errors import CliError
from freehold.cli.simulator import ask, clock_of, simulated_cloud, stopped_clock
from freehold.cli.state_directory import Lock, StateDirectory

PARENT = """
import asyncio, pathlib, sys
from freehold.cli.simulator import simulated_cloud
from freehold.cli.state_directory import StateDirectory
async def main():
    async with simulated_cloud(StateDirectory.open(pathlib.Path(sys.argv[1])), 1000.0) as url:
        print(url, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


async def _until_free(lock: Lock) -> None:
    while not lock.take():
        await asyncio.to_thread(os.sched_yield)
    lock.release()


async def test_kill_9_of_the_parent_ends_the_simulator_and_keeps_the_world(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    url = (await asyncio.wait_for(parent.stdout.readline(), 30)).decode().strip()
    await ask(url, "strangers/make", {"kind": "vpc", "region": "us-south", "name": "theirs"})
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    state = StateDirectory.open(tmp_path)
    await asyncio.wait_for(_until_free(Lock(state.world_lock)), 30)
    with pytest.raises(CliError, match="cannot be reached"):
        await ask(url, "clock")
    left = stopped_clock(state.world).now()
    async with simulated_cloud(state, 1000.0) as again:
        names = [row["name"] for row in (await ask(again, "resources"))["resources"]]
        assert "theirs" in names
        assert (await clock_of(again)).now() >= left, "simulated time never runs backwards"


async def test_a_world_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    state = StateDirectory.open(tmp_path)
    state.world.write_text("{")
    with pytest.raises(CliError, match="is not a simulator state file"):
        async with simulated_cloud(state):
            raise AssertionError("it must not start")


async def test_the_back_door_refuses_in_its_own_words(tmp_path: Path) -> None:
    async with simulated_cloud(StateDirectory.open(tmp_path)) as url:
        with pytest.raises(CliError, match=r"refuses strangers/fly.*unknown verb: fly"):
            await ask(url, "strangers/fly", {})
