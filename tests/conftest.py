"""Fixtures for every test."""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

from freehold.controllers.logs import OURS
from harness.compiled import compile_share
from harness.findings import FINDING
from harness.sdk_costs import spare

settings.register_profile("suite", derandomize=True, deadline=None, max_examples=25)
"""The same examples in each run, and no example fails for the load of the machine."""
settings.register_profile("whole", derandomize=True, deadline=None, max_examples=200)
"""`make edits`: pytest --hypothesis-profile=whole."""
settings.load_profile("suite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: some tests wait for a server, a terminal or a time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


def pytest_configure() -> None:
    """A process of the suite holds 800 MB of modules and tests, which stay to the end: looking through them again and
    again for garbage took a sixth of its time. A shell that starts the suite in the background has it ignore Ctrl-C,
    and so would the commands that tests interrupt: they would be waited for without an end."""
    gc.disable()
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)  # when those that -m leaves out are gone
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what waits for servers first: at the end it would keep one core while the other has nothing left.

    Each worker begins with its share of the list, so the first one has all tests that wait, and the others work
    meanwhile: two that wait would leave a core without work.
    """
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ("early", "e2e")])


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    gc.set_threshold(100_000, 20, 50)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Spare a worker the two looks for garbage whose finalizers raise, with which pytest ends.

    They take 2 CPU-seconds, and no worker can report anything any more. Without workers they find it.
    """
    if hasattr(session.config, "workerinput"):
        gc.freeze()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Set what every test needs; by hooks, since each fixture that all tests use costs each of them.

    Behind a company's proxy, requests uses it even for 127.0.0.1, where all servers of the tests are. And aiohttp reads
    the machine's bundle of certificates when it is imported (0.05 CPU-seconds), in each process that a test starts:
    servers of tests are plain HTTP, or have a CA that is named.
    """
    patch = pytest.MonkeyPatch()
    session.config.add_cleanup(patch.undo)
    given = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    patch.setenv("no_proxy", ",".join(filter(None, (given, "127.0.0.1", "localhost"))))
    patch.setenv("SSL_CERT_FILE", os.devnull)
    spare(patch.setattr)
    worker = getattr(session.config, "workerinput", None)
    if worker:
        compile_share(session.config, int(worker["workerid"].removeprefix("gw")), worker["workercount"])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, None]:
    """A command that ran in this process has set levels; a later test may look for a secret at debug level. Its handler
    stays too, on a stream that is closed with its test: each warning of a later test would cost a traceback."""
    try:
        yield
    finally:
        for handler in [each for each in logging.root.handlers if type(each) is logging.StreamHandler]:
            logging.root.removeHandler(handler)
        for name in OURS:
            if logging.getLogger(name).level:  # to set it costs: what all loggers remember is thrown away
                logging.getLogger(name).setLevel(logging.NOTSET)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have found out and people want to read; here, since the output of workers is not shown."""
    reports = terminalreporter.stats.get("passed", [])
    lines = [line for each in reports for name, line in each.user_properties if name == FINDING]
    if lines:
        terminalreporter.section("findings")
        for line in lines:
            terminalreporter.line(str(line))
