"""Names a state of files, so that what was worked out for it can be kept in ``.cache`` and used again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def digest_of(paths: Iterable[Path], root: Path = ROOT) -> str:
    """Of their contents and of their places below ``root``, which is the repository."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
