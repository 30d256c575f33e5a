"""Server of the webhook: HTTPS, in a thread with an event loop of its own, so that no pass delays an answer."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from aiohttp import web

from freehold.admission.certificates import Pair, end_of
from freehold.admission.connections import Connections
from freehold.admission.review import NotAReview, Reviewer, build_response, parse_review
from freehold.admission.webhook_configuration import VALIDATE_PATH

BODY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes: an object and the one before it, each at most 1.5 MiB (https://etcd.io/docs/v3.5/dev-guide/limit/)."""
REFRESH_SECONDS: Final = 10.0
_FIRST_SECONDS: Final = 1.0
_READ_SECONDS: Final = 5.0
"""The API server does not wait longer for the answer."""
_STOP_SECONDS: Final = 5.0
_KEEPALIVE_SECONDS: Final = 180.0
"""Longer than the 90 s after which Go's client closes an idle connection, so that the server never does so first
(https://pkg.go.dev/net/http#Transport)."""
_LOG = logging.getLogger(__name__)


class CertificateSource(Protocol):
    """A source of the certificate that is served."""

    async def refresh(self) -> Pair | None:
        """Look again; None while there is none."""
        ...


class WebhookObserver(Protocol):
    """An observer of what the server does, called in its thread."""

    def note_certificate(self, ends: float) -> None:
        """Note when the certificate ends, in epoch seconds."""
        ...

    def count_review(self, kind: str, verdict: str) -> None:
        """Count an answer."""
        ...


@dataclass(frozen=True)
class Parts:
    """The parts of a server, in the loop that opened them."""

    reviewer: Reviewer
    source: CertificateSource


@dataclass(frozen=True)
class Webhook:
    """The setup of a server. ``open_parts`` is called in the loop that uses them."""

    open_parts: Callable[[], AbstractAsyncContextManager[Parts]]
    observer: WebhookObserver


@contextmanager
def serve_webhook(webhook: Webhook, host: str, port: int) -> Iterator[int]:
    """Serve in a thread, and yield the port. It answers once there is a certificate. Raises OSError."""
    with bind(host, port) as listener:
        thread = _ServerThread(webhook, listener)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            thread.stop()
            thread.join()


class _ServerThread(threading.Thread):
    """A thread that serves until it is stopped. After a defect it begins anew: without an answer nobody may write."""

    def __init__(self, webhook: Webhook, listener: socket.socket) -> None:
        super().__init__(name="webhook", daemon=True)
        self._webhook = webhook
        self._listener = listener
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    def stop(self) -> None:
        """Finish what is in hand, and end."""
        self._loop.call_soon_threadsafe(self._stopping.set)

    async def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                async with self._webhook.open_parts() as parts:
                    server = _Server(parts, self._webhook.observer)
                    await server.run(self._listener, self._stopping)
            except Exception:  # see the docstring of the class
                _LOG.exception("the webhook's server ended, and begins anew")
                await _wait(self._stopping, _FIRST_SECONDS)


class _Server:
    """A server in one event loop."""

    def __init__(self, parts: Parts, observer: WebhookObserver) -> None:
        self._reviewer = parts.reviewer
        self._source = parts.source
        self._observer = observer
        self._served: Pair | None = None
        self._context = build_context()
        self._connections = Connections(self._context)

    # --- answers ---------------------------------------------------------------------------------

    async def validate(self, request: web.Request) -> web.Response:
        """Answer one AdmissionReview."""
        try:
            async with asyncio.timeout(_READ_SECONDS):
                question = parse_review(json.loads(await request.read()))
        except (NotAReview, ValueError, RecursionError) as problem:
            return web.Response(status=400, text=f"{problem}\n")
        except (TimeoutError, ConnectionError):  # the latter: nobody is there to be answered
            return web.Response(status=408, text="the body did not come\n")
        with self._connections.in_hand(request.protocol):
            answer = await self._reviewer.answer(question)
        self._observer.count_review(self._reviewer.title_of(question), answer.verdict)
        return web.json_response(build_response(question, answer))

    # --- certificate -----------------------------------------------------------------------------

    async def _refresh(self) -> None:
        pair = await self._source.refresh()
        if pair is not None and pair != self._served:
            load_pair(self._context, pair)
            self._served = pair
            end = end_of(pair)
            self._observer.note_certificate(end.timestamp())
            _LOG.info("the webhook serves a certificate that ends %s", f"{end:%Y-%m-%d %H:%M} UTC")

    async def run(self, listener: socket.socket, stop: asyncio.Event) -> None:
        """Serve on a socket until told to stop, then finish what is in hand."""
        while self._served is None and not stop.is_set():
            await self._refresh()
            if self._served is None:
                await _wait(stop, _FIRST_SECONDS)
        app = web.Application(client_max_size=BODY_LIMIT)
        app.router.add_post(VALIDATE_PATH, self.validate)
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=_STOP_SECONDS, keepalive_timeout=_KEEPALIVE_SECONDS
        )
        await runner.setup()
        assert runner.server is not None  # made by setup
        accepting = asyncio.create_task(self._connections.accept(listener, runner.server))
        try:
            while not stop.is_set():
                await _wait(stop, REFRESH_SECONDS)
                await self._refresh()
        finally:
            accepting.cancel()
            await _close(runner)


async def _close(runner: web.AppRunner) -> None:
    """Answer what is in hand, then hang up: a client that keeps its connection would be waited for otherwise."""
    transports = [each.transport for each in runner.server.connections] if runner.server else []
    await runner.cleanup()
    for each in transports:
        if isinstance(each, asyncio.WriteTransport):
            each.abort()
    await asyncio.sleep(0)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


def build_context() -> ssl.SSLContext:
    """Build the TLS context of a server: 1.2 or newer."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def load_pair(context: ssl.SSLContext, pair: Pair) -> None:
    """Let new connections have a certificate; open ones go on with theirs. Raises ssl.SSLError."""
    # The ssl module reads a key only from a path; mkstemp creates it with mode 0600, and it is removed after the call.
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(pair.certificate + b"\n" + pair.key)
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()


def bind(host: str, port: int) -> socket.socket:
    """Listen on an address. Raises OSError."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=128)
