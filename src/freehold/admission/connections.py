"""Connections of the webhook's server: a bound, at which those that say nothing make room for those that ask.

Whoever reaches the port may open connections, and each costs a third of a megabyte. The API server's next one waits for
a moment at most.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

MOST_AT_ONCE: Final = 256
SILENT_SECONDS: Final = 1.0
"""How long a connection may say nothing, or send a part of a request, when another one waits for its place."""
_HANDSHAKE_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.02
_PAUSE_SECONDS: Final = 1.0


class Connections:
    """The connections of one server, which its handlers tell what they have in hand."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._shaking: set[asyncio.Task[None]] = set()
        self._silent: dict[asyncio.BaseProtocol | None, float] = {}
        """Since when each says nothing, the longest silent first."""

    @contextmanager
    def in_hand(self, protocol: asyncio.BaseProtocol | None) -> Iterator[None]:
        """Keep a connection while its request is answered."""
        self._silent.pop(protocol, None)
        try:
            yield
        finally:
            self._silent[protocol] = asyncio.get_running_loop().time()

    async def accept(self, listener: socket.socket, server: web.Server) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        while True:
            await self._make_room(server)
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError:  # it is gone already, or this process has too many files open
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            task = loop.create_task(self._open(connection, server))
            self._shaking.add(task)
            task.add_done_callback(self._shaking.discard)

    async def _open(self, connection: socket.socket, server: web.Server) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, handler = await loop.connect_accepted_socket(
                server, connection, ssl=self._context, ssl_handshake_timeout=_HANDSHAKE_SECONDS
            )
        except OSError:  # no TLS, or none that is served
            connection.close()
            return
        self._silent.setdefault(handler, loop.time())

    async def _make_room(self, server: web.Server) -> None:
        """Return once there is room for one more, if need be by closing the one that has been silent longest."""
        loop = asyncio.get_running_loop()
        self._forget_closed(server)
        while len(self._shaking) + len(server.connections) >= MOST_AT_ONCE:
            longest = next(iter(self._silent), None)
            if isinstance(longest, RequestHandler) and self._silent[longest] <= loop.time() - SILENT_SECONDS:
                del self._silent[longest]
                _abort(longest)
            await asyncio.sleep(_LOOK_SECONDS)
            self._forget_closed(server)

    def _forget_closed(self, server: web.Server) -> None:
        live = set(server.connections)
        self._silent = {each: since for each, since in self._silent.items() if each in live}


def _abort(handler: RequestHandler) -> None:
    if isinstance(handler.transport, asyncio.WriteTransport):
        handler.transport.abort()
