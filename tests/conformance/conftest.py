"""A fresh simulated account of the cloud under test."""

from __future__ import annotations

import pytest

from conformance.bench import Bench, CloudUnderTest
from conformance.clouds import CLOUDS


@pytest.fixture
def cloud() -> str:
    """The default for tests about one cloud."""
    return "ibm"


@pytest.fixture
def under_test(cloud: str) -> CloudUnderTest:
    return CLOUDS[cloud]


@pytest.fixture
def bench(under_test: CloudUnderTest) -> Bench:
    return under_test.bench()
