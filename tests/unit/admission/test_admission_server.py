"""The server of the webhook: TLS 1.2 or newer, bodies within bounds, a new certificate without a failed request."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from freehold.admission import certificates, connections, server
from freehold.admission.certificates import Certificates, Pair
from freehold.admission.review import Reviewer
from freehold.admission.rules import Rules
from freehold.admission.server import Parts, Webhook, serve_webhook
from freehold.admission.webhook_configuration import CHECKED

Json = dict[str, Any]
REVIEW: Json = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "u1",
        "operation": "CREATE",
        "kind": {"group": "infrastructure.cluster.x-k8s.io", "version": "v1beta2", "kind": "AWSCluster"},
        "object": {"kind": "AWSCluster", "metadata": {"name": "c1", "namespace": "ns"}, "spec": {}},
    },
}
REVIEWER = Reviewer(Rules(), CHECKED)


def issue() -> Certificates:
    return certificates.issue(("freehold-webhook.ns.svc", "localhost"), certificates.utc_now())


@dataclass
class Given:
    """A source that a test changes. ``fails`` are defects that it raises first."""

    held: Certificates | None = field(default_factory=issue)
    fails: int = 0

    async def refresh(self) -> Pair | None:
        if self.fails:
            self.fails -= 1
            raise RuntimeError("a defect")
        return self.held.served if self.held else None


@dataclass
class Observer:
    """What the server told."""

    requests: list[tuple[str, str]] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    def count_review(self, kind: str, verdict: str) -> None:
        self.requests.append((kind, verdict))

    def note_certificate(self, ends: float) -> None:
        self.ends.append(ends)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the certificate all the time."""
    monkeypatch.setattr(server, "REFRESH_SECONDS", 0.02)
    monkeypatch.setattr(server, "_FIRST_SECONDS", 0.02)


@contextmanager
def serving(source: Given, observer: Observer | None = None) -> Iterator[int]:
    @asynccontextmanager
    async def open_parts() -> AsyncIterator[Parts]:
        yield Parts(REVIEWER, source)

    with serve_webhook(Webhook(open_parts, observer or Observer()), "127.0.0.1", 0) as port:
        yield port


def trusting(*held: Certificates) -> ssl.SSLContext:
    return ssl.create_default_context(cadata="\n".join(each.authorities.decode() for each in held))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.01)


async def ask(port: int, trusted: ssl.SSLContext, body: Any = REVIEW, method: str = "POST") -> tuple[int, str]:
    data = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"https://localhost:{port}/validate", data=data, ssl=trusted) as answer,
    ):
        return answer.status, await answer.text()


async def test_an_answer_comes_over_tls_and_is_counted() -> None:
    source, observer = Given(), Observer()
    assert source.held is not None
    with serving(source, observer) as port:
        status, text = await ask(port, trusting(source.held))
    assert status == 200 and json.loads(text)["response"]["allowed"] is False
    assert observer.requests == [("AWSCluster", "denied")]
    assert observer.ends == [certificates.end_of(source.held.served).timestamp()]


@pytest.mark.parametrize(
    ("method", "body", "status"),
    [
        ("POST", b"junk", 400),
        ("POST", b"", 400),
        ("POST", b"\xff\xfe", 400),
        ("POST", b"[" * 100_000, 400),
        ("POST", {"apiVersion": "v1"}, 400),
        ("POST", b" " * (server.BODY_LIMIT + 1), 413),
        ("GET", b"", 405),
        ("DELETE", b"", 405),
    ],
)
async def test_what_is_no_question_is_refused_with_a_status(method: str, body: Any, status: int) -> None:
    source = Given()
    assert source.held is not None
    with serving(source) as port:
        found, text = await ask(port, trusting(source.held), body, method)
        assert found == status and "Traceback" not in text
        assert (await ask(port, trusting(source.held)))[0] == 200


async def test_an_object_of_nearly_3_mb_is_answered() -> None:
    source = Given()
    assert source.held is not None
    padded = json.dumps(REVIEW).encode() + b" " * (server.BODY_LIMIT - 2000)
    with serving(source) as port:
        assert (await ask(port, trusting(source.held), padded))[0] == 200


