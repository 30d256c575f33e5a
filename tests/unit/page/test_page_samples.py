"""The samples of the page's JSON are what the page would send of the simulated objects today."""

from __future__ import annotations

from harness.page_world import SAMPLES, PageWorld, build_samples, format_sample


def test_samples_are_current(page_world: PageWorld) -> None:
    """Otherwise: python -m harness.page_world, in tests."""
    found = {name: format_sample(content) for name, content in build_samples(page_world).items()}
    assert {name: (SAMPLES / f"{name}.json").read_text() for name in found} == found
