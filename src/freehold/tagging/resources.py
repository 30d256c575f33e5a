"""A cloud resource with the tags that were read from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple


class Cloud(StrEnum):
    AWS = "aws"
    IBM = "ibm"


Tags = Mapping[str, frozenset[str]]
"""The values of each key. AWS has one value for a key; IBM Cloud can have ``env:test`` beside ``env:prod``."""


class Resource(NamedTuple):
    """``id`` is the ARN or CRN. ``kind`` is ``service:type`` as the tag API of the cloud spells it (``ec2:volume``).

    A tuple, as its plan is: a pass makes two of each resource, and a frozen dataclass takes three times as long.
    """

    id: str
    cloud: Cloud
    kind: str
    account: str
    region: str
    tags: Tags


def canonical(cloud: Cloud, text: str) -> str:
    """One spelling for all that the cloud takes for the same: in tags IBM Cloud knows neither case nor outer spaces."""
    return text.strip().lower() if cloud is Cloud.IBM else text


def aws_tags(tags: Mapping[str, str]) -> Tags:
    return {key: _only(value) for key, value in tags.items()}


@lru_cache(maxsize=4096)
def _only(value: str) -> frozenset[str]:
    """Most resources of a fleet have the same values, which are one object here."""
    return frozenset({value})


def ibm_tags(names: Iterable[str]) -> Tags:
    """``key:value`` or ``label``; the value may have colons, the key has none. A label is a key with an empty value."""
    found: dict[str, frozenset[str]] = {}
    for name in names:
        key, _, value = canonical(Cloud.IBM, name).partition(":")
        found[key] = found.get(key, frozenset()) | {value}
    return found


def ibm_tag_name(key: str, value: str) -> str:
    return f"{key}:{value}" if value else key
