"""Which resources an object is about.

Classifiers are joined by OR, are read only, and know no wildcards (docs/reference/metadata-compat.md A19 to A22).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from freehold.tags.policy.dialect import TagDialect
from freehold.tags.policy.protected import is_exempt
from freehold.tags.policy.resources import TaggedResource

VALUES_PER_QUERY: Final = 20
"""Values of one key in a filter of GetResources (API reference of the Resource Groups Tagging API)."""

ONLY_WHEN_NAMED: Final = frozenset({"cloudformation:stackset"})
"""Kinds that are selected only by their name: to tag a stack set starts an update of its stacks.

Source: https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_TagResources.html
"""


@dataclass(frozen=True, order=True)
class TagCondition:
    """The resource has this key with exactly this value; ``*`` and the empty value mean themselves."""

    key: str
    value: str


@dataclass(frozen=True)
class Classifiers:
    """``any_of`` finds; all the rest narrows what was found, and an empty collection there narrows nothing."""

    any_of: frozenset[TagCondition]
    all_of: frozenset[TagCondition] = frozenset()
    none_of: frozenset[TagCondition] = frozenset()
    kinds: frozenset[str] = frozenset()
    regions: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.any_of:
            raise ValueError("there is no classifier: name at least one tag by which the resources are found")

    @property
    def keys(self) -> frozenset[str]:
        """Keys that no operation of the object may name, or the fleet would deselect itself."""
        return frozenset(each.key for each in self.any_of | self.all_of | self.none_of)

    def keys_that_select(self, resource: TaggedResource) -> frozenset[str]:
        """Keys by which a selected resource is found, or not excluded: a condition that it does not meet is none."""
        met = {each for each in self.any_of if _has(resource, each)}
        return frozenset(each.key for each in met | self.all_of | self.none_of)


@dataclass(frozen=True)
class Query:
    """Resources that have ``key`` with one of ``values``, None for any value: one query of the tag API.

    One that names nothing cannot be made: a cloud answers it with the whole account.
    """

    key: str
    values: tuple[str, ...] | None

    def __post_init__(self) -> None:
        if not self.key or self.values == ():
            raise ValueError("a query without a key, or without values, would find the whole account")


def queries(classifiers: Iterable[Classifiers]) -> tuple[Query, ...]:
    """One query a key; what they find is united. Equal conditions of several objects are asked once.

    Several keys in one query of GetResources would be joined by AND (docs/reference/metadata-compat.md A19).
    """
    by_key: dict[str, set[str]] = {}
    for each in classifiers:
        for condition in each.any_of:
            by_key.setdefault(condition.key, set()).add(condition.value)
    return tuple(
        Query(key, tuple(values[at : at + VALUES_PER_QUERY]))
        for key, values in ((key, sorted(by_key[key])) for key in sorted(by_key))
        for at in range(0, len(values), VALUES_PER_QUERY)
    )


class Selection(StrEnum):
    SELECTED = "Selected"
    NOT_CLASSIFIED = "NotClassified"
    NOT_ALL_MATCH = "NotAllMatch"
    EXCLUDED = "Excluded"
    OTHER_KIND = "OtherKind"
    OTHER_REGION = "OtherRegion"
    OTHER_ACCOUNT = "OtherAccount"
    EXEMPT = "Exempt"


def select(classifiers: Classifiers, resource: TaggedResource) -> Selection:
    """Compare exactly, whatever the query of the cloud took for a match."""
    wanted, has = classifiers, partial(_has, resource)
    if not any(map(has, wanted.any_of)):
        return Selection.NOT_CLASSIFIED
    if not all(map(has, wanted.all_of)):
        return Selection.NOT_ALL_MATCH
    if any(map(has, wanted.none_of)):
        return Selection.EXCLUDED
    if wanted.regions and resource.region not in wanted.regions:
        return Selection.OTHER_REGION
    if wanted.accounts and resource.account not in wanted.accounts:
        return Selection.OTHER_ACCOUNT
    if resource.kind not in wanted.kinds and (wanted.kinds or resource.kind in ONLY_WHEN_NAMED):
        return Selection.OTHER_KIND
    return Selection.EXEMPT if is_exempt(resource) else Selection.SELECTED


def _has(resource: TaggedResource, condition: TagCondition) -> bool:
    spelled = resource.cloud.canonical
    return spelled(condition.value) in resource.tags.get(spelled(condition.key), ())


def find_released(
    recorded: Collection[str], found: Sequence[TaggedResource], classifiers: Classifiers
) -> tuple[str, ...]:
    """List recorded resources that were read and have lost their classifier: their tags stay.

    Source: docs/reference/metadata-compat.md A23. ``found``: read from the service; what was not read is not released.
    """
    gone = (each.id for each in found if select(classifiers, each) is Selection.NOT_CLASSIFIED)
    return tuple(sorted(set(recorded).intersection(gone)))


def changed_classifiers(cloud: TagDialect, classifiers: Classifiers, keys: Iterable[str]) -> tuple[str, ...]:
    """Those of ``keys`` that are classifiers: an operation may not name them."""
    fixed = {cloud.canonical(key) for key in classifiers.keys}
    return tuple(sorted(key for key in keys if cloud.canonical(key) in fixed))
