"""A plain HTTP server of this process in a thread of its own: probes and metrics, also while the event loop is stuck.

It has no password. A request is a GET with a head of at most 8 kB, and is given five seconds; each address answers a
few at a time. One more takes the place of the oldest, so that whoever opens many and says nothing keeps no probe out:
the kubelet would kill a healthy process.
"""

from __future__ import annotations

import io
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

LONGEST_HEAD = 8192
REQUEST_SECONDS = 5.0
MOST_AT_ONCE = 32
STOP_SECONDS = 0.1
"""How long a server may take to notice that it is to stop."""

TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Address:
    """An address to listen on. ``port`` 0 means any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Answer:
    """The answer to a GET."""

    status: HTTPStatus
    body: str
    content_type: str = TEXT


Pages = Mapping[str, Callable[[], Answer]]
"""What is served, by path. Each is called in a thread of the server."""


class _Server(socketserver.ThreadingTCPServer):
    """A server with a bound of its connections. Their threads end with the process."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_AT_ONCE

    def __init__(self, address: Address, pages: Pages) -> None:
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self.pages = pages
        self._open: dict[socket.socket, None] = {}
        """The oldest first."""
        self._guard = threading.Lock()
        super().__init__((address.host, address.port), _Handler)

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        assert isinstance(request, socket.socket)  # as it is of a TCP server
        with self._guard:
            if len(self._open) >= MOST_AT_ONCE:
                oldest = next(iter(self._open))
                del self._open[oldest]
                with suppress(OSError):  # it is gone already
                    oldest.shutdown(socket.SHUT_RDWR)  # which ends its thread
            self._open[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        assert isinstance(request, socket.socket)
        with self._guard:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: whoever asks may go away at any time, and hears of a defect by an empty answer."""


class _Handler(BaseHTTPRequestHandler):
    """A request of one connection; HTTP/1.0, so that none stays open."""

    server: _Server
    server_version = "freehold"
    sys_version = ""

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BytesIO(_read_head(self.connection))  # read whole, within its time

    def handle_one_request(self) -> None:
        if self.rfile.getbuffer().nbytes:  # type: ignore[attr-defined]  # the BytesIO of setup
            super().handle_one_request()
        self.close_connection = True

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Refuse each other method (``do_POST`` …)."""
        if not name.startswith("do_"):
            raise AttributeError(name)
        return lambda: self._send(Answer(HTTPStatus.METHOD_NOT_ALLOWED, "only GET is served\n"))

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            self._send(Answer(HTTPStatus.NOT_FOUND, f"nothing is served here but {', '.join(self.server.pages)}\n"))
            return
        self._send(page())

    def _send(self, answer: Answer) -> None:
        body = answer.body.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(body)))
        if answer.status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name that http.server gives it)
        """Log nothing: a probe asks every few seconds."""


def _read_head(connection: socket.socket) -> bytes:
    """Read the head of a request. It is empty if it is too long, or did not come in time."""
    deadline, head = time.monotonic() + REQUEST_SECONDS, b""
    while b"\r\n\r\n" not in head and b"\n\n" not in head:
        left = deadline - time.monotonic()
        if left <= 0 or len(head) > LONGEST_HEAD:
            return b""
        connection.settimeout(left)
        try:
            received = connection.recv(LONGEST_HEAD)
        except OSError:
            return b""
        if not received:
            return b""
        head += received
    connection.settimeout(REQUEST_SECONDS)
    return head


@contextmanager
def serve_pages(address: Address, pages: Pages) -> Iterator[Address]:
    """Serve ``pages`` in a thread, and yield the address. Raises OSError where it cannot be used."""
    server = _Server(address, pages)
    thread = threading.Thread(
        target=server.serve_forever, args=(STOP_SECONDS,), name=f"process server {address}", daemon=True
    )
    thread.start()
    try:
        yield Address(address.host, int(server.server_address[1]))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
