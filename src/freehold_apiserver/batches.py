"""Many requests in one: what a client with thousands of objects sends. Not of Kubernetes, and below no path of it.

Each is handled by itself, in the order given, as if it had come alone; one that is refused stops no other.
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import unquote

from freehold_apiserver import errors, patches, requests
from freehold_apiserver.conversion import show
from freehold_apiserver.errors import ApiError, Notes
from freehold_apiserver.objects import Objects
from freehold_apiserver.resources import Registry
from freehold_apiserver.store import Json

PATH = "/freehold/batch"

_AT_ONCE = 50
"""Requests that are handled before those of other clients."""


class Batches:
    """Answers ``{"requests": [{method, path, query, contentType, body}]}`` with ``{"answers": [{code, body}]}``.

    GET, POST and PATCH of single objects; the body of a refusal is its Status. With ``"brief": true`` the body of
    an object has only its resourceVersion.
    """

    def __init__(self, objects: Objects, registry: Registry) -> None:
        self._objects = objects
        self._registry = registry

    async def answer(self, body: Json) -> Json:
        """Read a batch. Raises ApiError for what is no batch."""
        given = body.get("requests")
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise errors.bad_request("requests is not a list of objects")
        answers, brief = [], body.get("brief") is True
        for number, each in enumerate(given, 1):
            answer = await self._answer(each)
            answers.append(_brief(answer) if brief and answer["code"] < 300 else answer)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        return {"answers": answers}

    async def _answer(self, request: Json) -> Json:
        try:
            code, body = await self._handled(
                str(request.get("method")), str(request.get("path")), request.get("query") or {},
                str(request.get("contentType")), request.get("body"),
            )  # fmt: skip
        except ApiError as refusal:
            return {"code": refusal.code, "body": refusal.status()}
        return {"code": code, "body": body}

    async def _handled(self, method: str, path: str, query: Any, kind: str, body: Any) -> tuple[int, Json]:
        if not isinstance(query, dict) or not all(isinstance(each, str) for each in query.values()):
            raise errors.bad_request("the query of a request is not a map of texts")
        target = requests.parse_path(unquote(path))
        resource = self._registry.find(target.group, target.version, target.plural) if target else None
        if target is None or resource is None or target.subresource or resource.namespaced != bool(target.namespace):
            raise errors.no_such_path()
        namespace, notes = target.namespace or "", Notes()
        if method == "GET" and target.name:
            found = await show([self._objects.get(resource, namespace, target.name)], resource)
            return 200, resource.shown(found[0].obj)
        if method == "POST" and not target.name:
            options = requests.write_options(query, "CreateOptions")
            made = await self._objects.create(resource, namespace, body, options, notes)
            return 201, resource.shown(made.obj)
        if method == "PATCH" and target.name:
            key, applies = (namespace, target.name), kind == patches.APPLY
            options = requests.write_options(query, "PatchOptions", applies=applies)
            if applies:
                stored, created = await self._objects.apply(resource, key, body, options, notes)
                return 201 if created else 200, resource.shown(stored.obj)
            patched = await self._objects.patch(resource, key, body, kind, options, notes, custom=resource.custom)
            return 200, resource.shown(patched.obj)
        raise errors.method_not_allowed(method)


def _brief(answer: Json) -> Json:
    version = answer["body"]["metadata"].get("resourceVersion")
    return {"code": answer["code"], "body": {"metadata": {"resourceVersion": version}}}
