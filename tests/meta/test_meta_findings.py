"""What tests find out is shown where people run them: with workers, whose own output pytest does not show."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = "tests/unit/aws/test_aws_kind_facts.py::test_which_kinds_each_workflow_has"


@pytest.mark.parametrize("workers", ["0", "1"])
def test_the_kinds_of_each_workflow_are_shown_above_the_closing_line(workers: str) -> None:
    """The number of tests stays the last line of ``make test``."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-n", workers, "-p", "no:cacheprovider", TEST]
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=240, check=True)
    lines = done.stdout.splitlines()
    assert any(line.startswith("  tags in the create call: vpc, subnet") for line in lines), done.stdout
    assert "  client token, no tags: none (proved in the in-memory world)" in lines
    assert "1 passed" in lines[-1]
