"""`get -w` prints what has changed, keeps nobody from serving, and sends who wants more to kubectl."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from freehold.cli.commands.get import ChangePrinter
from freehold.cli.local.access import ServeOptions
from freehold.cli.local.state_directory import Lock, StateDirectory
from freehold.cli.output.tables import TableStyle
from harness.commands import PROGRAM, freehold_in
from harness.forks import Program
from harness.serving import served


def _cluster(name: str, label: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSCluster",
        "metadata": {"name": name, "namespace": "default", "labels": {"a": label}},
    }  # fmt: skip


def _phase(name: str, phase: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True" if phase == "Ready" else "False", "reason": phase}
    return {**_cluster(name), "status": {"conditions": [condition]}}


def test_only_rows_that_changed_are_printed_and_what_has_gone(capsys: pytest.CaptureFixture[str]) -> None:
    printer = ChangePrinter(lambda found: TableStyle(200), "table")
    for found in (
        [_phase("a", "NotReady"), _phase("b", "Ready")],
        [_phase("a", "NotReady") | {"spec": {"region": "not shown"}}, _phase("b", "Ready")],
        [_phase("a", "Ready"), _phase("b", "Ready")],
        [_phase("b", "Ready")],
    ):
        printer.show(found)
    printed = [line.split() for line in capsys.readouterr().out.splitlines() if not line.startswith("NAME")]
    assert printed == [["a", "Progressing", "0/0"], ["b", "Ready", "0/0"], ["a", "Ready", "0/0"],
                       ["a", "Ready", "0/0", "gone"]]  # fmt: skip


def test_changed_documents_are_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    printer = ChangePrinter(lambda found: TableStyle(200), "name")
    printer.show([_cluster("a"), _cluster("b")])
    printer.show([_cluster("a"), _cluster("b", "new")])
    assert [line.rpartition("/")[2] for line in capsys.readouterr().out.splitlines()] == ["a", "b", "b"]


def test_a_watch_does_not_hold_the_state(tmp_path: Path) -> None:
    """Otherwise `freehold up` in another window would find it in use, without an operator."""
    refused = freehold_in(tmp_path / "state", "get", "-w")
    assert refused.returncode == 1
    assert "something changes only while freehold serve" in refused.stderr
    assert not (tmp_path / "state" / "store.sqlite").exists()


@contextmanager
def _served(path: Path) -> Iterator[StateDirectory]:
    state = StateDirectory.open(path)
    with served(state, ServeOptions(simulate=True)):
        yield state


def test_a_watch_shows_what_there_is_and_ends_quietly(tmp_path: Path) -> None:
    manifest = tmp_path / "a.yaml"
    paused = _cluster("a")
    paused["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}
    manifest.write_text(json.dumps({**paused, "spec": {"region": "us-east-1"}}))
    with _served(tmp_path / "state") as state:
        assert Lock(state.lock).held_elsewhere
        made = freehold_in(state.path, "up", "-f", str(manifest), "--timeout", "1")
        assert "created" in made.stdout, made.stderr
        others = freehold_in(state.path, "get", "events", "-w")
        assert (others.returncode, others.stdout) == (2, "")
        assert "get events --watch" in others.stderr
        command = [*PROGRAM, "get", "-w", "--state", str(state.path)]
        with Program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            shown = [running.stdout.readline().split()[0] for _ in range(2)]
            running.send_signal(2)
            _, err = running.communicate(timeout=60)
    assert shown == ["NAME", "a"]
    assert (running.returncode, err) == (130, "")
