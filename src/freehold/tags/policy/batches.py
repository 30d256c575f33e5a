"""The calls that carry out plans: resources with equal deltas share a call.

A batch is a value; ``clouds`` sends it. One without tags cannot be made: DeleteTags of EC2 without tags would remove
every tag (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteTags.html).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from freehold.tags.policy.plan import ResourcePlan


class TagVerb(StrEnum):
    UNTAG_RESOURCES = "UntagResources"
    DELETE_TAGS = "DeleteTags"
    DETACH = "detach_tag"
    TAG_RESOURCES = "TagResources"
    CREATE_TAGS = "CreateTags"
    ATTACH_UPDATE = "attach_tag update=true"
    """Replaces the values of a key in one step: only where every value that was read is ours."""
    ATTACH = "attach_tag"

    @property
    def removes(self) -> bool:
        return self in (TagVerb.UNTAG_RESOURCES, TagVerb.DELETE_TAGS, TagVerb.DETACH)


TARGETS: Final[Mapping[TagVerb, int]] = {
    TagVerb.UNTAG_RESOURCES: 20,
    TagVerb.TAG_RESOURCES: 20,
    TagVerb.DELETE_TAGS: 200,
    TagVerb.CREATE_TAGS: 200,
    TagVerb.DETACH: 100,
    TagVerb.ATTACH_UPDATE: 100,
    TagVerb.ATTACH: 100,
}
"""Resources in a call. EC2 takes 1,000 and recommends smaller batches; one bad id fails its whole call."""

_ORDER: Final = {verb: number for number, verb in enumerate(TagVerb)}
"""Every removal goes before the first addition."""


@dataclass(frozen=True, order=True)
class Batch:
    """``tags``: key and value. A value is None where the call takes the key alone. ``region``: empty for all."""

    verb: TagVerb
    account: str
    region: str
    targets: tuple[str, ...]
    tags: tuple[tuple[str, str | None], ...]

    def __post_init__(self) -> None:
        if not self.tags:
            raise ValueError(f"{self.verb} without tags")
        if not 0 < len(self.targets) <= TARGETS[self.verb]:
            raise ValueError(f"{self.verb} on {len(self.targets)} resources: it takes 1 to {TARGETS[self.verb]}")

    def only(self, targets: Collection[str]) -> Batch:
        kept = frozenset(targets)
        return replace(self, targets=tuple(each for each in self.targets if each in kept))

    def halves(self) -> tuple[Batch, Batch]:
        middle = len(self.targets) // 2
        return replace(self, targets=self.targets[:middle]), replace(self, targets=self.targets[middle:])


def batches(plans: Iterable[ResourcePlan]) -> tuple[Batch, ...]:
    """In the order in which they are sent: every removal goes before the first addition."""
    targets: dict[tuple[int, str, str, CallPart], set[str]] = {}
    for account, region, alike in _alike(plans):
        for part in alike[0].resource.cloud.parts(alike[0].resource.kind, alike[0].delta):
            where = _ORDER[part.verb], account, region, part
            targets.setdefault(where, set()).update(plan.resource.id for plan in alike)
    found: list[Batch] = []
    for _, account, region, part in sorted(targets, key=_by_call):
        ids, size = sorted(targets[_, account, region, part]), TARGETS[part.verb]
        chunks = (tuple(ids[at : at + size]) for at in range(0, len(ids), size))
        found += [Batch(part.verb, account, region, chunk, part.tags) for chunk in chunks]
    return tuple(found)


@dataclass(frozen=True)
class CallPart:
    """What one call does to a resource."""

    verb: TagVerb
    tags: tuple[tuple[str, str | None], ...]


def _by_call(key: tuple[int, str, str, CallPart]) -> tuple[int, str, str, tuple[tuple[str, str], ...]]:
    order, account, region, part = key
    return order, account, region, tuple((name, value or "") for name, value in part.tags)


def _alike(plans: Iterable[ResourcePlan]) -> list[tuple[str, str, list[ResourcePlan]]]:
    """Of each account and region those with one delta and the same calls: a fleet has few (tagging/alike.py)."""
    found: dict[Hashable, tuple[str, str, list[ResourcePlan]]] = {}
    for plan in plans:
        of = plan.resource
        same = id(plan.delta), of.cloud, of.kind, of.account, of.region
        region = of.region if of.cloud.has_regions else ""
        found.setdefault(same, (of.account, region, []))[2].append(plan)
    return list(found.values())
