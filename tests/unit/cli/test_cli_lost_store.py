"""The store of a state directory is lost: no command says that something is gone which still exists."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MANIFEST = str(ROOT / "examples" / "powervs-minimal.yaml")
NAME = "minimal"


def _freehold(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "freehold.cli.main", *words, "--state", str(state)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("made") / "state"
    made = _freehold(state, "up", "-f", MANIFEST, "--simulate", "--speed", "2000")
    assert made.returncode == 0, made.stderr
    return state


@pytest.fixture(name="state")
def _state(made: Path, tmp_path: Path) -> Path:
    """A copy of a state directory, with its key ring, from which a cluster was made."""
    shutil.copy(made.with_name("state.keys"), tmp_path)
    return Path(shutil.copytree(made, tmp_path / "state"))


def _lose(state: Path) -> None:
    for file in state.glob("store.sqlite*"):
        file.unlink()


def test_a_cluster_whose_object_was_lost_is_not_called_gone(state: Path) -> None:
    _lose(state)
    again = _freehold(state, "up", "-f", MANIFEST, "--speed", "2000")
    assert again.returncode == 1
    assert f"has the marks of an earlier default.{NAME} with uuid" in again.stderr
    assert "freehold orphans" in again.stderr
    down = _freehold(state, "down", NAME, "--speed", "2000")
    assert down.returncode == 0, down.stderr
    assert "and it owned nothing" in down.stdout
    assert " Gone " not in down.stdout
    assert "somebody must act" not in down.stdout + down.stderr


def test_orphans_lists_what_the_lost_object_made(state: Path) -> None:
    assert "none" in _freehold(state, "orphans").stdout
    _lose(state)
    listed = _freehold(state, "orphans")
    assert listed.returncode == 0, listed.stderr
    assert f"default/{NAME} (uuid " in listed.stdout and "10 resources" in listed.stdout
    assert "m1-" not in listed.stdout and f"{NAME}-vpc" in listed.stdout


def test_a_store_that_is_gone_is_said(state: Path) -> None:
    _lose(state)
    assert "is gone, and the cloud was changed from here" in _freehold(state, "get").stderr


@pytest.mark.parametrize("content", [b"", b"no database, but a text of some length" * 9], ids=["empty", "foreign"])
def test_a_store_that_is_none_is_not_taken_for_a_new_one(state: Path, content: bytes) -> None:
    _lose(state)
    (state / "store.sqlite").write_bytes(content)
    told = _freehold(state, "get")
    assert told.returncode == 1
    assert "restore it from a backup" in told.stderr
    assert (state / "store.sqlite").read_bytes() == content


def _uuid(state: Path) -> str:
    (owner,) = json.loads(_freehold(state, "orphans", "-o", "json").stdout)
    return str(owner["uuid"])


def test_a_recovery_is_a_plan_first(state: Path) -> None:
    _lose(state)
    plan = _freehold(state, "recover", NAME)
    assert plan.returncode == 0, plan.stderr
    assert f"freehold recover --state {state} --uuid {_uuid(state)} --yes" in plan.stdout
    assert "Another management cluster or laptop may still serve it" in plan.stdout
    assert plan.stdout.count("sealed node mark") == 8 and "left out" not in plan.stdout
    assert "no clusters" in _freehold(state, "get").stdout


def test_a_recovered_cluster_is_applied_again_without_a_create(state: Path) -> None:
    _lose(state)
    assert _freehold(state, "recover", "--uuid", _uuid(state), "--yes").returncode == 0
    assert "none" in _freehold(state, "orphans").stdout
    before = (state / "audit.jsonl").read_text()
    up = _freehold(state, "up", "-f", MANIFEST, "--speed", "2000")
    assert up.returncode == 0, up.stderr
    assert "is Ready: 10 resources" in up.stdout
    assert "create_" not in (state / "audit.jsonl").read_text().removeprefix(before)


def test_a_recovered_cluster_is_deleted_without_its_manifest(state: Path) -> None:
    _lose(state)
    assert _freehold(state, "recover", NAME, "--yes").returncode == 0
    down = _freehold(state, "down", NAME, "--speed", "2000")
    assert down.returncode == 0, down.stderr
    assert "and everything that it owned" in down.stdout
    assert "none" in _freehold(state, "orphans").stdout


def test_nothing_is_recovered_beside_an_object_of_the_name(state: Path) -> None:
    assert "has the marks of" in _freehold(state, "recover", NAME).stderr, "it is here"
    _lose(state)
    uuid = _uuid(state)
    _freehold(state, "up", "-f", MANIFEST, "--speed", "2000")
    refused = _freehold(state, "recover", "--uuid", uuid, "--yes")
    assert refused.returncode == 1
    assert f"there is an IBMPowerVSCluster default/{NAME} already" in refused.stderr


def test_without_the_key_a_person_must_say_that_it_is_lost(state: Path) -> None:
    _lose(state)
    state.with_name("state.keys").unlink()
    assert "no key ring" in _freehold(state, "recover", NAME).stderr
    assert _freehold(state, "keys", "new").returncode == 0
    asked = _freehold(state, "recover", NAME, "--yes")
    assert asked.returncode == 1
    assert "10 of them have marks that this key ring did not make" in asked.stderr
    assert "--key-lost" in asked.stderr
    assert _freehold(state, "recover", NAME, "--key-lost", "--yes").returncode == 0
    up = _freehold(state, "up", "-f", MANIFEST, "--speed", "200", "--timeout", "60")
    assert "is Ready: 10 resources" in up.stdout, up.stderr