async def test_tls_below_1_2_is_refused() -> None:
    assert server.build_context().minimum_version is ssl.TLSVersion.TLSv1_2
    source = Given()
    with serving(source) as port, socket.create_connection(("127.0.0.1", port)) as raw:
        # A ClientHello of TLS 1.0, as our own library makes none any more.
        hello = bytes.fromhex("0100002b0301") + bytes(32) + bytes.fromhex("000004c013c0140100")
        raw.settimeout(60)
        raw.sendall(bytes.fromhex("160301") + len(hello).to_bytes(2, "big") + hello)
        answer = raw.recv(100)
    assert answer[:1] in (b"", b"\x15"), answer  # closed, or an alert


async def test_nothing_is_answered_before_there_is_a_certificate() -> None:
    source, held = Given(None), issue()
    with serving(source) as port:
        waiting = asyncio.create_task(ask(port, trusting(held)))
        source.held = held
        assert (await waiting)[0] == 200


async def test_a_new_certificate_is_served_without_a_failed_request() -> None:
    """Connections that are open go on; new ones have the new certificate."""
    source, observer = Given(), Observer()
    first = source.held
    assert first is not None
    following = issue()
    both = trusting(first, following)
    with serving(source, observer) as port:
        async with aiohttp.ClientSession() as session:

            async def post() -> None:
                async with session.post(f"https://localhost:{port}/validate", json=REVIEW, ssl=both) as answer:
                    assert answer.status == 200

            await post()
            source.held = following
            await until(lambda: len(observer.ends) == 2)
            await post()
        assert (await ask(port, trusting(following)))[0] == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await ask(port, trusting(first))


@pytest.mark.parametrize("fails", [1, 3])
async def test_a_defect_of_the_source_ends_nothing(fails: int, caplog: pytest.LogCaptureFixture) -> None:
    source = Given()
    assert source.held is not None
    with serving(source) as port:
        assert (await ask(port, trusting(source.held)))[0] == 200
        source.fails = fails
        await until(lambda: source.fails == 0)
        assert (await ask(port, trusting(source.held)))[0] == 200
    assert "begins anew" in caplog.text


async def test_a_client_that_keeps_its_connection_is_hung_up_on() -> None:
    source = Given()
    assert source.held is not None
    async with aiohttp.ClientSession() as session:
        with serving(source) as port:
            url, trusted = f"https://localhost:{port}/validate", trusting(source.held)
            async with session.post(url, json=REVIEW, ssl=trusted) as answer:
                assert answer.status == 200
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.post(url, json=REVIEW, ssl=trusted)
    gc.collect()  # a connection that was left open would be told here


async def test_a_port_in_use_is_an_error_at_once() -> None:
    with serving(Given()) as port, pytest.raises(OSError, match="in use"):
        server.bind("127.0.0.1", port)


async def test_many_at_once_are_all_answered() -> None:
    source = Given()
    assert source.held is not None
    trusted = trusting(source.held)
    with serving(source) as port:
        answers = await asyncio.gather(*(ask(port, trusted) for _ in range(50)))
    assert {status for status, _ in answers} == {200}


async def test_silent_connections_beyond_the_bound_make_room_for_one_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs memory, and whoever reaches the port may open them."""
    monkeypatch.setattr(connections, "MOST_AT_ONCE", 8)
    monkeypatch.setattr(connections, "SILENT_SECONDS", 0.0)
    source = Given()
    assert source.held is not None
    trusted = trusting(source.held)
    with serving(source) as port:
        opened = []
        for _ in range(12):
            reader, writer = await asyncio.open_connection("localhost", port, ssl=trusted)
            writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\n")  # and never the rest
            opened.append((reader, writer))
        assert (await ask(port, trusted))[0] == 200
        for reader, _ in opened[:4]:
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        for _, writer in opened:
            writer.close()


async def test_a_connection_that_makes_no_tls_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_AT_ONCE", 4)
    monkeypatch.setattr(connections, "_HANDSHAKE_SECONDS", 0.1)
    source = Given()
    assert source.held is not None
    with serving(source) as port, contextlib.ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        assert (await ask(port, trusting(source.held)))[0] == 200


async def test_a_client_that_hangs_up_in_the_middle_is_no_defect(caplog: pytest.LogCaptureFixture) -> None:
    source = Given()
    assert source.held is not None
    trusted = trusting(source.held)
    with serving(source) as port:
        _, writer = await asyncio.open_connection("localhost", port, ssl=trusted)
        writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")
        await writer.drain()
        await asyncio.sleep(0.05)  # the rest of what is tested is the same when it has not arrived
        writer.transport.abort()
        assert (await ask(port, trusted))[0] == 200
    assert "Error" not in caplog.text
