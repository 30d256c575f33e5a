"""A thin Kubernetes client: requests, pages, patches. Objects are plain dicts.

ADR 1 explains why no library is used. ``trust_env`` stays off: with it aiohttp makes two thread hops per request,
at six times the CPU cost (docs/reference/kubernetes.md#requests); a proxy is resolved once, in ``config``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from freehold.kube.auth import Credential
from freehold.kube.config import Connection
from freehold.kube.errors import Expired, KubeError, Throttled, Unauthorized, Unavailable, of_response
from freehold.kube.resources import Json, Key, Resource, key_of
from freehold.kube.tls import TlsContext

PAGE_SIZE = 500
READ_ATTEMPTS = 4
LONGEST_WAIT_SECONDS = 10.0
"""The longest ``Retry-After`` that a read waits for; a longer one is raised to the caller."""

Sleep = Callable[[float], Awaitable[None]]

_encode = json.JSONEncoder(separators=(",", ":")).encode


class PatchKind(StrEnum):
    """Content types of a patch. Strategic merge is omitted: servers refuse it for custom resources."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


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


class KubeClient:
    """Talks to one API server. Use as an async context manager, or call ``close``.

    Every method raises a :class:`~freehold.kube.errors.KubeError`. ``timeout`` is seconds of wall time
    for one request; ``connections`` must exceed watches plus workers.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        timeout: float = 30.0,
        connections: int = 100,
        user_agent: str = "freehold",
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.connection = connection
        self._server = connection.server.rstrip("/")
        self._tls = TlsContext(connection.tls) if self._server.startswith("https:") else None
        self._timeout = aiohttp.ClientTimeout(total=timeout, connect=min(timeout, 15.0))
        self._connections = connections
        self._user_agent = user_agent
        self._sleep = sleep
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    # --- objects -------------------------------------------------------------------------------

    async def get(self, resource: Resource, key: Key) -> Json:
        """One object. Raises NotFound."""
        return await self.request("GET", resource.object_path(key))

    async def create(self, resource: Resource, obj: Json) -> Json:
        """Create ``obj`` in its ``metadata.namespace``. Raises AlreadyExists, Invalid."""
        path = resource.collection_path(str(obj.get("metadata", {}).get("namespace") or ""))
        return await self.request("POST", path, body=obj)

    async def replace(self, resource: Resource, obj: Json, subresource: str = "") -> Json:
        """Replace the stored object with ``obj``. Raises Conflict when its resourceVersion is stale."""
        return await self.request("PUT", resource.object_path(key_of(obj), subresource), body=obj)

    async def patch(
        self, resource: Resource, key: Key, body: object, kind: PatchKind = PatchKind.MERGE, subresource: str = ""
    ) -> Json:
        """Patch an object. A ``metadata.resourceVersion`` in a merge patch makes it fail with Conflict when stale."""
        path = resource.object_path(key, subresource)
        return await self.request("PATCH", path, body=body, content_type=kind.value)

    async def patch_status(self, resource: Resource, key: Key, body: object, kind: PatchKind = PatchKind.MERGE) -> Json:
        """Patch the status subresource; ``body`` is the whole patch, ``{"status": ...}``."""
        return await self.patch(resource, key, body, kind, "status")

    async def delete(
        self, resource: Resource, key: Key, *, uid: str = "", resource_version: str = "", propagation: str = ""
    ) -> Json:
        """Request deletion; returns the object if it has finalizers, else a Status.

        ``uid`` and ``resource_version`` are preconditions: on a mismatch nothing is deleted and Conflict
        is raised. ``propagation`` is Background, Foreground or Orphan. Raises NotFound.
        """
        conditions = {"uid": uid, "resourceVersion": resource_version}
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid or resource_version:
            options["preconditions"] = {name: value for name, value in conditions.items() if value}
        if propagation:
            options["propagationPolicy"] = propagation
        return await self.request("DELETE", resource.object_path(key), body=options)

    # --- lists ---------------------------------------------------------------------------------

    async def pages(
        self, resource: Resource, namespace: str = "", *, label_selector: str = "", field_selector: str = "",
        limit: int = PAGE_SIZE,
    ) -> AsyncIterator[Page]:  # fmt: skip
        """A consistent list, page by page. Raises Expired when the server compacts the history before the last page."""
        query = {"labelSelector": label_selector, "fieldSelector": field_selector, "limit": str(limit) if limit else ""}
        token = ""
        while True:
            answer = await self.request("GET", resource.collection_path(namespace), query={**query, "continue": token})
            meta = answer.get("metadata") or {}
            token = str(meta.get("continue") or "")
            yield Page(answer.get("items") or [], str(meta.get("resourceVersion") or ""), token)
            if not token:
                return

    async def list(
        self, resource: Resource, namespace: str = "", *, label_selector: str = "", field_selector: str = "",
        limit: int = PAGE_SIZE,
    ) -> ObjectList:  # fmt: skip
        """The whole list at one resourceVersion; if a page expires, it is requested again without paging."""
        for size in (limit, 0):
            items: list[Json] = []
            version = ""
            try:
                async for page in self.pages(
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
        """One request; returns the decoded response body, {} if it is empty. ``accept``: another form of it.

        After a 401 the credentials are renewed and the request is retried once. A read honors the Retry-After
        of a 429 or 503 (up to ``LONGEST_WAIT_SECONDS``, three times); a write is not retried here, but by the
        queue of its caller.
        """
        data = _encode(body).encode() if body is not None else None
        url = self._url(path, query)
        attempts = READ_ATTEMPTS if method == "GET" else 1
        while True:
            attempts -= 1
            try:
                return await self._attempt(method, url, data, content_type, accept)
            except (Throttled, Unavailable) as problem:
                wait = problem.retry_after
                if problem.code == 429 and wait is None:
                    wait = 1.0
                if not attempts or wait is None or wait > LONGEST_WAIT_SECONDS:
                    raise
                await self._sleep(wait * (1.0 + random.random() * 0.2))

    async def _attempt(self, method: str, url: URL, data: bytes | None, content_type: str, accept: str) -> Json:
        headers = {"Content-Type": content_type} if data is not None else {}
        if accept:
            headers["Accept"] = accept
        try:
            response = await self._send(method, url, data, headers, self._timeout)
            async with response:
                answer = await response.read()
        except (aiohttp.ClientError, TimeoutError) as problem:
            raise self._no_answer(method, url, problem) from problem
        if not answer:
            return {}
        try:
            decoded = json.loads(answer)
        except ValueError:
            raise Unavailable(f"{method} {url.path}: the answer is not JSON", code=response.status) from None
        if not isinstance(decoded, dict):
            raise Unavailable(f"{method} {url.path}: the answer is not a JSON object", code=response.status)
        return decoded

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """A streaming response. Raises Unavailable after ``idle_timeout`` seconds without a byte."""
        limits = aiohttp.ClientTimeout(total=None, connect=15.0, sock_read=idle_timeout)
        url = self._url(path, query)
        try:
            response = await self._send("GET", url, None, {}, limits)
            async with response:
                try:
                    yield response.content
                finally:
                    _hang_up(response)
        except (aiohttp.ClientError, TimeoutError) as problem:
            raise self._no_answer("GET", url, problem) from problem

    async def _send(
        self, method: str, url: URL, data: bytes | None, headers: dict[str, str], limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """A successful response with its body unread. Raises KubeError for any other status, and aiohttp's errors."""
        credential = await self.connection.credentials.get()
        response = await self._once(method, url, data, headers, limits, credential)
        if response.status == 401:
            response.release()
            self.connection.credentials.invalidate(credential)
            credential = await self.connection.credentials.get()
            response = await self._once(method, url, data, headers, limits, credential)
        if response.status >= 300:
            async with response:
                raise self._refusal(response, await response.read(), f"{method} {url.path}")
        return response

    async def _once(
        self, method: str, url: URL, data: bytes | None, headers: dict[str, str], limits: aiohttp.ClientTimeout,
        credential: Credential,
    ) -> aiohttp.ClientResponse:  # fmt: skip
        if credential.authorization:
            headers = {**headers, "Authorization": credential.authorization}
        return await self._open().request(
            method, url, data=data, headers=headers, timeout=limits, proxy=self.connection.proxy,
            ssl=self._tls.get(credential.certificate) if self._tls else True,
            server_hostname=self.connection.tls.server_name or None,
            allow_redirects=False,
        )  # fmt: skip

    def _refusal(self, response: aiohttp.ClientResponse, body: bytes, what: str) -> KubeError:
        error = of_response(response.status, body, response.headers.get("Retry-After"), what)
        if isinstance(error, Unauthorized):
            error.message = f"{self._server} refuses the credentials: {error.message}"
        return error

    def _no_answer(self, method: str, url: URL, problem: Exception) -> Unavailable:
        what = f"{method} {url.path}: {self._server}"
        if isinstance(problem, TimeoutError):
            return Unavailable(f"{what} did not answer in time")
        return Unavailable(f"{what} cannot be reached: {why_unreachable(problem)}")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                headers={"User-Agent": self._user_agent, "Accept": "application/json"},
            )
        return self._session

    def _url(self, path: str, query: Mapping[str, str] | None) -> URL:
        given = urlencode({name: value for name, value in query.items() if value}) if query else ""
        return URL(f"{self._server}{path}?{given}" if given else f"{self._server}{path}", encoded=True)


def why_unreachable(problem: Exception) -> str:
    """A short reason for users; aiohttp's own text repeats the address and names the failed call."""
    cause = getattr(problem, "os_error", None)
    if isinstance(cause, ConnectionError) and cause.errno:
        return os.strerror(cause.errno)
    return str(problem) or type(problem).__name__


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Abort the connection of an abandoned response: a TLS shutdown may outlast the event loop and leak the socket."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()
