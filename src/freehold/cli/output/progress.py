"""Progress while a person waits: a table that lives on a terminal, appended lines everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from freehold.cli.errors import CliError
from freehold.cli.output.highlights import attention
from freehold.cli.output.terminal import cut_middle, duration, escape_text, fold_text, say, shorten_names, tell
from freehold.view.object_view import Line, View, sentence

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.progress import Progress, TaskID

_MARKS = {"Ready": "✓", "Gone": "✓", "Blocked": "✗", "Surplus": "!", "Kept": "–", "Unknown": "?", "NotCreated": "–"}
_STYLES = {
    "Ready": "green",
    "Gone": "dim",
    "Blocked": "bold red",
    "Surplus": "yellow",
    "Kept": "cyan",
    "Unknown": "yellow",
    "NotCreated": "dim",
    "Deleting": "magenta",
}
DONE = ("Gone", "Kept", "NotCreated", "Unknown")
"""The states in which a delete leaves a resource."""
_COLUMNS = ("", "KIND", "NAME", "STATE", "ELAPSED", "NOTE")
_GIVING_WAY = (("NOTE", 0), ("NAME", 28), ("KIND", 8), ("NAME", 12), ("KIND", 0))
"""On a narrow terminal: which column is cut, and how narrow it may become, in this order."""

_NOTE = _COLUMNS.index("NOTE")
_LEAST_NOTE = 24
"""Characters in which a note still says something; where there are fewer it stands below its row."""

_NAME_WIDTH = 60
_NOTE_WIDTH = 100


@dataclass
class ElapsedTimer:
    """The time that each resource took, in domain seconds, as far as it was seen from here."""

    _spans: dict[tuple[str, str, str], tuple[float, float | None]] = field(default_factory=dict)
    _going: set[tuple[str, str, str]] = field(default_factory=set)

    def measure_elapsed(self, view: View, line: Line, now: float) -> float | None:
        """Since its creation, or deletion, was begun until that was done, or until now; None: done before we came."""
        key = (view.title, *line.key)
        if key not in self._spans and line.state == "Ready":
            return None
        began, ended = self._spans.get(key, (line.since or now, None))
        deleting = view.deleting
        if deleting and key not in self._going:
            self._going.add(key)
            began, ended = now, None
        if line.state not in (DONE if deleting else ("Ready", "Kept")):
            if ended is not None:  # it had been done, and has come undone
                began = line.since or now
            ended = None
        elif ended is None:
            ended = min(line.since or now, now)
        self._spans[key] = (began, ended)
        return max((now if ended is None else ended) - began, 0.0)


class Display(Protocol):
    """A display of progress. ``show`` may be called as often as one likes."""

    def show(self, views: Sequence[View], now: float) -> None: ...

    def line(self, text: str) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def display() -> Display:
    """Return the live table when standard output is a terminal, else plain lines."""
    return LiveDisplay() if sys.stdout.isatty() else PlainDisplay()


class PlainDisplay:
    """One line whenever a resource changes its state."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str, str], tuple[str, str]] = {}
        self._told: dict[str, set[str]] = {}
        self._last_state: dict[str, tuple[object, ...]] = {}
        self._watch = ElapsedTimer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def line(self, text: str) -> None:
        say(text)

    def show(self, views: Sequence[View], now: float) -> None:
        for view in views:
            present = {line.key for line in view.lines}
            names = max((len(shorten_names(line.name)) for line in view.lines), default=0)
            for line in view.lines:
                elapsed = _say_elapsed(self._watch.measure_elapsed(view, line, now))
                word = (line.state, line.reason if line.state != "Ready" else "")
                key = (view.title, *line.key)
                if self._said.get(key) != word and not _is_untouched(view, line):
                    self._said[key] = word
                    self._row(
                        line.kind, shorten_names(line.name).ljust(names), line.state, elapsed, _own_note(view, line)
                    )
            for key in [key for key in self._said if key[0] == view.title and key[1:] not in present]:
                if (
                    self._said.pop(key)[0] == "Deleting"
                ):  # of others nobody knows: the spec may just not want them any more
                    self._row(key[1], shorten_names(key[2]), "Gone", "", "")
            state = (view.blocked, view.held, bool(view.retrying))
            if self._last_state.get(view.title, ((), (), False)) != state:
                self._last_state[view.title] = state
                lines = attention(view)
                for text in lines:
                    if text not in self._told.get(view.title, ()):
                        tell(f"  {text}")
                self._told[view.title] = set(lines)

    @staticmethod
    def _row(kind: str, name: str, state: str, elapsed: str, note: str) -> None:
        mark = _MARKS.get(state, "…")
        text = f"  {mark} {kind:<26} {name:<36} {state:<10} {elapsed:>7}"
        say(f"{text}   {shorten_names(note)}" if note else text.rstrip())


