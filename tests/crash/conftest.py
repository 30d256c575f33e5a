"""``--continue``: the whole families in several runs."""

from __future__ import annotations

import pytest

from lab.finished import Finished, of_this_state


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--continue",
        dest="continue_families",
        action="store_true",
        help="leave out the families that have passed in this state of the sources (.cache/crash)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("continue_families", default=False):
        worker = hasattr(config, "workerinput")
        config.pluginmanager.register(Finished(of_this_state(), notes=not worker))
