"""Certificates in a directory that somebody else keeps, as cert-manager does by a mounted Secret."""

from __future__ import annotations

import logging
from pathlib import Path

from freehold.admission.certificates import CERTIFICATE, KEY, BrokenCertificates, Pair, check_key

_LOG = logging.getLogger(__name__)


class FileCertificates:
    """The certificate ``tls.crt`` with its key ``tls.key`` in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: Pair | None = None
        self._told = ""

    async def refresh(self) -> Pair | None:
        """Read the files again. A broken one is told, and the certificate before it is served on."""
        try:
            self._held = self.read()
            self._told = ""
        except BrokenCertificates as problem:
            if str(problem) != self._told:
                _LOG.warning("%s", problem)
                self._told = str(problem)
        return self._held

    def read(self) -> Pair:
        """Read the files. Raises BrokenCertificates."""
        try:
            pair = Pair(*((self._directory / name).read_bytes() for name in (CERTIFICATE, KEY)))
            check_key(pair)
        except OSError as problem:
            raise BrokenCertificates(f"{problem.filename} cannot be read: {problem.strerror}") from None
        except BrokenCertificates as problem:
            raise BrokenCertificates(f"the certificate in {self._directory} cannot be used: {problem}") from None
        return pair
