"""Rows as CSV that a spreadsheet shows and never calculates.

Whoever may tag a resource chooses what is in a cell, and a spreadsheet takes a cell that begins with one of a few
characters for a formula. Such a cell gets an apostrophe in front, and every cell is quoted.
Source: https://owasp.org/www-community/attacks/CSV_Injection
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from freehold.cli.output.terminal import say

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""ASCII and full-width ones: spreadsheets take both."""


def cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def as_csv(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([cell(each) for each in row] for row in rows)
    return out.getvalue()


def print_csv(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """As it is into a file or a pipe; on a terminal without what acts on it."""
    text = as_csv(heads, rows)
    if sys.stdout.isatty():
        say(text.rstrip("\n"))
    else:
        sys.stdout.write(text)
