"""Base of the clients of an API server, whatever sends the requests. Objects are plain dicts."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlencode

from freehold.kube.errors import (
    Expired,
    KubeError,
    ServerUnavailable,
    TooManyRequests,
    Unauthorized,
    build_response_error,
    build_status_error,
)
from freehold.kube.field_managers import CLI
from freehold.kube.resources import Json, Key, Resource, key_of

PAGE_SIZE = 500
READ_ATTEMPTS = 4
LONGEST_WAIT_SECONDS = 10.0
"""The longest ``Retry-After`` that a read waits for; a longer one is raised to the caller."""

BATCH = "/freehold/batch"
BATCH_REQUESTS = 250
BATCH_BYTES = 1024 * 1024

_NAMED_WRITES = frozenset({"POST", "PUT", "PATCH"})

Sleep = Callable[[float], Awaitable[None]]

_encode = json.JSONEncoder(separators=(",", ":")).encode


class PatchKind(StrEnum):
    """Content types of a patch. Strategic merge is omitted: servers refuse it for custom resources."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Page:
    """Part of a list. ``resource_version`` is the list's, the same on every page of a correct server."""

    items: list[Json]
    resource_version: str
    token: str = ""


@dataclass(frozen=True)
class ObjectList:
    """A whole list, at one resourceVersion."""

    items: list[Json]
    resource_version: str


