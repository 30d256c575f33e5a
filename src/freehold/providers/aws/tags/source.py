"""Where tags are found and changed: through the tagging API, or through each service."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from freehold.engine.errors import CloudError
from freehold.engine.inventory import TagChange
from freehold.engine.tag_text import tag_map
from freehold.providers.aws.tags.native_tags import TagsByArn


def grouped(changes: Sequence[TagChange]) -> list[tuple[dict[str, str], list[str]]]:
    """Equal tags, as AWS has them, with their targets: they share a call."""
    groups: dict[frozenset[str], list[str]] = {}
    for change in changes:
        if change.tags:
            groups.setdefault(change.tags, []).append(change.target)
    return [(tag_map(tags), targets) for tags, targets in groups.items()]


class TagSource(Protocol):
    """Finds resources of this region by their tags, and changes those. Raises CloudError."""

    async def with_tag(self, key: str, values: Sequence[str] = (), without: frozenset[str] = frozenset()) -> TagsByArn:
        """Everything that has this tag, with one of ``values`` where any are given; all its tags.

        What is of one of the kinds ``without`` may be left out, and what is of no kind in the table then.
        """
        ...

    async def with_one_of(self, tags: Mapping[str, str]) -> TagsByArn:
        """Return what has one of these tags; listeners and buckets may be left out, which no workload has alone."""
        ...

    async def marked(self, uuid: str, also: Collection[str] = ()) -> TagsByArn:
        """Everything with this owner's uuid mark, and the ``also`` ARNs."""
        ...

    async def attach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        """Add tags; what failed, by ARN. Other people's stay."""
        ...

    async def detach(self, changes: Sequence[TagChange]) -> dict[str, CloudError]:
        """Take tags off; give the values that were just read."""
        ...
