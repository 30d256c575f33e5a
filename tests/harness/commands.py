"""``freehold`` as a process of its own, run by somebody without credentials."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from freehold.cli.credentials import AWS_VARIABLES

PROGRAM = (sys.executable, "-m", "freehold.cli.main")
PATIENCE = 240.0
"""Seconds after which a command counts as one that never ends."""
_NOT_PASSED_ON = frozenset({"IBMCLOUD_API_KEY", "FREEHOLD_DEBUG", *AWS_VARIABLES})


def freehold(*arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without a terminal to ask on; its exit code is for the test to judge."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    return subprocess.run(
        [*PROGRAM, *arguments],
        input=stdin, capture_output=True, text=True, timeout=PATIENCE, env={**kept, **env}, check=False,
        start_new_session=True,
    )  # fmt: skip


def freehold_in(state: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The same with a state directory."""
    return freehold(*arguments, "--state", str(state), **env)
