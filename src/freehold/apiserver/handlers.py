"""HTTP request handlers: the only module that uses aiohttp's request and response types."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime

from aiohttp import web

from freehold.apiserver import discovery, errors, listing, openapi, patches, requests
from freehold.apiserver.access import REVIEWS, access_review
from freehold.apiserver.errors import ApiError, Notes
from freehold.apiserver.objects import Objects, WriteOptions
from freehold.apiserver.rendering import View, view
from freehold.apiserver.requests import Target
from freehold.apiserver.resources import Registry, Resource
from freehold.apiserver.store import Json, Store, Stored, encode, key_of
from freehold.apiserver.watching import Watch

_LOG = logging.getLogger(__name__)
_HEALTH = ("/healthz", "/readyz", "/livez")

Extension = Callable[[Json], Awaitable[Json]]
"""Answers a POST with a JSON object to a path of its own. Raises ApiError."""


class Handlers:
    """Handles every request of one server."""

    def __init__(
        self, store: Store, objects: Objects, registry: Registry, now: Callable[[], datetime], closing: asyncio.Event
    ) -> None:
        self._store = store
        self._objects = objects
        self._registry = registry
        self._now = now
        self._closing = closing
        self.address = ""
        self.extensions: dict[str, Extension] = {}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Route by path. Refusals and internal errors are answered with a Status object."""
        try:
            if request.path == REVIEWS and request.method == "POST":
                body, _ = requests.decode_body(await request.read(), request.content_type)
                return _json(encode(access_review(body)), 201)
            if request.path in self.extensions:
                return await self._extended(request, self.extensions[request.path])
            target = requests.parse_path(request.path)
            if target is None:
                return self._document(request)
            resource = self._registry.find(target.group, target.version, target.plural)
            if resource is None or not resource.verbs[1:]:
                raise errors.no_such_path()
            return await self._serve(request, resource, target)
        except ApiError as refusal:
            return _json(encode(refusal.status()), refusal.code, refusal.headers.items())
        except web.HTTPRequestEntityTooLarge:
            too_big = ApiError(413, "RequestEntityTooLarge", "the body of the request is larger than this server takes")
            return _json(encode(too_big.status()), too_big.code)
        except Exception:  # logged with traceback; the client gets a Status object without one
            _LOG.exception("%s %s could not be served", request.method, request.path)
            failure = ApiError(500, "InternalError", "Internal error occurred: the server log has the details")
            return _json(encode(failure.status()), failure.code)

    async def _extended(self, request: web.Request, extension: Extension) -> web.StreamResponse:
        if request.method != "POST":
            raise errors.method_not_allowed(request.method)
        body, _ = requests.decode_body(await request.read(), request.content_type)
        if not isinstance(body, dict):
            raise errors.bad_request("the body of the request is not a JSON object")
        return _json(encode(await extension(body)))

    def _document(self, request: web.Request) -> web.StreamResponse:
        """Paths other than resources: health, version, discovery."""
        if request.method != "GET":
            raise errors.method_not_allowed(request.method)
        path = request.path.rstrip("/")
        parts = path.split("/")[1:]
        found: Json | None = None
        if path.startswith(_HEALTH):
            return web.Response(body=b"ok", content_type="text/plain")
        if path == "/openapi/v2":
            return web.Response(body=openapi.VERSION_2, content_type=openapi.VERSION_2_TYPE)
        if path == "/version":
            found = dict(discovery.SERVER_VERSION)
        elif path == "/api":
            found = discovery.core_versions(self.address)
        elif path == "/apis":
            found = discovery.group_list(self._registry)
        elif parts[0] == "api" and len(parts) == 2:
            found = discovery.resource_list(self._registry, "", parts[1])
        elif parts[0] == "apis" and len(parts) == 2:
            found = discovery.group(self._registry, parts[1])
        elif parts[0] == "apis" and len(parts) == 3:
            found = discovery.resource_list(self._registry, parts[1], parts[2])
        elif path == "/openapi/v3":
            found = openapi.index(self._registry)
        elif parts[:2] == ["openapi", "v3"] and parts[2:3] == ["api"] and len(parts) == 4:
            found = openapi.document(self._registry, "", parts[3])
        elif parts[:2] == ["openapi", "v3"] and parts[2:3] == ["apis"] and len(parts) == 5:
            found = openapi.document(self._registry, parts[3], parts[4])
        if found is None:
            raise errors.no_such_path()
        return _json(encode(found))

    async def _serve(self, request: web.Request, resource: Resource, target: Target) -> web.StreamResponse:
        if target.subresource and target.subresource not in resource.subresources:
            raise errors.no_such_path()
        if bool(target.namespace) > resource.namespaced:
            raise errors.no_such_path()
        notes = Notes([resource.deprecation] if resource.deprecation else [])
        if not target.name:
            return await self._serve_collection(request, resource, target, notes)
        if resource.namespaced and target.namespace is None:
            raise errors.no_such_path()
        key = (target.namespace or "", target.name)
        match request.method:
            case "GET":
                return self._answer(request, resource, self._objects.get(resource, *key), notes)
            case "PUT":
                body, duplicates = requests.decode_body(await request.read(), request.content_type)
                options = _options(request, "UpdateOptions", duplicates)
                stored = self._objects.update(resource, key, body, options, notes, target.subresource)
                return self._answer(request, resource, stored, notes)
            case "PATCH":
                body, duplicates = requests.decode_body(await request.read(), request.content_type)
                options = _options(request, "PatchOptions", duplicates)
                if request.content_type == patches.APPLY:
                    stored, created = self._objects.apply(resource, key, body, options, notes, target.subresource)
                    return self._answer(request, resource, stored, notes, 201 if created else 200)
                stored = self._objects.patch(
                    resource, key, body, request.content_type, options, notes,
                    custom=resource.custom, subresource=target.subresource,
                )  # fmt: skip
                return self._answer(request, resource, stored, notes)
            case "DELETE" if not target.subresource:
                body = await _optional_body(request)
                deleted = self._objects.delete(resource, key, requests.delete_options(request.query, body))
                if deleted.gone:
                    return _json(encode(_success(resource, deleted.stored)), 200, notes.headers())
                return self._answer(request, resource, deleted.stored, notes)
        raise errors.method_not_allowed(request.method)

    async def _serve_collection(
        self, request: web.Request, resource: Resource, target: Target, notes: Notes
    ) -> web.StreamResponse:
        match request.method:
            case "GET" if requests.flag(request.query, "watch"):
                return await self._watch(request, resource, target)
            case "GET":
                page = listing.list_page(self._store, resource, target.namespace, request.query)
                return _json(self._view(request, resource).page(page), 200, notes.headers())
            case "POST":
                if resource.namespaced and target.namespace is None:
                    raise errors.method_not_allowed("POST without a namespace")
                body, duplicates = requests.decode_body(await request.read(), request.content_type)
                options = _options(request, "CreateOptions", duplicates)
                stored = self._objects.create(resource, target.namespace or "", body, options, notes)
                return self._answer(request, resource, stored, notes, 201)
            case "DELETE" if "deletecollection" in resource.verbs:
                options_body = await _optional_body(request)
                page = listing.list_page(self._store, resource, target.namespace, request.query)
                for each in page.items:
                    self._objects.delete(resource, key_of(each), requests.delete_options(request.query, options_body))
                return _json(self._view(request, resource).page(page), 200, notes.headers())
        raise errors.method_not_allowed(request.method)

    async def _watch(self, request: web.Request, resource: Resource, target: Target) -> web.StreamResponse:
        watch = Watch(self._store, resource, target.namespace, request.query, self._view(request, resource))
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Cache-Control": "no-cache"})
        await response.prepare(request)
        async for lines in watch.lines(self._closing):
            try:
                await response.write(lines)
            except ConnectionResetError:
                break
        return response

    def _answer(
        self, request: web.Request, resource: Resource, stored: Stored, notes: Notes, code: int = 200
    ) -> web.Response:
        return _json(self._view(request, resource).one(stored), code, notes.headers())

    def _view(self, request: web.Request, resource: Resource) -> View:
        return view(resource, request.headers.get("Accept", ""), request.query, self._now)


def _options(request: web.Request, kind: str, duplicates: tuple[str, ...]) -> WriteOptions:
    agent, applies = request.headers.get("User-Agent", ""), request.content_type == patches.APPLY
    return requests.write_options(request.query, kind, duplicates, agent, applies)


def _json(body: bytes, code: int = 200, headers: Iterable[tuple[str, str]] = ()) -> web.Response:
    # Exactly application/json: some clients decode a Status only from it (docs/reference/kubernetes.md#requests).
    response = web.Response(body=body, status=code, content_type="application/json")
    for name, value in headers:
        response.headers.add(name, value)
    return response


async def _optional_body(request: web.Request) -> Mapping[str, object] | None:
    data = await request.read()
    if not data:
        return None
    body, _ = requests.decode_body(data, request.content_type)
    return body if isinstance(body, dict) else None


def _success(resource: Resource, stored: Stored) -> Json:
    """The response body of a completed delete."""
    details = {"name": stored.obj["metadata"]["name"], "kind": resource.plural, "uid": stored.obj["metadata"]["uid"]}
    if resource.group:
        details["group"] = resource.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