class LiveDisplay:
    """A table that is redrawn in place; ended, it stays as it last was."""

    def __init__(self) -> None:
        self._watch = ElapsedTimer()
        self._live: Live | None = None
        self._last: tuple[Sequence[View], float] | None = None

    def __enter__(self) -> Self:
        from rich.live import Live  # a hundred milliseconds that only a terminal needs

        self._live = Live(auto_refresh=False, transient=False)
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._live is not None:
            if self._last is not None and kind is not None and issubclass(kind, CliError):
                self._redraw(*self._last, tell=False)  # the error says it, below the table
            self._live.stop()
            self._live = None

    def line(self, text: str) -> None:
        from rich.text import Text

        if self._live is None:
            say(text)
        else:
            self._live.console.print(Text(escape_text(text)))

    def show(self, views: Sequence[View], now: float) -> None:
        self._last = views, now
        self._redraw(views, now, tell=True)

    def _redraw(self, views: Sequence[View], now: float, *, tell: bool) -> None:
        if self._live is not None:
            # Room is left for the ^C that a terminal echoes: a line that wraps would spoil the redrawing.
            size = self._live.console.size
            self._live.update(self._render_views(views, now, size.width - 4, size.height - 1, tell=tell), refresh=True)

    def _render_views(
        self, views: Sequence[View], now: float, width: int, height: int, *, tell: bool = True
    ) -> RenderableType:
        """Draw as much as fits the terminal: every resource, else those that are not done, else the objects alone."""
        from rich.console import Group

        cells = [[(line, self._cells(view, line, now)) for line in view.lines] for view in views]
        parts: list[RenderableType] = []
        for done in ((), ("Ready", *DONE), tuple({line.state for view in views for line in view.lines})):
            chosen = ([row for row in rows if row[0].state not in done] for rows in cells)
            parts = [
                each for view, rows in zip(views, chosen, strict=True) for each in _object(view, rows, width, tell=tell)
            ]
            if len(parts) <= height:
                break
        return Group(*parts)

    def _cells(self, view: View, line: Line, now: float) -> tuple[str, ...]:
        mark = " " if _is_untouched(view, line) else _MARKS.get(line.state, "…")
        elapsed = _say_elapsed(self._watch.measure_elapsed(view, line, now))
        note = cut(shorten_names(_own_note(view, line)), _NOTE_WIDTH)
        cells = (mark, line.kind, _cut_middle(shorten_names(line.name), _NAME_WIDTH), line.state, elapsed, note)
        return tuple(map(escape_text, cells))


def _object(
    view: View, rows: Sequence[tuple[Line, tuple[str, ...]]], width: int, *, tell: bool
) -> list[RenderableType]:
    from rich.cells import cell_len
    from rich.text import Text

    looking = "" if attention(view) else "the cloud is being looked at"
    known = view.lines and (not view.outdated or view.deleting)
    count = f"{view.ready_count} ready" if known else looking
    head = f"{view.title}   {view.phase.value}   {count}".rstrip()
    parts: list[RenderableType] = [
        Text(escape_text(head), style="bold", no_wrap=True, overflow="ellipsis"),
        *(Text(each, style="yellow") for text in attention(view) if tell for each in fold_text(text, "   ", width)),
    ]
    if not rows:
        return parts
    heads, *fitted = _fit_rows([_COLUMNS, *(cells for _, cells in rows)], width)
    widths = [max(map(cell_len, column)) for column in zip(heads, *fitted, strict=True)]
    parts.append(_draw_row(heads, widths, ("dim",) * len(heads)))
    for (line, cells), row in zip(rows, fitted, strict=True):
        style = "dim" if _is_untouched(view, line) else _STYLES.get(line.state, "yellow")
        parts.append(_draw_row(row, widths, (style, "", "", style, "", "")))
        if cells[_NOTE] and not row[_NOTE]:
            parts.append(Text(f"   {cut(cells[_NOTE], width - 3)}", style="dim", no_wrap=True))
    return parts


def _draw_row(cells: Sequence[str], widths: Sequence[int], styles: Sequence[str]) -> RenderableType:
    from rich.cells import cell_len
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ellipsis")
    for name, cell, room, style in zip(_COLUMNS, cells, widths, styles, strict=True):
        gap = " " * (room - cell_len(cell))
        text.append(f"{gap}{cell}" if name == "ELAPSED" else f"{cell}{gap}", style=style)
        text.append("  ")
    text.rstrip()
    return text


def _say_elapsed(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _own_note(view: View, line: Line) -> str:
    """Why it is in its state; the reason's word alone where the whole sentence stands with the object."""
    told = (*view.blocked, *view.held, *view.retrying[:1])
    return line.reason if sentence(line) in told else line.note


def cut(text: str, width: int) -> str:
    """At most ``width`` characters, ended between words where it has some."""
    if len(text) <= width:
        return text
    whole = text[:width].rpartition(" ")[0].rstrip(" ,;:")
    return f"{whole if len(whole) > width // 2 else text[: max(width - 1, 0)]}…" if width > 0 else ""


def _fit_rows(rows: Sequence[tuple[str, ...]], width: int) -> list[tuple[str, ...]]:
    """Rows cut to ``width``; the mark, the state and the time are never cut."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(_COLUMNS))]
    for column, least in _GIVING_WAY:
        excess = sum(widths) + 2 * len(widths) - width
        index = _COLUMNS.index(column)
        widths[index] = max(widths[index] - max(excess, 0), min(widths[index], least))
    if widths[_NOTE] < _LEAST_NOTE:  # it stands below its row
        rows, widths = [(*row[:_NOTE], "") for row in rows], [*widths[:_NOTE], 0]
    return [tuple(_cut_middle(cell, room) for cell, room in zip(row, widths, strict=True)) for row in rows]


def _cut_middle(text: str, width: int) -> str:
    """Cut in the middle where it can be: names differ in how they end."""
    if len(text) <= width:
        return text
    if " " in text:
        return cut(text, width)
    return cut_middle(text, width)


def _is_untouched(view: View, line: Line) -> bool:
    """Unchanged since the deletion was requested."""
    return view.outdated or (view.deleting and line.state == "Ready")


FEWEST = 500
"""Documents that are applied before anybody wonders."""

EVERY = 1000
"""Documents between two lines."""


class CountProgress:
    """Shows how far many documents are: a bar on a terminal, a line now and then elsewhere. Nothing for a few.

    Its call is ``freehold.cli.objects.applying.Tell``.
    """

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
