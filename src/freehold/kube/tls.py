"""TLS context of a connection, rebuilt when a certificate on disk or the client certificate changes."""

from __future__ import annotations

import os
import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from freehold.kube.errors import ConfigError

RELOAD_SECONDS = 30.0
"""Seconds between checks of the files."""


@dataclass(frozen=True)
class TlsSettings:
    """The verification of the server, and the client certificate. Data takes precedence over files, as in kubectl.

    Without a CA the system's roots are used. ``server_name`` replaces the host name in SNI and verification.
    """

    ca_data: bytes | None = None
    ca_file: Path | None = None
    cert_data: bytes | None = None
    cert_file: Path | None = None
    key_data: bytes | None = None
    key_file: Path | None = None
    insecure: bool = False
    server_name: str = ""


class TlsContext:
    """The context of each request. aiohttp pools connections per context, so old connections drain."""

    def __init__(self, settings: TlsSettings, now: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._now = now
        self._context: ssl.SSLContext | None = None
        self._stamp: object = None
        self._certificate: tuple[bytes, bytes] | None = None
        self._looked_at = float("-inf")

    def get(self, certificate: tuple[bytes, bytes] | None) -> ssl.SSLContext:
        """Return the context; ``certificate`` (PEM, from an exec plugin) takes precedence over the one in the settings.

        Raises ConfigError naming the file that cannot be used.
        """
        due = self._now() - self._looked_at >= RELOAD_SECONDS
        if self._context is None or due or certificate is not self._certificate:
            self._looked_at = self._now()
            stamp = (self._read_file_times(), certificate)
            if self._context is None or stamp != self._stamp:
                self._context, self._stamp = self._build(certificate), stamp
            self._certificate = certificate
        return self._context

    def _read_file_times(self) -> tuple[int, ...]:
        files = (self._settings.ca_file, self._settings.cert_file, self._settings.key_file)
        try:
            return tuple(path.stat().st_mtime_ns for path in files if path)
        except OSError as problem:
            raise ConfigError(f"the TLS file {problem.filename} cannot be read: {problem.strerror}") from None

    def _build(self, certificate: tuple[bytes, bytes] | None) -> ssl.SSLContext:
        wanted = self._settings
        try:
            ca = wanted.ca_data or (wanted.ca_file.read_bytes() if wanted.ca_file else None)
            context = ssl.create_default_context(cadata=ca.decode() if ca else None)
        except (OSError, ValueError) as problem:
            raise ConfigError(f"the certificate authority of the API server cannot be used: {problem}") from None
        # As in kubectl: the authority of an EKS cluster has no key identifier, which Python 3.13 and later ask for
        # (https://github.com/kubernetes-client/python/issues/2394).
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if wanted.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        pair = certificate or self._read_own_pair()
        if pair:
            _load_pair(context, pair)
        return context

    def _read_own_pair(self) -> tuple[bytes, bytes] | None:
        wanted = self._settings
        cert = wanted.cert_data or (wanted.cert_file.read_bytes() if wanted.cert_file else None)
        key = wanted.key_data or (wanted.key_file.read_bytes() if wanted.key_file else None)
        if cert is None and key is None:
            return None
        if cert is None or key is None:
            raise ConfigError(
                "the kubeconfig user has a client certificate without its key, or a key without certificate"
            )
        return cert, key


def _load_pair(context: ssl.SSLContext, pair: tuple[bytes, bytes]) -> None:
    # The ssl module reads a key only from a path; mkstemp creates it with mode 0600, and it is removed after the call.
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(pair[0] + b"\n" + pair[1])
        context.load_cert_chain(name)
    except ssl.SSLError as problem:
        raise ConfigError(f"the client certificate or its key cannot be used: {problem.reason}") from None
    finally:
        Path(name).unlink()
