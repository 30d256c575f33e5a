"""A full disk: every write says so in one sentence, and nothing that was stored is lost."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from apiserver_testbed import CONFIG_MAPS, Api, Clock, config_map

from freehold_apiserver.server import ApiServer
from freehold_apiserver.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
async def nearly_full(path: Path, clock: Clock) -> AsyncIterator[tuple[Api, sqlite3.Connection]]:
    """A server whose store has little room left."""
    Store.open(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    server = ApiServer(Store(connection), now=clock)
    url = await server.start()
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages + 4}")
    async with aiohttp.ClientSession() as session:
        yield Api(url, session), connection
    await server.stop()
    connection.close()


async def test_a_write_without_room_is_refused_and_nothing_is_lost(
    nearly_full: tuple[Api, sqlite3.Connection], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api, connection = nearly_full
    stored = await api.made(CONFIG_MAPS, config_map("small", {"x": "1"}))
    for answer in (
        await api.post(CONFIG_MAPS, config_map("large", {"x": "y" * 200_000})),
        await api.merge(f"{CONFIG_MAPS}/small", {"data": {"x": "y" * 200_000}}),
    ):
        assert (answer.code, answer.json["kind"], answer.json["status"]) == (507, "Status", "Failure")
        assert answer.message == (
            f"{path} cannot be written: the disk is full; free some space, then repeat the command; nothing was changed"
        )
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], "no traceback in the log"
    listed = (await api.get(CONFIG_MAPS)).json
    assert listed["items"][0]["data"] == stored["data"] and len(listed["items"]) == 1, "the answers are what is stored"
    connection.execute("PRAGMA max_page_count=1000000")
    after = await api.post(CONFIG_MAPS, config_map("large", {"x": "y" * 200_000}))
    assert after.code == 201, "with room again it goes on"
    reopened = Store.open(path)
    assert [each.obj["metadata"]["name"] for each in reopened.scan("/configmaps")] == ["large", "small"]
    reopened.close()


async def test_a_disk_that_cannot_be_written_is_named_too(path: Path, clock: Clock) -> None:
    Store.open(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    server = ApiServer(Store(connection), now=clock)
    url = await server.start()
    connection.execute("PRAGMA query_only=ON")
    async with aiohttp.ClientSession() as session:
        answer = await Api(url, session).post(CONFIG_MAPS, config_map("a"))
    assert answer.code == 507 and answer.message.startswith(f"{path} cannot be written: attempt to write a readonly")
    connection.execute("PRAGMA query_only=OFF")
    await server.stop()
    connection.close()
