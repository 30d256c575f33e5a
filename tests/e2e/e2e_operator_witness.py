"""A witness: every version of one object, as anybody who watches it could see it."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import requests
from e2e_servers import Server

from freehold.api import names

PATIENCE = 60.0
"""Seconds after which a test gives up; none of them is expected to need a tenth of it."""

Json = dict[str, Any]


class Witness:
    """Sees every version of one object, through a watch of its own that begins before the object does."""

    def __init__(self, server: Server, namespace: str, name: str) -> None:
        self.seen: list[Json] = []
        self._news = threading.Condition()
        path = f"/apis/{names.INFRASTRUCTURE_GROUP}/{names.V1BETA2}/namespaces/{namespace}/ibmpowervsclusters"
        since = requests.get(server.url + path, timeout=30).json()["metadata"]["resourceVersion"]
        query = {"watch": "true", "fieldSelector": f"metadata.name={name}", "resourceVersion": since,
                 "timeoutSeconds": "240"}  # fmt: skip
        self._connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=300)
        self._connection.connect()
        self._socket: socket.socket = self._connection.sock
        self._connection.request("GET", f"{path}?{urlencode(query)}")
        self._stream = self._connection.getresponse()
        self._thread = threading.Thread(target=self._follow, name="witness")
        self._thread.start()

    def _follow(self) -> None:
        with contextlib.suppress(http.client.HTTPException, OSError):  # closed under its hands at the end
            while line := self._stream.readline():
                event = json.loads(line)
                with self._news:
                    if event["type"] in ("ADDED", "MODIFIED"):
                        self.seen.append(event["object"])
                        self._news.notify_all()

    def wait(self, wanted: Callable[[Json], Any], what: str) -> Json:
        """The first version of which ``wanted`` is true, also one already seen."""

        def found() -> Json | None:
            return next((each for each in self.seen if wanted(each)), None)

        with self._news:
            assert self._news.wait_for(lambda: found() is not None, PATIENCE), f"never seen: {what}: {self.last()}"
            result = found()
        assert result is not None
        return result

    def wait_from_now(self, wanted: Callable[[Json], Any], what: str) -> Json:
        """As :meth:`wait`, but only of the newest version and of those still to come."""
        with self._news:
            del self.seen[:-1]
        return self.wait(wanted, what)

    def quiet(self, seconds: float) -> bool:
        """Whether nothing changes for so long."""
        with self._news:
            before = len(self.seen)
            return not self._news.wait_for(lambda: len(self.seen) != before, seconds)

    def last(self) -> str:
        return json.dumps(self.seen[-1], indent=1) if self.seen else "nothing was seen"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._stream.close()
        self._connection.close()
