"""Processes of a benchmark: each measured one is alone in its own, and tells its own use of CPU and memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Usage:
    """What a process has used so far: CPU-seconds (user and system, all threads) and peak resident memory in MB."""

    cpu: float
    peak: float

    @classmethod
    def so_far(cls) -> Self:
        """This process's own."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        return cls(used.ru_utime + used.ru_stime, _peak(used.ru_maxrss))

    @classmethod
    def least(cls, runs: Iterable[Usage]) -> Usage:
        """The cheapest of several runs of one program, with the most memory that any of them took."""
        kept = list(runs)
        return cls(min(each.cpu for each in kept), max(each.peak for each in kept))

    @classmethod
    def of(cls, told: dict[str, Any]) -> Self:
        return cls(told["cpu"], told["peak"])


def _peak(maxrss: int) -> float:
    # Where there is /proc: Linux passes the parent's ru_maxrss on to a child (getrusage(2)), VmHWM is its own.
    if _STATUS.exists():
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)


class Child:
    """A program that answers a line with a line of JSON."""

    def __init__(self, program: str, process: subprocess.Popen[str]) -> None:
        self._program = program
        self._process = process

    def heard(self) -> Any:
        """The next line that it says. Raises RuntimeError when it ended instead."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"program {self._program} ended with code {self._process.wait()}")
        return json.loads(line)

    def ask(self) -> Any:
        """Send a line; its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.heard()


@contextmanager
def child(program: str, *arguments: object, of: str = "benchmarks.programs") -> Iterator[Child]:
    """Run a program of this module; it ends with the block."""
    command = [sys.executable, "-m", of, program, *map(str, arguments)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=HERE.parent, stdin=pipe, stdout=pipe, text=True)
    try:
        yield Child(program, process)
    finally:
        process.kill()
        process.communicate()


def say(told: object) -> None:
    """Answer the parent."""
    print(json.dumps(told), flush=True)
