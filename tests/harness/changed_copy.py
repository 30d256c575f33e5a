"""A copy of the sources and of the conformance suite, to change and to test as a contributor would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_sources(tree: Path) -> None:
    for folder in ("src", "tests/conformance", "tests/harness"):
        copy_folder(ROOT / folder, tree / folder)
    for file in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / file, tree / file)


def copy_folder(source: Path, target: Path) -> None:
    """Copy with what is compiled, which each copy would compile again; without what somebody is writing just now."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.pyc.*", "*.egg-info"))


def edit(path: Path, *changes: tuple[str, str]) -> None:
    """Replace texts, each of which the file has once."""
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, f"{path.name} has {old!r} {text.count(old)} times"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def run_tests(tree: Path, *arguments: str) -> int:
    """Run tests of the copy, which must pass; return how many there were."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree / 'tests'}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout[-300:]
    return int(passed[1])
