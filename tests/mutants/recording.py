"""A pytest plugin: which lines of freehold each test reaches, and how long it takes.

Loaded with ``-p mutants.recording`` in the one run that :mod:`mutants.reach` starts. With xdist every worker records
its own part. The environment names the folder for the recording, because workers do not get our options.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

FOLDER = "FREEHOLD_MUTANTS_RECORD"
MEASURED = "FREEHOLD_MUTANTS_MEASURE"


class Recorder:
    """The lines that each test reaches, and the time of each test that passed."""

    def __init__(self, folder: Path, measured: str) -> None:
        self._folder = folder
        self._seconds: dict[str, float] = {}
        self._spoilt: set[str] = set()
        self._coverage = coverage.Coverage(
            data_file=str(folder / f"lines.{os.getpid()}"), source=[measured], config_file=False, messages=False
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.outcome != "passed":  # a test that is skipped or fails already can kill nothing
            self._spoilt.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        passed = {test: seconds for test, seconds in self._seconds.items() if test not in self._spoilt}
        (self._folder / f"seconds.{os.getpid()}.json").write_text(json.dumps(passed))


def pytest_configure(config: pytest.Config) -> None:
    shares_out = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if not shares_out:
        config.pluginmanager.register(Recorder(Path(os.environ[FOLDER]), os.environ[MEASURED]))
