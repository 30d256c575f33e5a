"""Response formats: full objects, metadata only, or a Table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from freehold_apiserver import tables
from freehold_apiserver.listing import Page, list_metadata
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json, Stored, encode


class View(Protocol):
    """Renders stored objects as response bodies."""

    def one(self, stored: Stored) -> bytes:
        """One object, in a response or in a watch event."""

    def page(self, page: Page) -> bytes:
        """Return a page of a list."""

    def bookmark(self, metadata: Json) -> bytes:
        """Build the object of a BOOKMARK event: of the kind that the other events of this watch carry."""


def view(resource: Resource, accept: str, query: Mapping[str, str], now: Callable[[], datetime]) -> View:
    """Choose the view that the Accept header requests; full objects for an unsupported format."""
    match _transform(accept):
        case "Table":
            return _TableView(resource, query.get("includeObject") or "Metadata", now)
        case "PartialObjectMetadata" | "PartialObjectMetadataList":
            return _MetadataView()
    return ObjectView(resource)


_ANY_JSON = ("application/json", "application/*", "*/*")
_TRANSFORMS = ("", "Table", "PartialObjectMetadata", "PartialObjectMetadataList")


def _transform(accept: str) -> str:
    """Read the form that the first usable clause of an Accept header names (``as=…``); empty for the object itself.

    Typed clients list protobuf first and JSON after it: then the clause of JSON counts. Where only protobuf is
    listed its form counts, and the answer is JSON, which these clients read by its Content-Type.
    """
    clauses = [_clause(each) for each in accept.split(",")]
    usable = [(media, form) for media, form in clauses if form in _TRANSFORMS]
    json_first = [form for media, form in usable if media in _ANY_JSON] or [form for _, form in usable]
    return json_first[0] if json_first else ""


def _clause(text: str) -> tuple[str, str]:
    """Media type and form of one clause; the form is ``?`` for a version that is not served."""
    media, *parameters = (part.strip() for part in text.split(";"))
    given = dict(parameter.partition("=")[::2] for parameter in parameters)
    if "as" not in given:
        return media, ""
    served = (given.get("g"), given.get("v")) == ("meta.k8s.io", "v1")
    return media, given["as"] if served else "?"


class ObjectView:
    """Full objects at the requested version (versions differ in ``apiVersion`` only)."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def one(self, stored: Stored) -> bytes:
        if stored.body and stored.obj["apiVersion"] == self._resource.api_version:
            return stored.body
        return encode(self._resource.shown(stored.obj))

    def page(self, page: Page) -> bytes:
        return b'{"kind":"%s","apiVersion":"%s","metadata":%s,"items":[%s]}' % (
            self._resource.list_kind.encode(),
            self._resource.api_version.encode(),
            encode(list_metadata(page)),
            b",".join(self.one(each) for each in page.items),
        )

    def bookmark(self, metadata: Json) -> bytes:
        return encode({"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata})


class _MetadataView:
    def one(self, stored: Stored) -> bytes:
        return encode(tables.partial(stored.obj))

    def bookmark(self, metadata: Json) -> bytes:
        return encode(tables.partial({"metadata": metadata}))

    def page(self, page: Page) -> bytes:
        items = [tables.partial(each.obj) for each in page.items]
        meta = list_metadata(page)
        return encode(
            {"kind": "PartialObjectMetadataList", "apiVersion": tables.META, "metadata": meta, "items": items}
        )


class _TableView:
    def __init__(self, resource: Resource, include: str, now: Callable[[], datetime]) -> None:
        self._resource = resource
        self._include = include
        self._now = now

    def one(self, stored: Stored) -> bytes:
        return self._table([stored], {"resourceVersion": stored.obj["metadata"].get("resourceVersion", "")})

    def page(self, page: Page) -> bytes:
        return self._table(page.items, list_metadata(page))

    def bookmark(self, metadata: Json) -> bytes:
        # client-go reads the resourceVersion of a Table's bookmark from the object of its only row.
        obj = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata}
        return self._table([Stored(0, obj, b"")], {"resourceVersion": metadata["resourceVersion"]})

    def _table(self, items: list[Stored], meta: Json) -> bytes:
        objects = [each.obj for each in items]
        table = tables.table(self._resource.columns, objects, meta, self._row_object, self._now())
        return encode(table)

    def _row_object(self, obj: Json) -> Json | None:
        if self._include == "None":
            return None
        return self._resource.shown(obj) if self._include == "Object" else tables.partial(obj)
