"""A process that serves takes few arenas of glibc, and collects seldom."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from ctypes import CDLL

import pytest

from freehold.cli.local.memory import SELDOM, collected_seldom

EIGHT_THREADS = """
import ctypes, sys, threading
from freehold.cli.local.memory import use_few_arenas
if sys.argv[1] == "few":
    use_few_arenas()
all_at_once = threading.Barrier(8)
def allocate():
    all_at_once.wait()
    kept.append(bytearray(100_000))
    all_at_once.wait()
kept = []
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


def _arenas(how: str, **variables: str) -> int:
    without = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    command = [sys.executable, "-c", EIGHT_THREADS, how]
    told = subprocess.run(command, env=without | variables, capture_output=True, text=True, check=True)
    return len(re.findall("<heap nr=", told.stdout))


@pytest.mark.skipif(getattr(CDLL(None), "malloc_info", None) is None, reason="another C library than glibc")
def test_threads_share_two_arenas_unless_a_person_has_said_how_many() -> None:
    assert _arenas("glibc's own") > 2, "otherwise this test shows nothing"
    assert _arenas("few") <= 2
    assert _arenas("few", MALLOC_ARENA_MAX="4") > 2


def test_a_process_that_serves_collects_seldom() -> None:
    before = gc.get_threshold()
    with pytest.raises(KeyboardInterrupt), collected_seldom():
        assert gc.get_threshold() == SELDOM
        assert gc.isenabled(), "what is in cycles must go in the end"
        raise KeyboardInterrupt
    assert gc.get_threshold() == before


def test_what_is_frozen_stays_frozen() -> None:
    """So does what was frozen before: to unfreeze it has no use in a process that ends, and to ask for it walks all."""
    with collected_seldom():
        pass
    assert gc.get_freeze_count() > 0
