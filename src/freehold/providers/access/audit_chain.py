"""The hash chain of the audit log: each line seals all before it, so that a change in the middle shows.

A line ends with ``"chain"``, the digest of the line before's and of its own text. A first line ``begun`` links a file
to the one before it. Who can write the file can write all of it anew: the head is in the operator's log, too
(:class:`freehold.providers.access.audit.FileAudit`), and a tail that was cut off, or a chain that was made anew, is not
the one that the log tells of.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_DIGITS = 32
_text = json.JSONEncoder(sort_keys=True, default=str).encode
_SEALED = re.compile(r'(?P<text>\{.*), "chain": "(?P<head>[0-9a-f]{32})"\}', re.DOTALL)


def sealed(before: str, line: Mapping[str, Any]) -> tuple[str, str]:
    """The text of ``line`` after the head ``before``, and the new head."""
    text = _text(line)
    head = _digest(before, text)
    return f'{text[:-1]}, "chain": "{head}"}}', head


def head_of(line: str) -> str:
    """The head that a line claims; empty for one that has none, or was cut off."""
    found = _SEALED.fullmatch(line)
    return found["head"] if found else ""


@dataclass(frozen=True)
class Verified:
    """What was found in a file: ``head`` after its last line, ``unsealed`` lines from before there was a chain."""

    head: str
    lines: int
    unsealed: int = 0
    problems: tuple[str, ...] = field(default=())


def verified(lines: Iterable[str], before: str = "") -> Verified:
    """Check one file, whose chain goes on after ``before``: the head of the file before it, empty where none is known.

    After a line that does not fit the check goes on from what it claims, so that each place is told once.
    """
    head, count, unsealed, problems = before, 0, 0, list[str]()
    for count, line in enumerate(lines, start=1):
        found = _SEALED.fullmatch(line)
        if found is None:
            problem = _unsealed(line, count, first=unsealed == count - 1)
            unsealed += not problem
            problems += [problem] if problem else []
            continue
        text = found["text"] + "}"
        began = _began_after(text) if count == 1 else None
        if began is not None and before and began != before:
            problems.append(
                f"line 1: the file begins after {began or 'nothing'}, and the one before it ends at {before}"
            )
        if _digest(began if began is not None else head, text) != found["head"]:
            problems.append(f"line {count}: it, or the line before it, was changed, taken out or added")
        head = found["head"]
    return Verified(head, count, unsealed, tuple(problems))


def begun(after: str) -> dict[str, Any]:
    """The first line of a file that goes on where another one ended."""
    return {"outcome": "begun", "after": after}


def _began_after(text: str) -> str | None:
    row = json.loads(text)
    return str(row.get("after", "")) if row.get("outcome") == "begun" else None


def _unsealed(line: str, number: int, *, first: bool) -> str:
    """What is wrong with a line without a chain; empty for those of earlier versions, at the beginning."""
    try:
        json.loads(line)
    except ValueError:
        return f"line {number}: it was cut off: the process or the disk ended while it was written"
    return "" if first else f"line {number}: it has no chain: it was added or changed"


def _digest(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()[:_DIGITS]
