"""What a command says instead of doing what it was asked: sentences, never a traceback."""

from __future__ import annotations

from collections.abc import Sequence

FAILED = 1
MISUSED = 2
INTERRUPTED = 130


class CliError(Exception):
    """One sentence: what, where, what to do. ``more`` are further sentences, shown as a list below it."""

    def __init__(self, sentence: str, more: Sequence[str] = (), *, code: int = FAILED) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.more = tuple(more)
        self.code = code
