"""The audit log: append-only JSON lines, one before and one after every mutating call.

A line holds the object, the call, the resource, what was asked, the vendor's request id and the outcome. What is
left in the cloud when an object goes has a line too (outcome ``kept``, no call): its event may be refused, because
nothing can be created in a namespace that is being deleted. So has what was collected in all (outcome ``collected``).
Before a call that changes tags there is one with the
values that were there (outcome ``changes``, no call). So has a decision of a person, with who made it.
Requests that drivers put into ``Call.detail`` never hold secrets; what they put into ``Call.hidden`` is taken out.
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
from freehold.providers.access.audit_chain import begun, head_of, sealed

_LOG = logging.getLogger(__name__)
_TELL_EVERY = 100
"""Lines after which the head goes to the log."""


Changes = Mapping[str, Mapping[str, tuple[str | None, str | None]]]
"""Tags, by resource and key: from which value to which; None where there is none."""


class AuditInUse(Exception):
    """Another process writes this file: two in one file would break its chain."""


class Audit(Protocol):
    """Where the lines go."""

    def sent(self, subject: str, call: Call) -> None: ...

    def done(self, subject: str, call: Call, error: BaseException | None) -> None: ...

    def kept(self, subject: str, resource: str, why: str) -> None: ...

    def collected(self, subject: str, summary: str) -> None: ...

    def decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None: ...


class FileAudit:
    """Lines in a file of mode 0600, each written by one ``write`` in append mode; one process a file.

    A new file goes on where the newest rotated one (``audit.jsonl.1``) ended. Raises AuditInUse and OSError.
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
        self._head, self._torn = _last_head(path)
        if not os.fstat(self._fd).st_size and (before := _rotated_head(path)):
            self._head = before
            self._append(begun(before))
        self._tell()

    def __enter__(self) -> FileAudit:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the file, with its head in the log. It lets another process have the file."""
        self._tell()
        os.close(self._fd)

    def sent(self, subject: str, call: Call) -> None:
        self._write(subject, _name(call), call.subject, {"outcome": "sent", "request": dict(call.detail)})

    def done(self, subject: str, call: Call, error: BaseException | None) -> None:
        self._write(subject, _name(call), call.subject, _outcome(error))

    def kept(self, subject: str, resource: str, why: str) -> None:
        self._write(subject, "", resource, {"outcome": "kept", "reason": why})

    def collected(self, subject: str, summary: str) -> None:
        self._write(subject, "", KIND, {"outcome": "collected", "reason": summary})

    def decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        self._write(subject, "", what, {"outcome": "decided" if done else "not decided", "by": by, "reason": why})

    def changes(self, subject: str, changes: Changes) -> None:
        names = sorted(changes)
        what = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else "".join(names)
        self._write(subject, "", what, {"outcome": "changes", "changes": changes})

    def refused(self, subject: str, resource: str, error: CloudError) -> None:
        self._write(subject, "", resource, _outcome(error))

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
            self._tell()

    def _append(self, line: Mapping[str, Any]) -> None:
        """A line that is cut off, as by a full disk, is not in the chain: the next one begins after its end."""
        text, head = sealed(self._head, line)
        data = f"{chr(10) if self._torn else ''}{text}{chr(10)}".encode()
        self._torn = True
        if os.write(self._fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._head, self._torn = head, False

    def _tell(self) -> None:
        if self._head:
            _LOG.info("the audit log %s ends with chain %s", self._path, self._head)


class NoAudit:
    """For plans and tools that change nothing."""

    def sent(self, subject: str, call: Call) -> None:
        """Nothing is written."""

    def done(self, subject: str, call: Call, error: BaseException | None) -> None:
        """Nothing is written."""

    def kept(self, subject: str, resource: str, why: str) -> None:
        """Nothing is written."""

    def collected(self, subject: str, summary: str) -> None:
        """Nothing is written."""

    def decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        """Nothing is written."""

    def changes(self, subject: str, changes: Changes) -> None:
        """Nothing is written."""

    def refused(self, subject: str, resource: str, error: CloudError) -> None:
        """Nothing is written."""


def _name(call: Call) -> str:
    return f"{call.api}.{call.operation}"


def _outcome(error: BaseException | None) -> dict[str, str]:
    if error is None:
        return {"outcome": "done"}
    if isinstance(error, CloudError):
        word = "unknown" if isinstance(error, Unknown) else "refused"
        return {"outcome": word, "error": error.message, "code": error.code, "request_id": error.request_id}
    return {"outcome": "unknown", "error": type(error).__name__}


_WINDOW = 1 << 16


def _last_head(path: Path) -> tuple[str, bool]:
    """The head of the last whole line that has one, and whether a line after it was cut off."""
    with path.open("rb") as file:
        size, window = file.seek(0, os.SEEK_END), _WINDOW
        while True:
            begin = max(0, size - window)
            file.seek(begin)
            lines = file.read().split(b"\n")
            whole = lines[:-1] if begin == 0 else lines[1:-1]
            head = next(filter(None, (head_of(line.decode(errors="replace")) for line in reversed(whole))), "")
            if head or begin == 0:
                return head, bool(lines[-1])
            window *= 8


def _rotated_head(path: Path) -> str:
    """The head of the newest file that a rotation has put beside this one."""
    rotated = sorted(path.parent.glob(f"{path.name}.*"), key=lambda each: each.stat().st_mtime, reverse=True)
    return next(filter(None, (_last_head(each)[0] for each in rotated)), "")
