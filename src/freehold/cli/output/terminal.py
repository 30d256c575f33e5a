"""Text for the terminal: escaped, without secrets, in columns."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import IO

from freehold.providers.registry import PROVIDERS

SECRET_VARIABLES = tuple(variable for provider in PROVIDERS for variable in provider.secrets)

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that can move the cursor, reorder text or hide in it."""


def escape_text(text: str) -> str:
    """``text`` with every character that could act on a terminal written as an escape, and no API key in it."""
    for variable in SECRET_VARIABLES:
        secret = os.environ.get(variable, "")
        if len(secret) >= 8:
            text = text.replace(secret, "***")
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(each) if unicodedata.category(each) in _HIDDEN else each for each in text)


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


_CRN = re.compile(r"\bcrn:v1:(?:[^\s:]*:){5}([^\s:]*):([^\s:]*):([^\s:,;]*)")
_ARN = re.compile(r"\barn:[a-z-]+:[a-z0-9-]+:[a-z0-9-]*:\d*:([^\s,;]*[^\s,;:.)])")
_UUID = re.compile(r"(?<=/)([^/]+)/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""What EKS adds to the name of an add-on or access entry."""


def shorten_names(text: str) -> str:
    """Cloud resource names cut to what tells them apart: ``vpc:r006-…``, ``vpc/vpc-…``, ``addon/prod/vpc-cni``.

    Whole they are in ``-o json``, and in the tree where there is room.
    """
    text = _ARN.sub(lambda found: _UUID.sub(r"\1", found[1]), text)
    return _CRN.sub(lambda found: f"{found[2]}:{found[3]}" if found[3] else found[1], text)


def cut_middle(text: str, room: int) -> str:
    """Cut in the middle what is longer than ``room``: names differ in how they end."""
    tail = room * 2 // 3 if room >= 10 else 0
    if len(text) <= room:
        return text
    return f"{text[: max(room - tail - 1, 0)]}…{text[len(text) - tail :]}" if room > 0 else ""


def say(text: str = "", stream: IO[str] | None = None) -> None:
    """Print one line; newlines in ``text`` are kept, each line is escaped."""
    out = stream or sys.stdout
    print("\n".join(escape_text(line) for line in text.split("\n")), file=out, flush=True)


def warn(text: str) -> None:
    """Print a sentence on standard error, so that it never mixes with data."""
    tell(text, sys.stderr)


def tell_at_once(text: str) -> None:
    """Tell on a terminal, never among data, what takes its time before anything else can be told."""
    if sys.stderr.isatty():
        warn(text)


def tell(text: str, stream: IO[str] | None = None, *, bullet: str = "") -> None:
    """Print a sentence; on a terminal broken between words, its indentation kept."""
    out = stream or sys.stdout
    if not out.isatty():
        say(f"{bullet}{text}", out)
        return
    import shutil

    indent = bullet or " " * (len(text) - len(text.lstrip(" ")))
    room = shutil.get_terminal_size().columns
    for line in text.split("\n"):
        print("\n".join(fold_text(line.strip(), " " * len(indent), room, first=indent)), file=out, flush=True)


def print_error(sentence: str, bullet: str = "") -> None:
    """Print a sentence, or one of a list, on standard error."""
    tell(sentence, sys.stderr, bullet=bullet)


def columns(rows: Iterable[Sequence[str]], gap: str = "   ") -> list[str]:
    """Lay out rows as aligned lines, escaped; the first row is usually the header."""
    cells = [tuple(map(escape_text, row)) for row in rows]
    widths = [max(map(_cells, column)) for column in zip_longest(*cells, fillvalue="")]
    return [
        gap.join(f"{cell}{' ' * (wide - _cells(cell))}" for cell, wide in zip(row, widths, strict=False)).rstrip()
        for row in cells
    ]


def _cells(text: str) -> int:
    """Count the cells of a terminal that the text takes."""
    if text.isascii() or not any(map(_not_one_cell, text)):
        return len(text)
    from rich.cells import cell_len  # its tables know what Unicode's properties leave open

    return cell_len(text)


def _not_one_cell(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF" or unicodedata.category(character) in ("Mn", "Me")


def width() -> int:
    """Characters in a line of the terminal; no end where standard output is not one."""
    if not sys.stdout.isatty():
        return sys.maxsize
    import shutil

    return shutil.get_terminal_size().columns


def fold_text(text: str, indent: str, room: int, *, first: str | None = None) -> list[str]:
    """Fold ``text`` into lines of at most ``room`` characters, escaped and indented, the first one by ``first``.

    A resource name of the cloud that is longer than a line is shortened, not broken.
    """
    import textwrap

    room = min(max(room, 40), 1000)
    if any(len(word) > room - len(indent) for word in text.split()):
        text = shorten_names(text)
    return textwrap.wrap(
        escape_text(text),
        room,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


Painter = Callable[[str, str], str]
"""Gives a text a colour, by its name."""


def plain(text: str, colour: str) -> str:
    """No colour at all."""
    return text


def choose_painter(env: Mapping[str, str] = os.environ) -> Painter:
    """Colours on a terminal, unless the user does without (https://no-color.org); none anywhere else."""
    return _colour_text if sys.stdout.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb" else plain


def _colour_text(text: str, colour: str) -> str:
    import click

    return click.style(text, fg=colour)


def duration(seconds: float) -> str:
    """``12s``, ``4m05s``, ``2h07m``, ``3d04h``: two units are enough for a person."""
    whole = max(int(seconds), 0)
    for unit, below, size, smaller in (("d", "h", 86_400, 3_600), ("h", "m", 3_600, 60), ("m", "s", 60, 1)):
        if whole >= size:
            return f"{whole // size}{unit}{whole % size // smaller:02d}{below}"
    return f"{whole}s"
