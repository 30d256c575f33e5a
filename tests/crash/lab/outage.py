"""Interfere with single operations: an outage, a missing permission, something that happens between two calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from freehold.engine.port import Call
from lab.faults import Answer
from lab.life import Life


@contextmanager
def outage(life: Life, operation: str, error: Exception, times: int | None = None) -> Iterator[None]:
    """Within it ``operation`` raises ``error``: always, or the first ``times`` times."""
    left = times

    async def fail(answer: Answer, call: Call) -> Any:
        nonlocal left
        if call.operation == operation and left != 0:
            left = None if left is None else left - 1
            raise error
        return await answer(call)

    life.port.interceptors.append(fail)
    try:
        yield
    finally:
        life.port.interceptors.remove(fail)


def once_after(life: Life, operation: str, act: Callable[[], object]) -> None:
    """Call ``act`` once, right after the cloud has answered ``operation``."""

    async def watch(answer: Answer, call: Call) -> Any:
        reply = await answer(call)
        if call.operation == operation:
            life.port.interceptors.remove(watch)
            act()
        return reply

    life.port.interceptors.append(watch)
