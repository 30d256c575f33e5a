"""The audit log: append-only JSON lines, one before and one after every mutating call.

A line has the object, the call, the resource, the request, the vendor's request id and the outcome. A resource that
a deleted object leaves in the cloud has a line, too (outcome ``kept``, no call): its event may be refused, because
nothing can be created in a namespace that is being deleted. So has the summary of a collection (outcome ``collected``).
A call that changes tags has a line before it with the old
values (outcome ``changes``, no call). A person's decision has one with who made it.
Drivers put no secrets into ``Call.detail``; values in ``Call.hidden`` are removed from it.
Each line seals those before it (:mod:`freehold.providers.access.audit_chain`).
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from freehold.engine.clock import Clock
from freehold.engine.collection import KIND
from freehold.engine.errors import CloudError, Unknown
from freehold.engine.port import Call
from freehold.providers.access.audit_chain import build_first_line, read_head, seal_line
from freehold.providers.access.audit_files import CHANGES, find_log_files

_LOG = logging.getLogger(__name__)
_TELL_EVERY = 100
"""Number of lines after which the head is logged."""


Changes = Mapping[str, Mapping[str, tuple[str | None, str | None]]]
"""Changes of tags, by resource and key: the values before and after, None for no tag."""


class AuditInUse(Exception):
    """Another process writes this file: two in one file would break its chain."""


class Audit(Protocol):
    """An audit log."""

    def log_sent(self, subject: str, call: Call) -> None: ...

    def log_done(self, subject: str, call: Call, error: BaseException | None) -> None: ...

    def log_kept(self, subject: str, resource: str, why: str) -> None: ...

    def log_collected(self, subject: str, summary: str) -> None: ...

    def log_decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None: ...


class FileAudit:
    """An audit log in a file of mode 0600. Each line is one ``write`` in append mode, and each file has one process.

    The chain of a new file continues that of the newest rotated one (``audit.jsonl.1``). Raises AuditInUse and OSError.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lines = 0
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise AuditInUse(f"another process writes the audit log {path}: give each its own file") from None
        self._head, self._torn = _read_last_head(path)
        if not os.fstat(self._fd).st_size and (before := _read_rotated_head(path)):
            self._head = before
            self._append(build_first_line(before))
        self._log_head()

    def __enter__(self) -> FileAudit:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Log the head, and close the file, so that another process can use it."""
        self._log_head()
        os.close(self._fd)

    def log_sent(self, subject: str, call: Call) -> None:
        self._write(subject, _name_call(call), call.subject, {"outcome": "sent", "request": dict(call.detail)})

    def log_done(self, subject: str, call: Call, error: BaseException | None) -> None:
        self._write(subject, _name_call(call), call.subject, _describe_outcome(error))

    def log_kept(self, subject: str, resource: str, why: str) -> None:
        self._write(subject, "", resource, {"outcome": "kept", "reason": why})

    def log_collected(self, subject: str, summary: str) -> None:
        self._write(subject, "", KIND, {"outcome": "collected", "reason": summary})

    def log_decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        self._write(subject, "", what, {"outcome": "decided" if done else "not decided", "by": by, "reason": why})

    def log_changes(self, subject: str, changes: Changes) -> None:
        names = sorted(changes)
        what = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else "".join(names)
        self._write(subject, "", what, {"outcome": CHANGES, "changes": changes})

    def log_refused(self, subject: str, resource: str, error: CloudError) -> None:
        self._write(subject, "", resource, _describe_outcome(error))

    def _write(self, subject: str, call: str, resource: str, more: Mapping[str, Any]) -> None:
        line = {
            "time": round(self._clock.now(), 3),
            "object": subject,
            "call": call,
            "resource": resource,
            **more,
        }
        self._append(line)
        self._lines += 1
        if self._lines % _TELL_EVERY == 0:
            self._log_head()

    def _append(self, line: Mapping[str, Any]) -> None:
        """Append a line to the chain. One that is cut off, as by a full disk, is not in it, and is ended first."""
        text, head = seal_line(self._head, line)
        data = f"{chr(10) if self._torn else ''}{text}{chr(10)}".encode()
        self._torn = True
        if os.write(self._fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._head, self._torn = head, False

    def _log_head(self) -> None:
        if self._head:
            _LOG.info("the audit log %s ends with chain %s", self._path, self._head)


class NoAudit:
    """An audit log for plans and tools that change nothing."""

    def log_sent(self, subject: str, call: Call) -> None:
        """Write nothing."""

    def log_done(self, subject: str, call: Call, error: BaseException | None) -> None:
        """Write nothing."""

    def log_kept(self, subject: str, resource: str, why: str) -> None:
        """Write nothing."""

    def log_collected(self, subject: str, summary: str) -> None:
        """Write nothing."""

    def log_decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        """Write nothing."""

    def log_changes(self, subject: str, changes: Changes) -> None:
        """Write nothing."""

    def log_refused(self, subject: str, resource: str, error: CloudError) -> None:
        """Write nothing."""


def _name_call(call: Call) -> str:
    return f"{call.api}.{call.operation}"


def _describe_outcome(error: BaseException | None) -> dict[str, str]:
    if error is None:
        return {"outcome": "done"}
    if isinstance(error, CloudError):
        word = "unknown" if isinstance(error, Unknown) else "refused"
        return {"outcome": word, "error": error.message, "code": error.code, "request_id": error.request_id}
    return {"outcome": "unknown", "error": type(error).__name__}


_WINDOW = 1 << 16


def _read_last_head(path: Path) -> tuple[str, bool]:
    """Read the head of the last whole line that has one, and whether a line after it was cut off."""
    with path.open("rb") as file:
        size, window = file.seek(0, os.SEEK_END), _WINDOW
        while True:
            begin = max(0, size - window)
            file.seek(begin)
            lines = file.read().split(b"\n")
            whole = lines[:-1] if begin == 0 else lines[1:-1]
            head = next(filter(None, (read_head(line.decode(errors="replace")) for line in reversed(whole))), "")
            if head or begin == 0:
                return head, bool(lines[-1])
            window *= 8


def _read_rotated_head(path: Path) -> str:
    """Read the head of the newest file that a rotation has put beside this one."""
    rotated = [each for each in reversed(find_log_files(path)) if each != path]
    return next(filter(None, (_read_last_head(each)[0] for each in rotated)), "")
