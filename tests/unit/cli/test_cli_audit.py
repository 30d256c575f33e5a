"""``freehold audit``: what was changed, and whether the log of it is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from freehold.cli.commands import audit
from freehold.cli.errors import CliError
from freehold.cli.main import cli
from freehold.engine.clock import ManualClock
from freehold.providers.access.audit import FileAudit


@pytest.fixture(name="state")
def _state(tmp_path: Path) -> Path:
    """A state directory whose log was rotated once."""
    log = tmp_path / "audit.jsonl"
    for resource in ("vpc-1", "vpc-2"):
        with FileAudit(log, ManualClock(1_790_000_000.0)) as audit:
            audit.log_kept("IBMPowerVSCluster team/c1", resource, "found by its name")
        if resource == "vpc-1":
            log.rename(tmp_path / "audit.jsonl.1")
    return tmp_path


def test_the_logs_of_a_state_directory_are_shown_the_oldest_first(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit.run((), False, state)
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[4:6] for row in rows] == [["vpc-1", "kept"], ["vpc-2", "kept"]]


@pytest.mark.parametrize("command", ["audit", "tags audit"])
def test_the_state_directory_need_not_be_named(
    command: str, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one of the environment is meant, as by every other command."""
    monkeypatch.setenv("FREEHOLD_STATE", str(state))
    cli.main([*command.split(), "--verify"], standalone_mode=False)
    assert capsys.readouterr().out.count("none changed, taken out or added") == 2


def test_a_whole_log_is_said_to_be_whole(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit.run((), True, state)
    said = capsys.readouterr().out
    assert said.count("none changed, taken out or added") == 2


def test_a_changed_line_is_told_with_its_file_and_number(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = state / "audit.jsonl"
    log.write_text(log.read_text().replace("vpc-2", "vpc-9"))
    with pytest.raises(CliError, match="not whole"):
        audit.run((), True, state)
    assert f"{log}: line 2:" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_no_whole_log(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="cannot be read"):
        audit.run((tmp_path / "audit.jsonl",), True, tmp_path)
    with pytest.raises(CliError, match="no audit log to check"):
        audit.run((), True, tmp_path)
