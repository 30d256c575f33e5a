"""What can be measured of how a page looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.browser import Viewer


def find_overflow(viewer: Viewer) -> list[str]:
    """Return what makes the page wider than its window: nobody reads a page that moves sideways."""
    return list(
        viewer.script("""
        const wide = document.documentElement.clientWidth;
        if (document.scrollingElement.scrollWidth <= wide) return [];
        const name = (e) => `${e.tagName.toLowerCase()}.${e.className.baseVal ?? e.className}`;
        const past = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > wide + 1);
        return [`the page is ${document.scrollingElement.scrollWidth} px wide`, ...past.slice(0, 8).map(name)];
    """)
    )


def find_cut(viewer: Viewer, css: str) -> list[str]:
    """Return the texts there that are cut, whose end nobody sees."""
    return list(viewer.script("""
        return [...document.querySelectorAll(arguments[0])]
            .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText);
    """, css))  # fmt: skip
