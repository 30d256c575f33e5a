"""One page of the lines of some audit logs: merged by time, newest first, filtered, and where the next one begins."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from freehold.kube.resources import Json
from freehold.page.log_lines import LogLine, is_line_start, read_lines_back
from freehold.providers.access.audit_files import BEGUN, find_log_files, list_tag_changes, parse_line

MOST_ROWS: Final = 100
MOST_LINES: Final = 20_000
"""Lines that one page looks at: whoever filters more goes on from its cursor."""
MOST_READ: Final = 16 << 20
"""Bytes that one page looks at."""
MOST_CHANGES: Final = 200
"""Changes of tags that one line shows; the others are counted."""

_MOST_TEXT: Final = 10_000
_LATEST: Final = 1e12
"""Seconds; a time beyond it is none."""
_OPERATOR: Final = "freehold"
_CURSOR: Final = re.compile(r"\d{1,20}\.\d{1,20}\.\d{1,18}(?:_\d{1,20}\.\d{1,20}\.\d{1,18}){0,7}", re.ASCII)

MaySee = Callable[[str, str], bool]
"""Judge of whether a viewer may see objects of a kind in a namespace; two empty texts ask for all objects."""


@dataclass(frozen=True)
class AuditQuery:
    """A question. ``object``: a key, ``Kind/namespace/name``; ``before``: the cursor of the page before."""

    before: str = ""
    object: str = ""
    text: str = ""


@dataclass(frozen=True)
class AuditPage:
    """The rows that fit a question. ``next``: None at the end; ``searched``: the lines that were looked at."""

    rows: tuple[Json, ...]
    next: str | None
    searched: int


class CursorLost(Exception):
    """The cursor names a place that is not there any more."""


class _Place(NamedTuple):
    """A place in a log: what is before this offset of this file, and older files, are left."""

    device: int = 0
    inode: int = 0
    offset: int = 0

    @property
    def file(self) -> tuple[int, int]:
        return self.device, self.inode


_EXHAUSTED: Final = _Place()


class _OpenFile(NamedTuple):
    file: BinaryIO
    size: int


_Log = Mapping[tuple[int, int], _OpenFile]
"""The files of a log by device and inode, the oldest first."""


class _Entry(NamedTuple):
    """A line of one of the logs. ``time``: that of the newer one where it has none; ``row``: None where it is none."""

    time: float
    log: int
    place: _Place
    line: LogLine
    row: Mapping[str, Any] | None


def read_page(paths: Sequence[Path], query: AuditQuery, may_see: MaySee) -> AuditPage:
    """Read a page of these logs together. Raises OSError and CursorLost."""
    with ExitStack() as stack:
        logs = [_open_files(path, stack) for path in paths]
        places = _parse_cursor(query.before, logs) if query.before else [_find_end(log) for log in logs]
        entries = heapq.merge(*map(_read_back, range(len(logs)), logs, places), key=lambda each: -each.time)
        rows: list[Json] = []
        lines = size = 0
        wanted = _Filter(query, may_see)
        for entry in entries:
            places[entry.log] = entry.place
            lines, size = lines + 1, size + entry.line.size
            if wanted.accepts(entry):
                rows.append(_describe(entry))
            if len(rows) >= MOST_ROWS or lines >= MOST_LINES or size >= MOST_READ:
                return AuditPage(tuple(rows), _spell_cursor(places), lines)
        return AuditPage(tuple(rows), None, lines)


def _open_files(path: Path, stack: ExitStack) -> _Log:
    """Open a log's files: an open one can be read to its end while it is rotated away. Raises OSError."""
    found: dict[tuple[int, int], _OpenFile] = {}
    for each in find_log_files(path):
        try:
            file = stack.enter_context(each.open("rb"))
        except FileNotFoundError:
            continue
        stat = os.fstat(file.fileno())
        found[stat.st_dev, stat.st_ino] = _OpenFile(file, stat.st_size)
    return found


def _find_end(log: _Log) -> _Place:
    if not log:
        return _EXHAUSTED
    newest = list(log)[-1]
    return _Place(*newest, log[newest].size)


def _spell_cursor(places: Sequence[_Place]) -> str:
    return "_".join(".".join(map(str, each)) for each in places)


