"""An API server in this process, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from apiserver_testbed import Api, Clock, widget_crd

from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def api(clock: Clock) -> AsyncIterator[Api]:
    store = Store.open(":memory:", history=50)
    server = ApiServer(store, [widget_crd()], now=clock)
    url = await server.start()
    async with aiohttp.ClientSession() as session:
        yield Api(url, session)
    await server.stop()
    store.close()
