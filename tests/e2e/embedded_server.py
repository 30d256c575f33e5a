"""Runs the embedded API server as a process of its own: ``python embedded_server.py STATE_FILE [PORT]``.

Prints its URL with the credentials in it, then serves until it is stopped.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store

TOKEN = "e2e-token"


async def serve(path: str, port: int = 0) -> None:
    store = Store.open(path)
    server = ApiServer(store, token=TOKEN)
    ended = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, ended.set)
    url = await server.start(port=port)
    print(url.replace("//", f"//e2e:{TOKEN}@"), flush=True)
    await ended.wait()
    await server.stop()
    store.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], *map(int, sys.argv[2:])))
