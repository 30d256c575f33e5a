"""What the suite costs: CPU-seconds, seconds on this machine's cores, and how many tests that is.

The wall counts only on a machine that does nothing else, so it is a row to read beside the CPU. Cores differ, and those
of a virtual machine from one hour to the next, so a row says what a fixed piece of work took in the same minutes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.rows import Row

ROOT = Path(__file__).parent.parent
EDITED = "src/freehold/engine/engine.py"
SOURCE = "target of this project, on two cores that do nothing else"
CPU, WALL, QUICK = 950, 8 * 60, 60
WORK, EVERY = 700_000, 10.0
"""Additions, and the seconds between two measures of them."""


@dataclass(frozen=True)
class Run:
    """Seconds, and tests that were run. ``cpu``: user and system, of all processes."""

    cpu: float
    wall: float
    tests: int
    core: float
    """Milliseconds of CPU for ``WORK`` additions, the mean over the run."""


def measure() -> Iterator[Row]:
    """``make test``, and ``make quick`` for an edit of one file of the engine."""
    whole = _run(["make", "--no-print-directory", "test"])
    yield Row("suite.test.cpu", round(whole.cpu), "CPU-s", CPU, source=SOURCE)
    yield Row("suite.test.wall", round(whole.wall), "s", WALL, source=SOURCE)
    yield Row("suite.tests", whole.tests, "tests")
    yield Row(
        "suite.test.core", round(whole.core), "CPU-ms", source=f"{WORK:,} additions, every {EVERY:.0f} s of the run"
    )
    quick = _run([sys.executable, "-m", "quick", "--edited", EDITED])
    yield Row("suite.quick.wall", round(quick.wall), "s", QUICK, source=f"{SOURCE}; an edit of {EDITED}")


def _run(command: Sequence[str]) -> Run:
    """Raises CalledProcessError where a test fails."""
    with tempfile.TemporaryDirectory(prefix="freehold-bench-") as folder:
        report = Path(folder) / "report.xml"
        options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --junitxml={report}"
        environment = {**os.environ, "PYTEST_ADDOPTS": options, "PYTHONPATH": str(ROOT / "tests")}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        with _measuring_core() as found:
            subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=sys.stderr)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        (suite,) = ET.parse(report).getroot()  # noqa: S314 - pytest's own report
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(cpu, wall, int(suite.attrib["tests"]), mean(found))


@contextmanager
def _measuring_core() -> Iterator[list[float]]:
    """Measure in another thread, while the suite runs in other processes."""
    found: list[float] = []
    ended = threading.Event()

    def measure_core() -> None:
        while not found or not ended.wait(EVERY):
            began, total = time.thread_time(), 0
            for number in range(WORK):
                total += number
            found.append(1000 * (time.thread_time() - began))

    thread = threading.Thread(target=measure_core)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
