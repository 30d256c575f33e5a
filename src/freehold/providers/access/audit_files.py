"""The files of an audit log: the one that is written and those that a rotation has put beside it, and their lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

CHANGES: Final = "changes"
"""The outcome of lines that say what tags were before a call."""

BEGUN: Final = "begun"
"""The outcome of lines that only link a file to the one before it."""

_COMPRESSED: Final = frozenset({".gz", ".bz2", ".xz", ".zst"})


def find_log_files(path: Path) -> list[Path]:
    """Find the files of the log at ``path``, the oldest first. A rotation's compressed ones are not read."""
    found: list[tuple[float, Path]] = []
    for each in path.parent.glob(f"{path.name}.*"):
        with suppress(FileNotFoundError):  # a rotation took it away meanwhile
            stat = each.stat()
            if S_ISREG(stat.st_mode) and each.suffix not in _COMPRESSED:
                found.append((stat.st_mtime, each))
    return [*(each for _, each in sorted(found)), *([path] if path.is_file() else [])]


def parse_line(line: str | bytes) -> dict[str, Any] | None:
    """Parse a line; None for one that is none, as one that was cut off: the check of the chain tells it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def list_tag_changes(row: Mapping[str, Any]) -> list[tuple[str, str, str | None, str | None]]:
    """List the changes of tags that a line tells of: resource, key, the value before and the one after."""
    changes = row.get("changes")
    if not isinstance(changes, dict):
        return []
    return [
        (resource, key, *_read_values(values))
        for resource, tags in sorted(changes.items())
        if isinstance(tags, dict)
        for key, values in sorted(tags.items())
    ]


def _read_values(values: Any) -> tuple[str | None, str | None]:
    """Read both values; of what is no pair, None."""
    before, after = values if isinstance(values, list) and len(values) == 2 else (None, None)
    return None if before is None else str(before), None if after is None else str(after)
