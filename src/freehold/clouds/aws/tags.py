"""Tags as AWS has them, a mapping of keys to values, and what the keys of our marks (keyed_codec) tell."""

from __future__ import annotations

from collections.abc import Mapping

from freehold.lifecycle.keyed_codec import UUID, WITHIN

Tags = Mapping[str, str]


def not_of(uuid: str, found: Mapping[str, Tags]) -> tuple[str, ...]:
    """Of resources with their tags, those that neither this owner nor one within it has, in order."""
    return tuple(sorted(arn for arn, tags in found.items() if uuid not in (tags.get(UUID), tags.get(WITHIN))))
