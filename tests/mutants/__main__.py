"""``python -m mutants``: try the rows and the generated edits. Exit code 1 if one survives, or none was tried."""

from __future__ import annotations

import argparse
import os
import queue
import random
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from harness.source_state import ROOT
from mutants import reach
from mutants.generated import SAFETY, edits, equivalents, key
from mutants.rows import Edit, Moved, Mutant, edit, read
from mutants.trying import Copy, Tried, Verdict

MOST_TESTS, MOST_SECONDS = 2000, 300.0
"""For one edit. Only one that survives costs that much: a line of the engine is reached by some eight hundred tests."""
PACKAGE = ROOT / "src" / "freehold"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--only", default="", metavar="REGEX", help="edits whose file, function or text match")
    parser.add_argument("--rows", action="store_true", help="the rows alone, without the generated edits")
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="N",
        help="a sample: begin no trial after so many minutes, those of recording included",
    )
    parser.add_argument("--among", metavar="REGEX", help="test files that are asked (a sample: the rooms' own)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="trials at a time (default: cores)")
    parser.add_argument("--equivalent", action="store_true", help="try those alone that are listed as equivalent")
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes if asked.minutes else float("inf")
    try:
        known = {row: edit(row, PACKAGE) for row in read()}
    except Moved as moved:
        print(moved, file=sys.stderr)
        return 2
    if not asked.rows:
        known |= dict(each for file in SAFETY for each in edits(file, PACKAGE))
    listed = equivalents()
    known = {
        each: change
        for each, change in known.items()
        if re.search(asked.only, str(each)) and (key(each) in listed) == asked.equivalent
    }
    order = list(known)
    if asked.minutes:
        random.shuffle(order)
    among = asked.among or ("|".join({reach.room(each.file) for each in order}) if asked.minutes else "")
    reached = reach.of_this_state(asked.workers, among)
    tests = {each: _chosen(each, known[each], reached) for each in order}
    tried = _try_all(order, known, tests, asked.workers, end)
    return _report(tried, len(known), asked.equivalent)


def _chosen(mutant: Mutant, change: Edit, reached: reach.Reach) -> dict[str, float]:
    """Return the tests that reach the line, with their seconds, the quickest first, within the limits."""
    chosen: dict[str, float] = {}
    for test in reached.tests(mutant.file, change.lines)[:MOST_TESTS]:
        if sum(chosen.values()) > MOST_SECONDS:
            break
        chosen[test] = reached.seconds[test]
    return chosen


def _try_all(
    order: Sequence[Mutant],
    known: Mapping[Mutant, Edit],
    tests: Mapping[Mutant, Mapping[str, float]],
    workers: int,
    end: float,
) -> list[Tried]:
    """Try every edit once, with one thread and one copy of the sources for each worker, until ``end``."""
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for each in order:
        waiting.put(each)
    tried: list[Tried] = []

    def work() -> None:
        with Copy(ROOT) as copy:
            while time.monotonic() < end:
                try:
                    mutant = waiting.get_nowait()
                except queue.Empty:
                    return
                tried.append(copy.attempt(mutant, known[mutant], tests[mutant]))
                print(f"{len(tried):4}/{len(order)} {_line(tried[-1])}", flush=True)

    threads = [threading.Thread(target=work) for _ in range(max(1, min(workers, len(order))))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tried


def _line(done: Tried) -> str:
    if done.verdict is Verdict.KILLED:
        return f"killed    {done.seconds:5.1f} s  {done.mutant}  by {done.by}"
    ran = f"{done.ran} tests ran" if done.ran else "no test reaches the line"
    return f"{done.verdict.value.upper():9} {done.seconds:5.1f} s  {done.mutant}  ({ran}) {done.by}"


def _report(tried: Sequence[Tried], of: int, equivalent: bool) -> int:
    """Print what is wrong: an edit that survives, or one that is listed as equivalent and does not."""
    good = Verdict.SURVIVED if equivalent else Verdict.KILLED
    wrong = [one for one in tried if one.verdict is not good]
    for one in sorted(wrong, key=lambda one: str(one.mutant)):
        print(f"\n{one.verdict.value}: {one.mutant} {one.by if equivalent else ''}")
        for sign, text in (("-", one.mutant.old), ("+", one.mutant.new)):
            print("\n".join(f"{sign} {line}" for line in text.splitlines()))
    print(f"\n{len(tried)} of {of} edits tried: {len(tried) - len(wrong)} {good.value}, {len(wrong)} not")
    return 1 if wrong or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
