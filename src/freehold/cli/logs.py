"""The log of a command, which goes to the state directory, and ``freehold logs``, which shows it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path


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


def run(follow: bool, state: Path | None, kubeconfig: str) -> None:
    """The command. Raises CliError."""
    from freehold.cli.errors import CliError
    from freehold.cli.state_directory import StateDirectory, default_path
    from freehold.cli.terminal import say, warn

    if kubeconfig:
        raise CliError(
            "an operator in a cluster logs where it runs: kubectl logs -n NAMESPACE POD --follow "
            "(kubectl get pods -A shows namespace and pod)"
        )
    log = StateDirectory.open(state or default_path()).log
    if not log.exists():
        warn(f"nothing has worked on {log.parent} yet: there is no {log.name}")
    for line in lines(log, _next_look if follow else lambda: False):
        say(line)


def _next_look() -> bool:
    """Wait as ``tail -f`` does: this is a command of a person, and nothing is reconciled here."""
    time.sleep(0.3)
    return True


def lines(log: Path, again: Callable[[], bool]) -> Iterator[str]:
    """The lines of a log, and those that are added as long as ``again`` says so; it need not be there yet."""
    seen, rest = 0, ""
    while True:
        if log.exists():
            with log.open(encoding="utf-8", errors="replace") as file:
                file.seek(seen)
                *whole, rest = (rest + file.read()).split("\n")
                seen = file.tell()
            yield from whole
        if not again():
            break
    if rest:
        yield rest
