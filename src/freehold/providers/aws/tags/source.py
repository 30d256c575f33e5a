"""The source of tags: the tagging API, or each service."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagChange
from freehold.engine.tag_text import tag_map
from freehold.providers.aws.tags.native_tags import TagsByArn


def group_changes(changes: Sequence[TagChange]) -> list[tuple[dict[str, str], list[str]]]:
    """Group targets by equal tags, in AWS's form: each group shares a call."""
    groups: dict[frozenset[str], list[str]] = {}
    for change in changes:
        if change.tags:
            groups.setdefault(change.tags, []).append(change.target)
    return [(tag_map(tags), targets) for tags, targets in groups.items()]


class TagSource(Protocol):
    """Finds resources of this region by their tags, and changes these. Raises CloudError."""

    async def find_by_tag(
        self, key: str, values: Sequence[str] = (), without: frozenset[str] = frozenset()
    ) -> TagsByArn:
        """Return what has this tag, with one of ``values`` where any are given, and all its tags.

        Resources of the kinds ``without`` may be left out, and then also those of no kind in the table.
        """
        ...

    async def find_by_any_tag(self, tags: Mapping[str, str]) -> TagsByArn:
        """Return what has one of these tags; listeners and buckets may be left out: no workload has these alone."""
        ...

    async def find_marked(self, uuid: str, also: Collection[str] = ()) -> TagsByArn:
        """Return everything with this owner's uuid mark, and the ``also`` ARNs."""
        ...

    async def attach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        """Add tags and leave all others; return what failed, by ARN."""
        ...

    async def detach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        """Remove tags, given with the values that were just read; return what failed, by ARN."""
        ...
