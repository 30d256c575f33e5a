"""The live page in a real Chromium. Where there is none, the tests say so and are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from harness.axe import read_axe

if TYPE_CHECKING:
    from harness.browser import Browser, Viewer


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests: each has windows of its own."""
    pytest.importorskip("selenium", reason="the page is not tested: selenium is not installed; run make browser")
    from harness.browser import browser, find_what_lacks

    if lacks := find_what_lacks():
        pytest.skip(f"the page is not tested: {lacks}")
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def viewer(chromium: Browser) -> Iterator[Viewer]:
    """A window for one person; the browser has nothing to complain of when it closes."""
    with chromium.viewer() as opened:
        yield opened


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that looks for barriers."""
    if (script := read_axe()) is None:
        pytest.skip("barriers are not looked for: axe-core is not fetched; make browser does it, with npm")
    return script
