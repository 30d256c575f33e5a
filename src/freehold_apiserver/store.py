"""The object store: every acknowledged write is in SQLite; reads and watches are served from memory.

**Durability.** A write returns only after SQLite has committed it. In WAL mode with
``synchronous=NORMAL`` the commit has been handed to the operating system, so killing this process at
any moment loses no acknowledged write; only a power cut may lose the last commits (it never corrupts
the file). This suits a laptop: an fsync per write would cost more than the write, and the operator's
journal tolerates a rollback (ADR 2). See https://www.sqlite.org/pragma.html#pragma_synchronous

**History.** The last changes of every collection are kept in memory, for watches that resume and for
paging over a consistent snapshot. Older changes are compacted: requesting them raises 410 Expired.
History does not survive a restart, so clients relist after one.
"""

from __future__ import annotations

import bisect
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from freehold_apiserver import errors

Key = tuple[str, str]
"""(namespace, name); the namespace of a cluster-scoped object is empty."""

Json = dict[str, Any]
ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

HISTORY_CHANGES = 20_000
HISTORY_BYTES = 32 * 1024 * 1024

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    collection TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (collection, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS revision (id INTEGER PRIMARY KEY CHECK (id = 1), value INTEGER NOT NULL);
INSERT OR IGNORE INTO revision VALUES (1, 1);
"""

_COLUMNS = {"objects": ["collection", "namespace", "name", "body"], "revision": ["id", "value"]}


class NotAStore(ValueError):
    """The file is no store of ours, and nothing was written to it. The text says what it is instead."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object at one resourceVersion, decoded and encoded. ``obj`` must never be changed in place."""

    revision: int
    obj: Json
    body: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """One write. ``new`` of a DELETED change is the last state, at the revision of the deletion."""

    type: ChangeType
    key: Key
    new: Stored
    old: Stored | None


class _Collection:
    """The objects of one resource, in key order, and the latest changes."""

    def __init__(self, floor: int) -> None:
        self.objects: dict[Key, Stored] = {}
        self.keys: list[Key] = []
        self.changes: list[Change] = []
        self.history_bytes = 0
        self.floor = floor
        self.listeners: set[Callable[[], None]] = set()

    def insert(self, key: Key, stored: Stored) -> None:
        if key not in self.objects:
            bisect.insort(self.keys, key)
        self.objects[key] = stored

    def remove(self, key: Key) -> None:
        del self.objects[key]
        del self.keys[bisect.bisect_left(self.keys, key)]

    def record(self, change: Change, limit: int) -> None:
        self.changes.append(change)
        self.history_bytes += len(change.new.body)
        if len(self.changes) > limit or self.history_bytes > HISTORY_BYTES:
            self._compact()
        for wake in tuple(self.listeners):
            wake()

    def _compact(self) -> None:
        # Drop half at once, so that the amortized cost per write is negligible.
        cut = (len(self.changes) + 1) // 2
        self.floor = self.changes[cut - 1].new.revision
        del self.changes[:cut]
        self.history_bytes = sum(len(change.new.body) for change in self.changes)


class Store:
    """All objects of one API server. Not thread-safe: use it from one event loop."""

    def __init__(self, connection: sqlite3.Connection, history: int = HISTORY_CHANGES) -> None:
        self._db = connection
        self._history = history
        self.path: str = next((row[2] for row in connection.execute("PRAGMA database_list")), "") or "the store"
        self._collections: dict[str, _Collection] = {}
        self._db.executescript(_SCHEMA)
        self.revision: int = self._db.execute("SELECT value FROM revision").fetchone()[0]
        self._start = self.revision
        self._observers: list[Callable[[str, Change], None]] = []
        self._load()

    @classmethod
    def open(cls, path: str | Path, history: int = HISTORY_CHANGES, *, begin: bool = True) -> Store:
        """Open or create the store at ``path``; ``":memory:"`` persists nothing.

        ``history`` is the maximum number of changes kept in memory per collection. A store that was lost must not be
        taken for a new one: with ``begin`` False an empty file is refused. Raises NotAStore.
        """
        if begin and str(path) != ":memory:" and not Path(path).exists():
            _begin(Path(path))
        connection = sqlite3.connect(str(path), isolation_level=None)
        try:
            _require_ours(connection, begin)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            return cls(connection, history)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        self._db.close()

    def _load(self) -> None:
        for collection, namespace, name, body in self._db.execute(
            "SELECT collection, namespace, name, body FROM objects"
        ):
            obj = json.loads(body)
            stored = Stored(int(obj["metadata"]["resourceVersion"]), obj, body)
            self._of(collection).insert((namespace, name), stored)

    def _of(self, collection: str) -> _Collection:
        found = self._collections.get(collection)
        if found is None:
            found = self._collections[collection] = _Collection(self._start)
        return found

    # Writes

    def put(self, collection: str, key: Key, obj: Json) -> Stored:
        """Create or replace; the stored object has the next resourceVersion in its metadata."""
        revision = self.revision + 1
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
        stored = Stored(revision, obj, encode(obj))
        self._commit(
            revision, "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", (collection, *key, stored.body)
        )  # fmt: skip
        self.revision = revision
        into = self._of(collection)
        old = into.objects.get(key)
        into.insert(key, stored)
        self._publish(collection, into, Change("MODIFIED" if old else "ADDED", key, stored, old))
        return stored

    def remove(self, collection: str, key: Key) -> Stored:
        """Remove an existing object; returns its last state at the revision of the deletion."""
        revision = self.revision + 1
        source = self._of(collection)
        old = source.objects[key]
        obj = {**old.obj, "metadata": {**old.obj["metadata"], "resourceVersion": str(revision)}}
        last = Stored(revision, obj, encode(obj))
        self._commit(
            revision, "DELETE FROM objects WHERE collection = ? AND namespace = ? AND name = ?", (collection, *key)
        )  # fmt: skip
        self.revision = revision
        source.remove(key)
        self._publish(collection, source, Change("DELETED", key, last, old))
        return last

    def _commit(self, revision: int, statement: str, values: tuple[str | bytes, ...]) -> None:
        """One write and the new revision, both or neither. Raises 507 when the disk is full or cannot be written."""
        try:
            with self._db:
                self._db.execute("BEGIN")
                self._db.execute(statement, values)
                self._db.execute("UPDATE revision SET value = ?", (revision,))
        except sqlite3.OperationalError as problem:
            raise errors.storage_failed(self.path, in_words(problem)) from problem

    def _publish(self, name: str, into: _Collection, change: Change) -> None:
        into.record(change, self._history)
        for observer in self._observers:
            observer(name, change)

    # Reads

    def get(self, collection: str, key: Key) -> Stored | None:
        return self._of(collection).objects.get(key)

    def collections(self) -> list[str]:
        """Names of the collections that have or had objects."""
        return list(self._collections)

    def scan(self, collection: str, namespace: str | None = None) -> list[Stored]:
        """All objects in key order, of one namespace or of all."""
        source = self._of(collection)
        if namespace is None:
            return [source.objects[key] for key in source.keys]
        first = bisect.bisect_left(source.keys, (namespace, ""))
        last = bisect.bisect_left(source.keys, (namespace + "\0", ""))
        return [source.objects[key] for key in source.keys[first:last]]

    def scan_at(self, collection: str, revision: int, namespace: str | None = None) -> list[Stored]:
        """Return the same list as it was at ``revision``. Raises 410 Expired when that has been compacted."""
        source = self._of(collection)
        if revision < source.floor:
            raise errors.expired("The provided continue parameter is too old to display a consistent list result.")
        undone = list(self.changes_after(collection, revision))
        if not undone:
            return self.scan(collection, namespace)
        objects = dict(source.objects)
        for change in reversed(undone):
            if change.old is None:
                objects.pop(change.key, None)
            else:
                objects[change.key] = change.old
        return [objects[key] for key in sorted(objects) if namespace is None or key[0] == namespace]

    def changes_after(self, collection: str, revision: int) -> Iterator[Change]:
        """Return changes newer than ``revision``, oldest first. Raises 410 Expired when some have been compacted."""
        source = self._of(collection)
        if revision < source.floor:
            raise errors.expired(f"too old resource version: {revision} ({source.floor})")
        first = bisect.bisect_right(source.changes, revision, key=lambda change: change.new.revision)
        return iter(source.changes[first:])

    def observe(self, observer: Callable[[str, Change], None]) -> None:
        """Call ``observer`` with every change of every collection until the store is closed."""
        self._observers.append(observer)

    def listen(self, collection: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` after every change of the collection; returns a function that unsubscribes."""
        listeners = self._of(collection).listeners
        listeners.add(wake)
        return lambda: listeners.discard(wake)


def _begin(path: Path) -> None:
    """Make an empty store that appears whole: a file without tables is then never one that a crash left half made."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with closing(sqlite3.connect(str(fresh), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=MEMORY")  # no file beside it
        connection.executescript(_SCHEMA)
    fresh.replace(path)


def _require_ours(connection: sqlite3.Connection, begin: bool) -> None:
    """Read before the first write. Raises NotAStore."""
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    if not there and not begin:
        raise NotAStore("it is empty")
    for table, columns in _COLUMNS.items() if there else ():
        found = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        if found != columns:
            raise NotAStore(f"it is a database of something else, with table {min(there)}")


def in_words(problem: sqlite3.OperationalError) -> str:
    """SQLite's message; a full disk has many causes there, and one remedy."""
    if problem.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL:
        return "the disk is full; free some space, then repeat the command"
    return f"{problem}; check the disk and the file's permissions, then repeat the command"


def key_of(stored: Stored) -> Key:
    """Return the key of an object."""
    meta = stored.obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


def encode(obj: Mapping[str, Any]) -> bytes:
    """Compact JSON."""
    return json.dumps(obj, separators=(",", ":"), ensure_ascii=False).encode()