def _parse_cursor(text: str, logs: Sequence[_Log]) -> list[_Place]:
    """Parse a cursor, which anybody may have written. Raises CursorLost."""
    if not _CURSOR.fullmatch(text):
        raise CursorLost
    places = [_Place(*map(int, each.split("."))) for each in text.split("_")]
    if len(places) != len(logs):
        raise CursorLost
    for place, log in zip(places, logs, strict=True):
        if place == _EXHAUSTED:
            continue
        found = log.get(place.file)
        if found is None or place.offset > found.size or not is_line_start(found.file, place.offset):
            raise CursorLost
    return places


def _read_back(number: int, log: _Log, begin: _Place) -> Iterator[_Entry]:
    """Yield the lines of one log from a place on, the newest first."""
    time, files = inf, list(log)
    left = files[: files.index(begin.file) + 1] if begin != _EXHAUSTED else []
    for ident in reversed(left):
        file, size = log[ident]
        for line in read_lines_back(file, begin.offset if ident == begin.file else size):
            row = parse_line(line.data) if line.data is not None else None
            time = _read_time(row, time)
            yield _Entry(time, number, _Place(*ident, line.start), line, row)


def _read_time(row: Mapping[str, Any] | None, otherwise: float) -> float:
    """Read when a line was written; JSON of Python knows numbers that are none."""
    time = row.get("time") if row else None
    return float(time) if isinstance(time, int | float) and abs(time) < _LATEST else otherwise


@dataclass
class _Filter:
    query: AuditQuery
    may_see: MaySee
    _visible: dict[tuple[str, str], bool] = field(default_factory=dict)

    def accepts(self, entry: _Entry) -> bool:
        row, query = entry.row, self.query
        if row is None:
            return bool(entry.line.size) and not (query.object or query.text) and self._is_visible("", "")
        if row.get("outcome") == BEGUN or not self._is_visible(*_place_of(_text(row, "object"))):
            return False
        if query.object and _key_of(_text(row, "object")) != query.object:
            return False
        return not query.text or query.text.casefold() in _searched_text(row)

    def _is_visible(self, kind: str, namespace: str) -> bool:
        place = kind, namespace
        if place not in self._visible:
            self._visible[place] = self.may_see(kind, namespace)
        return self._visible[place]


def _place_of(subject: str) -> tuple[str, str]:
    """Return kind and namespace of an object as lines name it, ``Kind namespace/name``; empty where one is missing."""
    kind, _, rest = subject.partition(" ")
    namespace, slash, _ = rest.partition("/")
    return (kind, namespace) if kind and namespace and slash else ("", "")


def _key_of(subject: str) -> str:
    kind, _, name = subject.partition(" ")
    return f"{kind}/{name}" if "/" in name else f"{kind}//{name}"


def _text(row: Mapping[str, Any], name: str) -> str:
    """Return a field as text that can be encoded."""
    value = row.get(name)
    return "" if value is None else _clean(str(value))


def _clean(text: str) -> str:
    """Cut a text that is too long; half a surrogate pair, which JSON may have, is no text."""
    whole = text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"
    return whole.encode("utf-8", "replace").decode()


def _searched_text(row: Mapping[str, Any]) -> str:
    fields = [_text(row, name) for name in ("object", "call", "resource", "outcome", "by", "reason", "error", "code")]
    changes = [part or "" for change in list_tag_changes(row) for part in change]
    return "\n".join((*fields, *changes)).casefold()


def _describe(entry: _Entry) -> Json:
    row = entry.row
    if row is None:
        why = (
            "it is too long to be shown" if entry.line.data is None else "it was cut off, or is no line of an audit log"
        )
        reason = f"a line of {entry.line.size} bytes: {why}"
        named = dict.fromkeys(("object", "key", "call", "resource", "by"), "")
        return {"time": None, **named, "outcome": "unreadable", "reason": reason, "changes": [], "more_changes": 0}
    subject, changes = _text(row, "object"), list_tag_changes(row)
    time = _read_time(row, inf)
    return {
        "time": None if time == inf else time,
        "object": subject,
        "key": _key_of(subject) if subject else "",
        "call": _text(row, "call"),
        "resource": _text(row, "resource"),
        "outcome": _text(row, "outcome"),
        "by": _text(row, "by") or _OPERATOR,
        "reason": _text(row, "error") or _text(row, "reason"),
        "changes": [
            {
                "resource": _clean(resource),
                "tag": _clean(tag),
                "before": before and _clean(before),
                "after": after and _clean(after),
            }
            for resource, tag, before, after in changes[:MOST_CHANGES]
        ],
        "more_changes": len(changes[MOST_CHANGES:]),
    }
