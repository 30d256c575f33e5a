"""How many tags a resource can have, and what happens when a list does not fit.

What is on the resource comes first, then ours sorted by the code points of their keys, then what is beyond the limit
is cut (docs/reference/metadata-compat.md A9, A26).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from freehold.tagging.protected import Access, is_reserved
from freehold.tagging.resources import Cloud, Resource


class LimitPolicy(StrEnum):
    """``STRICT`` is the default (docs/reference/metadata-compat.md A8)."""

    PARTIAL = "POLICY_APPLY_PARTIAL"
    STRICT = "POLICY_APPLY_STRICT"


_DEFAULT: Final = {Cloud.AWS: 50, Cloud.IBM: 1000}
"""User tags of a resource.

Source: https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html; IBM Cloud: the docstring of ``attach_tag``
in ibm-platform-services.
"""
_BY_KIND: Final[Mapping[str, int]] = {"s3:object": 10}
"""https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-tagging.html; a bucket has 50 like the others."""


def limit_of(resource: Resource) -> int:
    return _BY_KIND.get(resource.kind, _DEFAULT[resource.cloud])


@lru_cache(maxsize=4096)
def _counts(key: str) -> bool:
    return is_reserved(key) is Access.ALLOWED


def slots_used(resource: Resource) -> int:
    """Tags that count: AWS does not count its own ``aws:`` tags, and has one value for a key."""
    if resource.cloud is Cloud.AWS:
        return sum(map(_counts, resource.tags))
    return sum(map(len, resource.tags.values()))


@dataclass(frozen=True)
class Fits:
    """Everything, with the slots that are free afterwards."""

    free: int


@dataclass(frozen=True)
class Trimmed:
    """PARTIAL: ``keys`` are left out."""

    keys: tuple[str, ...]
    free: int


@dataclass(frozen=True)
class TooMany:
    """STRICT: nothing of the list is written."""

    missing: int
    free: int


def fit(needs: Mapping[str, int], free: int, policy: LimitPolicy) -> Fits | Trimmed | TooMany:
    """``needs``: the slots that each key takes; zero or less where it replaces what is there."""
    total = sum(needs.values())
    if total <= max(free, 0):  # what replaces or removes fits even where there are too many already
        return Fits(free - total)
    if policy is LimitPolicy.STRICT:
        return TooMany(missing=total - free, free=free)
    left = free - sum(slots for slots in needs.values() if slots <= 0)
    trimmed: list[str] = []
    for key in sorted(key for key, slots in needs.items() if slots > 0):
        if needs[key] <= left:
            left -= needs[key]
        else:
            trimmed.append(key)
    return Trimmed(tuple(trimmed), left) if trimmed else Fits(left)
