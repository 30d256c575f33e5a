"""The kinds that a server serves: from a manifest's apiVersion and kind, or from a word of the user, to a Resource."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from freehold.kube.errors import ObjectNotFound
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import Resource
from freehold.providers.registry import SERVED_RESOURCES

OURS: tuple[Resource, ...] = SERVED_RESOURCES
"""The kinds that Freehold reconciles. Where none is named, people are told of ``NOUN``."""
NOUN = "cluster"


class Catalog:
    """Discovery, asked once for each group and version."""

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        self._known: dict[str, list[tuple[Resource, frozenset[str]]]] = {}

    async def find_kind(self, api_version: str, kind: str) -> Resource | None:
        """Find the resource of a kind; None when the server does not know it."""
        for resource, _ in await self._list_kinds(api_version):
            if resource.kind == kind:
                return resource
        return None

    async def find_by_word(self, word: str, among: Sequence[Resource] = ()) -> Resource | None:
        """Find the resource that a user means: kind, plural, singular or short name, with or without its group.

        Ours come first, then the core group, then the rest. ``among`` restricts it. None where there is no such kind.
        As kubectl has it, a group may be shortened, and follow a version: ``awsclusters.v1beta2.infrastructure``.
        """
        name, _, group = word.lower().partition(".")
        versions = sorted({each.api_version for each in among}) if among else await self._versions()
        for api_version in versions:
            for resource, called in await self._list_kinds(api_version):
                wanted = group.removeprefix(f"{resource.version}.")
                if name in called and resource.group.startswith(wanted) and (not among or resource in among):
                    return resource
        return None

    async def names(self) -> list[str]:
        """Return the plurals of all kinds of the server."""
        found = [
            resource.plural for version in await self._versions() for resource, _ in await self._list_kinds(version)
        ]
        return sorted(set(found))

    async def _versions(self) -> list[str]:
        groups = (await self._client.request("GET", "/apis")).get("groups") or []
        preferred = [str(each["preferredVersion"]["groupVersion"]) for each in groups]
        ours = {each.api_version for each in OURS}
        return sorted(["v1", *preferred], key=lambda version: (version not in ours, version != "v1", version))

    async def _list_kinds(self, api_version: str) -> list[tuple[Resource, frozenset[str]]]:
        if api_version not in self._known:
            path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            try:
                found = (await self._client.request("GET", path)).get("resources") or []
            except ObjectNotFound:
                found = []
            self._known[api_version] = [_resource(api_version, each) for each in found if "/" not in each["name"]]
        return self._known[api_version]


def _resource(api_version: str, entry: dict[str, Any]) -> tuple[Resource, frozenset[str]]:
    group, _, version = api_version.rpartition("/")
    resource = Resource(group, version, entry["name"], entry["kind"], bool(entry["namespaced"]))
    names = {entry["name"], entry["kind"].lower(), entry.get("singularName") or "", *(entry.get("shortNames") or ())}
    return resource, frozenset(names - {""})
