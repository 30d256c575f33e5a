"""One run of pytest for one trial, in a process of its own: the sources are those of the copy, tests run in the given
order, and the first failure is reported.

The process is forked from one that has imported what never changes: otherwise most of the time would go to imports.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

import pytest

NOT_THE_COPY = 99
UNCOLLECTED = " (it cannot be collected)"
SHORTEST = 10.0
LONGER = 10.0
"""Seconds, and how many times as long as before: what a test may take on a busy machine."""

PRELOADED = (
    "aiohttp.web", "click", "ibm_boto3", "ibm_botocore.session", "ibm_cloud_networking_services",
    "ibm_cloud_sdk_core.authenticators", "ibm_platform_services", "ibm_vpc", "jsonpatch", "jsonschema_rs", "pydantic",
    "requests", "rich.console", "rich.table", "yaml", "freehold_sim.ibm.cloud", "mutants.reach", "mutants.trial",
)  # fmt: skip
"""Modules to import before the fork: neither freehold, which changes, nor pytest's plugins, which pytest imports."""


class Trial:
    """A pytest plugin: ``tests`` in this order, on the sources in ``copy``; ``killer`` names the first that fails.

    ``tests`` holds the seconds that each took before; one that does not end after many times as long has failed too.
    """

    def __init__(self, copy: Path, tests: Mapping[str, float], killer: Path) -> None:
        self._copy = copy
        self._tests = tests
        self._order = {test: place for place, test in enumerate(tests)}
        self._killer = killer

    def pytest_configure(self) -> None:
        import freehold  # not before the copy is first on the path

        if not Path(freehold.__file__).is_relative_to(self._copy):
            pytest.exit(f"{freehold.__file__} is not the copy that was changed", NOT_THE_COPY)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self._order.get(item.nodeid, len(self._order)))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Some modules run the engine when they are imported; without the edit all of them were collected."""
        if report.failed:
            self._killer.write_text(report.nodeid + UNCOLLECTED)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        allowed = SHORTEST + LONGER * self._tests.get(item.nodeid, 0.0)

        def hangs(*_: object) -> None:
            self._killer.write_text(f"{item.nodeid} (no end within {allowed:.0f} s)")
            os._exit(1)

        signal.signal(signal.SIGALRM, hangs)
        signal.setitimer(signal.ITIMER_REAL, allowed)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._killer.write_text(report.nodeid)


def main(plugin: Trial, arguments: Sequence[str], root: str, environment: Mapping[str, str], output: str) -> None:
    """Run pytest and exit with its exit code. ``environment`` is added to the present one."""
    os.setsid()
    with Path(output).open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(root)
    os.environ.update(environment)
    sys.dont_write_bytecode = True
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    code = pytest.main(list(arguments), plugins=[plugin])
    sys.stdout.flush()
    os._exit(int(code))
