"""Pictures of each view of the live page, to be looked at: narrow, usual and wide, light and dark.

``python -m harness.screenshots [FOLDER]`` (make screenshots).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.browser import Viewer, browser
from harness.page_samples import VIEWS, served_samples
from harness.source_state import ROOT

FOLDER = ROOT / ".cache/screenshots"
WIDTHS = {360: 780, 1280: 800, 2560: 1440}


def take_pictures(viewer: Viewer, url: str, folder: Path) -> Iterator[Path]:
    """Take a picture of each view in each size and colour."""
    for scheme in ("light", "dark"):
        viewer.prefer(scheme)
        for width, height in WIDTHS.items():
            viewer.resize(width, height)
            for name, route in VIEWS.items():
                viewer.open(url)
                viewer.go(route)
                viewer.settled()
                path = folder / f"{name}-{width}-{scheme}.png"
                path.write_bytes(viewer.picture(whole=True))
                yield path


def main(folder: Path) -> None:
    """Take all pictures of the fixture's world, which stands still."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as profile,
        served_samples(more=25) as url,
        browser(Path(profile)) as started,
        started.viewer() as viewer,
    ):
        for path in take_pictures(viewer, url, folder):
            print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
