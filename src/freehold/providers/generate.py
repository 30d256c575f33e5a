"""The CRDs in ``deploy/crds`` and pages of docs: generated from the types, or with ``--check`` compared with them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

from freehold.api.crd import custom_resource_definition
from freehold.providers import field_tables
from freehold.providers.crds import SERVED

DIRECTORY = Path("deploy/crds")
DOCS = Path("docs/reference")
_HEADER = "# Generated from the types in src/freehold by `make crds`. Do not edit.\n"


class _PlainDumper(yaml.SafeDumper):
    """Block YAML without anchors: a schema used in two places is written twice, as kubectl requires."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def rendered() -> dict[str, str]:
    """File name -> content of every generated CRD; deterministic."""
    return {
        f"{served.group}_{served.plural}.yaml": _HEADER
        + yaml.dump(
            custom_resource_definition(served),
            Dumper=_PlainDumper,
            sort_keys=True,
            width=110,
            allow_unicode=True,
            default_flow_style=False,
        )
        for served in SERVED
    }


def stale(directory: Path) -> tuple[str, ...]:
    """Sorted names of files that are missing, differ from the generated content, or belong to no kind."""
    wanted = rendered()
    present = {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.yaml")}
    return tuple(sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)))


def write(directory: Path) -> None:
    """Writes every CRD and removes files that belong to no kind."""
    directory.mkdir(parents=True, exist_ok=True)
    wanted = rendered()
    for path in directory.glob("*.yaml"):
        if path.name not in wanted:
            path.unlink()
    for name, content in wanted.items():
        (directory / name).write_text(content, encoding="utf-8")


def stale_pages(directory: Path) -> tuple[str, ...]:
    """Sorted names of generated pages that are missing or differ. Other pages are written by hand."""
    wanted = field_tables.rendered()
    present = {name: (directory / name).read_text(encoding="utf-8") for name in wanted if (directory / name).exists()}
    return tuple(sorted(name for name in wanted if wanted[name] != present.get(name)))


def write_pages(directory: Path) -> None:
    """Writes every generated page."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in field_tables.rendered().items():
        (directory / name).write_text(content, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 on success, 1 when ``--check`` finds a stale file."""
    parser = argparse.ArgumentParser(prog="python -m freehold.providers.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where the CRDs are (default: %(default)s)")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the pages are (default: %(default)s)")
    options = parser.parse_args(arguments)
    if not options.check:
        write(options.directory)
        write_pages(options.docs)
        return 0
    paths = [options.directory / name for name in stale(options.directory)]
    paths += [options.docs / name for name in stale_pages(options.docs)]
    for path in paths:
        print(f"{path} is out of date; run `make crds`", file=sys.stderr)
    return 1 if paths else 0


if __name__ == "__main__":
    raise SystemExit(main())
