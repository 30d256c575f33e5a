"""What holds for a resource whatever the objects say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from freehold.tagging.protected import IgnoreList


@dataclass(frozen=True)
class Rules:
    ignored: IgnoreList = field(default_factory=IgnoreList)
    classifier_keys: Mapping[str, str] = field(default_factory=dict)
    """By which the resource is found: they are read only (docs/reference/metadata-compat.md A22).

    Those of the acting object and of older ones, with the name of the object for people.
    """
    cluster_keys: Mapping[str, str] = field(default_factory=dict)
    """Keys that a cluster's spec asks for on this resource, with the cluster's name for people."""
    contested: frozenset[str] = frozenset()
    """Keys that are left alone for a sync period (``contested.py``)."""
    granted: Callable[[str], bool] = lambda key: True
    """Whether the acting object's namespace may touch a key."""
