"""Processes that begin with their imports done, each a second of CPU: forked from a process that has nothing else.

Their signals, streams, exit codes and process ids are those of a fresh process, and they are children of the test's.
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER: orphans below this process become its children
(https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html)."""
_ASKING = Lock()

FreshProgram = subprocess.Popen
"""Also where `Program` was put in its place."""


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Python reads when it starts."""
    return {name: value for name, value in environment.items() if name.startswith(("PYTHON", "LANG", "LC_"))}


_AT_START = _read_at_start(os.environ)


class Program(FreshProgram[Any]):
    """``subprocess.Popen`` of ``[sys.executable, ...]`` without the imports.

    Of anything else, and elsewhere than on Linux, it is ``subprocess.Popen`` itself.
    """

    def _execute_child(self, *given: Any) -> None:
        start = super()._execute_child  # type: ignore[misc]  # private, so mypy does not know it
        wish = inspect.signature(start).bind(*given).arguments
        environment = dict(os.environ if wish["env"] is None else wish["env"])
        if wish["preexec_fn"] or not can_be_forked(wish["args"], environment):
            start(*given)
            return
        program = {
            "arguments": wish["args"][1:],
            "environment": environment,
            "folder": str(wish["cwd"] or Path.cwd()),
            "session": wish["start_new_session"],
            "descriptors": [0, 1, 2, *wish["pass_fds"]],
        }
        streams = [wish["p2cread"], wish["c2pwrite"], wish["errwrite"]]
        ours = [number if each == -1 else each for number, each in enumerate(streams)]
        self.pid = _ask(json.dumps(program), [*ours, *wish["pass_fds"]])
        self._child_created = True
        self._close_pipe_fds(*(wish[each] for each in _PIPES))  # type: ignore[attr-defined]  # private too


_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def can_be_forked(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether a fork is what a fresh process would be."""
    return (
        sys.platform == "linux"
        and command[0] == sys.executable
        and (command[1] == "-m" or command[1].endswith(".py"))
        and _read_at_start(environment) == _AT_START
    )


def _ask(program: str, descriptors: list[int]) -> int:
    """Have a program forked, adopt it, and return its process id."""
    with _ASKING:
        asked = _server()
        _adopt_orphans(True)
        try:
            socket.send_fds(asked, [program.encode()], descriptors)
            process = int(asked.recv(32))
            assert asked.recv(32) == b"yours"
        finally:
            _adopt_orphans(False)
    return process


def _adopt_orphans(wish: bool) -> None:
    assert ctypes.CDLL(None).prctl(_SUBREAPER, int(wish), 0, 0, 0) == 0


@cache
def _server() -> socket.socket:
    """Start the server of this process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = str(Path(__file__).with_name("fork_server.py"))
    with theirs:
        server = FreshProgram(
            [sys.executable, script, str(theirs.fileno())], pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours
