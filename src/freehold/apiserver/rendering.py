"""Response formats: full objects, metadata only, or a Table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from freehold.apiserver import tables
from freehold.apiserver.listing import Page, list_metadata
from freehold.apiserver.resources import Resource
from freehold.apiserver.store import Json, Stored, encode


class View(Protocol):
    """Renders stored objects as response bodies."""

    def one(self, stored: Stored) -> bytes:
        """One object, in a response or in a watch event."""

    def page(self, page: Page) -> bytes:
        """A page of a list."""


def view(resource: Resource, accept: str, query: Mapping[str, str], now: Callable[[], datetime]) -> View:
    """The view that the Accept header requests; full objects for an unsupported format."""
    if tables.wanted(accept):
        return _TableView(resource, query.get("includeObject") or "Metadata", now)
    if "as=PartialObjectMetadata" in accept.split(",")[0]:
        return _MetadataView(resource)
    return ObjectView(resource)


class ObjectView:
    """Full objects at the requested version (versions differ in ``apiVersion`` only)."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def one(self, stored: Stored) -> bytes:
        if stored.body and stored.obj["apiVersion"] == self._resource.api_version:
            return stored.body
        return encode({**stored.obj, "apiVersion": self._resource.api_version})

    def page(self, page: Page) -> bytes:
        return b'{"kind":"%s","apiVersion":"%s","metadata":%s,"items":[%s]}' % (
            self._resource.list_kind.encode(),
            self._resource.api_version.encode(),
            encode(list_metadata(page)),
            b",".join(self.one(each) for each in page.items),
        )


class _MetadataView:
    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def one(self, stored: Stored) -> bytes:
        return encode(self._partial(stored))

    def page(self, page: Page) -> bytes:
        items = [self._partial(each) for each in page.items]
        meta = list_metadata(page)
        return encode(
            {"kind": "PartialObjectMetadataList", "apiVersion": tables.META, "metadata": meta, "items": items}
        )

    def _partial(self, stored: Stored) -> Json:
        return tables.partial(stored.obj)


class _TableView:
    def __init__(self, resource: Resource, include: str, now: Callable[[], datetime]) -> None:
        self._resource = resource
        self._include = include
        self._now = now

    def one(self, stored: Stored) -> bytes:
        return self._table([stored], {"resourceVersion": stored.obj["metadata"].get("resourceVersion", "")})

    def page(self, page: Page) -> bytes:
        return self._table(page.items, list_metadata(page))

    def _table(self, items: list[Stored], meta: Json) -> bytes:
        objects = [{**each.obj, "apiVersion": self._resource.api_version} for each in items]
        return encode(tables.table(self._resource.columns, objects, meta, self._include, self._now()))
