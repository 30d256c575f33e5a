"""The errors of commands: sentences, never a traceback; and exit codes."""

from __future__ import annotations

from collections.abc import Sequence

FAILED = 1
MISUSED = 2
INTERRUPTED = 130
NOTHING, CHANGES = 0, 2
"""Of a plan with ``--detailed-exitcode``; anything else is FAILED."""


class CliError(Exception):
    """One sentence: what, where, what to do. ``more`` are further sentences or hints, listed below it."""

    def __init__(self, sentence: str, more: Sequence[object] = (), *, code: int = FAILED) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.more = tuple(map(str, more))
        self.code = code
