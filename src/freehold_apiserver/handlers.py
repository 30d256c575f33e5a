"""HTTP request handlers: the only module that uses aiohttp's request and response types."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from aiohttp import web

from freehold_apiserver import errors, listing, patches, requests
from freehold_apiserver.access import REVIEWS, access_review
from freehold_apiserver.authentication import Authentication
from freehold_apiserver.conversion import show
from freehold_apiserver.errors import ApiError, Notes
from freehold_apiserver.objects import Objects
from freehold_apiserver.reading import JSON, Answer, Reader
from freehold_apiserver.rendering import View
from freehold_apiserver.requests import Target
from freehold_apiserver.resources import Resource
from freehold_apiserver.store import Json, Store, Stored, encode, key_of
from freehold_apiserver.watching import Watch
from freehold_apiserver.write_options import WriteOptions

_LOG = logging.getLogger(__name__)

Extension = Callable[[Json], Awaitable[Json]]
"""Answers a POST with a JSON object to a path of its own. Raises ApiError."""


class Handlers:
    """Handles every request of one server."""

    def __init__(
        self, store: Store, objects: Objects, reader: Reader, closing: asyncio.Event, authentication: Authentication
    ) -> None:
        self._store = store
        self._objects = objects
        self._reader = reader
        self._closing = closing
        self._authentication = authentication
        self.extensions: dict[str, Extension] = {}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Route by path. Refusals and internal errors are answered with a Status object."""
        try:
            headers = request.headers
            self._authentication.check(request.path, headers.getall("Host", ()), headers.getall("Origin", ()), headers)
            if request.path == REVIEWS and request.method == "POST":
                body, _ = requests.decode_body(await request.read(), request.content_type)
                return _json(encode(access_review(body)), 201)
            if request.path in self.extensions:
                return await self._extended(request, self.extensions[request.path])
            found = self._reader.locate(request.path)
            if found is not None:
                return await self._serve(request, *found)
            if request.method != "GET":
                raise errors.method_not_allowed(request.method)
            return _response(self._reader.document(request.path))
        except ApiError as refusal:
            return _json(encode(refusal.status()), refusal.code, tuple(refusal.headers.items()))
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

    async def _serve(self, request: web.Request, resource: Resource, target: Target) -> web.StreamResponse:
        if request.method == "GET" and not (requests.flag(request.query, "watch") and not target.name):
            return _response(await self._reader.resource(resource, target, request.query, _accept(request)))
        notes = Notes([resource.deprecation] if resource.deprecation else [])
        if not target.name:
            return await self._serve_collection(request, resource, target, notes)
        key = (target.namespace or "", target.name)
        match request.method:
            case "PUT":
                body, duplicates = requests.decode_body(await request.read(), request.content_type)
                options = _options(request, "UpdateOptions", duplicates)
                stored = await self._objects.update(resource, key, body, options, notes, target.subresource)
                return self._answer(request, resource, stored, notes)
            case "PATCH":
                body, duplicates = requests.decode_body(await request.read(), request.content_type)
                options = _options(request, "PatchOptions", duplicates)
                if request.content_type == patches.APPLY:
                    stored, created = await self._objects.apply(resource, key, body, options, notes, target.subresource)
                    return self._answer(request, resource, stored, notes, 201 if created else 200)
                stored = await self._objects.patch(
                    resource, key, body, request.content_type, options, notes,
                    custom=resource.custom, subresource=target.subresource,
                )  # fmt: skip
                return self._answer(request, resource, stored, notes)
            case "DELETE" if not target.subresource:
                body = await _optional_body(request)
                delete_options = requests.delete_options(request.query, body)
                deleted = await self._objects.delete(resource, key, delete_options, notes)
                if deleted.gone:
                    return _json(encode(_success(resource, deleted.stored)), 200, notes.headers())
                return self._answer(request, resource, (await show([deleted.stored], resource))[0], notes)
        raise errors.method_not_allowed(request.method)

    async def _serve_collection(
        self, request: web.Request, resource: Resource, target: Target, notes: Notes
    ) -> web.StreamResponse:
        match request.method:
            case "GET":
                return await self._watch(request, resource, target)
            case "POST":
                if resource.namespaced and target.namespace is None:
                    raise errors.method_not_allowed("POST without a namespace")
                body, duplicates = requests.decode_body(await request.read(), request.content_type)
                options = _options(request, "CreateOptions", duplicates)
                stored = await self._objects.create(resource, target.namespace or "", body, options, notes)
                return self._answer(request, resource, stored, notes, 201)
            case "DELETE" if "deletecollection" in resource.verbs:
                options_body = await _optional_body(request)
                delete_options = requests.delete_options(request.query, options_body)
                page = listing.list_page(self._store, resource, target.namespace, request.query)
                shown = replace(page, items=await show(page.items, resource))
                for each in page.items:
                    try:
                        await self._objects.delete(resource, key_of(each), delete_options, notes, named=False)
                    except ApiError as problem:
                        if problem.code != 404:  # another client may have been faster while a webhook was asked
                            raise
                return _json(self._view(request, resource).page(shown), 200, notes.headers())
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
        return self._reader.view(resource, request.query, _accept(request))


def _accept(request: web.Request) -> str:
    return request.headers.get("Accept", "")


def _options(request: web.Request, kind: str, duplicates: tuple[str, ...]) -> WriteOptions:
    agent, applies = request.headers.get("User-Agent", ""), request.content_type == patches.APPLY
    return requests.write_options(request.query, kind, duplicates, agent, applies)


def _json(body: bytes, code: int = 200, headers: Sequence[tuple[str, str]] = ()) -> web.Response:
    # Exactly application/json: some clients decode a Status only from it (docs/reference/kubernetes.md#requests).
    return _response(Answer(body, JSON, headers), code)


def _response(answer: Answer, code: int = 200) -> web.Response:
    response = web.Response(body=answer.body, status=code, content_type=answer.content_type)
    for name, value in answer.headers:
        response.headers.add(name, value)
    return response


async def _optional_body(request: web.Request) -> Mapping[str, object] | None:
    data = await request.read()
    if not data:
        return None
    body, _ = requests.decode_body(data, request.content_type)
    return body if isinstance(body, dict) else None


def _success(resource: Resource, stored: Stored) -> Json:
    """Build the response body of a completed delete."""
    details = {"name": stored.obj["metadata"]["name"], "kind": resource.plural, "uid": stored.obj["metadata"]["uid"]}
    if resource.group:
        details["group"] = resource.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
