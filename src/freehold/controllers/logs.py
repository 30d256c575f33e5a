"""The log of a process: lines of text or JSON, with the object, its uid and the call to a cloud that they are about.

This is the only place that sets up logging. Debug and info lines of libraries are never written, at no level: those of
the vendors' SDKs have requests with their credentials.
"""

from __future__ import annotations

import contextvars
import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from types import TracebackType
from typing import Any

OURS = ("freehold", "freehold_apiserver")
"""The loggers whose lines are written at any level; those of others begin at warnings."""
LEVELS = ("debug", "info", "warning", "error")


class LogFormat(StrEnum):
    """The form of a line."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True)
class LogContext:
    """The subject of the lines of a task: an object (``KIND namespace/name``), its uid, and a call to a cloud."""

    object: str = ""
    uid: str = ""
    call: str = ""

    def list_fields(self) -> Iterator[tuple[str, str]]:
        """Yield what is known, by name."""
        return ((name, value) for name, value in vars(self).items() if value)


_NOTHING = LogContext()
_ErrorInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

_CONTEXT: contextvars.ContextVar[LogContext] = contextvars.ContextVar("log context", default=_NOTHING)
"""The one global of this file: asyncio and the threads of calls carry it along."""


def read_log_context() -> LogContext:
    """Return what the lines of this task are about."""
    return _CONTEXT.get()


@contextmanager
def log_about(context: LogContext) -> Iterator[None]:
    """Have the lines within say what they are about."""
    token = _CONTEXT.set(context)
    try:
        yield
    finally:
        _CONTEXT.reset(token)


# --- forms of a line ---------------------------------------------------------------------------


class TextFormatter(logging.Formatter):
    """One line a record; a traceback follows it. Control characters in messages are escaped."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        about = " ".join(f"{name}={json.dumps(value)}" for name, value in _CONTEXT.get().list_fields())
        line = super().formatMessage(record)
        return f"{_escape(line)} [{about}]" if about else _escape(line)

    def formatException(self, ei: _ErrorInfo) -> str:  # noqa: N802 (logging's name)
        return "\n".join(map(_escape, super().formatException(ei).splitlines()))


class JsonFormatter(logging.Formatter):
    """One JSON object a record, in one line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **dict(_CONTEXT.get().list_fields()),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)  # only ASCII: no character of it moves the cursor of a terminal


def _escape(text: str) -> str:
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _is_written(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] in OURS


# --- setting it up -----------------------------------------------------------------------------


@dataclass(frozen=True)
class LogOptions:
    """The options of a log. ``level`` is one of :data:`LEVELS`."""

    level: str = "info"
    format: LogFormat = LogFormat.TEXT


DEBUG_VARIABLE = "FREEHOLD_DEBUG"


def set_up_logs(options: LogOptions, handlers: Sequence[logging.Handler]) -> None:
    """Send the log to these handlers alone. With FREEHOLD_DEBUG it tells each look at every level."""
    level = "debug" if os.environ.get(DEBUG_VARIABLE) else options.level
    for handler in handlers:
        handler.setFormatter(JsonFormatter() if options.format is LogFormat.JSON else TextFormatter())
        handler.addFilter(_is_written)
    threshold = getattr(logging, level.upper())
    logging.basicConfig(level=max(threshold, logging.WARNING), handlers=list(handlers), force=True)
    for name in OURS:
        logging.getLogger(name).setLevel(threshold)
