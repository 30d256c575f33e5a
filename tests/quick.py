"""``make quick``: run the tests that an edit concerns, in a minute. The edit is what this tree has and `main` has not.

They are the unit tests of the rooms that were edited, those that import an edited module or one that imports it, the
tests that were edited themselves, and always meta and conformance. ``make test`` is still what a change must pass.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import grimp

from harness.source_state import ROOT

PACKAGES = ("freehold", "freehold_apiserver", "freehold_sim")
UNIT = ROOT / "tests" / "unit"
ALWAYS = ("tests/meta", "tests/conformance")
SHARED = ("harness", "crash/lab")
"""Folders below ``tests`` with modules that tests import."""


def main() -> int:
    """Print what is run, and run it; pytest's exit code."""
    parser = argparse.ArgumentParser(prog="python -m quick")
    parser.add_argument("--since", default="main", metavar="REF", help="what the tree is compared with (default: main)")
    parser.add_argument("--edited", nargs="+", metavar="FILE", help="take these files as edited, and ask git nothing")
    given = parser.parse_args()
    edited = given.edited or changed_files(given.since)
    chosen = chosen_tests(edited)
    print(f"{len(edited)} files differ; {len(chosen)} modules of tests, {' and '.join(ALWAYS)}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", "-m", "not slow"]
    return subprocess.run([*command, *ALWAYS, *chosen], cwd=ROOT, check=False).returncode


def changed_files(ref: str) -> list[str]:
    """What differs from ``ref`` in this tree, and what git does not know yet; paths below the repository."""
    tracked = _git("diff", "--name-only", "--diff-filter=d", ref, "--")
    return sorted({*tracked, *_git("ls-files", "--others", "--exclude-standard")})


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def chosen_tests(edited: Iterable[str]) -> list[str]:
    """The modules of tests for these files, beside those that always run; paths below the repository."""
    paths = [Path(each) for each in edited if each.endswith(".py") and (ROOT / each).exists()]
    sources = [path.relative_to("src") for path in paths if path.parts[0] == "src"]
    shared = {_shared_name(path) for path in paths if path.parts[0] == "tests"}
    modules = with_importers({_module(path) for path in sources})
    rooms = {room for path in sources if (room := room_of(path))}
    chosen = {path.as_posix() for path in paths if path.name.startswith("test_")}
    for test in sorted(UNIT.rglob("test_*.py")):
        if test.parent.name in rooms or imported_by(test) & (modules | shared):
            chosen.add(test.relative_to(ROOT).as_posix())
    return sorted(each for each in chosen if not each.startswith(ALWAYS))


def room_of(source: Path) -> str:
    """The folder of unit tests for a file below ``src``; empty where it has none."""
    package, *inside = (part for part in source.parent.parts if part != "providers")
    names = ["_".join(inside[:depth]) for depth in (2, 1)] if package == "freehold" else ["_".join((package, *inside))]
    return next((name for name in names if name and (UNIT / name).is_dir()), "")


def with_importers(modules: Iterable[str]) -> set[str]:
    """These modules, and those that import one of them directly."""
    known = set(modules)
    graph = grimp.build_graph(*PACKAGES, cache_dir=None) if known else None
    importers = [graph.find_modules_that_directly_import(each) for each in known if graph and each in graph.modules]
    return known.union(*importers)


@cache
def imported_by(path: Path) -> frozenset[str]:
    """The modules that a file of tests names in its imports; of ``from a import b`` both ``a`` and ``a.b``."""
    return frozenset(_imports(ast.parse(path.read_text())))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _shared_name(path: Path) -> str:
    """The name by which tests import a module that they share; empty for any other."""
    inside = path.relative_to("tests").as_posix()
    return _module(Path(inside.removeprefix("crash/"))) if inside.startswith(SHARED) else ""


if __name__ == "__main__":
    sys.exit(main())
