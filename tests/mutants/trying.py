"""Try one mutant: in a copy of the sources, against the tests that reach the line, until one fails."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from mutants import trial
from mutants.rows import Edit, Mutant

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(list(trial.PRELOADED))

STARTING = 120.0
"""Seconds to import and collect, at most."""

FIRST = 25
"""Tests of the first batch: one of the quickest kills most mutants, and few files need to be imported."""


_FAILED = (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR)
"""Where a test failed, or a module of tests could not be collected."""


class Verdict(Enum):
    """The result of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    BROKEN = "broken"  # the trial itself failed: nothing is known


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
        # Byte code is copied, too: it fits, because the copies keep their times.
        shutil.copytree(root / "src", self.source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        shutil.rmtree(self._folder)

    def attempt(self, mutant: Mutant, change: Edit, tests: Mapping[str, float]) -> Tried:
        """Run ``tests``, with the seconds that each took before, in this order on the changed copy until one fails."""
        began = time.monotonic()
        path = self.source / "freehold" / mutant.file
        original, times = path.read_text(), path.stat()
        path.write_text(change.text)
        try:
            verdict, by = Verdict.SURVIVED, ""
            order = list(tests)
            for batch in (order[:FIRST], order[FIRST:]):
                if batch and verdict is Verdict.SURVIVED:
                    verdict, by = self._run({test: tests[test] for test in batch})
        finally:
            path.write_text(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        if by.endswith(trial.UNCOLLECTED) and not self._collects(by.removesuffix(trial.UNCOLLECTED)):
            verdict, by = Verdict.BROKEN, f"{by}, nor can it without the edit: were tests changed meanwhile?"
        return Tried(mutant, verdict, by, len(tests), time.monotonic() - began)

    def _collects(self, module: str) -> bool:
        return self._run({module: 0.0}, "--collect-only")[0] is Verdict.SURVIVED

    def _run(self, tests: Mapping[str, float], *more: str) -> tuple[Verdict, str]:
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            folder = Path(name)
            said, killer, arguments = folder / "said", folder / "killer", folder / "arguments"
            arguments.write_text("".join(f"{test}\n" for test in tests))
            plugin = trial.Trial(self.source, tests, killer)
            options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=short", *more, f"@{arguments}"]
            process = _FORKS.Process(
                target=trial.main, args=(plugin, options, str(self._root), self._environment(), str(said))
            )
            process.start()
            process.join(STARTING + trial.SHORTEST * len(tests) + trial.LONGER * sum(tests.values()))
            if process.exitcode is None:
                assert process.pid is not None
                os.killpg(process.pid, signal.SIGKILL)
                process.join()
                return Verdict.KILLED, "a process that never ends"
            if process.exitcode in _FAILED and killer.exists():
                return Verdict.KILLED, killer.read_text()
            if process.exitcode == 0:
                return Verdict.SURVIVED, ""
            return Verdict.BROKEN, f"pytest ended with {process.exitcode}: {said.read_text()[-1500:]}"

    def _environment(self) -> dict[str, str]:
        return {
            "PYTHONPATH": os.pathsep.join((str(self.source), str(self._root / "tests"))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self._folder / "hypothesis"),
        }
