"""Runs a command's coroutine: Ctrl-C and SIGTERM end it in good order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from freehold.cli.errors import CliError
from freehold.kube.errors import KubeError

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end. Raises KeyboardInterrupt on Ctrl-C or SIGTERM, after everything was closed."""
    return asyncio.run(_run_with_signals(work))


async def _run_with_signals(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await work
    except KubeError as problem:
        raise CliError(problem.message) from problem
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
