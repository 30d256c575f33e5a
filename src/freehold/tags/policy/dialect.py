"""How a cloud spells, limits and writes tags: each cloud gives one value, and no decision names a cloud."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freehold.tags.policy.batches import CallPart
    from freehold.tags.policy.plan import Delta
    from freehold.tags.policy.resources import Tags


@dataclass(frozen=True, eq=False)
class TagDialect:
    """``canonical``: one spelling for all that the cloud takes for the same. ``name`` is for people."""

    name: str
    canonical: Callable[[str], str]
    limit: int
    """User tags of a resource."""
    slots_used: Callable[[Tags], int]
    """Tags that count against the limit."""
    complaints: Callable[[str, str], Iterator[str]]
    """What is wrong with a key and a value."""
    parts: Callable[[str, Delta], Iterator[CallPart]]
    """The calls that carry out a delta on a resource of this kind."""
    kind_of: Callable[[str], str]
    """The kind of a resource with this identifier, as people know it; empty for one of another cloud."""
    exempt_key: str
    """The key by which somebody exempts a resource from every metadata object."""
    owner_marks: tuple[str, ...]
    """Our marks with the uuid of a resource's owner, or of the cluster which its owner is part of."""
    tags_of_cluster: Callable[[Mapping[str, Any]], Iterable[str]]
    """The keys that the spec of a cluster asks for."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """By kind, where they differ."""
    has_regions: bool = True
    """Whether a call is for one region."""
    has_several_values: bool = False
    """Whether other values of a key are other tags."""
    case_twins: str = ""
    """Why keys that differ in case are refused; empty where case differs."""

    def __str__(self) -> str:
        return self.name
