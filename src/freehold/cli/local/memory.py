"""Memory of a process: the arenas of the C library, and Python's garbage collector where it only costs."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL
from typing import Final

M_ARENA_MAX: Final = -8
ENOUGH: Final = 2

SELDOM: Final = (200_000, 20, 10)
"""Python's own are 700, 10 and 10 (https://docs.python.org/3/library/gc.html#gc.set_threshold)."""


def use_few_arenas() -> None:
    """Limit the arenas of a process that serves.

    glibc gives threads up to eight arenas a core, and what the SDKs' threads read and drop stays in them. With a
    thousand clusters that is 14 of 240 MB. Where a person has set ``MALLOC_ARENA_MAX`` that counts; other C libraries
    have no such setting. Source: https://man7.org/linux/man-pages/man3/mallopt.3.html
    """
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt(M_ARENA_MAX, ENOUGH)


@contextmanager
def pause_garbage_collector() -> Iterator[None]:
    """Do without the collector: it would walk thousands of documents again and again, which have no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Collect seldom in a process that serves.

    A pass over a large fleet keeps millions of values until its end, and Python would walk all of them each time that
    some hundred are new. It cost a third of the CPU of a pass over 100,000 volumes. What is there already, modules
    above all, is not walked any more (``gc.freeze``), also at the end of the process, which comes soon afterwards.
    """
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    gc.freeze()
    try:
        yield
    finally:
        gc.set_threshold(*before)
