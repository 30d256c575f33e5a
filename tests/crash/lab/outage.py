"""One operation fails for as long as the test says: a service that is down, or a missing permission."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from freehold.lifecycle.port import Call
from lab.life import Life


@contextmanager
def outage(life: Life, operation: str, error: Exception, times: int | None = None) -> Iterator[None]:
    """Within it ``operation`` raises ``error``: always, or the first ``times`` times."""
    port, answered = life.port, life.port.send
    left = times

    async def send(call: Call) -> Any:
        nonlocal left
        if call.operation == operation and left != 0:
            left = None if left is None else left - 1
            raise error
        return await answered(call)

    port.send = send  # type: ignore[method-assign]  # the port
    try:
        yield
    finally:
        port.send = answered  # type: ignore[method-assign]  # the port
