"""Label selectors, as Kubernetes reads them."""

from __future__ import annotations

import pytest

from freehold.collection.selector import Selector, parse
from harness.rows import over_rows

LABELS = {"team": "red", "env": "test", "size": "3", "example.com/keep": ""}


@over_rows(
    ("text", "selects"),
    [
        ("team=red", True),
        ("team==blue", False),
        ("team != red", False),
        ("none!=red", True),
        ("env in (test, dev),team=red", True),
        ("env notin (test)", False),
        ("none notin (test)", True),
        ("none in (,test)", False),
        ("example.com/keep in (,x)", True),
        ("example.com/keep", True),
        ("!example.com/keep", False),
        ("! none, team", True),
        ("size>2,size<4", True),
        ("size > 3", False),
        ("team>2", False),
    ],
)
def test_all_requirements_must_hold(text: str, selects: bool) -> None:
    assert Selector(text).matches(LABELS) is selects


def test_an_empty_selector_is_none() -> None:
    assert parse("  ") is None
    assert parse(" team=red ") == Selector("team=red")


@pytest.mark.parametrize(
    "text",
    ["team=red blue", "team in red", "team in ()x", ",", "team=red,", "=red", "a/b/c", "team=" + "x" * 64, "(a)"],
)
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no label requirement; write for example team=red"):
        parse(text)
