"""A fresh simulated account of the cloud that the test is about."""

from __future__ import annotations

import pytest

from conformance.bench import Bench, CloudUnderTest
from conformance.clouds import CLOUDS


@pytest.fixture
def cloud() -> str:
    """Of tests that are about one cloud and name none."""
    return "ibm"


@pytest.fixture
def under_test(cloud: str) -> CloudUnderTest:
    return CLOUDS[cloud]


@pytest.fixture
def bench(under_test: CloudUnderTest) -> Bench:
    return under_test.bench()
