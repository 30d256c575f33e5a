"""Credentials: static, from a file, or from an exec plugin; the latter two are renewed automatically.

Rules, from known bugs of other clients (docs/reference/kubernetes.md#credentials): all callers share one
renewal; renew before expiry and after a 401; keep using the old credential while renewal fails.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from freehold.kube.errors import ConfigError, KubeError, Unauthorized

_LOG = logging.getLogger(__name__)

FILE_SECONDS = 60.0
"""Seconds after which a token file is read again; the kubelet rotates projected tokens well before they expire."""

EXPIRY_SKEW_SECONDS = 60.0
"""Seconds before expiry at which a credential is renewed."""

RETRY_SECONDS = 10.0
"""Seconds between a failed renewal and the next attempt; the old credential is used meanwhile."""

PLUGIN_SECONDS = 60.0
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass(frozen=True)
class Credential:
    """The credential of a request: an ``Authorization`` header, a client certificate (PEM), both or neither."""

    authorization: str = ""
    certificate: tuple[bytes, bytes] | None = None
    expires: float | None = None

    def __repr__(self) -> str:
        return "Credential(...)"


class CredentialSource(Protocol):
    """A source of credentials."""

    async def get(self) -> Credential:
        """Return the credential to use now. Raises Unauthorized when none can be obtained."""
        ...

    def invalidate(self, used: Credential) -> None:
        """Report that the server refused ``used``: the next ``get`` tries to renew it."""
        ...


class StaticCredential:
    """A credential that never changes."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def get(self) -> Credential:
        return self._credential

    def invalidate(self, used: Credential) -> None:
        """Do nothing: a static credential cannot be renewed."""


class RenewingCredential:
    """A credential that is renewed; ``load`` fetches a new one and raises KubeError or OSError on failure."""

    def __init__(self, load: _Load, lifetime: float | None, now: Callable[[], float]) -> None:
        self._load = load
        self._lifetime = lifetime
        self._now = now
        self._lock = asyncio.Lock()
        self._current: Credential | None = None
        self._renew_at = self._not_before = float("-inf")

    async def get(self) -> Credential:
        if self._current and self._now() < self._renew_at:
            return self._current
        async with self._lock:
            if self._current and self._now() < self._renew_at:
                return self._current
            try:
                fresh = await self._load()
            except (KubeError, OSError) as problem:
                if self._current is None:
                    raise Unauthorized(f"no credentials for the API server: {problem}") from problem
                _LOG.warning("cannot renew the API server credentials, still using the old ones: %s", problem)
                self._renew_at = self._not_before = self._now() + RETRY_SECONDS
                return self._current
            self._current, self._renew_at = fresh, self._find_next_renewal(fresh)
            return fresh

    def invalidate(self, used: Credential) -> None:
        if used is self._current:
            self._renew_at = self._not_before

    def _find_next_renewal(self, fresh: Credential) -> float:
        ends = [self._now() + self._lifetime] if self._lifetime is not None else []
        if fresh.expires is not None:
            # Do not run the plugin for every request if its credentials are about to expire.
            ends.append(max(fresh.expires - EXPIRY_SKEW_SECONDS, self._now() + 1.0))
        return min(ends, default=float("inf"))


class _Load(Protocol):
    async def __call__(self) -> Credential: ...


def build_file_credential(path: Path, now: Callable[[], float] = time.monotonic) -> RenewingCredential:
    """Build the credential in a token file, read again every minute and after a 401. An empty file is unreadable."""

    async def load() -> Credential:
        token = _read_small(path).strip()
        if not token:
            raise Unauthorized(f"the token file {path} is empty")
        return Credential(authorization=f"Bearer {token}")

    return RenewingCredential(load, FILE_SECONDS, now)


def _read_small(path: Path) -> str:
    return path.read_text()


@dataclass(frozen=True)
class ExecPlugin:
    """The ``exec`` part of a kubeconfig user. ``cluster`` is passed on when ``provideClusterInfo`` is set.

    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
    """

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    api_version: str
    install_hint: str = ""
    cluster: Mapping[str, object] | None = None

    def build_info(self) -> str:
        """Build the value of KUBERNETES_EXEC_INFO."""
        spec: dict[str, object] = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = dict(self.cluster)
        return json.dumps({"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec})

    async def run(self) -> Credential:
        """Run the plugin once. Raises ConfigError or Unauthorized; never shows what it printed on stdout."""
        env = {**os.environ, **self.env, "KUBERNETES_EXEC_INFO": self.build_info()}
        try:
            process = await asyncio.create_subprocess_exec(
                self.command, *self.args, env=env,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
        except OSError as problem:
            hint = f" {self.install_hint}" if self.install_hint else ""
            raise ConfigError(
                f"the credential plugin {self.command!r} cannot be run: {problem.strerror}.{hint}"
            ) from None
        try:
            async with asyncio.timeout(PLUGIN_SECONDS):
                out, err = await process.communicate()
        except TimeoutError:
            raise Unauthorized(
                f"the credential plugin {self.command!r} did not finish within {PLUGIN_SECONDS:.0f} s"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            stderr_text = err.decode(errors="replace").strip()[-300:]
            raise Unauthorized(
                f"the credential plugin {self.command!r} failed with exit code {process.returncode}: {stderr_text}"
            )
        return self._read(out)

    def _read(self, out: bytes) -> Credential:
        try:
            answer = json.loads(out)
            status = answer["status"]
            token, expiry = status.get("token"), status.get("expirationTimestamp")
            cert, key = status.get("clientCertificateData"), status.get("clientKeyData")
            expires = datetime.fromisoformat(expiry).timestamp() if expiry else None
            version = answer.get("apiVersion")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Unauthorized(
                f"the credential plugin {self.command!r} printed no ExecCredential with a status"
            ) from None
        if version != self.api_version:
            raise ConfigError(
                f"the credential plugin {self.command!r} returned {version}; the kubeconfig requires {self.api_version}"
            )
        if not token and not (cert and key):
            raise Unauthorized(
                f"the credential plugin {self.command!r} returned neither a token nor a certificate with its key"
            )
        return Credential(
            authorization=f"Bearer {token}" if token else "",
            certificate=(cert.encode(), key.encode()) if cert and key else None,
            expires=expires,
        )


def build_plugin_credential(plugin: ExecPlugin, now: Callable[[], float] = time.time) -> RenewingCredential:
    """Build the credential of an exec plugin, which runs at first use, before expiry and after a 401."""
    return RenewingCredential(plugin.run, None, now)


def build_bearer(token: str) -> Credential:
    """Build the credential of a bearer token; an empty one if there is no token."""
    return Credential(authorization=f"Bearer {token}" if token else "")


def build_basic(username: str, password: str) -> Credential:
    """Build the credential of HTTP basic authentication."""
    return Credential(authorization="Basic " + base64.b64encode(f"{username}:{password}".encode()).decode())
