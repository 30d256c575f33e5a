"""A watch shows changes, does not keep others from serving, and continues after its server ends."""

import asyncio
import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from freehold.cli.access import Access, ServeOptions
from freehold.cli.session import Session, opened
from freehold.cli.state_directory import LiveServer, Lock, StateDirectory
from freehold.cli.tables import GrowingTable
from freehold.cli.watching import Changes, follow_changes
from freehold.kube.resources import CONFIG_MAPS, Key
from harness.commands import PROGRAM

READER = ServeOptions(operator=False)


def _map(name: str, value: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"a": value},
    }  # fmt: skip


def test_only_visible_changes_are_shown() -> None:
    """Every new connection lists everything again, and many writes do not change the table."""
    shown: list[tuple[str, bool]] = []
    changes = Changes(lambda obj: obj["data"], lambda obj, gone: shown.append((obj["metadata"]["name"], gone)))
    changes.listed([_map("a"), _map("b")])
    changes.take(Key("default", "a"), {**_map("a"), "status": "not shown"})
    changes.take(Key("default", "b"), _map("b", "new"))
    changes.listed([_map("b", "new")])
    changes.take(Key("default", "a"), None)
    assert shown == [("a", False), ("b", False), ("b", False), ("a", True)]


def test_a_watch_of_one_name_shows_no_other() -> None:
    shown: list[str] = []
    changes = Changes(lambda obj: obj, lambda obj, _: shown.append(obj["metadata"]["name"]), frozenset("a"))
    changes.listed([_map("a"), _map("b")])
    assert shown == ["a"]


def test_a_growing_table_stays_aligned() -> None:
    """A row that needs more room gets the heads again: without them nobody knows which column is which."""
    table = GrowingTable(("NAME", "READY", "NOTE"), 60)
    table.reserve(("a-long-name", "", ""))
    assert table.lines(("a", "1/2", "")) == ["NAME          READY   NOTE", "a             1/2"]
    assert table.lines(("a", "2/2", "")) == ["a             2/2"]
    assert table.lines(("a-longer-name", "0/2", "")) == ["NAME            READY   NOTE", "a-longer-name   0/2"]


def test_a_long_note_of_a_watched_object_is_folded_and_never_cut() -> None:
    note = "blocked: spec.zone: there is no PowerVS zone 'dal99'; choose one of dal10, dal12"
    narrow, wide = (GrowingTable(("NAME", "NOTE"), room).lines(("a", note)) for room in (40, 400))
    assert " ".join(" ".join(narrow[1:]).split()) == f"a {note}"
    assert max(map(len, narrow)) <= 40
    assert wide[1] == f"a      {note}"


async def test_changes_are_shown_until_the_server_ends(tmp_path: Path) -> None:
    state = StateDirectory.open(tmp_path)
    shown: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
    changes = Changes(lambda obj: obj["data"], lambda obj, gone: shown.put_nowait((obj["data"]["a"], gone)))
    first = Session(Access(state, READER))
    await first.open()
    async with opened(Access(state, READER)) as second:
        await first.client.create(CONFIG_MAPS, _map("a", "old"))
        watching = asyncio.create_task(follow_changes(second, CONFIG_MAPS, "default", changes))
        async with asyncio.timeout(120):
            assert await shown.get() == ("old", False)
            await first.client.patch(CONFIG_MAPS, Key("default", "a"), {"data": {"a": "new"}})
            await first.client.delete(CONFIG_MAPS, Key("default", "a"))
            assert [await shown.get(), await shown.get()] == [("new", False), ("new", True)]
            await first.close()
            await watching
        assert shown.empty(), "the server's end is no change of an object"


async def test_a_watch_waits_for_a_server_and_does_not_hold_the_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise `freehold up` in another window would find the state in use, without an operator."""
    state = StateDirectory.open(tmp_path)
    watcher = Session(Access(state, READER, join=True))
    joining = asyncio.create_task(watcher.open())
    await asyncio.sleep(0)
    lock = Lock(state.lock)
    assert lock.take(), "the state is free for whoever wants to work on it"
    lock.release()
    async with opened(Access(state, READER)) as reader:
        assert reader.running is not None
        await asyncio.wait((joining,), timeout=0.7)
        assert not joining.done(), "a reader is no operator: nothing will change"
        server = asdict(LiveServer(**{**asdict(reader.running.server), "operator": True}))
        state.lock.write_text(json.dumps(server))
        async with asyncio.timeout(120):
            await joining
        await watcher.close()
    assert capsys.readouterr().err.count("waiting for freehold up, down or serve") == 1


def test_a_watch_shows_the_existing_objects_and_ends_quietly(tmp_path: Path) -> None:
    command = [*PROGRAM, "get", "ns", "-w", "--state", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stderr is not None
        shown = [running.stdout.readline().split() for _ in range(3)]
        assert [each[:2] for each in shown] == [["NAME", "STATUS"], ["default", "Active"], ["kube-system", "Active"]]
        assert "nothing is at work on" in running.stderr.readline()
        running.send_signal(2)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", "")
