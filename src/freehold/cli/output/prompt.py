"""A question to the person at the terminal, while the server of this command goes on serving.

It is asked on the controlling terminal, wherever standard input and output go: ``freehold down X | tee log`` has a
person before it, and the "yes" of a pipe is nobody's.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from freehold.cli.errors import CliError
from freehold.cli.output.terminal import escape_text

_TERMINAL = "/dev/tty"


async def ask(question: str, *, otherwise: str) -> None:
    """Ask, and return where the answer is yes; Enter alone, and the end of input, are no.

    Raises CliError, which begins with ``otherwise``, where it is no, or where there is no terminal to ask on.
    """
    with _terminal() as terminal:
        if terminal is None:
            raise CliError(f"{otherwise}: there is no terminal to ask on; --yes does what is shown, without a question")
        if not await _ask_yes_no(question, terminal):
            raise CliError(otherwise)


def somebody_is_there() -> bool:
    """Return whether a question would be seen and could be answered."""
    with _terminal() as terminal:
        return terminal is not None


@contextmanager
def _terminal() -> Iterator[int | None]:
    """Open the controlling terminal; None where there is none, as for a job of cron or CI."""
    try:
        descriptor = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def _ask_yes_no(question: str, terminal: int) -> bool:
    prompt = f"{escape_text(question)} [y/N] "
    if sys.stderr.isatty():
        print(prompt, end="", file=sys.stderr, flush=True)
    else:  # a question that goes to a file would be waited for unseen
        os.write(terminal, prompt.encode())
    answer = await _line(terminal)
    return answer.strip().casefold() in ("y", "yes")


async def _line(terminal: int) -> str:
    """Read a line. Reading it in a thread would hold Ctrl-C up until Enter."""
    loop = asyncio.get_running_loop()
    read: asyncio.Future[str] = loop.create_future()

    def take() -> None:
        if not read.done():
            read.set_result(os.read(terminal, 4096).decode(errors="replace"))

    loop.add_reader(terminal, take)
    try:
        return await read
    finally:
        loop.remove_reader(terminal)
