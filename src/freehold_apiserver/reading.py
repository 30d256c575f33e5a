"""Answers to GET requests other than watches: documents, objects and lists, as they go over the wire.

It needs a store and no HTTP: :mod:`freehold_apiserver.handlers` serves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from freehold_apiserver import discovery, errors, listing, requests
from freehold_apiserver.authentication import HEALTH
from freehold_apiserver.conversion import show
from freehold_apiserver.errors import Notes
from freehold_apiserver.objects import Objects
from freehold_apiserver.rendering import View, view
from freehold_apiserver.requests import Target
from freehold_apiserver.resources import Registry, Resource
from freehold_apiserver.store import Json, Store, encode

JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    """A body, and the headers beside its content type."""

    body: bytes
    content_type: str = JSON
    headers: Sequence[tuple[str, str]] = ()


class Reader:
    """Answers from a store. ``address``: where the server listens, host and port; empty where there is none."""

    def __init__(self, store: Store, objects: Objects, registry: Registry, now: Callable[[], datetime]) -> None:
        self._store = store
        self._objects = objects
        self._registry = registry
        self._now = now
        self._index = (0, b"")  # generation of the registry, and what /openapi/v3 answers in it
        self.address = ""

    def locate(self, path: str) -> tuple[Resource, Target] | None:
        """Find what a path names; None for one that is not of objects. Raises 404 for what is not served."""
        target = requests.parse_path(path)
        if target is None:
            return None
        resource = self._registry.find(target.group, target.version, target.plural)
        if resource is None or not resource.verbs[1:]:
            raise errors.no_such_path()
        if target.subresource and target.subresource not in resource.subresources:
            raise errors.no_such_path()
        if bool(target.namespace) > resource.namespaced:
            raise errors.no_such_path()
        if target.name and resource.namespaced and target.namespace is None:
            raise errors.no_such_path()
        return resource, target

    async def resource(self, resource: Resource, target: Target, query: Mapping[str, str], accept: str) -> Answer:
        """One object, or a list. Raises ApiError."""
        notes, shown = Notes([resource.deprecation] if resource.deprecation else []), self.view(resource, query, accept)
        if not target.name:
            page = listing.list_page(self._store, resource, target.namespace, query)
            page = replace(page, items=await show(page.items, resource)) if resource.converter else page
            return Answer(shown.page(page), headers=notes.headers())
        found = await show([self._objects.get(resource, target.namespace or "", target.name)], resource)
        return Answer(shown.one(found[0]), headers=notes.headers())

    def view(self, resource: Resource, query: Mapping[str, str], accept: str) -> View:
        """Return the form of an object that a client asks for."""
        return view(resource, accept, query, self._now)

    def document(self, path: str) -> Answer:
        """Paths other than resources: health, version, discovery. Raises 404."""
        path = path.rstrip("/")
        if path.startswith(HEALTH):
            return Answer(b"ok", "text/plain")
        if path.startswith("/openapi/"):
            return self._schema(path.split("/")[2:])
        found = self._discovery(path)
        if found is None:
            raise errors.no_such_path()
        return Answer(encode(found))

    def _discovery(self, path: str) -> Json | None:
        match path.split("/")[1:]:
            case ["version"]:
                return dict(discovery.SERVER_VERSION)
            case ["api"]:
                return discovery.core_versions(self.address)
            case ["apis"]:
                return discovery.group_list(self._registry)
            case ["api", version]:
                return discovery.resource_list(self._registry, "", version)
            case ["apis", group]:
                return discovery.group(self._registry, group)
            case ["apis", group, version]:
                return discovery.resource_list(self._registry, group, version)
        return None

    def _schema(self, parts: Sequence[str]) -> Answer:
        from freehold_apiserver import openapi  # only kubectl asks for it

        found: Json | None = None
        match parts:
            case ["v2"]:
                return Answer(openapi.VERSION_2, openapi.VERSION_2_TYPE)
            case ["v3"]:
                # kubectl asks before each command, and the index has a hash of each document.
                if self._index[0] != self._registry.generation:
                    self._index = (self._registry.generation, encode(openapi.index(self._registry)))
                return Answer(self._index[1])
            case ["v3", "api", version]:
                found = openapi.document(self._registry, "", version)
            case ["v3", "apis", group, version]:
                found = openapi.document(self._registry, group, version)
        if found is None:
            raise errors.no_such_path()
        return Answer(encode(found))
