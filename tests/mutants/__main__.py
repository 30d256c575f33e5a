"""``python -m mutants``: try every row of the list. Exit code 1 if one survives without a reason."""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from harness.source_state import ROOT
from mutants import reach
from mutants.catalogue import MUTANTS
from mutants.rows import Edit, Moved, Mutant, edit
from mutants.trying import FIRST, Copy, Limits, Tried, Verdict

KILLERS = reach.KEPT / "killers"
"""The test that killed each row last time: it is tried first, but does not count without a trial."""

_WRITING = threading.Lock()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose file, function or reason match")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="trials at a time (default: cores)")
    parser.add_argument("--tests", type=int, default=Limits.tests, help="most tests for one mutant")
    parser.add_argument("--seconds", type=float, default=Limits.seconds, help="most recorded seconds of tests for one")
    parser.add_argument("--equivalent", action="store_true", help="try the rows that are listed as equivalent, too")
    parser.add_argument("--among", default="", metavar="REGEX", help="test files that are asked (default: all)")
    asked = parser.parse_args()
    rows = [row for row in MUTANTS if re.search(asked.only, str(row))]
    try:
        edits = {row: edit(row, ROOT / "src" / "freehold") for row in rows}
    except Moved as moved:
        print(moved, file=sys.stderr)
        return 2
    began = time.monotonic()
    known = reach.of_this_state(asked.workers, asked.among)
    tried = _try_all(
        [row for row in rows if asked.equivalent or not row.equivalent],
        edits, known, Limits(asked.tests, asked.seconds), asked.workers,
    )  # fmt: skip
    return _report(rows, tried, time.monotonic() - began)


def _try_all(
    rows: Sequence[Mutant], edits: Mapping[Mutant, Edit], known: reach.Reach, limits: Limits, workers: int
) -> list[Tried]:
    """Try every row once, with one thread and one copy of the sources for each worker."""
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for row in rows:
        waiting.put(row)
    tried: list[Tried] = []
    killers = _killers()

    def work() -> None:
        with Copy(ROOT) as copy:
            while True:
                try:
                    row = waiting.get_nowait()
                except queue.Empty:
                    return
                tests = _chosen(row, edits[row], known, limits, killers)
                # The test that killed it last time most often does so again: nothing else need be imported.
                first = 1 if _name(row) in killers else FIRST
                done = copy.attempt(row, edits[row], {test: known.seconds[test] for test in tests}, first)
                tried.append(done)
                if done.verdict is Verdict.KILLED:
                    _remember(killers, done)
                print(f"{len(tried):4}/{len(rows)} {_line(done)}", flush=True)

    threads = [threading.Thread(target=work) for _ in range(max(1, min(workers, len(rows))))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tried


def _chosen(row: Mutant, change: Edit, known: reach.Reach, limits: Limits, killers: Mapping[str, str]) -> list[str]:
    """The tests that reach the line, the quickest first, within the limits; before them the last killer."""
    chosen: list[str] = []
    spent = 0.0
    for test in known.tests(row.file, change.lines):
        spent += known.seconds[test]
        if len(chosen) == limits.tests or spent > limits.seconds:
            break
        chosen.append(test)
    last = killers.get(_name(row), "").partition(" (no end")[0]
    return [last, *(test for test in chosen if test != last)] if last in known.seconds else chosen


def _killers() -> dict[str, str]:
    found: dict[str, str] = json.loads(KILLERS.read_text()) if KILLERS.exists() else {}
    return found


def _remember(killers: dict[str, str], done: Tried) -> None:
    with _WRITING:
        killers[_name(done.mutant)] = done.by
        KILLERS.write_text(json.dumps(killers))


def _name(row: Mutant) -> str:
    return "|".join((row.file, row.function, row.old, row.new, str(row.nth)))


def _line(done: Tried) -> str:
    if done.verdict is Verdict.KILLED:
        return f"killed    {done.seconds:5.1f} s  {done.mutant}  by {done.by}"
    ran = f"{done.ran} tests ran" if done.ran else "no test reaches the line"
    return f"{done.verdict.value.upper():9} {done.seconds:5.1f} s  {done.mutant}  ({ran}) {done.by}"


def _report(rows: Sequence[Mutant], tried: Sequence[Tried], seconds: float) -> int:
    killed = [one for one in tried if one.verdict is Verdict.KILLED]
    left = [one for one in tried if one.verdict is not Verdict.KILLED and not one.mutant.equivalent]
    wrong = [one for one in killed if one.mutant.equivalent]
    equivalent = [row for row in rows if row.equivalent]
    for one in sorted(left, key=lambda one: str(one.mutant)):
        print(f"\n{one.verdict.value}: {one.mutant}\n  - {one.mutant.old!r}\n  + {one.mutant.new!r}")
    for one in wrong:
        print(f"\nlisted as equivalent, and killed by {one.by}: {one.mutant}")
    real = len(rows) - len(equivalent)
    score = 100.0 * (real - len(left)) / real if real else 100.0
    print(
        f"\n{len(rows)} mutants: {real - len(left)} killed, {len(equivalent)} equivalent, {len(left)} left; "
        f"score {score:.1f} %; {seconds:.0f} s"
    )
    return 1 if left or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
