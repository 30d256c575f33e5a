"""TLS settings of kubeconfigs, with a real TLS server."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from freehold.kube import errors
from freehold.kube.auth import Credential, StaticCredential
from freehold.kube.client import KubeClient
from freehold.kube.config import Connection
from freehold.kube.resources import CONFIG_MAPS, Key
from freehold.kube.tls import TlsContext, TlsSettings

PAIR = tuple[bytes, bytes]


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    """A certificate authority of this test run."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._cert = self._sign("ca", self._key.public_key(), x509.BasicConstraints(ca=True, path_length=None))
        self.pem = self._cert.public_bytes(serialization.Encoding.PEM)

    def _sign(
        self, subject: str, public: ec.EllipticCurvePublicKey, constraints: x509.BasicConstraints
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(_name(subject))
            .issuer_name(_name("ca"))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(constraints, critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def issue(self, subject: str) -> PAIR:
        key = ec.generate_private_key(ec.SECP256R1())
        cert = self._sign(subject, key.public_key(), x509.BasicConstraints(ca=False, path_length=None))
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        return cert.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)


@dataclass
class TlsServer:
    url: str
    authority: Authority


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[TlsServer]:
    """Requires a client certificate, and has the name ``inner.example`` although it is reached by address."""
    authority = Authority()
    cert, key = authority.issue("inner.example")
    (tmp_path / "server.pem").write_bytes(cert + key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.pem.decode())
    context.load_cert_chain(tmp_path / "server.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as an API server, whatever Python this is

    async def who(request: web.Request) -> web.Response:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert") or {}
        names = [value for part in peer.get("subject", ()) for _, value in part]
        return web.json_response({"who": names})

    app = web.Application()
    app.router.add_get("/{path:.*}", who)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield TlsServer(f"https://127.0.0.1:{runner.addresses[0][1]}", authority)
    await runner.cleanup()


async def ask(connection: Connection) -> list[str]:
    async with KubeClient(connection) as client:
        return list((await client.get(CONFIG_MAPS, Key("d", "a")))["who"])


async def test_server_name_and_client_certificate(server: TlsServer) -> None:
    cert, key = server.authority.issue("me")
    settings = TlsSettings(ca_data=server.authority.pem, server_name="inner.example", cert_data=cert, key_data=key)
    assert await ask(Connection(server.url, tls=settings)) == ["me"]


async def test_an_authority_without_a_key_identifier_is_trusted(
    server: TlsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of every EKS cluster; Python 3.13 and later refuse it by default."""
    lenient = ssl.create_default_context

    def strict(*, cadata: str | None) -> ssl.SSLContext:
        context = lenient(cadata=cadata)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)
    assert (
        await ask(Connection(server.url, tls=TlsSettings(ca_data=server.authority.pem, server_name="inner.example")))
        == []
    )


async def test_the_certificate_of_a_plugin_is_sent(server: TlsServer) -> None:
    settings = TlsSettings(ca_data=server.authority.pem, server_name="inner.example")
    credentials = StaticCredential(Credential(certificate=server.authority.issue("from-plugin")))
    assert await ask(Connection(server.url, credentials, settings)) == ["from-plugin"]


@pytest.mark.parametrize("trusting", [False, True], ids=["no CA", "name does not match"])
async def test_a_server_with_an_unverified_certificate_is_refused(trusting: bool, server: TlsServer) -> None:
    settings = TlsSettings(ca_data=server.authority.pem if trusting else None)
    with pytest.raises(errors.ServerUnavailable, match=r"cannot be reached.*certificate"):
        await ask(Connection(server.url, tls=settings))


async def test_insecure_is_possible_on_request(server: TlsServer) -> None:
    assert await ask(Connection(server.url, tls=TlsSettings(insecure=True))) == []


def test_rotated_files_give_a_new_context(tmp_path: Path) -> None:
    clock = [0.0]
    authority = tmp_path / "ca.crt"
    authority.write_bytes(Authority().pem)
    context = TlsContext(TlsSettings(ca_file=authority), now=lambda: clock[0])
    first = context.get(None)
    clock[0] += 31
    assert context.get(None) is first
    authority.write_bytes(Authority().pem + b"\n")
    clock[0] += 31
    assert context.get(None) is not first


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (TlsSettings(ca_file=Path("no-such-ca.crt")), "no-such-ca.crt"),
        (TlsSettings(ca_data=b"not a certificate"), "certificate authority"),
        (TlsSettings(cert_data=b"CERT"), "without its key"),
        (TlsSettings(cert_data=b"CERT", key_data=b"KEY"), "client certificate"),
    ],
    ids=["missing", "garbage", "half a pair", "garbage pair"],
)
def test_unusable_files_are_named(settings: TlsSettings, said: str) -> None:
    with pytest.raises(errors.ConfigError, match=said):
        TlsContext(settings).get(None)


def test_a_private_key_is_on_disk_only_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ssl module accepts only a path."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(errors.ConfigError, match="client certificate"):
        TlsContext(TlsSettings(cert_data=b"CERT", key_data=b"KEY")).get(None)
    assert list(tmp_path.iterdir()) == []
