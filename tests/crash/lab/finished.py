"""Which whole families have passed in this state of the sources: all of them take a day, and need not be one run.

``pytest --continue`` leaves out what has passed, and notes what passes now; it ends with a table of all that has.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.source_state import ROOT, digest_of

KEPT = ROOT / ".cache" / "crash"


PRODUCT = ROOT / "src" / "freehold"
NOT_IN_A_LIFE = (PRODUCT / "cli", PRODUCT / "demo", ROOT / "src" / "freehold_apiserver")
"""What no life of the laboratory runs: a change of a command's text says nothing about a family."""


def _sources() -> Iterator[Path]:
    """What all families share. The module of tests that a family is run by is compared for itself."""
    for folder in (ROOT / "src", ROOT / "tests" / "crash" / "lab", ROOT / "tests" / "harness"):
        for path in folder.rglob("*.py"):
            if not any(path.is_relative_to(each) for each in NOT_IN_A_LIFE):
                yield path


def of_this_state() -> Path:
    """The file for these sources; those of other states are removed."""
    kept = KEPT / f"{digest_of(_sources())}.jsonl"
    for old in KEPT.glob("*.jsonl"):
        if old != kept:
            old.unlink()
    return kept


class Finished:
    """A plugin of pytest. ``file`` has a line for each test that has passed: its id, the state of its module, and the
    row that it printed."""

    def __init__(self, file: Path, *, notes: bool, root: Path = ROOT) -> None:
        """``notes``: this process is told of all results, and writes them down; the workers of a run are not.

        ``root``: the folder that the ids of tests begin in.
        """
        self._file = file
        self._notes = notes
        self._root = root
        self._states: dict[str, str] = {}

    def rows(self) -> dict[str, dict[str, Any]]:
        if not self._file.exists():
            return {}
        read = [json.loads(line) for line in self._file.read_text().splitlines()]
        return {each["test"]: each["row"] for each in read if each["module"] == self._state(each["test"])}

    def _state(self, test: str) -> str:
        """Of the module of tests, which has the bounds that a family must keep."""
        name = test.partition("::")[0]
        if name not in self._states:
            path = self._root / name
            self._states[name] = digest_of([path], self._root) if path.exists() else "gone"
        return self._states[name]

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        finished = self.rows().keys()
        left_out = [item for item in items if item.nodeid in finished]
        items[:] = [item for item in items if item.nodeid not in finished]
        config.hook.pytest_deselected(items=left_out)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._notes and report.when == "call" and report.passed:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a") as file:
                passed = {"test": report.nodeid, "module": self._state(report.nodeid)}
                file.write(json.dumps({**passed, "row": printed(report.capstdout)}) + "\n")

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Nothing is left to run: that is the end, and no mistake in the command."""
        if self._notes and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.rows():
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._notes:
            return
        terminalreporter.section("families that have passed in this state of the sources")
        for test, row in sorted(self.rows().items()):
            world = test.partition("::")[0].removeprefix("tests/crash/test_crash_").removesuffix(".py")
            terminalreporter.line(f"| {world} | {' | '.join(map(str, row.values()))} |" if row else f"| {test} |")


def printed(text: str) -> dict[str, Any]:
    """The row of a family (``families.Tally.row``) in the output of its test; empty where there is none."""
    rows = [line for line in text.splitlines() if line.startswith("{'family':")]
    row: dict[str, Any] = ast.literal_eval(rows[-1]) if rows else {}
    return row
