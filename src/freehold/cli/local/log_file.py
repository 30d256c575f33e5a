"""The log of a command: a file of the state directory, or standard error."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from freehold.controllers.logs import DEBUG_VARIABLE, LogOptions, set_up_logs


class _LogFile(logging.FileHandler):
    """A log that cannot be written is done without: logging's own complaint is a traceback for every line."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        """Drop the record."""


def log_to(path: Path, options: LogOptions | None = None) -> None:
    """Send the log to a file; with FREEHOLD_DEBUG also to standard error, in full."""
    handlers: list[logging.Handler] = [_LogFile(path)]
    if os.environ.get(DEBUG_VARIABLE):
        handlers.append(logging.StreamHandler())
    set_up_logs(options or LogOptions(), handlers)


def log_to_stderr(options: LogOptions) -> None:
    """Send the log to standard error."""
    set_up_logs(options, [logging.StreamHandler(sys.stderr)])
