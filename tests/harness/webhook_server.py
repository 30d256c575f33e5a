"""A webhook server of a test: HTTPS with an authority of its own, and answers that the test writes as functions."""

from __future__ import annotations

import base64
import contextlib
import datetime
import ipaddress
import json
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Json = dict[str, Any]
Answer = Callable[[Json], Any]
"""From the ``request`` of a review to what is sent: an object, raw bytes, or (HTTP status, bytes)."""


class WebhookServer:
    """Answers each path by its function, and remembers the requests. ``authority`` is its CA, PEM in base64."""

    def __init__(self, url: str, authority: str) -> None:
        self.url = url
        self.authority = authority
        self.answers: dict[str, Answer] = {}
        self._seen: dict[str, list[Json]] = {}
        self._queries: dict[str, list[str]] = {}
        self._connections = 0
        self._changed = threading.Condition()

    def count(self, opened: int) -> None:
        """Count connections."""
        with self._changed:
            self._connections += opened
            self._changed.notify_all()

    def wait_until_closed(self) -> bool:
        """Wait until no client is connected."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._connections, 60)

    def forget(self) -> None:
        """Drop answers and requests."""
        for each in (self.answers, self._seen, self._queries):
            each.clear()

    def seen(self, path: str) -> list[Json]:
        """The ``request`` of each review that came to a path."""
        return list(self._seen.get(path, ()))

    def queries(self, path: str) -> list[str]:
        """The query of each review."""
        return list(self._queries.get(path, ()))

    def config(self, path: str) -> Json:
        """A ``clientConfig``."""
        return {"url": f"{self.url}{path}", "caBundle": self.authority}

    def answer(self, path: str, query: str, review: Json) -> Any:
        """Answer a review."""
        self._seen.setdefault(path, []).append(review["request"])
        self._queries.setdefault(path, []).append(query)
        return self.answers[path](review["request"])


@contextlib.contextmanager
def webhook_server(names: Sequence[str] = ("127.0.0.1",)) -> Iterator[WebhookServer]:
    """Serve on a free port of 127.0.0.1, with a certificate for these names."""
    authority, chain, key = _certificates(names)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tls.crt").write_bytes(chain)
        (Path(folder) / "tls.key").write_bytes(key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/tls.crt", f"{folder}/tls.key")
    server = _Server(("127.0.0.1", 0), _Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.hook = WebhookServer(f"https://127.0.0.1:{server.server_port}", base64.b64encode(authority).decode())
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    try:
        yield server.hook
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def allow(**more: Any) -> Answer:
    """Allow, with these fields in the response."""
    return lambda request: review(request, allowed=True, **more)


def deny(**status: Any) -> Answer:
    """Deny with this Status."""
    return lambda request: review(request, allowed=False, status=status)


def patch(*operations: Json) -> Answer:
    """Allow, with a JSON patch."""
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return allow(patchType="JSONPatch", patch=text)


def review(request: Json, **response: Any) -> Json:
    """An AdmissionReview that answers a request."""
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
            "response": {"uid": request["uid"], **response}}  # fmt: skip


def converting(convert: Callable[[Json, str], Json]) -> Answer:
    """Answer ConversionReviews by a function of the object and the version that is wanted."""

    def answer(request: Json) -> Json:
        converted = [
            {**convert(each, request["desiredAPIVersion"]), "apiVersion": request["desiredAPIVersion"]}
            for each in request["objects"]
        ]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
        return {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response}

    return answer


class _Server(ThreadingHTTPServer):
    hook: WebhookServer
    daemon_threads = True
    block_on_close = False

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self.hook.count(1)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.hook.count(-1)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that do not trust the certificate, or do not wait."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        path, _, query = self.path.partition("?")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.hook.answer(path, query, body)
        status, data = answer if isinstance(answer, tuple) else (200, answer)
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


def _certificates(names: Sequence[str]) -> tuple[bytes, bytes, bytes]:
    """An authority, a certificate of it for these names, and its key, in PEM."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook test authority")])
    root = (
        _builder(root_name, root_name, root_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    found = [x509.IPAddress(ipaddress.ip_address(each)) if each[0].isdigit() else x509.DNSName(each) for each in names]
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook test")])
    leaf = (
        _builder(name, root_name, key)
        .add_extension(x509.SubjectAlternativeName(found), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return root.public_bytes(pem), leaf.public_bytes(pem), private


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )
