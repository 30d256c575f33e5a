"""Markup, marks that turn text around and ten thousand characters, in all that somebody else may have chosen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from page_looks import find_overflow

from harness.page_samples import VIEWS, served_samples

if TYPE_CHECKING:
    from harness.browser import Viewer

pytestmark = pytest.mark.slow

INVISIBLE = "\u202e\u200b\u0007"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served_samples(spoiled=True) as served:
        yield served


@pytest.mark.parametrize("view", VIEWS)
def test_what_others_have_chosen_is_text(viewer: Viewer, url: str, view: str) -> None:
    """An image would be a request, and a handler a breach: the browser would complain of either."""
    viewer.open(url)
    viewer.go(VIEWS[view])
    viewer.settled()
    assert "<img src=x onerror=alert(1)>" in viewer.text()
    assert viewer.script("return document.querySelectorAll('img, script:not([src]), iframe, object').length") == 0
    assert not set(INVISIBLE) & set(viewer.text()), "a mark that nobody sees would make a name look like another one"
    for width in (360, 1280):
        viewer.resize(width, 800)
        viewer.settled()
        assert find_overflow(viewer) == []
        assert find_huge(viewer) == []


def find_huge(viewer: Viewer) -> list[str]:
    """Return the texts that push all others away: ten thousand characters are folded, not poured out."""
    return list(
        viewer.script("""
        const tall = (e) => e.getBoundingClientRect().height > 2000 && !e.querySelector('p, div, li, tr, td, dd');
        return [...document.querySelectorAll('main *')].filter((e) => e.checkVisibility() && tall(e))
            .map((e) => `${e.parentElement.outerHTML.slice(0, 150)} ${e.getBoundingClientRect().height}`);
    """)
    )
