"""The served resources: one :class:`Resource` per (group, version, plural), and their registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from freehold_apiserver.metadata import NameRule
from freehold_apiserver.store import Json
from freehold_apiserver.strategy import Strategy
from freehold_apiserver.tables import AGE, NAME, Column

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class StoredAs:
    """The storage of a resource whose objects are those of another one, with other field names."""

    group: str
    plural: str
    to_storage: Callable[[Json], Json]
    from_storage: Callable[[Json], Json]


class Converter(Protocol):
    """Converts custom resources between versions that have different fields."""

    async def convert(self, objects: Sequence[Json], api_version: str) -> list[Json]:
        """Convert objects, none of which is in this version yet. Raises ApiError."""


@dataclass(frozen=True)
class Resource:
    """One served resource at one version. Versions of a kind share a collection in the store."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    storage_version: str
    strategy: Strategy
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS
    columns: tuple[Column, ...] = (NAME, AGE)
    schema: Mapping[str, Any] = field(default_factory=dict)
    deprecation: str = ""
    custom: bool = False
    stored_as: StoredAs | None = None
    names: NameRule = "subdomain"
    converter: Converter | None = None
    """Only for CRDs with a conversion webhook; without it versions differ in ``apiVersion`` alone."""

    @property
    def api_version(self) -> str:
        return api_version(self.group, self.version)

    @property
    def collection(self) -> str:
        """The name of its collection in the store."""
        place = self.stored_as or self
        return f"{place.group}/{place.plural}"

    @property
    def storage_api_version(self) -> str:
        """The apiVersion of its objects in the store."""
        return api_version((self.stored_as or self).group, self.storage_version)

    def shown(self, obj: Json) -> Json:
        """Convert a stored object to the form in which this resource serves it."""
        served = self.stored_as.from_storage(obj) if self.stored_as else obj
        return {**served, "apiVersion": self.api_version}

    def to_storage(self, obj: Json) -> Json:
        """Convert an object of this resource to the field names of the store."""
        return self.stored_as.to_storage(obj) if self.stored_as else obj


def api_version(group: str, version: str) -> str:
    """``v1`` for the core group, ``group/version`` for the others."""
    return f"{group}/{version}" if group else version


class Registry:
    """The served resources, by path and by kind. ``generation`` changes with them."""

    generation = 0

    def __init__(self, built_in: Iterable[Resource]) -> None:
        self._built_in = {(each.group, each.version, each.plural): each for each in built_in}
        self._custom: dict[str, tuple[Resource, ...]] = {}
        self._storage: dict[str, Resource] = {}
        self._all = dict(self._built_in)
        self._rebuild()

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._all.get((group, version, plural))

    def of_kind(self, group: str, kind: str) -> Resource | None:
        """Any served version of a kind."""
        return next((each for each in self._all.values() if each.group == group and each.kind == kind), None)

    def of_collection(self, collection: str) -> Resource | None:
        """Find the resource in the version in which the objects of a collection are stored, served or not."""
        return self._storage.get(collection)

    def set_custom(self, crd: str, resources: Iterable[Resource], storage: Resource) -> None:
        """Replace the resources served for the CRD of this name; ``storage`` is that of the stored version."""
        self._custom[crd] = (storage, *resources)
        self._rebuild()

    def drop_custom(self, crd: str) -> None:
        self._custom.pop(crd, None)
        self._rebuild()

    def _rebuild(self) -> None:
        self.generation += 1
        self._all = dict(self._built_in)
        self._storage = {each.collection: each for each in self._built_in.values() if each.stored_as is None}
        for storage, *resources in self._custom.values():
            self._storage[storage.collection] = storage
            self._all.update({(each.group, each.version, each.plural): each for each in resources})

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._all.values())

    def in_group(self, group: str, version: str) -> list[Resource]:
        found = [each for each in self._all.values() if (each.group, each.version) == (group, version)]
        return sorted(found, key=lambda each: each.plural)

    def groups(self) -> dict[str, list[str]]:
        """Versions of every named group, the preferred one first."""
        versions: dict[str, set[str]] = {}
        for each in self._all.values():
            if each.group:
                versions.setdefault(each.group, set()).add(each.version)
        return {group: sorted(found, key=version_rank) for group, found in sorted(versions.items())}

    def namespaced(self) -> list[Resource]:
        """List the stored version of every namespaced resource."""
        return [each for each in self._storage.values() if each.namespaced]


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sort key of Kubernetes version priority: v2 before v1 before v1beta2 before v1alpha1 before others."""
    rest = version.removeprefix("v")
    major = rest
    for stage, rank in (("beta", 1), ("alpha", 2)):
        if stage in rest:
            major, _, minor = rest.partition(stage)
            if major.isdigit() and (minor.isdigit() or not minor):
                return (rank, -int(major), -int(minor or 0), version)
    return (0, -int(major), 0, version) if rest != version and major.isdigit() else (3, 0, 0, version)
