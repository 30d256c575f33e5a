"""Fixtures for every test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_proxy_to_this_machine() -> Iterator[None]:
    """Behind a company's proxy, requests uses it even for 127.0.0.1, where all servers of the tests are."""
    given = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", ",".join(filter(None, (given, "127.0.0.1", "localhost"))))
        yield
