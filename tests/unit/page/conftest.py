"""One world for all tests of the page's content, as it takes seconds to run. No test changes it."""

from __future__ import annotations

import pytest

from harness.page_world import PageWorld, build_world


@pytest.fixture(scope="session")
def page_world() -> PageWorld:
    return build_world()
