"""Runs a command's coroutine: Ctrl-C and SIGTERM end it in good order, the log goes to the state directory."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from freehold.api.feature_gates import ALL_OFF, FeatureGates
from freehold.cli.errors import MISUSED, CliError
from freehold.cli.live import ServeOptions
from freehold.cli.session import Access
from freehold.cli.simulator import SPEED
from freehold.cli.state_directory import StateDirectory, default_path
from freehold.kube.errors import KubeError

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end. Raises KeyboardInterrupt on Ctrl-C or SIGTERM, after everything was closed."""
    return asyncio.run(_with_signals(work))


async def _with_signals(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await work
    except KubeError as problem:
        raise CliError(problem.message) from problem
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def access(
    state: Path | None,
    *,
    kubeconfig: str = "",
    operator: bool = True,
    install: bool = True,
    simulate: bool = False,
    speed: float = SPEED,
    gates: FeatureGates = ALL_OFF,
    settings: Path | None = None,
) -> Access:
    """Where a command goes. Raises CliError when the state directory cannot be used, or both ways were given."""
    if kubeconfig:
        if simulate or settings:
            raise CliError(
                "--simulate and --kubeconfig exclude each other: the operator in the cluster has its own cloud",
                code=MISUSED,
            )
        if gates:
            raise CliError(
                "--feature-gates and --kubeconfig exclude each other: the operator in the cluster has its own gates",
                code=MISUSED,
            )
        return Access(None, ServeOptions(operator=operator), kubeconfig)
    directory = StateDirectory.open(state or default_path())
    log_to(directory.log)
    return Access(
        directory,
        ServeOptions(
            operator=operator, install=install, simulate=simulate, speed=speed, gates=gates, settings=settings
        ),
    )


class _LogFile(logging.FileHandler):
    """A log that cannot be written is done without: logging's own complaint is a traceback for every line."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        """Drop the record."""


def log_to(path: Path) -> None:
    """Send the log to a file; with FREEHOLD_DEBUG also to standard error, in full."""
    root = logging.getLogger()
    handlers: list[logging.Handler] = [_LogFile(path)]
    if os.environ.get("FREEHOLD_DEBUG"):
        handlers.append(logging.StreamHandler())
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=handlers, force=True
    )
    root.setLevel(logging.INFO)
    tell_looks()


def tell_looks() -> None:
    """With FREEHOLD_DEBUG our own log, not that of the vendors' SDKs, has each look and what it is planned for."""
    if os.environ.get("FREEHOLD_DEBUG"):
        logging.getLogger("freehold").setLevel(logging.DEBUG)
