"""Runner of coroutines without an event loop, for those that never wait, because what they await answers at once."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in one step. What it awaits must block or answer at once, as ``BlockingClient`` does.

    Raises RuntimeError if it waits for an event loop.
    """
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("the coroutine waits for an event loop, and there is none")
