"""``--health-address`` and ``--metrics-address``: one server or two, and an address that cannot be used."""

from __future__ import annotations

import http.client
import socket

import pytest

from freehold.cli.errors import CliError
from freehold.cli.local.process_pages import serve_onlookers
from freehold.cli.main import run


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_both_may_have_one_address() -> None:
    port = free_port()
    with serve_onlookers(("127.0.0.1", port), ("127.0.0.1", port)):
        assert [status(port, path) for path in ("/healthz", "/readyz", "/metrics", "/")] == [200, 503, 200, 404]


def test_each_may_have_an_address_of_its_own() -> None:
    metrics, health = free_port(), free_port()
    with serve_onlookers(("127.0.0.1", metrics), ("127.0.0.1", health)):
        assert [status(metrics, path) for path in ("/healthz", "/metrics")] == [404, 200]
        assert [status(health, path) for path in ("/healthz", "/metrics")] == [200, 404]


def test_the_probes_alone_measure_nothing() -> None:
    with serve_onlookers(None, ("127.0.0.1", free_port())) as found:
        assert found.metrics is None


@pytest.mark.parametrize("option", ["--health-address", "--metrics-address"])
def test_a_port_in_use_is_said_with_the_option(option: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = taken.getsockname()
        given = (None, address) if option == "--health-address" else (address, None)
        with pytest.raises(CliError) as refused, serve_onlookers(*given):
            pass
    assert str(refused.value) == (
        f"{option} 127.0.0.1:{address[1]} cannot be used: Address already in use; choose another one"
    )


def test_an_address_of_another_machine_is_said() -> None:
    with pytest.raises(CliError) as refused, serve_onlookers(None, ("192.0.2.1", 8080)):
        pass
    assert str(refused.value) == (
        "--health-address 192.0.2.1:8080 cannot be used: Cannot assign requested address; choose another one"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--health-address", ":8080"),
        ("--health-address", "127.0.0.1:x"),
        ("--health-address", ""),
        ("--log-level", "loud"),
        ("--log-format", "xml"),
    ],
)
def test_a_wrong_option_is_refused(words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["operator", *words]) == 2
    assert words[0] in capsys.readouterr().err
