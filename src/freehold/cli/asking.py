"""A question to the person at the terminal, while the server of this command goes on serving."""

from __future__ import annotations

import asyncio
import os
import sys

from freehold.cli.terminal import escaped


def somebody_is_there() -> bool:
    """Whether a question would be seen and could be answered."""
    return sys.stdin.isatty() and sys.stdout.isatty()


async def agreed(question: str) -> bool:
    """Whether the answer is yes; Enter alone, and the end of input, are no."""
    print(f"{escaped(question)} [y/N] ", end="", flush=True)
    answer = await _line()
    return answer.strip().casefold() in ("y", "yes")


async def _line() -> str:
    """A line of standard input. Reading it in a thread would hold Ctrl-C up until Enter."""
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
    read: asyncio.Future[str] = loop.create_future()

    def take() -> None:
        if not read.done():
            read.set_result(os.read(descriptor, 4096).decode(errors="replace"))

    loop.add_reader(descriptor, take)
    try:
        return await read
    finally:
        loop.remove_reader(descriptor)
