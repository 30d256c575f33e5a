"""The lines of a log file, read from its end or its beginning in blocks: no line is held that is too long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

MOST_BYTES: Final = 1 << 20
"""Bytes of a line that is held; of a longer one only the size, and the end, are told."""

_BLOCK: Final = 1 << 16


class LogLine(NamedTuple):
    """A line without its newline. ``start``: where it begins; ``data``: None where it is too long."""

    start: int
    size: int
    data: bytes | None


def is_line_start(file: BinaryIO, offset: int) -> bool:
    """Return whether a line begins there."""
    if offset == 0:
        return True
    file.seek(offset - 1)
    return file.read(1) == b"\n"


def read_lines_back(file: BinaryIO, end: int) -> Iterator[LogLine]:
    """Yield the lines before ``end``, the last one first. What no newline ends is still being written, and left out."""
    parts: list[bytes] = []
    size, is_ended, position = 0, False, end
    while position:
        begin = max(0, position - _BLOCK)
        file.seek(begin)
        block = file.read(position - begin)
        position, stop = begin, len(block)
        while (newline := block.rfind(b"\n", 0, stop)) >= 0:
            if is_ended:
                yield _join(begin + newline + 1, size + stop - newline - 1, block[newline + 1 : stop], parts)
            parts, size, is_ended, stop = [], 0, True, newline
        size += stop
        if is_ended and size <= MOST_BYTES:
            parts.append(block[:stop])
        else:
            parts = []
    if is_ended:
        yield _join(0, size, b"", parts)


def _join(start: int, size: int, first: bytes, parts: list[bytes]) -> LogLine:
    """``parts``: what follows ``first``, the last one first."""
    return LogLine(start, size, b"".join((first, *reversed(parts))) if size <= MOST_BYTES else None)


class LongLine(NamedTuple):
    """A line that is too long: its end is all that is known of it."""

    tail: bytes


def read_line(file: BinaryIO) -> bytes | LongLine | None:
    """Read the next line, without its newline. None at the end, also where no newline ends what is there."""
    data = file.readline(MOST_BYTES + 1)
    if data.endswith(b"\n"):
        return data[:-1]
    if len(data) <= MOST_BYTES:
        return None
    while more := file.readline(_BLOCK):
        data = data[-_BLOCK:] + more
        if data.endswith(b"\n"):
            return LongLine(data[-_BLOCK:-1])
    return None