@dataclass(frozen=True)
class Request:
    """One request of :meth:`ObjectClient.send_many`."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    content_type: str = "application/json"

    def encode(self) -> str:
        """Encode the request for a batch."""
        return _encode(
            {
                "method": self.method, "path": self.path, "query": self.query, "contentType": self.content_type,
                "body": self.body,
            }
        )  # fmt: skip


Outcomes = list[Json | KubeError]
"""The results of requests, in their order."""


class ObjectClient(ABC):
    """A client of one API server; ``server`` is its URL, ``field_manager`` the name under which it writes.

    Every method raises a :class:`~freehold.kube.errors.KubeError`.
    """

    def __init__(self, server: str, sleep: Sleep, field_manager: str = CLI) -> None:
        self._server = server.rstrip("/")
        self._sleep = sleep
        self._manager = field_manager
        self.batches = False
        """True if the server takes many requests in one, as the embedded one does."""

    @abstractmethod
    async def _attempt(
        self, method: str, path: str, query: str, data: bytes | None, content_type: str, accept: str
    ) -> Json:
        """Send a request once; ``query`` is encoded. Returns the decoded body, {} if it is empty."""

    # --- objects -------------------------------------------------------------------------------

    async def get(self, resource: Resource, key: Key) -> Json:
        """Return an object. Raises ObjectNotFound."""
        return await self.request("GET", resource.build_object_path(key))

    async def create(self, resource: Resource, obj: Json) -> Json:
        """Create ``obj`` in its ``metadata.namespace``. Raises AlreadyExists, InvalidRequest."""
        path = resource.build_collection_path(str(obj.get("metadata", {}).get("namespace") or ""))
        return await self.request("POST", path, body=obj)

    async def replace(self, resource: Resource, obj: Json, subresource: str = "") -> Json:
        """Replace the stored object with ``obj``. Raises Conflict when its resourceVersion is stale."""
        return await self.request("PUT", resource.build_object_path(key_of(obj), subresource), body=obj)

    async def patch(
        self, resource: Resource, key: Key, body: object, kind: PatchKind = PatchKind.MERGE, subresource: str = ""
    ) -> Json:
        """Patch an object. A ``metadata.resourceVersion`` in a merge patch makes it fail with Conflict when stale."""
        path = resource.build_object_path(key, subresource)
        return await self.request("PATCH", path, body=body, content_type=kind.value)

    async def patch_status(self, resource: Resource, key: Key, body: object, kind: PatchKind = PatchKind.MERGE) -> Json:
        """Patch the status subresource; ``body`` is the whole patch, ``{"status": ...}``."""
        return await self.patch(resource, key, body, kind, "status")

    async def delete(
        self, resource: Resource, key: Key, *, uid: str = "", resource_version: str = "", propagation: str = ""
    ) -> Json:
        """Request deletion; returns the object if it has finalizers, else a Status.

        ``uid`` and ``resource_version`` are preconditions: on a mismatch nothing is deleted and Conflict
        is raised. ``propagation`` is Background, Foreground or Orphan. Raises ObjectNotFound.
        """
        conditions = {"uid": uid, "resourceVersion": resource_version}
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid or resource_version:
            options["preconditions"] = {name: value for name, value in conditions.items() if value}
        if propagation:
            options["propagationPolicy"] = propagation
        return await self.request("DELETE", resource.build_object_path(key), body=options)

    # --- lists ---------------------------------------------------------------------------------

    async def list_pages(
        self, resource: Resource, namespace: str = "", *, label_selector: str = "", field_selector: str = "",
        limit: int = PAGE_SIZE,
    ) -> AsyncIterator[Page]:  # fmt: skip
        """List page by page, consistently. Raises Expired when the server compacts the history before the last page."""
        query = {"labelSelector": label_selector, "fieldSelector": field_selector, "limit": str(limit) if limit else ""}
        token = ""
        while True:
            answer = await self.request(
                "GET", resource.build_collection_path(namespace), query={**query, "continue": token}
            )
            meta = answer.get("metadata") or {}
            token = str(meta.get("continue") or "")
            yield Page(answer.get("items") or [], str(meta.get("resourceVersion") or ""), token)
            if not token:
                return

    async def list(
        self, resource: Resource, namespace: str = "", *, label_selector: str = "", field_selector: str = "",
        limit: int = PAGE_SIZE,
    ) -> ObjectList:  # fmt: skip
        """List everything at one resourceVersion. If a page expires, the list is requested again without paging."""
        for size in (limit, 0):
            items: list[Json] = []
            version = ""
            try:
                async for page in self.list_pages(
                    resource, namespace, label_selector=label_selector, field_selector=field_selector, limit=size
                ):
                    items += page.items
                    version = version or page.resource_version
            except Expired:
                if size == 0:
                    raise
                continue
            return ObjectList(items, version)
        raise AssertionError("unreachable: the last attempt returns or raises")

    # --- requests ------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "application/json",
        accept: str = "",
    ) -> Json:
        """Send a request; returns the decoded response body, {} if it is empty. ``accept`` asks for another media type.

        After a 401 the credentials are renewed and the request is retried once. A read honors the Retry-After
        of a 429 or 503 (up to ``LONGEST_WAIT_SECONDS``, three times); a write is not retried here, but by the
        queue of its caller.
        """
        data = _encode(body).encode() if body is not None else None
        if method in _NAMED_WRITES:
            query = {"fieldManager": self._manager, **(query or {})}
        return await self._send_with_retries(method, path, query, data, content_type, accept)

    async def _send_with_retries(
        self, method: str, path: str, query: Mapping[str, str] | None, data: bytes | None, content_type: str,
        accept: str = "",
    ) -> Json:  # fmt: skip
        given = urlencode({name: value for name, value in query.items() if value}) if query else ""
        attempts = READ_ATTEMPTS if method == "GET" else 1
        while True:
            attempts -= 1
            try:
                return await self._attempt(method, path, given, data, content_type, accept)
            except (TooManyRequests, ServerUnavailable) as problem:
                wait = problem.retry_after
                if problem.code == 429 and wait is None:
                    wait = 1.0
                if not attempts or wait is None or wait > LONGEST_WAIT_SECONDS:
                    raise
                import random  # imported here because only a wait needs it

                await self._sleep(wait * (1.0 + random.random() * 0.2))

    async def send_many(
        self, requests: Sequence[Request], done: Callable[[int], None] = lambda number: None, *, brief: bool = False
    ) -> Outcomes:
        """Send requests and return their results in order. ``done`` gets the number sent. Raises ServerUnavailable.

        They are GET, POST and PATCH of single objects. A write that may have taken effect is not repeated. With
        ``brief`` a result has only the object's resourceVersion.
        """
        if self.batches:
            try:
                return await self._send_in_batches(requests, done, brief=brief)
            except KubeError as problem:
                if problem.code not in (404, 405):
                    raise
                self.batches = False  # a server of an earlier version
        found: Outcomes = []
        for each in requests:
            try:
                found.append(
                    await self.request(
                        each.method, each.path, query=each.query, body=each.body, content_type=each.content_type
                    )
                )
            except ServerUnavailable:
                raise
            except KubeError as refusal:
                found.append(refusal)
            done(len(found))
        return found

    async def _send_in_batches(
        self, requests: Sequence[Request], done: Callable[[int], None], *, brief: bool
    ) -> Outcomes:
        found: Outcomes = []
        for part in _split_batches([each.encode() for each in requests]):
            data = f'{{"brief":{_encode(brief)},"requests":[{",".join(part)}]}}'.encode()
            answer = await self._send_with_retries("POST", BATCH, None, data, "application/json")
            found += map(_read_answer, answer["answers"])
            done(len(found))
        return found

    # --- answers -------------------------------------------------------------------------------

    def _decode(self, answer: bytes, status: int, what: str) -> Json:
        """Decode the body of a successful response; ``what`` is method and path."""
        if not answer:
            return {}
        try:
            decoded = json.loads(answer)
        except (ValueError, RecursionError):
            raise ServerUnavailable(f"{what}: the answer is not JSON", code=status) from None
        if not isinstance(decoded, dict):
            raise ServerUnavailable(f"{what}: the answer is not a JSON object", code=status)
        return decoded

    def _build_refusal(self, status: int, body: bytes, retry_after: str | None, what: str) -> KubeError:
        error = build_response_error(status, body, retry_after, what)
        if isinstance(error, Unauthorized):
            error.message = f"{self._server} refuses the credentials: {error.message}"
        return error

    def _build_no_answer(self, what: str, problem: Exception) -> ServerUnavailable:
        if isinstance(problem, TimeoutError):
            return ServerUnavailable(f"{what}: {self._server} did not answer in time")
        return ServerUnavailable(f"{what}: {self._server} cannot be reached: {explain_unreachable(problem)}")


def _split_batches(encoded: Iterable[str]) -> Iterator[list[str]]:
    """Split requests into batches of at most ``BATCH_REQUESTS``, and of ``BATCH_BYTES`` unless one alone is larger."""
    part: list[str] = []
    size = 0
    for each in encoded:
        if part and (len(part) == BATCH_REQUESTS or size + len(each) > BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(each)
        size += len(each)
    if part:
        yield part


def _read_answer(answer: Json) -> Json | KubeError:
    body: Json = answer["body"]
    return body if answer["code"] < 300 else build_status_error(body, answer["code"])


def explain_unreachable(problem: Exception) -> str:
    """Explain a failed connection in short: a library's own text repeats the address and names the failed call."""
    cause = getattr(problem, "os_error", problem)
    if isinstance(cause, ConnectionError) and cause.errno:
        return os.strerror(cause.errno)
    return str(problem) or type(problem).__name__
