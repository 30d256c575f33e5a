"""Cases that begin alike are run together: the undisturbed life once, and a copy of the process for each of them.

Most cases differ from an undisturbed life only from some call on, in the middle of it. Such a life is led once for all
cases of a world, and forks where the first of a case happens: the copy (a process of its own) goes on as the run of
that case. The verdicts are those of runs from the start (``test_crash_branches.py``), for half of the CPU.

Lines that a copy executes are not recorded in its parent, so only whole families are run in this way: ``make mutants``
records the quick tests.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from freehold.engine.port import Call
from lab.families import Case, Run, run
from lab.faults import Answer
from lab.oracles import Verdict
from lab.seam import World


class _Enough(BaseException):
    """All cases of a life have branched off."""


def branching(cases: Iterable[Case]) -> Iterator[tuple[Case, Verdict]]:
    """Run them; those of a world one after the other."""
    for alike in _alike(cases):
        yield from _Trunk(alike).verdicts() if len(alike) > 1 else ((case, run(case)) for case in alike)


def _alike(cases: Iterable[Case]) -> Iterable[list[Case]]:
    """By what is the same before the script begins: the world, and what happens when everything is created."""
    groups: defaultdict[object, list[Case]] = defaultdict(list)
    for case in cases:
        groups[id(case.world), id(case.after_create), id(case.baseline)].append(case)
    return groups.values()


@dataclass
class _Trunk:
    """The undisturbed life of a world, from which cases branch off."""

    cases: list[Case]
    due: dict[int, list[Case]] = field(default_factory=dict)
    done: list[tuple[Case, Verdict]] = field(default_factory=list)
    report: Callable[[Verdict | None, str], None] | None = None
    """In a copy: tells the parent the verdict, or what went wrong, and ends the copy."""

    def verdicts(self) -> Iterator[tuple[Case, Verdict]]:
        alone = self._schedule(self.cases[0].world())
        gc.collect()
        gc.freeze()  # a collection in a copy would touch, and so copy, every page
        try:
            self._live()
        finally:
            gc.unfreeze()
        yield from self.done
        for case in (*alone, *(case for late in self.due.values() for case in late)):
            yield case, run(case)

    def _schedule(self, world: World) -> list[Case]:
        """Note at which call each case begins; the result are those that never do. ``world`` is used for this only."""
        never = []
        for case in self.cases:
            first = case.script(world).first
            if first is None:
                never.append(case)
            else:
                self.due.setdefault(first, []).append(case)
        return never

    def _live(self) -> None:
        model = self.cases[0]
        self.run = Run(Case("undisturbed", model.world, after_create=model.after_create, baseline=model.baseline))
        self.run.life.port.interceptors.append(self._intercept)
        verdict, error = None, ""
        try:
            verdict = self.run.judge()
        except _Enough:
            return
        except BaseException:
            if self.report is None:
                raise
            error = traceback.format_exc()
        if self.report is not None:
            self.report(verdict, error)

    async def _intercept(self, answer: Answer, call: Call) -> Any:
        port = self.run.life.port
        if self.report is None:
            for case in self.due.pop(len(port.calls), ()):
                if (verdict := self._branch_off(case)) is None:
                    break
                self.done.append((case, verdict))
            else:
                if not self.due:
                    raise _Enough
        return await answer(call)

    def _branch_off(self, case: Case) -> Verdict | None:
        """The verdict of a copy; None in the copy itself, which goes on as the run of ``case``."""
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns where there are other threads, as those of xdist: the copy uses none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(reading)
            self.report = partial(_tell, writing)
            self.run.life.port.interceptors.remove(self._intercept)
            self.run.become(case)
            return None
        os.close(writing)
        with os.fdopen(reading) as pipe:
            told = pipe.read()
        os.waitpid(child, 0)
        verdict, error = json.loads(told) if told else (None, "the copy ended without a word")
        assert verdict is not None, f"{case.label}: {error}"
        return Verdict(**verdict)


def _tell(writing: int, verdict: Verdict | None, error: str) -> None:
    """Ends the process at once: everything that is open in it is the parent's."""
    try:
        with contextlib.suppress(BrokenPipeError), os.fdopen(writing, "w") as pipe:
            json.dump((verdict and asdict(verdict), error), pipe)
    finally:
        os._exit(0)
