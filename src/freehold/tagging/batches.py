"""The calls that carry out plans: resources with equal deltas share a call.

A batch is a value; ``clouds`` sends it. One without tags cannot be made: DeleteTags of EC2 without tags would remove
every tag (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteTags.html).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import Final, TypeVar

from freehold.tagging.plan import ResourcePlan
from freehold.tagging.resources import Cloud, Resource
from freehold.tagging.wanted_keys import Cause, Removal, Upsert

T = TypeVar("T")
_GOLDEN: Final = 0.6180339887498949


class Verb(StrEnum):
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
        return self in (Verb.UNTAG_RESOURCES, Verb.DELETE_TAGS, Verb.DETACH)


TARGETS: Final[Mapping[Verb, int]] = {
    Verb.UNTAG_RESOURCES: 20,
    Verb.TAG_RESOURCES: 20,
    Verb.DELETE_TAGS: 200,
    Verb.CREATE_TAGS: 200,
    Verb.DETACH: 100,
    Verb.ATTACH_UPDATE: 100,
    Verb.ATTACH: 100,
}
"""Resources in a call. EC2 takes 1,000 and recommends smaller batches; one bad id fails its whole call."""

_ORDER: Final = {verb: number for number, verb in enumerate(Verb)}
"""Every removal goes before the first addition."""

KEYS_TO_REMOVE: Final = 50
"""Keys in one UntagResources (its service model); the others have no smaller limit."""


@dataclass(frozen=True, order=True)
class Batch:
    """``tags``: key and value. A value is None where the call takes the key alone. ``region``: empty for all."""

    verb: Verb
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
    targets: dict[tuple[int, str, str, _Part], set[str]] = {}
    for account, region, alike in _alike(plans):
        for part in _parts(alike[0]):
            where = _ORDER[part.verb], account, region, part
            targets.setdefault(where, set()).update(plan.resource.id for plan in alike)
    found: list[Batch] = []
    for _, account, region, part in sorted(targets, key=_by_call):
        ids, size = sorted(targets[_, account, region, part]), TARGETS[part.verb]
        chunks = (tuple(ids[at : at + size]) for at in range(0, len(ids), size))
        found += [Batch(part.verb, account, region, chunk, part.tags) for chunk in chunks]
    return tuple(found)


def turned(sent: Sequence[Batch], turn: int) -> tuple[Batch, ...]:
    """The same calls, begun at another point in each turn: what a pass gives up on is not the same in each of them.

    Every removal still goes before the first addition. Turn 0 is the order as it was.
    """
    found: list[Batch] = []
    for _, group in groupby(sent, key=lambda batch: batch.verb):
        begun = _from(tuple(group), turn)
        found += [replace(batch, targets=_from(batch.targets, turn)) for batch in begun]
    return tuple(found)


def _from(items: tuple[T, ...], turn: int) -> tuple[T, ...]:
    """Steps of the golden ratio: a few turns begin all over the list, however long it is."""
    at = int(len(items) * (turn * _GOLDEN % 1.0))
    return items[at:] + items[:at]


@dataclass(frozen=True)
class _Part:
    """What one call does to a resource."""

    verb: Verb
    tags: tuple[tuple[str, str | None], ...]


def _by_call(key: tuple[int, str, str, _Part]) -> tuple[int, str, str, tuple[tuple[str, str], ...]]:
    order, account, region, part = key
    return order, account, region, tuple((name, value or "") for name, value in part.tags)


def _alike(plans: Iterable[ResourcePlan]) -> list[tuple[str, str, list[ResourcePlan]]]:
    """Of each account and region those with one delta and the same calls: a fleet has few (tagging/alike.py)."""
    found: dict[Hashable, tuple[str, str, list[ResourcePlan]]] = {}
    for plan in plans:
        of = plan.resource
        same = id(plan.delta), of.cloud, of.kind, of.account, of.region
        region = of.region if of.cloud is Cloud.AWS else ""  # a call of IBM Cloud is for all regions
        found.setdefault(same, (of.account, region, []))[2].append(plan)
    return list(found.values())


def _parts(plan: ResourcePlan) -> Iterator[_Part]:
    resource, delta = plan.resource, plan.delta
    if resource.cloud is Cloud.IBM:
        yield from _ibm_parts(delta.removals, delta.upserts)
        return
    native = _is_ec2(resource)
    for at in range(0, len(delta.removals), KEYS_TO_REMOVE):
        chunk = delta.removals[at : at + KEYS_TO_REMOVE]
        yield (
            _native_removal(chunk) if native else _Part(Verb.UNTAG_RESOURCES, tuple((each.key, None) for each in chunk))
        )
    if delta.upserts:
        written = tuple((each.key, each.value) for each in delta.upserts)
        yield _Part(Verb.CREATE_TAGS if native else Verb.TAG_RESOURCES, written)


def _is_ec2(resource: Resource) -> bool:
    return resource.kind.startswith("ec2:")


def _native_removal(removals: Collection[Removal]) -> _Part:
    """EC2 removes a tag only if it still has the value that was read."""
    return _Part(Verb.DELETE_TAGS, tuple((each.key, value) for each in removals for value in sorted(each.seen)))


def _ibm_parts(removals: Collection[Removal], upserts: Collection[Upsert]) -> Iterator[_Part]:
    """A foreign value is detached by its name, so that nothing goes that was not read."""
    outdated = [each for each in upserts if each.cause is Cause.OUTDATED and not _has_label(each)]
    new = [each for each in upserts if each not in outdated]
    detached = [(each.key, value) for each in removals for value in each.seen]
    detached += [(each.key, value) for each in new for value in each.seen - {each.value}]
    attached = [(each.key, each.value) for each in new]
    changed = [(each.key, each.value) for each in outdated]
    for verb, tags in ((Verb.DETACH, detached), (Verb.ATTACH_UPDATE, changed), (Verb.ATTACH, attached)):
        if tags:
            yield _Part(verb, tuple(sorted(tags)))


def _has_label(upsert: Upsert) -> bool:
    """``update=true`` replaces ``key:*``, and a label has no colon."""
    return not upsert.value or "" in upsert.seen
