"""Client on aiohttp: connections are pooled, credentials renewed, watches streamed.

ADR 1 explains why no library is used. ``trust_env`` stays off: with it aiohttp makes two thread hops per request,
at six times the CPU cost (docs/reference/kubernetes.md#requests); a proxy is resolved once, in ``config``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from freehold.kube.auth import Credential
from freehold.kube.config import Connection
from freehold.kube.field_managers import CLI
from freehold.kube.object_client import ObjectClient, Sleep
from freehold.kube.resources import Json
from freehold.kube.tls import TlsContext


class KubeClient(ObjectClient):
    """A client of one API server. Use it as an async context manager, or call ``close``.

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
        field_manager: str = CLI,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(connection.server, sleep, field_manager)
        self.connection = connection
        self._tls = TlsContext(connection.tls) if self._server.startswith("https:") else None
        self._timeout = aiohttp.ClientTimeout(total=timeout, connect=min(timeout, 15.0))
        self._connections = connections
        self._user_agent = user_agent
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

    # --- requests ------------------------------------------------------------------------------

    async def _attempt(
        self, method: str, path: str, query: str, data: bytes | None, content_type: str, accept: str
    ) -> Json:
        headers = {"Content-Type": content_type} if data is not None else {}
        if accept:
            headers["Accept"] = accept
        url = self._build_url(path, query)
        what = f"{method} {url.path}"
        try:
            response = await self._send(method, url, data, headers, self._timeout)
            async with response:
                answer = await response.read()
        except (aiohttp.ClientError, TimeoutError) as problem:
            raise self._build_no_answer(what, problem) from problem
        return self._decode(answer, response.status, what)

    @asynccontextmanager
    async def open_stream(
        self, path: str, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Open a streaming response. Raises ServerUnavailable after ``idle_timeout`` seconds without a byte."""
        limits = aiohttp.ClientTimeout(total=None, connect=15.0, sock_read=idle_timeout)
        url = self._build_url(path, urlencode({name: value for name, value in query.items() if value}))
        try:
            response = await self._send("GET", url, None, {}, limits)
            async with response:
                try:
                    yield response.content
                finally:
                    _hang_up(response)
        except (aiohttp.ClientError, TimeoutError) as problem:
            raise self._build_no_answer(f"GET {url.path}", problem) from problem

    async def _send(
        self, method: str, url: URL, data: bytes | None, headers: dict[str, str], limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """Send a request. Return a successful response with its body unread. Raises KubeError and aiohttp's errors."""
        credential = await self.connection.credentials.get()
        response = await self._send_once(method, url, data, headers, limits, credential)
        if response.status == 401:
            response.release()
            self.connection.credentials.invalidate(credential)
            credential = await self.connection.credentials.get()
            response = await self._send_once(method, url, data, headers, limits, credential)
        if response.status >= 300:
            async with response:
                retry_after = response.headers.get("Retry-After")
                raise self._build_refusal(response.status, await response.read(), retry_after, f"{method} {url.path}")
        return response

    async def _send_once(
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

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                headers={"User-Agent": self._user_agent, "Accept": "application/json"},
            )
        return self._session

    def _build_url(self, path: str, query: str) -> URL:
        return URL(f"{self._server}{path}?{query}" if query else f"{self._server}{path}", encoded=True)


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Abort the connection of an abandoned response: a TLS shutdown may outlast the event loop and leak the socket."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()
