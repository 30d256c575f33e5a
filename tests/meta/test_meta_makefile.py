"""The Makefile on a machine that is not as ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.source_state import ROOT

OLD = f"""#!/bin/sh
exec {sys.executable} -c "import sys; sys.version_info = (3, 10, 12, 'final', 0); exec(sys.argv[1])" "$2"
"""
"""A Python 3.10 that can do no more than say so."""


@pytest.mark.parametrize("left", [False, True], ids=["at first", "an environment of it is there"])
def test_a_python_that_is_too_old_is_named_before_anything_is_made(left: bool, tmp_path: Path) -> None:
    """Pip would speak of hashes after half a minute, and the environment would stay broken."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements").mkdir()
    for name in ("requirements/dev.txt", "pyproject.toml", "old-python"):
        (tmp_path / name).write_text(OLD)
    (tmp_path / "old-python").chmod(0o755)
    if left:
        (tmp_path / ".venv/bin").mkdir(parents=True)
        shutil.copy(tmp_path / "old-python", tmp_path / ".venv/bin/python")
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # make test runs this
    done = subprocess.run(
        ["make", "PYTHON=./old-python", "demo"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    said = "Freehold needs Python 3.11 or newer, and ./old-python is 3.10: name another one, for example: "
    assert done.returncode == 2 and f"{said}make PYTHON=python3.12 demo" in done.stderr
    assert not (tmp_path / ".venv/.installed").exists() and (tmp_path / ".venv").exists() is left
