"""The metrics of this process over HTTP, for Prometheus. It has no password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import start_http_server

from freehold.controllers.metrics import Metrics


@dataclass(frozen=True)
class Address:
    """``port`` 0: any free one."""

    host: str
    port: int


@contextmanager
def served(metrics: Metrics, address: Address) -> Iterator[Address]:
    """Serve ``/metrics`` in a thread; gives the address that it has. Raises OSError."""
    server, thread = start_http_server(address.port, address.host, metrics.registry)
    try:
        yield Address(address.host, server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
