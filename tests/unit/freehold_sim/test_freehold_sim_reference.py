"""docs/reference/simulator.md names every setting that somebody may look for."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from freehold_sim.ibm.settings import Assumptions, Quotas

PAGE = (Path(__file__).parents[3] / "docs/reference/simulator.md").read_text()


@pytest.mark.parametrize("settings", [Assumptions, Quotas])
def test_every_assumption_and_quota_is_on_the_page(settings: Any) -> None:
    assert [one.name for one in fields(settings) if f"`{one.name}`" not in PAGE] == []
