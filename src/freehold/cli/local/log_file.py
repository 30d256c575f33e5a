"""The log of a command: a file of the state directory."""

from __future__ import annotations

import logging
import os
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
    """Have our own log, not the vendors', tell each look and what it is planned for, with FREEHOLD_DEBUG."""
    if os.environ.get("FREEHOLD_DEBUG"):
        logging.getLogger("freehold").setLevel(logging.DEBUG)
