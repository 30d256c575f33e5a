"""Each view for each person: light and dark, narrow and wide, large text, on paper, read out, without a mouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_looks import find_cut, find_overflow

from harness.page_samples import VIEWS, served_samples

if TYPE_CHECKING:
    from harness.browser import Browser, Viewer

pytestmark = pytest.mark.slow

TAB, ENTER, DOWN, END = "\ue004", "\ue007", "\ue015", "\ue010"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served_samples(more=50) as served:
        yield served


def show(viewer: Viewer, url: str, view: str) -> None:
    viewer.open(url)
    viewer.go(VIEWS[view])
    viewer.settled()


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_keeps_anybody_from_a_view(viewer: Viewer, url: str, axe: str, view: str) -> None:
    """Contrast differs between light and dark, and what is folded away between narrow and wide."""
    show(viewer, url, view)
    found = {}
    for scheme in ("light", "dark"):
        for width in (1280, 360):
            viewer.prefer(scheme)
            viewer.resize(width, 800)
            viewer.settled()
            found[scheme, width] = viewer.find_barriers(axe)
    assert [*found.values()] == [[]] * 4, found


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_moves_sideways(viewer: Viewer, url: str, view: str) -> None:
    show(viewer, url, view)
    found = {}
    for width in (360, 768, 1280, 2560):
        viewer.resize(width, 800)
        viewer.settled()
        found[width] = find_overflow(viewer)
    assert [*found.values()] == [[]] * 4, found


def test_a_state_is_a_whole_word(viewer: Viewer, url: str) -> None:
    show(viewer, url, "objects")
    for width in (360, 900, 1280, 2560):
        viewer.resize(width, 800)
        viewer.settled()
        assert find_cut(viewer, ".cell-state") == []


def test_text_of_twice_the_size_is_read_without_moving_sideways(url: str, tmp_path: Path) -> None:
    """The person's own setting: a page that fixes its sizes in pixels would not follow it."""
    from harness.browser import browser

    with browser(tmp_path, font_size=32) as large, large.viewer() as viewer:
        for view in VIEWS:
            show(viewer, url, view)
            assert viewer.script("return parseFloat(getComputedStyle(document.body).fontSize)") >= 26
            assert find_overflow(viewer) == [], view
            assert find_cut(viewer, ".cell-state, nav a, button") == [], view


def test_all_rows_are_printed(chromium: Browser) -> None:
    """On the screen only those near the window are there."""
    with served_samples(more=300) as url, chromium.viewer() as viewer:
        show(viewer, url, "objects")
        viewer.script("document.querySelector('.rows').scrollIntoView()")
        viewer.until(lambda: 0 < viewer.count(".rows > .row") < 100, "some rows")
        viewer.script(
            "addEventListener('beforeprint', () => (window.printed = document.querySelectorAll('.rows > .row').length))"
        )
        pages = viewer.print_to_pdf().count(b"/Type /Page\n")
        everything = viewer.script("return Number(document.querySelector('[aria-rowcount]').ariaRowCount) - 1")
        assert viewer.script("return window.printed") == everything > 300 and pages > 2
        viewer.until(lambda: 0 < viewer.count(".rows > .row") < 100, "some rows again")


def test_somebody_without_a_mouse_comes_from_the_list_to_a_deletion_plan(viewer: Viewer, url: str) -> None:
    show(viewer, url, "objects")
    viewer.press(TAB)
    assert "Skip to the content" in viewer.focused()
    viewer.press(ENTER)
    assert viewer.focused().startswith("main")
    press_until(viewer, TAB, ".rows a")
    viewer.press(DOWN, DOWN)
    key = viewer.script("return document.activeElement.closest('.row').dataset.key")
    assert viewer.script("const s = getComputedStyle(document.activeElement); return s.outlineStyle") != "none"
    viewer.press(ENTER)
    viewer.settled()
    viewer.until(lambda: "#/object/" in viewer.url, "the object's route")
    assert key.split("/")[0] in viewer.url
    press_until(viewer, TAB, "main a[href$='/deletion']")
    viewer.press(ENTER)
    viewer.until(lambda: viewer.url.endswith("/deletion"), "the deletion's route")
    viewer.settled()


def test_the_list_is_filtered_and_ordered_from_the_keyboard(viewer: Viewer, url: str) -> None:
    show(viewer, url, "objects")
    viewer.press("/", *"paused")
    viewer.sees(r"\b[1-9] of \d+ objects", ".objects")
    assert "q=paused" in viewer.url, "a filter can be sent to somebody else"


def press_until(viewer: Viewer, key: str, css: str) -> None:
    """Press a key until the focus is there: each step on the way is one that a person has to take too."""
    for _ in range(60):
        viewer.press(key)
        if viewer.script("return document.activeElement.matches(arguments[0])", css):
            return
    raise AssertionError(f"the focus does not reach {css}; it is on {viewer.focused()}")
