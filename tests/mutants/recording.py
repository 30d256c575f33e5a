"""A pytest plugin: which lines of freehold each test reaches, and how long it takes.

Loaded with ``-p mutants.recording`` in the one run that :mod:`mutants.reach` starts. With xdist every worker records
its own part. The environment names the folder for the recording, because workers do not get our options.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from types import CodeType
from typing import Protocol

import coverage
import pytest

FOLDER = "FREEHOLD_MUTANTS_RECORD"
MEASURED = "FREEHOLD_MUTANTS_MEASURE"


class Lines(Protocol):
    """Notes the lines of the measured folder that run, for one test after the other."""

    def begin(self, test: str) -> None: ...
    def end(self) -> None: ...
    def save(self) -> None: ...


class TracedLines:
    """By coverage's tracer, with the id of the running test as context: twice to three times as slow as no recording.

    coverage's own recorder on ``sys.monitoring`` notes each line once, not once a test:
    https://github.com/coveragepy/coveragepy/pull/2234
    """

    def __init__(self, file: Path, measured: str) -> None:
        self._coverage = coverage.Coverage(data_file=str(file), source=[measured], config_file=False, messages=False)
        self._coverage.start()

    def begin(self, test: str) -> None:
        self._coverage.switch_context(test)

    def end(self) -> None:
        self._coverage.switch_context("")

    def save(self) -> None:
        self._coverage.stop()
        self._coverage.save()


if sys.version_info >= (3, 12):
    from sys import monitoring

    class MonitoredLines:
        """By ``sys.monitoring``: a line is told once a test, and then costs nothing until the next test begins."""

        _TOOL = 3  # of six; 0 to 2 and 5 have a meaning: https://docs.python.org/3/library/sys.monitoring.html

        def __init__(self, file: Path, measured: str) -> None:
            self._file = file
            self._measured = measured + os.sep
            self._reached: dict[str, dict[str, set[int]]] = {}
            self._now: dict[str, set[int]] | None = None
            monitoring.use_tool_id(self._TOOL, "mutants")
            monitoring.register_callback(self._TOOL, monitoring.events.LINE, self._line)
            monitoring.set_events(self._TOOL, monitoring.events.LINE)

        def _line(self, code: CodeType, line: int) -> object:
            if self._now is not None and code.co_filename.startswith(self._measured):
                self._now.setdefault(code.co_filename, set()).add(line)
            return monitoring.DISABLE

        def begin(self, test: str) -> None:
            self._now = self._reached.setdefault(test, {})
            monitoring.restart_events()

        def end(self) -> None:
            self._now = None

        def save(self) -> None:
            monitoring.set_events(self._TOOL, monitoring.events.NO_EVENTS)
            monitoring.free_tool_id(self._TOOL)
            data = coverage.CoverageData(str(self._file))
            for test, files in self._reached.items():
                if files:
                    data.set_context(test)
                    data.add_lines(files)
            data.write()


def lines(file: Path, measured: str) -> Lines:
    """The quickest recorder that this Python has; it writes ``file``, a file of coverage, when it is saved."""
    if sys.version_info >= (3, 12):
        return MonitoredLines(file, measured)
    return TracedLines(file, measured)


class Recorder:
    """The lines that each test reaches, and the time of each test that passed."""

    def __init__(self, folder: Path, measured: str) -> None:
        self._folder = folder
        self._seconds: dict[str, float] = {}
        self._spoilt: set[str] = set()
        self._lines = lines(folder / f"lines.{os.getpid()}", measured)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._lines.begin(item.nodeid)
        try:
            return (yield)
        finally:
            self._lines.end()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.outcome != "passed":  # a test that is skipped or fails already can kill nothing
            self._spoilt.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._lines.save()
        passed = {test: seconds for test, seconds in self._seconds.items() if test not in self._spoilt}
        (self._folder / f"seconds.{os.getpid()}.json").write_text(json.dumps(passed))


def pytest_configure(config: pytest.Config) -> None:
    shares_out = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if not shares_out:
        config.pluginmanager.register(Recorder(Path(os.environ[FOLDER]), os.environ[MEASURED]))
