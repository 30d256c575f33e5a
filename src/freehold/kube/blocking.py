"""Client for a short command against a server on this machine: no event loop, no aiohttp.

aiohttp's import alone takes twenty times as long as ``python -c pass`` (docs/reference/kubernetes.md#runtime), more
than all of ``freehold get``. The embedded API server needs only plain HTTP with a bearer token.
"""

from __future__ import annotations

import time
from http.client import HTTPConnection, HTTPException, RemoteDisconnected
from urllib.parse import unquote, urlsplit

from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import Json


class BlockingClient(ObjectClient):
    """A client with one open connection. Its coroutines block, and run with ``stepping.run_blocking``."""

    def __init__(self, server: str, *, token: str = "", timeout: float = 30.0, user_agent: str = "freehold") -> None:
        super().__init__(server, _sleep)
        parts = urlsplit(self._server)
        if parts.scheme != "http":
            raise ValueError(f"{server} is not served over plain HTTP")
        self._headers = {"User-Agent": user_agent, "Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection = HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    async def _attempt(
        self, method: str, path: str, query: str, data: bytes | None, content_type: str, accept: str
    ) -> Json:
        what = f"{method} {unquote(path)}"
        headers = {**self._headers, "Accept": accept} if accept else dict(self._headers)
        if data is not None:
            headers["Content-Type"] = content_type
        try:
            self._connection.request(method, f"{path}?{query}" if query else path, data, headers)
            response = self._connection.getresponse()
            answer = response.read()
        except RemoteDisconnected as problem:
            self.close()
            raise self._build_no_answer(what, ConnectionError("Server disconnected")) from problem
        except (OSError, HTTPException) as problem:
            self.close()
            raise self._build_no_answer(what, problem) from problem
        if response.status >= 300:
            raise self._build_refusal(response.status, answer, response.headers.get("Retry-After"), what)
        return self._decode(answer, response.status, what)


async def _sleep(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 (there is no event loop to block)
