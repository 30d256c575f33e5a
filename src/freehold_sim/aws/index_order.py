"""The tag index in the order of its pages: derived from `World.data`, never saved, so that a page costs a page."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any

Entry = dict[str, Any]
"""What the index keeps of a resource: scope, kind, id, serial, since when, until when, tags with their times."""

_AFTER_ALL_ARNS = "\U0010ffff"


class IndexOrder:
    """Serials and ARNs by account and region, oldest first, and the ARNs of what was deleted.

    Whoever changes the index says so here; another index, as after a restore, is read anew.
    """

    def __init__(self) -> None:
        self._index: dict[str, Entry] | None = None
        self._rows: dict[str, list[tuple[int, str]]] = {}
        self._ended: set[str] = set()

    def put(self, index: dict[str, Entry], arn: str, entry: Entry) -> None:
        """Add an entry, in place of another one with this ARN."""
        self.drop(index, arn)
        index[arn] = entry
        insort(self._rows.setdefault(entry["scope"], []), (int(entry["serial"]), arn))

    def drop(self, index: dict[str, Entry], arn: str) -> None:
        """Remove an entry if there is one."""
        self._read(index)
        entry = index.pop(arn, None)
        self._ended.discard(arn)
        if entry is not None:
            rows = self._rows[entry["scope"]]
            del rows[bisect_left(rows, (int(entry["serial"]), arn))]

    def ended(self, index: dict[str, Entry], arn: str) -> None:
        """Note that a resource was deleted; its entry stays for now."""
        self._read(index)
        self._ended.add(arn)

    def drop_ended(self, index: dict[str, Entry], before: float) -> None:
        """Remove the entries of what was deleted before a time."""
        self._read(index)
        for arn in [arn for arn in self._ended if index[arn]["to"] < before]:
            self.drop(index, arn)

    def after(self, index: dict[str, Entry], scope: str, serial: int) -> Iterator[tuple[int, str]]:
        """Yield serials and ARNs of an account and region that come after a serial."""
        self._read(index)
        rows = self._rows.get(scope, [])
        for position in range(bisect_right(rows, (serial, _AFTER_ALL_ARNS)), len(rows)):
            yield rows[position]

    def _read(self, index: dict[str, Entry]) -> None:
        if index is self._index:
            return
        self._index, self._rows = index, {}
        self._ended = {arn for arn, entry in index.items() if entry["to"] is not None}
        for arn, entry in index.items():
            self._rows.setdefault(entry["scope"], []).append((int(entry["serial"]), arn))
        for rows in self._rows.values():
            rows.sort()
