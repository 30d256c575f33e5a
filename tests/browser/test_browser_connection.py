"""The operator restarts under the page, and the page says so and heals by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.page_laptop import laptop

if TYPE_CHECKING:
    from harness.browser import Browser

pytestmark = pytest.mark.slow

LOST = ["net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR_CONNECTION_RESET"]
"""What the browser itself says of a server that is not there."""
ROW = ".rows > .row[data-key='AWSCluster/default/lasting']"


def test_a_page_outlives_its_operator(chromium: Browser, tmp_path: Path) -> None:
    with laptop(tmp_path) as world, chromium.viewer(LOST) as viewer:
        world.apply("lasting", network={"vpc": {"availabilityZoneUsageLimit": 1}})
        viewer.open(world.url)
        viewer.sees("Ready", f"{ROW} .cell-state")
        viewer.sees("Live", "#status")
        address = world.url
        world.stop()
        viewer.sees("Connection lost", "#banner")
        viewer.sees(r"Shown is as of \d\d:\d\d:\d\d, \d+ s old", "#banner")
        assert viewer.count(ROW) == 1, "what was seen last is still shown"
        old = viewer.text("#banner")
        viewer.until(lambda: viewer.text("#banner") != old, "the age grows")
        world.start()
        assert world.url == address, "an open page finds its server again"
        viewer.sees("Live", "#status")
        viewer.sees_no("Connection lost", "#banner")
        world.delete("lasting")
        viewer.until(lambda: viewer.count(ROW) == 0, "what happens after the restart")


def test_a_view_that_cannot_be_read_is_read_again_on_demand(chromium: Browser, tmp_path: Path) -> None:
    with laptop(tmp_path) as world, chromium.viewer([*LOST, "could not be loaded", "imported module"]) as viewer:
        viewer.open(world.url)
        viewer.sees("There are no objects", "main")
        world.stop()
        viewer.go("#/audit")  # whose module was not loaded yet
        viewer.sees("Try again", "main")
        world.start()
        viewer.sees("Live", "#status")
        viewer.until(
            lambda: viewer.count("main button") == 0 or viewer.click("main button", "Try again") is None, "a try"
        )
        viewer.sees_no("Try again", "main")
