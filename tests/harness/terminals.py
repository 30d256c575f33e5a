"""A command on a real terminal: a pseudo-terminal of a given width, on which somebody may type."""

import fcntl
import os
import select
import struct
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from harness.commands import PROGRAM
from harness.forks import Program, can_be_forked

_SIZE = ("COLUMNS", "LINES")


@dataclass(frozen=True)
class Shown:
    """What a person saw, as the terminal got it, and how the command ended."""

    text: str
    code: int


def freehold_on_terminal(
    *arguments: str,
    columns: int = 80,
    rows: int = 50,
    typed: str = "",
    after: str = "",
    seconds: float = 240.0,
    redirected: Mapping[str, IO[bytes]] | None = None,
    **env: str,
) -> Shown:
    """Run ``freehold`` there; ``typed`` is typed as soon as ``after`` is seen.

    ``redirected``: the files of streams that a shell would redirect.
    """
    # The environment is given whole: readline, once imported, sets COLUMNS below Python's own view of it.
    environment = {**{name: value for name, value in os.environ.items() if name not in _SIZE}, **env}
    terminal, theirs = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs, **(redirected or {})}
    command = [*PROGRAM, *arguments]
    process = Program(
        command, **streams, env=environment, start_new_session=True,
        preexec_fn=None if can_be_forked(command, environment) else _take_the_terminal,
    )  # fmt: skip
    os.close(theirs)
    seen, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            more = os.read(terminal, 65536)
        except OSError:  # Linux: the other end has been closed
            break
        if not more:
            break
        seen += more
        if typed and after.encode() in seen:
            os.write(terminal, typed.encode())
            typed = ""
    else:
        process.kill()
    code = process.wait()
    os.close(terminal)
    return Shown(seen.decode(errors="replace").replace("\r\n", "\n"), code)


def _take_the_terminal() -> None:
    """Make it the terminal of this session, on which commands ask."""
    fcntl.ioctl(next(filter(os.isatty, range(3))), termios.TIOCSCTTY, 0)
