"""One session under all SDKs: it sends each request once, and replaces its token before that expires."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from socketserver import StreamRequestHandler, TCPServer
from typing import Any

import pytest
import requests

from freehold.clouds.ibm.session import Credentials, Endpoints, IbmSession
from freehold.clouds.ibm.tokens import SessionTokenManager, claims
from harness.account import BASE


class _Silent(TCPServer):
    """Takes each request, and closes the connection without a reply."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.taken: list[str] = []


class _Handler(StreamRequestHandler):
    server: _Silent

    def handle(self) -> None:
        self.server.taken.append(self.rfile.readline().split()[0].decode())
        while self.rfile.readline().strip():
            """The headers; there is no body."""


@pytest.fixture
def silent() -> Iterator[_Silent]:
    with _Silent() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_what_was_sent_is_not_sent_again_below_the_engine(silent: _Silent) -> None:
    """Its effect is not known; only the engine looks before it asks again, and only it counts what it asks."""
    url = f"http://127.0.0.1:{silent.server_address[1]}"
    session = IbmSession(Credentials("key"), Endpoints.at(url))
    methods = ["POST", "PATCH", "PUT", "DELETE", "GET"]
    for method in methods:
        with pytest.raises(requests.ConnectionError):
            session.http.request(method, f"{url}/x", timeout=5)
    session.close()
    assert silent.taken == methods


def test_a_token_is_replaced_before_it_expires(account: Any) -> None:
    """One that ends on its way is refused, and a request of many parts would run into that at every hour."""
    wall = [time.time()]
    key, timeout = account.settings.api_key, (3.0, 10.0)
    tokens = SessionTokenManager(key, f"{BASE}/iam", account.session.http, timeout, wall=lambda: wall[0])
    first = tokens.get_token()
    issued, life = float(claims(first)["iat"]), float(account.settings.token_seconds)

    wall[0] = issued + 0.7 * life
    assert tokens.get_token() == first
    wall[0] = issued + 0.9 * life
    assert tokens.get_token() != first
    assert account.requests() == ["iam.issue_token"] * 2
