"""A forked program is what a fresh one is (`harness.forks`)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.forks import Program, can_be_forked

SCRIPT = """\
import os, signal, sys
print(sys.argv[1:], __name__, os.getcwd(), os.environ.get("GIVEN"), os.environ.get("HOME"), os.getppid())
print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.stdin.read(), sys.stdout.line_buffering)
print(os.getsid(0) == os.getpid(), len(os.listdir("/dev/fd")), file=sys.stderr)
exec(sys.argv[1])
"""
ENDINGS = (
    "pass",
    "sys.exit(3)",
    "sys.exit('told')",
    "raise KeyError",
    "os.kill(os.getpid(), 9)",
    "os.kill(os.getpid(), 2)",
    "os.write(int(sys.argv[2]), b'passed')",
)


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")
@pytest.mark.parametrize("ending", ENDINGS)
def test_descriptors_signals_and_exit_code_are_those_of_a_fresh_process(tmp_path: Path, ending: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    log = os.open(tmp_path / "log", os.O_CREAT | os.O_RDWR)
    command = [sys.executable, str(script), ending, str(log)]
    environment = {**os.environ, "GIVEN": "a"}
    environment.pop("HOME", None)
    assert can_be_forked(command, environment)
    found: list[Any] = []
    for kind in (Program, subprocess.Popen):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        more = {"cwd": tmp_path, "start_new_session": True, "pass_fds": (log,)}
        process = kind(command, text=True, env=environment, **pipes, **more)
        said, told = process.communicate("asked")
        assert process.pid != os.getpid()
        found.append((process.returncode, said, told.splitlines()[:1], told.splitlines()[-1:]))
    assert found[0] == found[1]
    assert os.pread(log, 99, 0) == (b"passed" * 2 if ending.startswith("os.write") else b"")
    os.close(log)
    assert str(os.getpid()) in found[0][1]


def test_a_fresh_interpreter_is_started_where_python_is_told_something() -> None:
    command = [sys.executable, "-m", "freehold.cli.main"]
    assert not can_be_forked(command, {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    assert not can_be_forked(["/bin/sh", "-c", "exit"], dict(os.environ))
    assert not can_be_forked([sys.executable, "-c", "pass"], dict(os.environ))


def test_a_program_that_is_signalled_ends_by_the_signal(tmp_path: Path) -> None:
    script = tmp_path / "waits.py"
    script.write_text("import signal\nprint('waits', flush=True)\nsignal.pause()\n")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        with Program([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout.readline() == b"waits\n"
            process.send_signal(number)
        assert process.returncode == -number
