"""A server of the metrics of this process over HTTP, without a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import start_http_server

from freehold.controllers.metrics import Metrics


@dataclass(frozen=True)
class Address:
    """An address to listen on. ``port`` 0 means any free one."""

    host: str
    port: int


@contextmanager
def serve_metrics(metrics: Metrics, address: Address) -> Iterator[Address]:
    """Serve ``/metrics`` in a thread, and yield its address. Raises OSError."""
    server, thread = start_http_server(address.port, address.host, metrics.registry)
    try:
        yield Address(address.host, server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
