"""Python's garbage collector, where it only costs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = (200_000, 20, 10)
"""Python's own are 700, 10 and 10 (https://docs.python.org/3/library/gc.html#gc.set_threshold)."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Without it: it would walk thousands of documents again and again, and they have no cycles to be found."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def collected_seldom() -> Iterator[None]:
    """For a process that serves: a pass over a large fleet keeps millions of values until its end, and Python would
    walk all of them each time that some hundred are new. It cost a third of the CPU of a pass over 100,000 volumes.

    What is there already, modules above all, is not walked any more (``gc.freeze``)."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
