"""A witness: every version of one object, as any watcher could see it."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

import requests
from e2e_servers import PATIENCE, Server

from freehold.api import names

Json = dict[str, Any]


def _credentials(where: SplitResult) -> dict[str, str]:
    """What ``requests`` sends for a URL with credentials."""
    given = f"{where.username}:{where.password}".encode()
    return {"Authorization": f"Basic {base64.b64encode(given).decode()}"} if where.username else {}


class Witness:
    """Sees every version of one object, through a watch of its own that starts before the object exists.

    A witness whose watch ends raises: without an error, nothing has changed.
    """

    def __init__(self, server: Server, namespace: str, name: str) -> None:
        self.seen: list[Json] = []
        self._news = threading.Condition()
        self._ended = ""
        path = f"/apis/{names.INFRASTRUCTURE_GROUP}/{names.V1BETA2}/namespaces/{namespace}/ibmpowervsclusters"
        self._object = f"{server.url}{path}/{name}"
        listed = requests.get(server.url + path, timeout=PATIENCE)
        listed.raise_for_status()
        query = {"watch": "true", "fieldSelector": f"metadata.name={name}", "allowWatchBookmarks": "true",
                 "resourceVersion": listed.json()["metadata"]["resourceVersion"], "timeoutSeconds": "3600"}  # fmt: skip
        where = urlsplit(server.url)
        self._connection = http.client.HTTPConnection(where.hostname or "", where.port)
        self._connection.connect()
        self._socket: socket.socket = self._connection.sock
        self._connection.request("GET", f"{path}?{urlencode(query)}", headers=_credentials(where))
        self._stream = self._connection.getresponse()
        assert self._stream.status == 200, self._stream.read()
        self._thread = threading.Thread(target=self._follow, name="witness")
        self._thread.start()

    def _follow(self) -> None:
        why = "the server has ended the watch"
        try:
            while line := self._stream.readline():
                self._take(json.loads(line))
        except (http.client.HTTPException, OSError, ValueError) as problem:  # closed at the end
            why = repr(problem)
        with self._news:
            self._ended = self._ended or why
            self._news.notify_all()

    def _take(self, event: Json) -> None:
        with self._news:
            if event["type"] in ("ADDED", "MODIFIED"):
                self.seen.append(event["object"])
            elif event["type"] == "ERROR":
                self._ended = json.dumps(event["object"])
            self._news.notify_all()

    def wait(self, wanted: Callable[[Json], Any], what: str) -> Json:
        """The first version for which ``wanted`` is true, also one that was seen before."""

        def found() -> Json | None:
            return next((each for each in self.seen if wanted(each)), None)

        with self._news:
            self._news.wait_for(lambda: found() is not None or self._ended, PATIENCE)
            result = found()
            assert result is not None, f"never seen: {what} {self._ended}: {self.last()}"
        return result

    def wait_from_now(self, wanted: Callable[[Json], Any], what: str) -> Json:
        """As :meth:`wait`, but only for the newest version and later ones."""
        with self._news:
            del self.seen[:-1]
        return self.wait(wanted, what)

    def quiet(self, seconds: float) -> bool:
        """Whether nothing changes for that long. The version that the server shows already does not count."""
        now = requests.get(self._object, timeout=PATIENCE)
        now.raise_for_status()
        version = now.json()["metadata"]["resourceVersion"]
        self.wait(lambda each: each["metadata"]["resourceVersion"] == version, f"version {version}")
        with self._news:
            before = len(self.seen)
            changed = self._news.wait_for(lambda: len(self.seen) != before or self._ended, seconds)
            assert not self._ended, self._ended
        return not changed

    def last(self) -> str:
        return json.dumps(self.seen[-1], indent=1) if self.seen else "nothing was seen"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._stream.close()
        self._connection.close()
