"""The check of an audit log's chain while it grows: only what is new is checked, a part at a time.

What was checked is compared with a digest of its bytes once a minute; where it was edited the check begins anew.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from freehold.page.log_lines import LongLine, read_line
from freehold.providers.access.audit_chain import FileCheck
from freehold.providers.access.audit_files import find_log_files

PART_BYTES: Final = 4 << 20
"""Bytes that are checked at a time, about a tenth of a second."""

COMPARE_SECONDS: Final = 60.0
"""Seconds between two looks whether what was checked was edited since."""
CHUNK_BYTES: Final = 1 << 20

MOST_LISTED: Final = 20
"""Problems that are listed; the others are counted."""

FileId = tuple[int, int]


@dataclass
class _CheckedFile:
    """A file, as far as it is checked. ``seen``: its size and time of change when all of it was.

    ``digest`` is of its first ``digested`` bytes.
    """

    check: FileCheck
    offset: int = 0
    seen: tuple[int, int] = (0, 0)
    digest: hashlib.blake2b = field(default_factory=hashlib.blake2b)
    digested: int = 0


@dataclass(frozen=True)
class ChainState:
    """The state of the check. ``is_current``: all that was there when it was last looked at is checked."""

    is_current: bool
    lines: int
    unsealed: int
    wrong: int
    problems: tuple[str, ...]

    @property
    def verified(self) -> bool | None:
        """Return whether the log is whole; None where it is not known, or where there is no line."""
        if self.wrong:
            return False
        return True if self.is_current and self.lines else None


@dataclass
class ChainWatch:
    """The check of the log at ``path`` with its rotated files. One thread at a time may call ``check_part``."""

    path: Path
    monotonic: Callable[[], float] = time.monotonic
    _files: dict[FileId, _CheckedFile] = field(default_factory=dict)
    _newest: FileId | None = None
    _must_meet: str = ""
    """The last head of a log that was cut off or replaced since: a line with it must be there."""
    _forgotten: FileCheck = field(default_factory=FileCheck)
    """Counts the lines of files that a rotation has removed."""
    _problems: list[str] = field(default_factory=list)
    _wrong: int = 0
    _is_current: bool = False
    _compared_at: float = 0.0

    def describe(self) -> ChainState:
        """Return the state so far."""
        checks = [self._forgotten, *(each.check for each in list(self._files.values()))]
        return ChainState(
            self._is_current,
            sum(each.lines for each in checks),
            sum(each.unsealed for each in checks),
            self._wrong,
            tuple(self._problems),
        )

    def check_part(self) -> bool:
        """Check the next part. Return whether more is left. Raises OSError."""
        try:
            return self._check_part()
        except FileNotFoundError:  # a rotation took a file away meanwhile
            return True

    def _check_part(self) -> bool:
        found = [(path, path.stat()) for path in find_log_files(self.path)]
        ids = [(each.st_dev, each.st_ino) for _, each in found]
        self._begin_anew_if_changed(found, ids)
        self._forget_removed(ids)
        head, room = "", PART_BYTES
        for (path, stat), ident in zip(found, ids, strict=True):
            state = self._files.setdefault(ident, _CheckedFile(FileCheck(head)))
            if state.seen != (stat.st_size, stat.st_mtime_ns):
                self._is_current = False
                room -= self._check_file(path, state, stat, room)
                if room <= 0:
                    return True
            head = state.check.head or head
        self._newest = ids[-1] if ids else None
        if self._must_meet:
            self._note(f"{self.path.name}: lines that this process had read are gone or changed")
            self._must_meet = ""
        self._is_current = True
        return False

    def _begin_anew_if_changed(self, found: Sequence[tuple[Path, os.stat_result]], ids: Sequence[FileId]) -> None:
        """Begin anew where a file has shrunk, was edited in place, or the newest one is gone."""
        changed = self._newest is not None and self._newest not in ids
        compares = self.monotonic() >= self._compared_at + COMPARE_SECONDS
        if compares:
            self._compared_at = self.monotonic()
        for (path, stat), ident in zip(found, ids, strict=True):
            state = self._files.get(ident)
            if state is not None:
                edited = state.seen[0] == stat.st_size and state.seen[1] != stat.st_mtime_ns
                edited = edited or (compares and _is_edited(path, state))
                changed = changed or stat.st_size < state.offset or edited
        if not changed:
            return
        if not self._must_meet and self._newest in self._files:
            self._must_meet = self._files[self._newest].check.head
        self._files, self._newest, self._forgotten, self._is_current = {}, None, FileCheck(), False
        self._problems, self._wrong = [], 0

    def _forget_removed(self, ids: Sequence[FileId]) -> None:
        """Forget files that a rotation has removed: their lines were checked."""
        for ident in [each for each in self._files if each not in ids]:
            gone = self._files.pop(ident).check
            self._forgotten.lines += gone.lines
            self._forgotten.unsealed += gone.unsealed

    def _check_file(self, path: Path, state: _CheckedFile, stat: os.stat_result, room: int) -> int:
        """Check what is new in a file, as far as there is room. Return the bytes that were read."""
        with path.open("rb") as file:
            file.seek(begin := state.offset)
            while state.offset - begin < room:
                line = read_line(file)
                if line is None:
                    state.seen = (stat.st_size, stat.st_mtime_ns)
                    break
                state.offset = file.tell()
                self._check_line(path, state.check, line)
        _add_bytes(path, state.digest, state.digested, state.offset)
        state.digested = state.offset
        return state.offset - begin

    def _check_line(self, path: Path, check: FileCheck, line: bytes | LongLine) -> None:
        if isinstance(line, LongLine):
            problems = [check.skip(line.tail.decode(errors="replace"))]
        else:
            problems = check.add(line.decode(errors="replace"))
        if check.head == self._must_meet:
            self._must_meet = ""
        for problem in problems:
            self._note(f"{path.name}: {problem}")

    def _note(self, problem: str) -> None:
        self._wrong += 1
        if len(self._problems) < MOST_LISTED:
            self._problems.append(problem)


def _is_edited(path: Path, state: _CheckedFile) -> bool:
    """Return whether the bytes that were checked are other ones now."""
    now = hashlib.blake2b()
    _add_bytes(path, now, 0, state.digested)
    return now.digest() != state.digest.digest()


def _add_bytes(path: Path, digest: hashlib.blake2b, begin: int, end: int) -> None:
    """Add the bytes of a part of a file to a digest."""
    with path.open("rb") as file:
        file.seek(begin)
        while begin < end and (chunk := file.read(min(CHUNK_BYTES, end - begin))):
            digest.update(chunk)
            begin += len(chunk)
