"""docs/reference/simulator.md names every setting that somebody may look for, and every field that is not served."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from freehold_sim.ibm.fields import Fields, Only
from freehold_sim.ibm.services import ROUTES
from freehold_sim.ibm.settings import Assumptions, Quotas

PAGE = (Path(__file__).parents[3] / "docs/reference/simulator.md").read_text()


@pytest.mark.parametrize("settings", [Assumptions, Quotas])
def test_every_assumption_and_quota_is_on_the_page(settings: Any) -> None:
    assert [one.name for one in fields(settings) if f"`{one.name}`" not in PAGE] == []


def _not_served(fields: Fields, inside: str = "") -> Iterator[str]:
    for name, field in fields.items():
        if isinstance(field, Only):
            yield inside + name
        elif isinstance(field, Mapping):
            yield from _not_served(field, f"{inside}{name}.")


def test_every_field_that_is_not_served_is_on_the_page() -> None:
    """By its own name, or by that of what it is in; of a VM the page says which are served."""
    words = {word.partition(":")[0] for text in re.findall(r"`([^`]+)`", PAGE) for word in (text, *text.split("."))}
    others = [route for route in ROUTES if route.operation != "power.create_pvm_instance"]
    paths = {f"{route.operation}: {path}" for route in others for path in _not_served(route.fields)}
    assert {each for each in paths if not words & set(each.partition(": ")[2].split("."))} == set()
