"""The head of the record of what we wrote: which shards were begun, and what each of them has counted. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Head:
    """``counts``: of each shard (stored_record.Shard.count).

    ``base`` is added to all counts: what a record had counted that was put back from before then.
    """

    version: str = ""
    key: str = ""
    counts: Mapping[int, int] = field(default_factory=dict)
    base: int = 0


def head_text(begun: frozenset[int], head: Head) -> str:
    said: dict[str, Any] = {"begun": sorted(begun)}
    if head.counts:
        said["counts"] = {str(number): count for number, count in sorted(head.counts.items())}
    if head.base:
        said["base"] = head.base
    return json.dumps(said, separators=(",", ":"))


def head_of(text: str, version: str, key: str) -> tuple[Head, frozenset[int]]:
    """With the shards that it names. ``text``: as :func:`head_text` made it."""
    said = json.loads(text)
    counts = {int(number): int(count) for number, count in said.get("counts", {}).items()}
    return Head(version, key, counts, int(said.get("base", 0))), frozenset(int(number) for number in said["begun"])


def merged(ours: Head, stored: Head) -> Head:
    """Ours, to be written over what somebody else has stored meanwhile."""
    numbers = ours.counts.keys() | stored.counts.keys()
    counts = {number: max(ours.counts.get(number, 0), stored.counts.get(number, 0)) for number in numbers}
    return Head(stored.version, stored.key, counts, max(ours.base, stored.base))
