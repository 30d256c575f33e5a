"""Generator of the Helm chart, the manifest for kubectl and the files for clusterctl; ``--check`` only compares."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from freehold.install.chart import NAME, render_chart
from freehold.install.clusterctl import render_provider
from freehold.install.manifest import render_manifest
from freehold.install.options import InstallOptions

DIRECTORY: Final = Path("deploy")
MANIFEST: Final = "install.yaml"


def render_files() -> dict[str, str]:
    """Render all generated files: content by path below the directory."""
    chart = {f"chart/{NAME}/{path}": content for path, content in render_chart().items()}
    provider = {f"clusterctl/{path}": content for path, content in render_provider(InstallOptions()).items()}
    return {**chart, **provider, MANIFEST: render_manifest(InstallOptions())}


def find_stale(directory: Path, wanted: Mapping[str, str]) -> list[str]:
    """Find files that are missing, differ from ``wanted`` or belong to nothing, sorted by path."""
    present = {str(path.relative_to(directory)): path for path in _list_present(directory)}
    differing = {path for path in present if path not in wanted or wanted[path] != present[path].read_text("utf-8")}
    return sorted(differing | (wanted.keys() - present.keys()))


def write_files(directory: Path, wanted: Mapping[str, str]) -> None:
    """Write every file that is wanted, and remove those that belong to nothing."""
    for path in _list_present(directory):
        if str(path.relative_to(directory)) not in wanted:
            path.unlink()
    for name, content in wanted.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def _list_present(directory: Path) -> list[Path]:
    folders = [directory / "chart", directory / "clusterctl"]
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return found + [path for path in [directory / MANIFEST] if path.exists()]


def main(arguments: list[str] | None = None) -> int:
    """Generate or check the files. Return exit code 0, or 1 if ``--check`` finds a stale file."""
    parser = argparse.ArgumentParser(prog="python -m freehold.install.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where the files are (default: %(default)s)")
    options = parser.parse_args(arguments)
    if not options.check:
        write_files(options.directory, render_files())
        return 0
    stale = find_stale(options.directory, render_files())
    for path in stale:
        print(f"{options.directory / path} is out of date; run `make crds`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
