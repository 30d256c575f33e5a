"""The store of a state directory is lost: no command says that something is gone which still exists."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from harness.commands import freehold_in

ROOT = Path(__file__).parents[3]
MANIFEST = str(ROOT / "examples" / "powervs-minimal.yaml")
NAME = "minimal"


def _lose(state: Path) -> None:
    for file in state.glob("store.sqlite*"):
        file.unlink()


def test_a_cluster_whose_object_was_lost_is_not_called_gone(state: Path) -> None:
    _lose(state)
    again = freehold_in(state, "up", "-f", MANIFEST, "--speed", "2000")
    assert again.returncode == 1
    assert f"has the marks of an earlier default.{NAME} with uuid" in again.stderr
    assert "freehold orphans" in again.stderr
    down = freehold_in(state, "down", NAME, "--yes", "--speed", "2000")
    assert down.returncode == 0, down.stderr
    assert "and it owned nothing" in down.stdout
    assert " Gone " not in down.stdout
    assert "somebody must act" not in down.stdout + down.stderr


def test_orphans_lists_what_the_lost_object_made(state: Path) -> None:
    assert "none" in freehold_in(state, "orphans").stdout
    _lose(state)
    listed = freehold_in(state, "orphans")
    assert listed.returncode == 0, listed.stderr
    assert f"default/{NAME} (uuid " in listed.stdout and "10 resources" in listed.stdout
    assert "m1-" not in listed.stdout and f"{NAME}-vpc" in listed.stdout


def test_a_store_that_is_gone_is_said(state: Path) -> None:
    _lose(state)
    assert "is gone, and the cloud was changed from here" in freehold_in(state, "get").stderr


def _database(path: Path, script: str) -> bytes:
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.executescript(script)
    return path.read_bytes()


FOREIGN = {
    "a database of something else": "CREATE TABLE moz_places (id INTEGER, url TEXT)",
    "one with tables of our names": "CREATE TABLE objects (id INTEGER); CREATE TABLE revision (id INTEGER)",
    "one without tables": "PRAGMA user_version = 7",
}


@pytest.mark.parametrize("content", [b"", b"no database, but a text of some length" * 9], ids=["empty", "foreign"])
def test_a_store_that_is_none_is_not_taken_for_a_new_one(state: Path, content: bytes) -> None:
    _lose(state)
    (state / "store.sqlite").write_bytes(content)
    told = freehold_in(state, "get")
    assert told.returncode == 1
    assert "restore it from a backup" in told.stderr
    assert (state / "store.sqlite").read_bytes() == content


@pytest.mark.parametrize("command", ["get", "serve"])
@pytest.mark.parametrize("script", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_database_is_refused_before_anything_is_written_to_it(state: Path, script: str, command: str) -> None:
    _lose(state)
    content = _database(state / "store.sqlite", script)
    told = freehold_in(state, command)
    assert told.returncode == 1, told.stdout
    assert f"store {state / 'store.sqlite'}" in told.stderr and "restore it from a backup" in told.stderr
    assert "no clusters" not in told.stdout
    assert (state / "store.sqlite").read_bytes() == content
    assert [file.name for file in state.glob("store.sqlite*")] == ["store.sqlite"]


def test_an_empty_store_is_a_lost_one_where_the_directory_is_bound_to_a_cloud(tmp_path: Path) -> None:
    """The audit log may be rotated away, or nothing was created yet: objects were stored all the same."""
    state = tmp_path / "state"
    state.mkdir()
    (state / "cloud.json").write_text('{"cloud": "simulated"}')
    (state / "store.sqlite").touch()
    told = freehold_in(state, "get")
    assert told.returncode == 1
    assert "is empty" in told.stderr and "restore it from a backup" in told.stderr


def test_an_empty_file_in_a_directory_that_nobody_used_is_a_new_store(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "store.sqlite").touch()
    told = freehold_in(tmp_path / "state", "get")
    assert told.returncode == 0, told.stderr
    assert "no clusters" in told.stdout


def _uuid(state: Path) -> str:
    (owner,) = json.loads(freehold_in(state, "orphans", "-o", "json").stdout)
    return str(owner["uuid"])


def test_a_recovery_is_a_plan_first(state: Path) -> None:
    _lose(state)
    plan = freehold_in(state, "recover", NAME)
    assert plan.returncode == 0, plan.stderr
    assert f"freehold recover --state {state} --uuid {_uuid(state)} --yes" in plan.stdout
    assert "Another management cluster or laptop may still serve it" in plan.stdout
    assert plan.stdout.count("sealed node mark") == 8 and "left out" not in plan.stdout
    assert "no clusters" in freehold_in(state, "get").stdout


def test_a_recovered_cluster_is_applied_again_without_a_create(state: Path) -> None:
    _lose(state)
    assert freehold_in(state, "recover", "--uuid", _uuid(state), "--yes").returncode == 0
    assert "none" in freehold_in(state, "orphans").stdout
    before = (state / "audit.jsonl").read_text()
    up = freehold_in(state, "up", "-f", MANIFEST, "--speed", "2000")
    assert up.returncode == 0, up.stderr
    assert "is Ready: 10 resources" in up.stdout
    assert "create_" not in (state / "audit.jsonl").read_text().removeprefix(before)


def test_a_recovered_cluster_is_deleted_without_its_manifest(state: Path) -> None:
    _lose(state)
    assert freehold_in(state, "recover", NAME, "--yes").returncode == 0
    down = freehold_in(state, "down", NAME, "--yes", "--speed", "2000")
    assert down.returncode == 0, down.stderr
    assert "and everything that it owned" in down.stdout
    assert "none" in freehold_in(state, "orphans").stdout


def test_nothing_is_recovered_beside_an_object_of_the_name(state: Path) -> None:
    assert "has the marks of" in freehold_in(state, "recover", NAME).stderr, "it is here"
    _lose(state)
    uuid = _uuid(state)
    freehold_in(state, "up", "-f", MANIFEST, "--speed", "2000")
    refused = freehold_in(state, "recover", "--uuid", uuid, "--yes")
    assert refused.returncode == 1
    assert f"there is an IBMPowerVSCluster default/{NAME} already" in refused.stderr


def test_without_the_key_a_person_must_say_that_it_is_lost(state: Path) -> None:
    _lose(state)
    state.with_name("state.keys").unlink()
    assert "no key ring" in freehold_in(state, "recover", NAME).stderr
    assert freehold_in(state, "keys", "new").returncode == 0
    asked = freehold_in(state, "recover", NAME, "--yes")
    assert asked.returncode == 1
    assert "10 of them have marks that this key ring did not make" in asked.stderr
    assert "--key-lost" in asked.stderr
    assert freehold_in(state, "recover", NAME, "--key-lost", "--yes").returncode == 0
    up = freehold_in(state, "up", "-f", MANIFEST, "--speed", "200", "--timeout", "60")
    assert "is Ready: 10 resources" in up.stdout, up.stderr
