"""The hash chain of the audit log: each line seals all before it, so that a change in the middle shows.

A line ends with ``"chain"``, the digest of the chain before it and of its own text. A first line ``begun`` links a file
to the one before it. Whoever can write the file can write all of it anew, so the head is in the operator's log, too
(:class:`freehold.providers.access.audit.FileAudit`): a file whose tail was cut off, or whose chain was made anew, has
another head.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from freehold.providers.access.audit_files import BEGUN, parse_line

_DIGITS = 32
_text = json.JSONEncoder(sort_keys=True, default=str).encode
_SEALED = re.compile(r'(?P<text>\{.*), "chain": "(?P<head>[0-9a-f]{32})"\}', re.DOTALL)
_TAIL = re.compile(r'"chain": "(?P<head>[0-9a-f]{32})"\}\Z')


def seal_line(before: str, line: Mapping[str, Any]) -> tuple[str, str]:
    """Seal ``line`` after the head ``before``. Return its text and the new head."""
    text = _text(line)
    head = _hash_chain(before, text)
    return f'{text[:-1]}, "chain": "{head}"}}', head


def read_head(line: str) -> str:
    """Read the head that a line claims; empty if it has none, or was cut off."""
    found = _SEALED.fullmatch(line)
    return found["head"] if found else ""


def read_claimed_head(tail: str) -> str:
    """Read the head that a line claims at its end, of which there need not be more."""
    found = _TAIL.search(tail)
    return found["head"] if found else ""


@dataclass(frozen=True)
class VerifiedFile:
    """A verified file: ``head`` after its last line, and the number of ``unsealed`` lines of earlier versions."""

    head: str
    lines: int
    unsealed: int = 0
    problems: tuple[str, ...] = field(default=())


class FileCheck:
    """The check of one file, line by line, whose chain continues after ``before``: the head of the file before it.

    It is empty if not known. After a wrong line the check continues from the head that it claims, so that each place is
    reported once.
    """

    def __init__(self, before: str = "") -> None:
        self._before = self.head = before
        self.lines = 0
        self.unsealed = 0

    def add(self, line: str) -> list[str]:
        """Check the next line. Return what is wrong with it."""
        self.lines += 1
        found = _SEALED.fullmatch(line)
        if found is None:
            problem = _explain_unsealed(line, self.lines, first=self.unsealed == self.lines - 1)
            self.unsealed += not problem
            return [problem] if problem else []
        problems = []
        text = found["text"] + "}"
        began = _read_began_after(text) if self.lines == 1 else None
        if began is not None and self._before and began != self._before:
            problems.append(
                f"line 1: the file begins after {began or 'nothing'}, and the one before it ends at {self._before}"
            )
        if _hash_chain(began if began is not None else self.head, text) != found["head"]:
            problems.append(f"line {self.lines}: it, or the line before it, was changed, taken out or added")
        self.head = found["head"]
        return problems

    def skip(self, tail: str) -> str:
        """Pass over a line that is too long to be checked, of which this is the end. Return the problem."""
        self.lines += 1
        self.head = read_claimed_head(tail) or self.head
        return f"line {self.lines}: it is too long to be checked"


def verify_lines(lines: Iterable[str], before: str = "") -> VerifiedFile:
    """Verify one file whose chain continues after ``before``, the head of the file before it, empty if not known."""
    check = FileCheck(before)
    problems = [problem for line in lines for problem in check.add(line)]
    return VerifiedFile(check.head, check.lines, check.unsealed, tuple(problems))


def build_first_line(after: str) -> dict[str, Any]:
    """Build the first line of a file that continues another one."""
    return {"outcome": BEGUN, "after": after}


def _read_began_after(text: str) -> str | None:
    row = parse_line(text)
    return str(row.get("after", "")) if row is not None and row.get("outcome") == BEGUN else None


def _explain_unsealed(line: str, number: int, *, first: bool) -> str:
    """Explain what is wrong with a line without a chain; empty for lines of earlier versions, at the beginning."""
    if parse_line(line) is None:
        return f"line {number}: it was cut off: the process or the disk ended while it was written"
    return "" if first else f"line {number}: it has no chain: it was added or changed"


def _hash_chain(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()[:_DIGITS]
