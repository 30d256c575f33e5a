"""What people do through the CLI, for the audit log: a file of its own beside the operator's, with its own chain."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from freehold.cli.deciding import who
from freehold.cli.errors import CliError
from freehold.cli.state_directory import StateDirectory
from freehold.engine.clock import SystemClock

_PATIENCE_SECONDS = 10.0


def decided(
    state: StateDirectory, clock: SystemClock, subject: str, why: str, more: Mapping[str, Any] | None = None
) -> None:
    """One line: who did what to which object. Raises CliError where it cannot be written."""
    from freehold.providers.access.audit import AuditInUse, FileAudit

    deadline = time.monotonic() + _PATIENCE_SECONDS
    if more:
        why = f"{why}: {json.dumps(more, sort_keys=True)}"
    while True:
        try:
            with FileAudit(state.audit_of_people, clock) as audit:
                audit.decided(subject, "", who(), done=True, why=why)
            return
        except AuditInUse as problem:  # another command, for a moment
            if time.monotonic() > deadline:
                raise CliError(str(problem)) from problem
            time.sleep(0.05)
        except OSError as problem:
            raise CliError(f"the audit log {state.audit_of_people} cannot be written: {problem.strerror}") from problem
