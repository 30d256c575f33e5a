"""The HTTP server of probes and metrics: what it serves, and what it does not."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from http import HTTPStatus

import pytest

from freehold.controllers import process_server
from freehold.controllers.process_server import Address, Answer, serve_pages

HERE = Address("127.0.0.1", 0)


@pytest.fixture
def address() -> Iterator[Address]:
    with serve_pages(HERE, {"/healthz": lambda: Answer(HTTPStatus.OK, "ok\n")}) as found:
        yield found


def ask(address: Address, path: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=60)
    try:
        connection.request(method, path)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def send(address: Address, data: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back."""
    received = b""
    with socket.create_connection((address.host, address.port), timeout=60) as connection:
        try:
            connection.sendall(data)
            while chunk := connection.recv(65536):
                received += chunk
        except (ConnectionResetError, BrokenPipeError):
            pass
    return received


@pytest.mark.parametrize("path", ["/healthz", "/healthz?verbose=1"])
def test_a_page_is_served(address: Address, path: str) -> None:
    assert ask(address, path) == (200, "ok\n")


@pytest.mark.parametrize("path", ["/", "/healthz/", "/metrics", "/../healthz"])
def test_nothing_else_is_served(address: Address, path: str) -> None:
    assert ask(address, path) == (404, "nothing is served here but /healthz\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_only_get_is_served(address: Address, method: str) -> None:
    assert ask(address, "/healthz", method) == (405, "only GET is served\n")


@pytest.mark.parametrize(
    "junk",
    [b"\x00\xff" * 100 + b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /healthz HTTP/1.1\r\n" * 1000],
    ids=["binary", "no path", "a version of its own", "too long"],
)
def test_junk_is_refused_and_the_next_request_is_served(address: Address, junk: bytes) -> None:
    assert b"200" not in send(address, junk)
    assert ask(address, "/healthz") == (200, "ok\n")


def test_a_request_that_never_ends_is_cut_off(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_server, "REQUEST_SECONDS", 0.05)
    assert send(address, b"GET /healthz HT") == b""


def test_a_head_that_is_too_long_is_cut_off_before_its_time(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_server, "REQUEST_SECONDS", 3600.0)
    assert send(address, b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 3 * process_server.LONGEST_HEAD) == b""


def test_connections_that_say_nothing_make_room_for_a_probe(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """They make no threads without end, and let no liveness probe fail."""
    monkeypatch.setattr(process_server, "REQUEST_SECONDS", 3600.0)
    idle = [
        socket.create_connection((address.host, address.port), timeout=60)
        for _ in range(process_server.MOST_AT_ONCE + 4)
    ]
    assert ask(address, "/healthz") == (200, "ok\n")
    assert [each.recv(1) for each in idle[:5]] == [b""] * 5
    for each in idle[5:]:
        each.setblocking(False)
        with pytest.raises(BlockingIOError):
            each.recv(1)
    for each in idle:
        each.close()


def test_a_page_with_a_defect_answers_nothing_and_the_server_goes_on() -> None:
    def fails() -> Answer:
        raise KeyError("a defect")

    pages = {"/bad": fails, "/good": lambda: Answer(HTTPStatus.OK, "ok\n")}
    with serve_pages(HERE, pages) as address:
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            ask(address, "/bad")
        assert ask(address, "/good")[0] == 200


def test_a_port_in_use_is_an_oserror_and_a_free_one_can_be_used_again(address: Address) -> None:
    with pytest.raises(OSError), serve_pages(address, {}):
        pass
    with serve_pages(HERE, {}) as first:
        pass
    with serve_pages(first, {}):
        pass


def test_an_address_of_ipv6_is_written_in_brackets() -> None:
    assert (str(Address("::1", 80)), str(Address("0.0.0.0", 80))) == ("[::1]:80", "0.0.0.0:80")  # noqa: S104 (text only)
