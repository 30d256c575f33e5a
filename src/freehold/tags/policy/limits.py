"""How many tags a resource can have, and what happens when a list does not fit.

What others put on the resource comes first, then ours sorted by the code points of their keys, then what is beyond the
limit is cut, also where it is on the resource already (docs/reference/metadata-compat.md A9, A26).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from freehold.tags.policy.resources import TaggedResource


class LimitPolicy(StrEnum):
    """``STRICT`` is the default (docs/reference/metadata-compat.md A8)."""

    PARTIAL = "POLICY_APPLY_PARTIAL"
    STRICT = "POLICY_APPLY_STRICT"


def limit_of(resource: TaggedResource) -> int:
    """Return how many user tags the resource can have."""
    return resource.cloud.limits.get(resource.kind, resource.cloud.limit)


def slots_used(resource: TaggedResource) -> int:
    """Count the tags that count against the limit."""
    return resource.cloud.slots_used(resource.tags)


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
    cut = list_keys_beyond(keys, room)
    return Trimmed(cut) if cut else Fits()


def list_keys_beyond(keys: Mapping[str, Slots], room: int) -> tuple[str, ...]:
    """Return the keys after the longest beginning of the sorted list that fits: the sort alone decides."""
    listed, used = sorted(keys), sum(each.cut for each in keys.values())
    most, fitting = max(room, used), 0
    for number, key in enumerate(listed, 1):
        used += keys[key].kept - keys[key].cut
        if used <= most:
            fitting = number
    return tuple(listed[fitting:])
