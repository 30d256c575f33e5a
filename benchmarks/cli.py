"""What a person waits for before the first line: ``freehold --help`` beside an interpreter that does nothing."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.rows import Row

TRIES = 9
RATIO = 200 / 10
"""The target of 200 ms, on the machine where `python -c pass` took 10 ms."""
PEERS = "docs/reference/kubernetes.md#runtime: python -c pass 10 ms, typer --help 139 ms, kopf's import +643 ms"


def measure() -> Iterator[Row]:
    """Best of several, turn by turn, so that a busy moment strikes both alike."""
    freehold = Path(sys.executable).with_name("freehold")
    took = [(_cpu([sys.executable, "-c", "pass"]), _cpu([str(freehold), "--help"])) for _ in range(TRIES)]
    nothing, helped = (min(column) for column in zip(*took, strict=True))
    ratio = round(helped / nothing, 1)
    yield Row("operator.cli.help", ratio, "× python -c pass", RATIO, "typer 14, kopf's import alone 64", PEERS)


def _cpu(command: Sequence[str]) -> float:
    """The CPU-seconds of a command that must succeed: on a busy machine, wall time measures the others."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
