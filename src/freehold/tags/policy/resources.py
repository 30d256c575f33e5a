"""A cloud resource with the tags that were read from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from freehold.tags.policy.dialect import TagDialect

Tags = Mapping[str, frozenset[str]]
"""The values of each key. Some clouds have one value for a key; others can have ``env:test`` beside ``env:prod``."""


class TaggedResource(NamedTuple):
    """``id`` is the ARN or CRN. ``kind`` is ``service:type`` as the tag API of the cloud spells it (``ec2:volume``).

    A tuple, as its plan is: a pass makes two of each resource, and a frozen dataclass takes three times as long.
    """

    id: str
    cloud: TagDialect
    kind: str
    account: str
    region: str
    tags: Tags


def single_valued(tags: Mapping[str, str]) -> Tags:
    """Spell tags of a cloud that has one value for a key."""
    return {key: _only(value) for key, value in tags.items()}


@lru_cache(maxsize=4096)
def _only(value: str) -> frozenset[str]:
    """Most resources of a fleet have the same values, which are one object here."""
    return frozenset({value})
