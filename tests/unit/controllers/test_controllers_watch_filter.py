"""The watch filter: an object passes by its label, and all do without a filter."""

from __future__ import annotations

import pytest

from freehold.controllers.watch_filter import NO_FILTER, WatchFilter
from freehold.providers.registry import EVERYTHING, Kinds
from freehold.tags.context import PROVIDERS, list_tag_resources

LABEL = "cluster.x-k8s.io/watch-filter"


@pytest.mark.parametrize(
    ("labels", "passes"), [(None, False), ({}, False), ({LABEL: "green"}, False), ({LABEL: "blue", "a": "b"}, True)]
)
def test_an_object_passes_by_its_label(labels: dict[str, str] | None, passes: bool) -> None:
    raw = {"metadata": {"name": "a", "labels": labels}}
    assert WatchFilter("blue").passes(raw) is passes
    assert NO_FILTER.passes(raw)


def test_all_kinds_are_those_of_each_provider() -> None:
    """Nothing is in the lists of all that the choice of its provider would leave out."""
    parts = [Kinds((each,)) for each in EVERYTHING.providers]
    for name in ("served", "mirrors", "referred_to", "templates", "resources"):
        assert [kind for part in parts for kind in getattr(part, name)] == list(getattr(EVERYTHING, name))
    assert {served for part in parts for served in part.metadata} == set(EVERYTHING.metadata)
    assert {kind for part in parts for kind in list_tag_resources(part)} == set(PROVIDERS)
