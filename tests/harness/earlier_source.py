"""The source of an earlier version, from this repository's history; it runs in today's environment."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from harness.source_state import ROOT

BEFORE = "4a7f1992694f91e1a8f5f06f856f44bdda0e760c"
"""The last version before the operator could elect a leader."""


def earlier_source(folder: Path, version: str = BEFORE) -> Path:
    """Unpack the packages of a version. Skips the test in a clone without its history."""
    command = ["git", "archive", version, "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"this clone has no {version[:12]}: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return folder / "src"
