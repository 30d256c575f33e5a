"""``freehold prune`` and ``freehold resolve``: a plan or the evidence first, and the answer of the operator."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from freehold.api.names import JOURNAL_ANNOTATION

ROOT = Path(__file__).parents[3]
MANIFEST = ROOT / "examples" / "powervs-minimal.yaml"


def _freehold(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "freehold.cli.main", *words, "--state", str(state)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "USER": "ada"})


def _manifest(directory: Path, *balancers: str) -> str:
    (document,) = yaml.safe_load_all(MANIFEST.read_text())
    document["spec"]["loadBalancers"] = [{"name": name, "public": name == "one"} for name in balancers]
    path = directory / "manifest.yaml"
    path.write_text(yaml.safe_dump(document))
    return str(path)


@pytest.fixture(name="state")
def _state(tmp_path: Path) -> Path:
    """A cluster whose spec has lost a load balancer since."""
    state = tmp_path / "state"
    for balancers in (("one", "two"), ("one",)):
        made = _freehold(state, "up", "-f", _manifest(tmp_path, *balancers), "--simulate", "--speed", "1000")
        assert made.returncode == 0, made.stderr
    return state


def test_surplus_is_shown_and_deleted_only_when_that_is_said(state: Path) -> None:
    shown = _freehold(state, "prune", "minimal")
    assert shown.returncode == 0, shown.stderr
    assert "1 to delete" in shown.stdout and "nothing was done" in shown.stdout and "two" in shown.stdout

    done = _freehold(state, "prune", "minimal", "--yes", "--speed", "1000")
    assert done.returncode == 0, done.stderr
    assert "is gone" in done.stdout
    audit = [json.loads(line) for line in (state / "audit.jsonl").read_text().splitlines()]
    (decided,) = [line for line in audit if line["outcome"] == "decided"]
    assert decided["by"].startswith("ada@") and "load-balancer/two" in decided["resource"]

    assert "no surplus" in _freehold(state, "prune", "minimal").stdout
    assert "Surplus" not in _freehold(state, "tree", "minimal").stdout
    assert "nothing is left for a person to decide" in _freehold(state, "resolve", "minimal").stdout


def _cut_off(state: Path) -> None:
    """The store as of the moment after the create of the load balancer was sent, and before its id was recorded."""
    with contextlib.closing(sqlite3.connect(state / "store.sqlite")) as store, store:
        (body,) = store.execute("SELECT body FROM objects WHERE collection LIKE '%ibmpowervsclusters'").fetchone()
        stored = json.loads(body)
        journal = json.loads(stored["metadata"]["annotations"][JOURNAL_ANNOTATION])
        entry = journal["nodes"]["load-balancer/one:public"]
        region, _, _ = entry.pop("id").partition("/")
        request = {"name": "one", "region": region, "public": True, "subnets": [], "pools": [], "listeners": []}
        journal["nodes"]["load-balancer/one:public"] = {**entry, "p": "i", "r": request}
        stored["metadata"]["annotations"][JOURNAL_ANNOTATION] = json.dumps(journal)
        store.execute(
            "UPDATE objects SET body = ? WHERE collection LIKE '%ibmpowervsclusters'", (json.dumps(stored).encode(),)
        )


def test_the_evidence_is_shown_before_a_person_decides(state: Path) -> None:
    """The command names the resource that the create may have made, and what speaks for it."""
    _cut_off(state)
    shown = _freehold(state, "resolve", "minimal", "one", "--mine")
    assert shown.returncode == 0, shown.stderr
    assert "its outcome is unknown" in shown.stdout and "would be this object's own" in shown.stdout
    assert "nothing was done" in shown.stdout

    done = _freehold(state, "resolve", "minimal", "one", "--mine", "--yes", "--speed", "1000")
    assert done.returncode == 0, done.stderr
    assert "is on record as ours" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["prune", "nobody"], "there is no cluster default/nobody"),
        (["resolve", "nobody"], "there is no cluster default/nobody"),
        (["resolve", "minimal", "--mine"], "say which resource"),
        (["resolve", "minimal", "vpc/main", "--yes"], "--mine or --not-mine"),
    ],
)
def test_what_cannot_be_decided_is_said_in_a_sentence(tmp_path: Path, words: list[str], said: str) -> None:
    told = _freehold(tmp_path / "state", *words)
    assert told.returncode in (1, 2)
    assert said in told.stderr
