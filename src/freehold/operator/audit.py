"""The audit log: append-only JSON lines, one before and one after every mutating call.

A line holds the object, the call, the resource, what was asked, the vendor's request id and the outcome. What is
left in the cloud when an object goes has a line too (outcome ``kept``, no call): its event may be refused, because
nothing can be created in a namespace that is being deleted. So has a decision of a person, with who made it.
Requests that drivers put into ``Call.detail`` never hold secrets; what they put into ``Call.hidden`` is taken out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from freehold.lifecycle.clock import Clock
from freehold.lifecycle.errors import CloudError, Unknown
from freehold.lifecycle.port import Call


class Audit(Protocol):
    """Where the lines go."""

    def sent(self, subject: str, call: Call) -> None: ...

    def done(self, subject: str, call: Call, error: BaseException | None) -> None: ...

    def kept(self, subject: str, resource: str, why: str) -> None: ...

    def decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None: ...


class FileAudit:
    """Lines in a file of mode 0600; each is written whole by one ``write`` in append mode."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def __enter__(self) -> FileAudit:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._fd)

    def sent(self, subject: str, call: Call) -> None:
        self._write(subject, _name(call), call.subject, {"outcome": "sent", "request": dict(call.detail)})

    def done(self, subject: str, call: Call, error: BaseException | None) -> None:
        self._write(subject, _name(call), call.subject, _outcome(error))

    def kept(self, subject: str, resource: str, why: str) -> None:
        self._write(subject, "", resource, {"outcome": "kept", "reason": why})

    def decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
        self._write(subject, "", what, {"outcome": "decided" if done else "not decided", "by": by, "reason": why})

    def _write(self, subject: str, call: str, resource: str, more: Mapping[str, Any]) -> None:
        line = {
            "time": round(self._clock.now(), 3),
            "object": subject,
            "call": call,
            "resource": resource,
            **more,
        }
        os.write(self._fd, (json.dumps(line, sort_keys=True, default=str) + "\n").encode())


class NoAudit:
    """For plans and tools that change nothing."""

    def sent(self, subject: str, call: Call) -> None:
        """Nothing is written."""

    def done(self, subject: str, call: Call, error: BaseException | None) -> None:
        """Nothing is written."""

    def kept(self, subject: str, resource: str, why: str) -> None:
        """Nothing is written."""

    def decided(self, subject: str, what: str, by: str, *, done: bool, why: str) -> None:
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
