"""One session for all SDKs: it sends each request once, and renews its token before that expires."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from socketserver import StreamRequestHandler, TCPServer
from typing import Any

import pytest
import requests

from freehold.providers.ibm.session import ApiKey, Endpoints, IbmSession
from freehold.providers.ibm.tokens import SessionTokenManager, decode_claims
from harness.account import BASE


class _Silent(TCPServer):
    """Reads each request, and closes the connection without a reply."""

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


def test_the_session_sends_no_request_again(silent: _Silent) -> None:
    """The effect is unknown; only the engine reads before it sends again, and counts its requests."""
    url = f"http://127.0.0.1:{silent.server_address[1]}"
    session = IbmSession(ApiKey("key"), Endpoints.from_base(url))
    methods = ["POST", "PATCH", "PUT", "DELETE", "GET"]
    for method in methods:
        with pytest.raises(requests.ConnectionError):
            session.http.request(method, f"{url}/x", timeout=5)
    session.close()
    assert silent.taken == methods


def test_a_token_is_renewed_before_it_expires(account: Any) -> None:
    """A token that expires on the way is refused, and this would happen every hour."""
    wall = [time.time()]
    key, timeout = account.settings.api_key, (3.0, 10.0)
    tokens = SessionTokenManager(key, f"{BASE}/iam", account.session.http, timeout, wall=lambda: wall[0])
    first = tokens.get_token()
    issued, life = float(decode_claims(first)["iat"]), float(account.settings.token_seconds)

    wall[0] = issued + 0.7 * life
    assert tokens.get_token() == first
    wall[0] = issued + 0.9 * life
    assert tokens.get_token() != first
    assert account.requests() == ["iam.issue_token"] * 2
