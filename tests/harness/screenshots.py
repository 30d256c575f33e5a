"""Pictures of each view of the live page, to be looked at: narrow, usual and wide, light and dark.

``python -m harness.screenshots [FOLDER]`` (make screenshots) takes all; ``--docs`` those of README and docs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.browser import Viewer, browser
from harness.page_samples import VIEWS, served_samples
from harness.source_state import ROOT

FOLDER = ROOT / ".cache/screenshots"
DOCS = ROOT / "docs/images"
WIDTHS = {360: 780, 1280: 800, 2560: 1440}
IN_DOCS = {"objects": ("light", 1000), "powervs": ("light", 800), "deletion": ("dark", 800)}
"""The views that are in the docs: colours, and the least height."""


def take_pictures(viewer: Viewer, url: str, folder: Path) -> Iterator[Path]:
    """Take a picture of each view in each size and colour."""
    for scheme in ("light", "dark"):
        viewer.prefer(scheme)
        for width, height in WIDTHS.items():
            viewer.resize(width, height)
            for name in VIEWS:
                yield take_picture(viewer, url, name, folder / f"{name}-{width}-{scheme}.png")


def take_pictures_of_docs(viewer: Viewer, url: str, folder: Path) -> Iterator[Path]:
    """Take those that the docs show."""
    for name, (scheme, height) in IN_DOCS.items():
        viewer.prefer(scheme)
        viewer.resize(1280, height)
        yield take_picture(viewer, url, name, folder / f"page-{name}.webp")


def take_picture(viewer: Viewer, url: str, view: str, path: Path) -> Path:
    """Take one of a view. That of the list is what the window shows: it draws no rows beyond."""
    viewer.open(url)
    viewer.go(VIEWS[view])
    viewer.settled()
    path.write_bytes(viewer.picture(path.suffix[1:], whole=view != "objects"))
    return path


def main() -> None:
    """Take the pictures that are asked for, of a world that stands still."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args()
    folder, take = (DOCS, take_pictures_of_docs) if given.docs else (given.folder, take_pictures)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as profile,
        served_samples(more=25) as url,
        browser(Path(profile)) as started,
        started.viewer() as viewer,
    ):
        viewer.hide_scroll_bars()
        for path in take(viewer, url, folder):
            print(path)


if __name__ == "__main__":
    main()
