"""Runs coroutines without an event loop: those that never wait, because what they await answers at once."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in one step. What it awaits must block, or have its answer: a client that is no asyncio's.

    Raises RuntimeError where it waits for an event loop.
    """
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("the coroutine waits for an event loop, and there is none")
