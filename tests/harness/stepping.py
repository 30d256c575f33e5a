"""Steps a coroutine of the engine to its end inside a test that may itself be on an event loop."""

from __future__ import annotations

from asyncio import events
from collections.abc import Coroutine
from typing import Any, TypeVar

from freehold.kube import stepping

T = TypeVar("T")


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` as a command does, which has no event loop: it sees none, and runs everything in turn."""
    loop = events._get_running_loop()
    events._set_running_loop(None)
    try:
        return stepping.run_blocking(work)
    finally:
        events._set_running_loop(loop)
