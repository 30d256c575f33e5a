"""``--webhook-address`` and ``--webhook-certificates``: what cannot be used is said at once, with the option."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from freehold.admission import certificates
from freehold.cli.commands.server_commands import operator_
from freehold.cli.errors import CliError
from freehold.cli.local.webhook import webhook_of
from freehold.controllers.settings import Settings
from freehold.kube.config import Connection

SETTINGS = Settings(kube=Connection("http://127.0.0.1:1"), access={})


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    pair = certificates.issue(("localhost",), certificates.utc_now()).served
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    return tmp_path


def test_without_an_address_nothing_is_served() -> None:
    with webhook_of(None, None, SETTINGS, leads=lambda: True):
        pass


def test_certificates_without_an_address_are_refused(directory: Path) -> None:
    with pytest.raises(CliError, match="needs --webhook-address"), webhook_of(None, directory, SETTINGS, lambda: True):
        pass


def test_a_port_in_use_is_refused(directory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()
        said = rf"--webhook-address 127.0.0.1:{address[1]} cannot be used: Address already in use"
        with pytest.raises(CliError, match=said), webhook_of(address, directory, SETTINGS, lambda: True):
            pass


def test_a_directory_without_a_certificate_is_refused(tmp_path: Path) -> None:
    said, address = r"--webhook-certificates: .*tls.crt cannot be read", ("127.0.0.1", 0)
    with pytest.raises(CliError, match=said), webhook_of(address, tmp_path, SETTINGS, lambda: True):
        pass


def test_where_it_is_served_is_said(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with webhook_of(("127.0.0.1", 0), directory, SETTINGS, lambda: True):
        pass
    out, err = capsys.readouterr()
    assert "serving the admission webhook on https://127.0.0.1:" in out + err


@pytest.mark.parametrize("address", ["9443", "localhost:", "localhost:99999", ":9443"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    result = CliRunner().invoke(operator_, ["--webhook-address", address])
    assert result.exit_code == 2 and "give HOST:PORT" in result.output
