"""How many tags a resource can have, and what happens when a list does not fit.

What others put on the resource comes first, then ours sorted by the code points of their keys, then what is beyond the
limit is cut, also where it is on the resource already (docs/reference/metadata-compat.md A9, A26).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

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


class Slots(NamedTuple):
    """What one key of a list takes on a resource: ``kept`` where it is applied, ``cut`` where it is left out.

    A new tag takes 1 or 0. One of somebody else that would be replaced stays where it is left out.
    """

    kept: int
    cut: int


@dataclass(frozen=True)
class Fits:
    """Everything."""


@dataclass(frozen=True)
class Trimmed:
    """PARTIAL: ``keys`` are left out."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class TooMany:
    """STRICT: nothing of the list is written."""

    missing: int


def fit(keys: Mapping[str, Slots], room: int, policy: LimitPolicy) -> Fits | Trimmed | TooMany:
    """``room``: the slots that nobody else has. What only replaces or removes fits where there are too many already."""
    if policy is LimitPolicy.STRICT:
        total, least = sum(each.kept for each in keys.values()), sum(each.cut for each in keys.values())
        return Fits() if total <= max(room, least) else TooMany(missing=total - room)
    cut = beyond(keys, room)
    return Trimmed(cut) if cut else Fits()


def beyond(keys: Mapping[str, Slots], room: int) -> tuple[str, ...]:
    """The keys after the longest beginning of the sorted list that fits: which ones hangs on the sort alone."""
    listed, used = sorted(keys), sum(each.cut for each in keys.values())
    most, fitting = max(room, used), 0
    for number, key in enumerate(listed, 1):
        used += keys[key].kept - keys[key].cut
        if used <= most:
            fitting = number
    return tuple(listed[fitting:])
