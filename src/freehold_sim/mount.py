"""Connects a vendor's SDK to a simulated cloud in-process: no socket, no thread.

`session.mount("http://ibm.sim", WorldAdapter(cloud))` serves any SDK that lets its `requests.Session` be set;
`mount_client(client, cloud)` does the same for a client of boto3 or of its fork ibm_boto3.
"""

import io
from collections.abc import Mapping
from http.client import responses
from importlib import import_module
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

import requests
from requests.adapters import BaseAdapter

from freehold_sim.http import ConnectionReset, ReplyLost, Request, Response, joined


class Cloud(Protocol):
    """A request handler; raises ConnectionReset or ReplyLost when the transport must fail."""

    def handle(self, request: Request) -> Response: ...


def _request(method: str, url: str, headers: Mapping[str, Any], body: Any) -> Request:
    parts = urlsplit(url)
    if body is None:
        raw = b""
    elif isinstance(body, str):
        raw = body.encode()
    elif isinstance(body, bytes | bytearray):
        raw = bytes(body)
    else:
        raw = body.read()
    decoded = {k.lower(): v.decode() if isinstance(v, bytes) else str(v) for k, v in headers.items()}
    decoded.setdefault("host", parts.netloc)
    return Request(method, parts.path, joined(parse_qsl(parts.query, keep_blank_values=True)), decoded, raw)


class WorldAdapter(BaseAdapter):
    """A `requests` transport adapter that calls a simulated cloud."""

    def __init__(self, cloud: Cloud) -> None:
        super().__init__()
        self._cloud = cloud

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        asked = _request(request.method or "GET", request.url or "", request.headers, request.body)
        try:
            answer = self._cloud.handle(asked)
        except ConnectionReset as broken:
            raise requests.exceptions.ConnectionError(str(broken), request=request) from broken
        except ReplyLost as lost:
            raise requests.exceptions.ReadTimeout(str(lost), request=request) from lost
        response = requests.Response()
        response.status_code = answer.status
        response.headers.update(answer.headers)
        response.raw = io.BytesIO(answer.body)
        response.encoding = "utf-8"
        response.request = request
        response.url = request.url or ""
        response.reason = responses.get(answer.status, "")
        return response

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class _RawBody(io.BytesIO):
    """A response body with the interface that botocore expects from urllib3."""

    def stream(self, amt: int = 1024, decode_content: bool | None = None) -> Any:
        while chunk := self.read(amt):
            yield chunk


def mount_client(client: Any, cloud: Cloud) -> None:
    """Serve every request of the client from `cloud`, through the `before-send` event."""
    botocore = next(base.__module__ for base in type(client).__mro__ if base.__name__ == "BaseClient").partition(".")[0]
    awsrequest, exceptions = import_module(f"{botocore}.awsrequest"), import_module(f"{botocore}.exceptions")

    def serve(request: Any, **_: Any) -> Any:
        asked = _request(request.method, request.url, request.headers, request.body)
        try:
            answer = cloud.handle(asked)
        except ConnectionReset as broken:
            raise exceptions.ConnectionClosedError(endpoint_url=request.url) from broken
        except ReplyLost as lost:
            raise exceptions.ReadTimeoutError(endpoint_url=request.url) from lost
        return awsrequest.AWSResponse(request.url, answer.status, dict(answer.headers), _RawBody(answer.body))

    client.meta.events.register("before-send", serve)
