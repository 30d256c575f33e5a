"""Which tests reach a line, and how long each takes: recorded once for one state of sources and tests, then kept."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage

from harness.source_state import ROOT, digest_of
from mutants import recording

KEPT = ROOT / ".cache" / "mutants"
NOT_ASKED = ("tests/mutants/", "tests/unit/freehold_sim/", "tests/meta/")
"""Tests of the mutants themselves, of the simulator and of the repository's texts: none tests a safety line."""


@dataclass(frozen=True)
class Reach:
    """``seconds`` of each test that passed; ``lines``: file (below ``src/freehold``), line, the tests that reach it."""

    seconds: Mapping[str, float]
    lines: Mapping[str, Mapping[int, frozenset[str]]]

    def tests(self, file: str, lines: Iterable[int]) -> list[str]:
        """Return the tests that reach any of ``lines``: first those of the file's room, of all the quickest first.

        A long scenario reaches nearly every line, and the time of its imports is not counted.
        """
        known = self.lines.get(file, {})
        found = frozenset[str]().union(*(known.get(line, frozenset()) for line in lines))

        def order(test: str) -> tuple[bool, bool, float, str]:
            return not test.startswith(room(file)), not test.startswith("tests/unit/"), self.seconds[test], test

        return sorted(found & self.seconds.keys(), key=order)


def room(file: str) -> str:
    """Return the folder of a source's own unit tests; all of them where none is named after its folder."""
    parts = [part for part in Path(file).parent.parts if part != "providers"]
    named = ("tests/unit/" + "_".join(parts[:count]) + "/" for count in range(len(parts), 0, -1))
    return next((each for each in named if (ROOT / each).is_dir()), "tests/unit/")


def of_this_state(workers: int, among: str) -> Reach:
    """Return the stored recording for these sources, updated for every test file that has changed since.

    ``among`` is a pattern for the test files that are used at all.
    """
    shared = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    own = ROOT / "tests" / "mutants"
    state = digest_of([*(ROOT / "src").rglob("*.py"), *(path for path in shared if not path.is_relative_to(own))])
    store = KEPT / f"{state}.json"
    kept: dict[str, Any] = json.loads(store.read_text()) if store.exists() else {}
    paths = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    files = {name: digest_of([path]) for name, path in paths.items() if not name.startswith(NOT_ASKED)}
    kept = {file: part for file, part in kept.items() if files.get(file) == part["digest"]}
    asked = {file for file in files if re.search(among, file)}
    if stale := sorted(asked - kept.keys()):
        print(f"recording what the tests of {len(stale)} files reach", flush=True)
        kept |= {file: {**part, "digest": files[file]} for file, part in _record(stale, workers).items()}
        KEPT.mkdir(parents=True, exist_ok=True)
        for old in KEPT.glob("*.json"):
            old.unlink()
        store.write_text(json.dumps(kept, separators=(",", ":")))
    return _joined({file: part for file, part in kept.items() if file in asked})


def _joined(parts: Mapping[str, Any]) -> Reach:
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, set[str]]] = {}
    for part in parts.values():
        seconds |= part["seconds"]
        tests = list(part["seconds"])
        for file, reached in part["lines"].items():
            for line, places in reached.items():
                lines.setdefault(file, {}).setdefault(int(line), set()).update(tests[place] for place in places)
    return Reach(
        seconds,
        {file: {line: frozenset(tests) for line, tests in of.items()} for file, of in lines.items()},
    )


def _record(files: Sequence[str], workers: int) -> dict[str, Any]:
    """Run these test files under coverage; return the seconds of the tests of each, and by line their places."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutants.recording"]
        spread = ["-n", str(workers)] if workers > 1 and len(files) > 1 else []
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests"))),
            recording.FOLDER: str(folder),
            recording.MEASURED: str(ROOT / "src" / "freehold"),
        }
        subprocess.run(
            [*command, *spread, "-m", "not slow", "--tb=line", *files], cwd=ROOT, env=environment, check=False
        )
        found: dict[str, Any] = {file: {"seconds": {}, "lines": {}} for file in files}
        for path in folder.glob("seconds.*.json"):
            for test, seconds in json.loads(path.read_text()).items():
                found[test.partition("::")[0]]["seconds"][test] = round(seconds, 4)
        places = {test: place for part in found.values() for place, test in enumerate(part["seconds"])}
        for path in folder.glob("lines.*"):
            _collect(path, found, places)
    if not places:
        raise SystemExit("no test passed while recording: see above")
    return found


def _collect(path: Path, found: dict[str, Any], places: Mapping[str, int]) -> None:
    """Add the lines of one coverage file, each under the file of the test that reached it."""
    data = coverage.CoverageData(str(path))
    data.read()
    for measured in data.measured_files():
        file = Path(measured).relative_to(ROOT / "src" / "freehold").as_posix()
        for line, tests in data.contexts_by_lineno(measured).items():
            for test in tests:
                if test in places:
                    lines = found[test.partition("::")[0]]["lines"]
                    lines.setdefault(file, {}).setdefault(str(line), []).append(places[test])
