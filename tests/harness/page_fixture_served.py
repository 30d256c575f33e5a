"""The made-up objects of ``harness.page_fixture`` behind an address, from a thread of this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from aiohttp import web

from harness.page_fixture import TOKEN, Fixture, World
from harness.serving import in_a_thread

_CLUSTER = "#/object/AWSCluster/payments/web-blue"
VIEWS = {"objects": "#/", "cluster": _CLUSTER, "deletion": f"{_CLUSTER}/deletion", "tags": "#/tags", "audit": "#/audit"}
"""Routes of the page, by what is seen there."""


@contextmanager
def served_fixture(objects: int = 60, story: str = "still") -> Iterator[str]:
    """Serve ``objects`` that do what ``story`` says; gives the URL with its token."""
    with in_a_thread(_served(objects, story)) as url:
        yield url


@asynccontextmanager
async def _served(objects: int, story: str) -> AsyncIterator[str]:
    world = World(objects, story)
    runner = web.AppRunner(Fixture(world).build_app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    playing = asyncio.ensure_future(world.play())
    try:
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/#token={TOKEN}"
    finally:
        playing.cancel()
        with suppress(asyncio.CancelledError):
            await playing
        await runner.cleanup()
