"""What is no store of ours is not written to, and a new store is never seen half made."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from freehold_apiserver.store import NotAStore, Store

FOREIGN = (
    "CREATE TABLE moz_places (id INTEGER)",
    "CREATE TABLE objects (id INTEGER)",
    "CREATE TABLE revision (id INTEGER, value INTEGER)",
    "CREATE VIEW objects AS SELECT 1",
    "CREATE TABLE objects (id INTEGER); CREATE TABLE revision (id INTEGER, value INTEGER)",
)


@pytest.mark.parametrize("script", FOREIGN)
def test_a_database_of_something_else_stays_as_it_is(tmp_path: Path, script: str) -> None:
    path = tmp_path / "store.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.executescript(script)
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="a database of something else"):
        Store.open(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("script", ["", "PRAGMA user_version = 7"], ids=["no byte", "no table"])
def test_an_empty_file_is_refused_where_a_store_must_be(tmp_path: Path, script: str) -> None:
    path = tmp_path / "store.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.executescript(script)
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="it is empty"):
        Store.open(path, begin=False)
    assert path.read_bytes() == before
    Store.open(path).close()
    Store.open(path, begin=False).close()


def test_a_new_store_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a crash of the first command leaves an empty file, and the next one calls the store lost."""
    path = tmp_path / "store.sqlite"
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", _killed)
        with pytest.raises(KeyboardInterrupt):
            Store.open(path)
    assert not path.exists()
    path.with_name("store.sqlite.new").write_bytes(b"half of what an earlier one wrote")
    Store.open(path).close()
    assert list(tmp_path.iterdir()) == [path]


def _killed(path: Path, target: Path) -> None:
    raise KeyboardInterrupt
