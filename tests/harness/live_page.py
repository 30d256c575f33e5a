"""The live page of a state directory, as ``freehold serve`` has it: API, operator and clouds on the test's own loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import aiohttp

from freehold.cli.local import server_process
from freehold.cli.local.access import ServeOptions
from freehold.cli.local.serving_address import connection_to
from freehold.cli.local.state_directory import Lock, StateDirectory
from freehold.kube.client import KubeClient
from harness.serving import simulated_cloud

SECONDS = 120.0


class PageClient:
    """A viewer of a page: requests with its token, and the rows as its stream tells them."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.address, _, self.token = url.partition("/#token=")
        self.rows: dict[str, Any] = {}
        self.session = session

    async def get(self, path: str) -> Any:
        async with self.request(path) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    def request(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.session.get(f"{self.address}/api/{path}", headers=headers)

    async def watch_until(self, seen: Callable[[dict[str, Any]], bool]) -> None:
        """Follow the objects as the page does, until ``seen`` returns True for the rows by key."""
        async with asyncio.timeout(SECONDS):
            found = await self.get("objects")
            self.rows = {row["key"]: row for row in found["rows"]}
            async with self.request(f"stream?after={found['seq']}") as answer:
                while not seen(self.rows):
                    event = [(await answer.content.readline()).decode().strip() for _ in range(3)]
                    assert event[0] in ("event: rows", "event: beat"), event
                    if event[0] == "event: rows":
                        self._take(json.loads(event[1].removeprefix("data: ")))

    def _take(self, message: Any) -> None:
        self.rows.update({row["key"]: row for row in message["changed"]})
        for key in message["gone"]:
            del self.rows[key]


@asynccontextmanager
async def serve_live_page(state: Path, **options: Any) -> AsyncIterator[tuple[PageClient, KubeClient]]:
    """Serve a state directory with simulated clouds; yield a viewer, and a client of its API."""
    directory = StateDirectory.open(state)
    lock = Lock(directory.lock)
    assert lock.take()
    wanted = ServeOptions(simulate=True, **{"page": 0, "speed": 2000.0, **options})
    with mock.patch.object(server_process, "simulated_cloud", simulated_cloud):
        async with (
            server_process.live_server(directory, lock, wanted) as running,
            KubeClient(connection_to(running.server)) as client,
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS), read_bufsize=2**22) as session,
        ):
            yield PageClient(session, running.page), client
