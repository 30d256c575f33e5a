"""Scenarios open no socket, so the certificates that each SDK client loads (0.1 s each) are not needed."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest
from ibm_cloud_sdk_core import http_adapter


class _Untrusting(ssl.SSLContext):
    """Trusts no server: any connection that a scenario opened would fail."""

    def load_verify_locations(self, *_: object, **__: object) -> None:
        """Nothing to load."""


@pytest.fixture(scope="session", autouse=True)
def _no_certificates() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        context = _Untrusting(ssl.PROTOCOL_TLS_CLIENT)
        patch.setattr(http_adapter, "create_urllib3_context", lambda: context)
        yield
