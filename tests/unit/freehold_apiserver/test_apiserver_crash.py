"""kill -9 at any moment loses nothing acknowledged."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import aiohttp
from apiserver_testbed import CONFIG_MAPS, config_map

from freehold_apiserver.store import Store

SERVE = """
import asyncio, sys
from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store

async def serve():
    print(await ApiServer(Store.open(sys.argv[1])).start(), flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


async def test_every_acknowledged_write_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVE, str(path), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().strip()
    acknowledged: dict[str, int] = {}
    enough = asyncio.Event()

    async def write(session: aiohttp.ClientSession, worker: int) -> None:
        """Create objects and delete every third until the server dies; remember only what was answered."""
        for index in range(10_000):
            name = f"w{worker}-{index}"
            async with session.post(url + CONFIG_MAPS, json=config_map(name, {"x": name})) as answer:
                body = json.loads(await answer.read())
            acknowledged[name] = int(body["metadata"]["resourceVersion"])
            if index % 3 == 0:
                del acknowledged[name]
                async with session.delete(f"{url}{CONFIG_MAPS}/{name}") as answer:
                    await answer.read()
                acknowledged[name] = -1
            if len(acknowledged) > 300:
                enough.set()

    async with aiohttp.ClientSession() as session:
        writers = [asyncio.create_task(write(session, worker)) for worker in range(8)]
        async with asyncio.timeout(120):
            await enough.wait()
        process.send_signal(signal.SIGKILL)
        results = await asyncio.gather(*writers, return_exceptions=True)
    await process.wait()
    assert all(isinstance(each, aiohttp.ClientError) for each in results), results

    store = Store.open(path)
    kept = {each.obj["metadata"]["name"]: each.revision for each in store.scan("/configmaps", "default")}
    for name, version in acknowledged.items():
        assert kept.get(name, -1) == version, name
    assert store.revision >= max(acknowledged.values())
    store.close()
