"""A pytest plugin for one trial: the sources are those of the copy, tests run in the given order, the first failure
is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import freehold

FOLDER = "FREEHOLD_MUTANTS_TRIAL"
COPY = "FREEHOLD_MUTANTS_COPY"
NOT_THE_COPY = 99


def pytest_configure() -> None:
    if not Path(freehold.__file__).is_relative_to(os.environ[COPY]):
        pytest.exit(f"{freehold.__file__} is not the copy that was changed", NOT_THE_COPY)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {test: place for place, test in enumerate(json.loads((_folder() / "tests.json").read_text()))}
    items.sort(key=lambda item: order.get(item.nodeid, len(order)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        (_folder() / "killer").write_text(report.nodeid)


def _folder() -> Path:
    return Path(os.environ[FOLDER])
