"""The lines of the audit log."""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from freehold.engine.clock import ManualClock
from freehold.providers.access.audit import AuditInUse, FileAudit
from freehold.providers.access.audit_chain import VerifiedFile, verify_lines


def test_a_kept_resource_has_a_line_with_its_name_and_the_reason(tmp_path: Path) -> None:
    """An auditor finds it after the object and its events are gone; it is not counted as a call."""
    clock = ManualClock()
    with FileAudit(tmp_path / "audit.jsonl", clock) as audit:
        audit.log_kept("IBMPowerVSCluster team/c1", "vpc main r006-1", "found by its name")
    line = json.loads((tmp_path / "audit.jsonl").read_text())
    assert line.pop("chain")
    assert line == {
        "time": round(clock.now(), 3),
        "object": "IBMPowerVSCluster team/c1",
        "call": "",
        "resource": "vpc main r006-1",
        "outcome": "kept",
        "reason": "found by its name",
    }


def _write(path: Path, *resources: str) -> None:
    with FileAudit(path, ManualClock()) as audit:
        for resource in resources:
            audit.log_kept("Kind team/c1", resource, "why")


def _verified(path: Path, before: str = "") -> VerifiedFile:
    return verify_lines(path.read_text().splitlines(), before)


def test_lines_of_several_processes_are_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    _write(path, "a", "b")
    _write(path, "c" * 100_000)
    _write(path, "d")
    found = _verified(path)
    assert (found.lines, found.problems) == (4, ())


def _changed(lines: list[str]) -> list[str]:
    return [lines[0], lines[1].replace('"b"', '"B"'), *lines[2:]]


def _taken_out(lines: list[str]) -> list[str]:
    return [lines[0], *lines[2:]]


def _added(lines: list[str]) -> list[str]:
    return [lines[0], lines[0], *lines[1:]]


def _added_without_chain(lines: list[str]) -> list[str]:
    return [lines[0], json.dumps({"outcome": "done"}), *lines[1:]]


@pytest.mark.parametrize("meddle", [_changed, _taken_out, _added, _added_without_chain])
def test_a_line_that_is_meddled_with_is_told(tmp_path: Path, meddle: Callable[[list[str]], list[str]]) -> None:
    path = tmp_path / "audit.jsonl"
    _write(path, "a", "b", "c", "d")
    path.write_text("".join(f"{line}\n" for line in meddle(path.read_text().splitlines())))
    assert [problem.partition(":")[0] for problem in _verified(path).problems] == ["line 2"]


def test_a_tail_that_is_cut_off_is_not_what_the_log_tells_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing in the file can show it."""
    path = tmp_path / "audit.jsonl"
    with caplog.at_level(logging.INFO):
        _write(path, "a", "b", "c")
    assert _verified(path).head in caplog.messages[-1]
    path.write_text("".join(f"{line}\n" for line in path.read_text().splitlines()[:-1]))
    found = _verified(path)
    assert found.problems == () and found.head not in caplog.messages[-1]


def test_a_new_file_goes_on_where_the_rotated_one_ended(tmp_path: Path) -> None:
    path, rotated = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    _write(path, "a", "b")
    path.rename(rotated)
    _write(path, "c")
    head = _verified(rotated).head
    assert _verified(path, head).problems == _verified(path).problems == ()
    _write(rotated, "an afterthought")
    assert "begins after" in _verified(path, _verified(rotated).head).problems[0]


def test_lines_of_earlier_versions_stay_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"outcome": "done"}\n' * 3)
    _write(path, "a")
    found = _verified(path)
    assert (found.lines, found.unsealed, found.problems) == (4, 3, ())


def test_the_chain_goes_on_after_a_line_that_was_cut_off(tmp_path: Path) -> None:
    """The process died while it wrote: its line is told, and those after it are checked."""
    path = tmp_path / "audit.jsonl"
    _write(path, "a", "b")
    path.write_text(path.read_text() + '{"call": "ec2.crea')
    _write(path, "c")
    assert [problem.partition(",")[0] for problem in _verified(path).problems] == [
        "line 3: it was cut off: the process or the disk ended while it was written"
    ]
    assert _verified(path).lines == 4


def test_a_line_that_the_disk_has_no_room_for_is_an_error_and_the_chain_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be audited is not sent."""
    path, write = tmp_path / "audit.jsonl", os.write
    with FileAudit(path, ManualClock()) as audit:
        audit.log_kept("Kind team/c1", "a", "why")
        with monkeypatch.context() as full:
            full.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
            with pytest.raises(OSError) as refused:
                audit.log_kept("Kind team/c1", "b", "why")
        assert refused.value.errno == errno.ENOSPC
        audit.log_kept("Kind team/c1", "c", "why")
    assert ["cut off" in problem for problem in _verified(path).problems] == [True]


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with FileAudit(path, ManualClock()), pytest.raises(AuditInUse, match="give each its own file"):
        FileAudit(path, ManualClock())
