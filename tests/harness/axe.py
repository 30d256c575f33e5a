"""axe-core, which looks for what keeps people from using a page: fetched by npm for the tests, and never shipped.

``python -m harness.axe`` fetches it (make browser).
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from harness.source_state import ROOT

VERSION = "4.14.1"
SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
"""Of ``axe.min.js``: another text is neither kept nor run."""
PLACE = ROOT / f".cache/axe-core-{VERSION}.min.js"


def read_axe(place: Path = PLACE) -> str | None:
    """Return the script, or nothing where it was never fetched."""
    if not place.exists():
        return None
    script = place.read_bytes()
    if hashlib.sha256(script).hexdigest() != SHA256:
        raise ValueError(f"{place} is not axe-core {VERSION}; remove it and run make browser")
    return script.decode()


def fetch_axe(place: Path = PLACE) -> None:
    """Put the script in its place, unless it is there."""
    if read_axe(place) is not None:
        return
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("axe-core is not fetched, as there is no npm; the tests that want it are skipped")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [npm, "pack", "--silent", f"axe-core@{VERSION}"], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        with tarfile.open(Path(folder) / f"axe-core-{VERSION}.tgz") as packed:
            member = packed.extractfile("package/axe.min.js")
            assert member is not None
            script = member.read()
    if hashlib.sha256(script).hexdigest() != SHA256:
        sys.exit(f"npm gave another axe-core {VERSION} than the one that is pinned in tests/harness/axe.py")
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(script)


if __name__ == "__main__":
    fetch_axe()
