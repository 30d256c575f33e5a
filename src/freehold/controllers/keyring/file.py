"""The key ring of a laptop: a file of mode 0600 beside the state directory, so that it outlives the store."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from freehold.controllers.keyring.stored_form import ChangedRing, RingDocument, StoredRing, UnreadableRing, dumps, loads

_LARGEST = 1 << 20


class FileRing:
    """A ring in a file; a reader sees the old content or the new one, also after a loss of power."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def where(self) -> str:
        return str(self.path)

    async def read(self) -> StoredRing:
        """Read the file. Raises UnreadableRing, also if others can read it."""
        text = self._read_text()
        if text is None:
            return StoredRing(None)
        return StoredRing(loads(text, self.where), _hash_text(text))

    async def write(self, document: RingDocument, version: str) -> None:
        """Replace the file if it is still at ``version``; create it where that is empty. Raises ChangedRing."""
        text = dumps(document)
        try:
            if not version:
                self._create(text)
            else:
                self._replace(text, version)
        except OSError as problem:
            raise UnreadableRing(f"the key ring {self.path} cannot be written: {problem.strerror}") from problem

    def _read_text(self) -> str | None:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise UnreadableRing(
                f"the key ring {self.path} cannot be opened: {problem.strerror}; it must be yours alone: "
                f"chmod 600 {quote(self.where)}"
            ) from problem
        try:
            self._refuse_shared(os.fstat(descriptor))
            return os.read(descriptor, _LARGEST).decode()
        except (OSError, UnicodeDecodeError):
            raise UnreadableRing(f"the key ring {self.path} cannot be read; put it back from a backup") from None
        finally:
            os.close(descriptor)

    def _refuse_shared(self, found: os.stat_result) -> None:
        """Refuse a ring that others could read or write: its keys prove nothing."""
        if not stat.S_ISREG(found.st_mode):
            raise UnreadableRing(f"the key ring {self.path} is not a file; put it back from a backup")
        if found.st_uid != os.geteuid():
            raise UnreadableRing(
                f"the key ring {self.path} belongs to another user (uid {found.st_uid}); choose another state "
                "directory with --state DIR, or put your own ring there"
            )
        if found.st_mode & 0o077:
            raise UnreadableRing(
                f"the key ring {self.path} can be read or written by others: chmod 600 {quote(self.where)}; "
                "if others had access, make a new key then: freehold keys new"
            )

    def _create(self, text: str) -> None:
        """Create the ring file. A hard link does not replace an existing file, so the first of two creators wins."""
        with self._write_temporary(text) as fresh:
            try:
                os.link(fresh, self.path)
            except FileExistsError:
                raise ChangedRing(f"the key ring {self.path} has just been made by somebody else") from None
            self._sync_folder()

    def _replace(self, text: str, version: str) -> None:
        with self._lock(), self._write_temporary(text) as fresh:
            now = self._read_text()
            if now is None or _hash_text(now) != version:
                raise ChangedRing(f"the key ring {self.path} changed meanwhile; run the command again")
            fresh.replace(self.path)
            self._sync_folder()

    @contextlib.contextmanager
    def _write_temporary(self, text: str) -> Iterator[Path]:
        """Write the text to a temporary file in the same directory, synced to disk. mkstemp makes it with mode 0600."""
        import tempfile  # a command that only reads the ring pays for no random numbers

        descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Lock the directory: a lock on the file would be lost when the file is replaced."""
        descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _sync_folder(self) -> None:
        descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
