"""How many arenas the C library uses for what a process allocates."""

from __future__ import annotations

import os
from ctypes import CDLL
from typing import Final

M_ARENA_MAX: Final = -8
ENOUGH: Final = 2


def use_few_arenas() -> None:
    """For a process that serves: glibc gives threads up to eight arenas a core, and what the SDKs' threads read and
    drop stays in them. With a thousand clusters that is 14 of 240 MB.

    Where a person has set ``MALLOC_ARENA_MAX`` that counts; other C libraries have no such setting.
    Source: https://man7.org/linux/man-pages/man3/mallopt.3.html
    """
    mallopt = getattr(CDLL(None), "mallopt", None)
    if mallopt is not None and "MALLOC_ARENA_MAX" not in os.environ:
        mallopt(M_ARENA_MAX, ENOUGH)
