"""In a clean clone nothing is compiled yet, and pytest rewrites the asserts of a test when it imports it first.

All workers import everything at the same time, so each of them would do all of it: 12 CPU-seconds for each. They share
it instead, before they collect.
"""

from __future__ import annotations

import compileall
import sys
from itertools import chain
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

from harness.source_state import ROOT

SHARED = ("src", "tests/harness", "tests/crash/lab")


def compile_share(config: pytest.Config, number: int, count: int) -> None:
    """Compile the share of worker ``number`` of ``count``.

    What another worker is late with, each that imports it compiles.
    """
    if sys.dont_write_bytecode:
        return
    tests = chain.from_iterable(Path(each).rglob("test_*.py") for each in config.args)
    for path in sorted(tests)[number::count]:
        _rewrite(path.resolve(), config)
    sources = chain.from_iterable((ROOT / folder).rglob("*.py") for folder in SHARED)
    for path in sorted(sources)[number::count]:
        compileall.compile_file(path, quiet=2)


def _rewrite(path: Path, config: pytest.Config) -> None:
    """Rewrite the asserts of a module of tests, as pytest does when it imports it: there is no public way."""
    folder = rewrite.get_cache_dir(path)
    kept = folder / (path.stem + rewrite.PYC_TAIL)
    if not kept.exists() and rewrite.try_makedirs(folder):
        digest, code = rewrite._rewrite_test(path, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, kept)
