"""How far many documents are: a bar on a terminal, a line now and then elsewhere. Nothing for a few."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from freehold.cli.terminal import say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

FEWEST = 500
"""Documents that are applied before anybody wonders."""

EVERY = 1000
"""Documents between two lines."""


class Counting:
    """Told of each step; ``freehold.cli.applying.Tell`` is its call."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._lines: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, verb: str, done: int, total: int) -> None:
        if total < FEWEST:
            return
        if sys.stdout.isatty():
            self._show(verb, done, total)
        elif done == total or done // EVERY > self._lines.get(verb, 0):
            self._lines[verb] = done // EVERY
            say(f"{verb} {done} of {total} documents")

    def _show(self, verb: str, done: int, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        if self._bar is None:
            self._bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self._bar.start()
        if verb not in self._tasks:
            self._tasks[verb] = self._bar.add_task(verb, total=total)
        self._bar.update(self._tasks[verb], completed=done)
