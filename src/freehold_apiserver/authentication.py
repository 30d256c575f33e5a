"""Authentication: a request shows the token of the server, and comes to and from an address of the server's own.

The addresses stop a web page of a stranger, which reaches a server on loopback by a name that it makes lead there (DNS
rebinding): its browser sends that name as ``Host`` and ``Origin``.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from freehold_apiserver.errors import ApiError

HEALTH = ("/healthz", "/readyz", "/livez")
"""Paths that are answered without a token. kube-apiserver shows ``/version`` too, which no client of ours needs."""


class Authentication:
    """Decides whether a request is answered. With an empty ``token`` no token is asked for: for tests.

    The token comes as a bearer token or as the password of basic authentication: client-go sends no credentials of a
    kubeconfig's user over plain HTTP, but those in the server's URL (docs/reference/kubernetes.md#credentials).
    ``address`` is where the server listens: host and port.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self.address = ""

    def check(self, path: str, hosts: Sequence[str], origins: Sequence[str], headers: Mapping[str, str]) -> None:
        """Raise 403 for a foreign Host or Origin, 401 without the token."""
        for host in hosts:
            if not self._is_own(f"http://{host}"):
                raise self._foreign("Host", host)
        for origin in origins:
            if not self._is_own(origin):
                raise self._foreign("Origin", origin)
        if self._token and not _is_health(path) and not self._has_token(headers.get("Authorization", "")):
            raise ApiError(401, "Unauthorized", "Unauthorized")

    def _is_own(self, url: str) -> bool:
        """Return True for names and addresses of loopback, and for the address that is served on, at any port."""
        try:
            name = urlsplit(url).hostname or ""
            own = urlsplit(f"http://{self.address}").hostname
        except ValueError:
            return False
        return name == "localhost" or name == own or _is_loopback(name)

    def _foreign(self, header: str, value: str) -> ApiError:
        return ApiError(403, "Forbidden", f"forbidden: {header} {value[:200]!r} is not of this server, {self.address}")

    def _has_token(self, authorization: str) -> bool:
        kind, _, given = authorization.partition(" ")
        if kind.lower() == "basic":
            given = _password(given)
        elif kind.lower() != "bearer":
            return False
        return hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), self._token)


def _is_health(path: str) -> bool:
    return path.startswith(tuple(f"{each}/" for each in HEALTH)) or path in HEALTH


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _password(given: str) -> str:
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
