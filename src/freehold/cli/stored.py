"""Reads the store of a state directory that nobody serves, with the code of the API server and without a server.

A server costs an event loop and aiohttp, more than all the rest of ``freehold get``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote

from freehold.cli.state_directory import Lock, StateDirectory
from freehold.kube.errors import of_status
from freehold.kube.object_client import ObjectClient
from freehold.kube.resources import Json
from freehold_apiserver.crds import COLLECTION as DEFINITIONS
from freehold_apiserver.errors import ApiError
from freehold_apiserver.reading import Reader
from freehold_apiserver.store import Store


class StoredClient(ObjectClient):
    """Answers reads as the server of this store would. Its coroutines never wait."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.path, _no_retry)
        self._reader = Reader.of_store(store, lambda: datetime.now(UTC))

    async def _attempt(
        self, method: str, path: str, query: str, data: bytes | None, content_type: str, accept: str
    ) -> Json:
        if method != "GET":
            raise ValueError(f"{method} {path}: only reads need no server")
        try:
            answer = self._reader.answer(unquote(path), dict(parse_qsl(query)), accept)
        except ApiError as refusal:
            raise of_status(refusal.status(), refusal.code) from refusal
        return self._decoded(answer.body, 200, f"GET {path}")


async def _no_retry(seconds: float) -> None:
    raise AssertionError("a store is never too busy to be read")


@contextmanager
def stored_client(state: StateDirectory) -> Iterator[StoredClient | None]:
    """With the store locked; None where it is in use, or must be made or mended first: a server does, or says so."""
    with ExitStack() as stack:
        yield _opened(state, stack)


def _opened(state: StateDirectory, stack: ExitStack) -> StoredClient | None:
    lock = Lock(state.lock)
    if not state.store.exists() or not lock.take():
        return None
    stack.callback(lock.release)
    try:
        store = Store.open(state.store, begin=False)
    except (sqlite3.Error, ValueError, KeyError):
        return None
    stack.callback(store.close)
    return StoredClient(store) if store.scan(DEFINITIONS) else None
