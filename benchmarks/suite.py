"""What the suite costs: CPU-seconds, seconds on this machine's cores, and how many tests that is.

The wall counts only on a machine that does nothing else, so it is a row to read beside the CPU.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rows import Row

ROOT = Path(__file__).parent.parent
EDITED = "src/freehold/engine/engine.py"
SOURCE = "target of this project, on two cores that do nothing else"
CPU, WALL, QUICK = 950, 8 * 60, 60


@dataclass(frozen=True)
class Run:
    """Seconds, and tests that were run. ``cpu``: user and system, of all processes."""

    cpu: float
    wall: float
    tests: int


def measure() -> Iterator[Row]:
    """``make test``, and ``make quick`` for an edit of one file of the engine."""
    whole = _run(["make", "--no-print-directory", "test"])
    yield Row("suite.test.cpu", round(whole.cpu), "CPU-s", CPU, source=SOURCE)
    yield Row("suite.test.wall", round(whole.wall), "s", WALL, source=SOURCE)
    yield Row("suite.tests", whole.tests, "tests")
    quick = _run([sys.executable, "-m", "quick", "--edited", EDITED])
    yield Row("suite.quick.wall", round(quick.wall), "s", QUICK, source=f"{SOURCE}; an edit of {EDITED}")


def _run(command: Sequence[str]) -> Run:
    """Raises CalledProcessError where a test fails."""
    with tempfile.TemporaryDirectory(prefix="freehold-bench-") as folder:
        report = Path(folder) / "report.xml"
        options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --junitxml={report}"
        environment = {**os.environ, "PYTEST_ADDOPTS": options, "PYTHONPATH": str(ROOT / "tests")}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=sys.stderr)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        (suite,) = ET.parse(report).getroot()  # noqa: S314 - pytest's own report
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(cpu, wall, int(suite.attrib["tests"]))
