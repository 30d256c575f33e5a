"""Address and token of the server of a state directory: kept, in a kubeconfig, and for our own clients."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from urllib.parse import urlsplit

from freehold.cli.local.state_directory import LiveServer, write_whole
from freehold.kube import auth
from freehold.kube.config import Connection

_USER = "freehold"
_BYTES = 32


def connection_to(server: LiveServer) -> Connection:
    """Return how our clients reach a server."""
    return Connection(server.url, auth.StaticCredential(auth.build_bearer(server.token)))


def keep_token(path: Path) -> str:
    """Return the token in a file, or make one: where it is missing, empty, or could have been put or read by others."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return _new_token(path)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
        token = file.read(1024).decode(errors="replace").strip() if own else ""
    return token if token.isascii() and len(token) >= _BYTES else _new_token(path)


def _new_token(path: Path) -> str:
    token = secrets.token_urlsafe(_BYTES)
    write_whole(path, token)
    return token


def kubeconfig(url: str, token: str = "") -> str:
    """Return a kubeconfig with one context, ``freehold``.

    client-go sends no token over plain HTTP, only what is in the URL; other clients know only the user's token
    (docs/reference/kubernetes.md#credentials).
    """
    server = urlsplit(url)
    place = f"{_USER}:{token}@{server.netloc}" if token else server.netloc
    user = f"{{token: {token}}}" if token else "{}"
    return f"""\
apiVersion: v1
kind: Config
current-context: freehold
clusters:
- name: freehold
  cluster:
    server: {server.scheme}://{place}
contexts:
- name: freehold
  context:
    cluster: freehold
    user: freehold
users:
- name: freehold
  user: {user}
"""
