"""The audit log of what people do through commands: a file beside the operator's, with a chain of its own."""

from __future__ import annotations

import getpass
import json
import socket
import time
from collections.abc import Mapping
from typing import Any

from freehold.cli.errors import CliError
from freehold.cli.local.state_directory import StateDirectory
from freehold.engine.clock import SystemClock

_PATIENCE_SECONDS = 10.0


def who() -> str:
    """Name who gives the command, for the audit log."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def log_decision(
    state: StateDirectory, clock: SystemClock, subject: str, why: str, more: Mapping[str, Any] | None = None
) -> None:
    """Write one line: who did what to which object. Raises CliError where it cannot be written."""
    from freehold.providers.access.audit import AuditInUse, FileAudit

    deadline = time.monotonic() + _PATIENCE_SECONDS
    if more:
        why = f"{why}: {json.dumps(more, sort_keys=True)}"
    while True:
        try:
            with FileAudit(state.audit_of_people, clock) as audit:
                audit.log_decided(subject, "", who(), done=True, why=why)
            return
        except AuditInUse as problem:  # another command, for a moment
            if time.monotonic() > deadline:
                raise CliError(str(problem)) from problem
            time.sleep(0.05)
        except OSError as problem:
            raise CliError(f"the audit log {state.audit_of_people} cannot be written: {problem.strerror}") from problem
