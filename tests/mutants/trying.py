"""Try one mutant: in a copy of the sources, against the tests that reach the line, until one fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

from mutants import trial
from mutants.rows import Edit, Mutant

FIRST = 25
"""Tests of the first batch: most mutants fall to one of the quickest, and the fewer files are imported the better."""


class Verdict(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    BROKEN = "broken"  # the trial itself failed: nothing is known


@dataclass(frozen=True)
class Limits:
    """For one mutant: tests, and seconds that they took when they were recorded."""

    tests: int = 400
    seconds: float = 60.0


@dataclass(frozen=True)
class Tried:
    """``by``: the test that failed, or what is wrong with the trial. ``ran``: tests that it was tried with."""

    mutant: Mutant
    verdict: Verdict
    by: str
    ran: int
    seconds: float


class Copy:
    """A copy of ``src`` that trials change and put back; a context manager. Never the tree itself."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = Path(tempfile.mkdtemp(prefix="freehold-mutant-"))
        self.source = self._folder / "src"
        # Byte code comes along: it fits, because the copies keep their times.
        shutil.copytree(root / "src", self.source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        shutil.rmtree(self._folder)

    def attempt(self, mutant: Mutant, change: Edit, tests: Sequence[str], allowed: float) -> Tried:
        """Run ``tests`` in this order on the changed copy, until one fails or ``allowed`` seconds are over."""
        began = time.monotonic()
        path = self.source / "freehold" / mutant.file
        original, times = path.read_text(), path.stat()
        path.write_text(change.text)
        try:
            verdict, by = Verdict.SURVIVED, ""
            for batch in (tests[:FIRST], tests[FIRST:]):
                if batch and verdict is Verdict.SURVIVED:
                    verdict, by = self._run(batch, allowed)
        finally:
            path.write_text(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return Tried(mutant, verdict, by, len(tests), time.monotonic() - began)

    def _run(self, tests: Sequence[str], allowed: float) -> tuple[Verdict, str]:
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            folder = Path(name)
            (folder / "tests.json").write_text(json.dumps(tests))
            (folder / "arguments").write_text("".join(f"{test}\n" for test in tests))
            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "mutants.trial", "--tb=short"]
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, f"@{folder / 'arguments'}"],
                cwd=self._root, env=self._environment(folder), start_new_session=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            try:
                said, _ = process.communicate(timeout=allowed)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return Verdict.KILLED, f"no end within {allowed:.0f} s"
            killer = folder / "killer"
            if process.returncode == 1 and killer.exists():
                return Verdict.KILLED, killer.read_text()
            if process.returncode == 0:
                return Verdict.SURVIVED, ""
            return Verdict.BROKEN, f"pytest ended with {process.returncode}: {said[-1500:]}"

    def _environment(self, folder: Path) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(self.source), str(self._root / "tests"))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self._folder / "hypothesis"),
            trial.FOLDER: str(folder),
            trial.COPY: str(self.source),
        }
