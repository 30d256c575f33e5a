"""The program starts fast and has help: no command imports what it does not use."""

import subprocess
import sys

from harness.commands import PROGRAM

HEAVY = (
    "aiohttp",
    "pydantic",
    "rich",
    "yaml",
    "requests",
    "sqlite3",
    "asyncio",
    "ibm_vpc",
    "ibm_cloud_sdk_core",
    "celpy",
)


def test_the_program_imports_nothing_heavy_before_a_command_runs() -> None:
    """`freehold --help` must take less than 200 ms; an SDK alone takes a second."""
    code = f"import sys, freehold.cli.main; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_names_every_command() -> None:
    done = subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True, check=True)
    for command in ("up", "down", "get", "tree", "plan", "serve", "demo"):
        assert f"  {command} " in done.stdout
    assert done.stderr == ""
