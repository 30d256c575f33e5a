"""``freehold`` run to its end by somebody without credentials: in this process, or as a process of its own.

In this process a command costs a quarter: nothing is imported again. A test of signals, of what is imported, of a lock
between processes or of a terminal starts a process.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from freehold.cli.local import cloud_reads, server_process
from freehold.cli.main import run
from freehold.cli.output import prompt
from freehold.providers.aws.access import VARIABLES as AWS_VARIABLES
from harness.forks import Program
from harness.serving import simulated_cloud

PROGRAM = (sys.executable, "-m", "freehold.cli.main")
PATIENCE = 240.0
"""Seconds after which a process counts as one that never ends."""
_NOT_PASSED_ON = frozenset({"IBMCLOUD_API_KEY", "FREEHOLD_DEBUG", *AWS_VARIABLES})


def freehold(*arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, without a terminal to ask on; its exit code is for the test to judge."""
    with _left_as_it_was(), mock.patch.dict(os.environ, _environment(env), clear=True):
        with CliRunner().isolation(stdin) as (out, err, _):
            try:
                code = run(arguments)
            except SystemExit as ended:
                assert isinstance(ended.code, int)
                code = ended.code
            sys.stdout.flush()
        said, told = (stream.getvalue().decode(errors="backslashreplace") for stream in (out, err))
    return subprocess.CompletedProcess(["freehold", *arguments], code, said, told)


def freehold_in(state: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The same with a state directory."""
    return freehold(*arguments, "--state", str(state), **env)


def freehold_process(*arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own, in a session of its own: without a terminal to ask on."""
    command, pipe = [*PROGRAM, *arguments], subprocess.PIPE
    environment = _environment(env)
    with Program(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
    ) as process:
        try:
            said, told = process.communicate(stdin, PATIENCE)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, said, told)


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}, **more}


@contextmanager
def _left_as_it_was() -> Iterator[None]:
    """Undo what a command changes of its process: where the log goes, what SIGTERM does, the umask.

    It finds no terminal, and its simulated clouds on its own loop. What it starts is forked.
    """
    root, ours = logging.getLogger(), logging.getLogger("freehold")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    terminate = signal.getsignal(signal.SIGTERM)
    umask = os.umask(0o077)  # as the program sets it
    root.handlers.clear()  # else the command would close them
    try:
        with (
            mock.patch.object(prompt, "_TERMINAL", "/nowhere"),
            mock.patch.object(subprocess, "Popen", Program),
            mock.patch.object(server_process, "simulated_cloud", simulated_cloud),
            mock.patch.object(cloud_reads, "simulated_cloud", simulated_cloud),
        ):
            yield
    finally:
        os.umask(umask)
        signal.signal(signal.SIGTERM, terminate)
        of_command, root.handlers[:] = root.handlers[:], handlers  # first: a closed one opens its file for a late line
        for each in of_command:
            each.close()
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
