"""Generator of the CRDs in ``deploy/crds`` and of pages of docs; with ``--check`` it only compares."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from freehold.api.served import ServedName
from freehold.api.served_fields import ServedField
from freehold.providers import registry
from freehold.providers.crds import SERVED, build_crds

DIRECTORY = Path("deploy/crds")
DOCS = Path("docs/reference")
TABLES: dict[str, ServedName] = {f"{each.kind.lower()}-fields.md": each for each in registry.SERVED if each.fields}
"""The kind of each page, by file name."""

_INTRODUCTION = """\
# The fields of {kind}
Generated from `{kind}`'s list of served fields by `make crds`. Do not edit.

{every} is accepted and kept. A row speaks for the fields below it too, unless they have a
row of their own. A field that is *not* acted on is named by `freehold plan` and in the condition `FieldsServed`; with
one that is *refused* nothing is created, since something else would come to be than was asked for, and the condition
`SpecValid` says so.

| field | acted on | |
|---|---|---|
"""

_STATUS = """
## Status
Fields of upstream's status are written as upstream writes them, but for these, which are accepted and left empty:

| field | why |
|---|---|
"""
_HEADER = "# Generated from the types of the providers by `make crds`. Do not edit.\n"


class _PlainDumper(yaml.SafeDumper):
    """A dumper of block YAML without anchors: a schema used in two places is written twice, as kubectl requires."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def render_crds() -> dict[str, str]:
    """Render every CRD: content by file name, deterministic."""
    return {
        f"{served.group}_{served.plural}.yaml": _HEADER
        + yaml.dump(
            built,
            Dumper=_PlainDumper,
            sort_keys=True,
            width=110,
            allow_unicode=True,
            default_flow_style=False,
        )
        for served, built in zip(SERVED, build_crds(), strict=True)
    }


def find_stale(directory: Path) -> tuple[str, ...]:
    """Find files that are missing, differ from the generated content, or belong to no kind; sorted names."""
    wanted = render_crds()
    present = {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.yaml")}
    return tuple(sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name)))


def write_crds(directory: Path) -> None:
    """Write every CRD and remove files that belong to no kind."""
    directory.mkdir(parents=True, exist_ok=True)
    wanted = render_crds()
    for path in directory.glob("*.yaml"):
        if path.name not in wanted:
            path.unlink()
    for name, content in wanted.items():
        (directory / name).write_text(content, encoding="utf-8")


def find_stale_pages(directory: Path) -> tuple[str, ...]:
    """Find generated pages that are missing or differ; sorted names. Other pages are written by hand."""
    wanted = render_pages()
    present = {name: (directory / name).read_text(encoding="utf-8") for name in wanted if (directory / name).exists()}
    return tuple(sorted(name for name in wanted if wanted[name] != present.get(name)))


def write_pages(directory: Path) -> None:
    """Write every generated page."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in render_pages().items():
        (directory / name).write_text(content, encoding="utf-8")


def render_pages() -> dict[str, str]:
    """Render every generated page: content by file name, deterministic."""
    return {file: _render_page(served) for file, served in TABLES.items()}


def _render_page(served: ServedName) -> str:
    rows = (f"| `{field.path}` | {field.serving.value} | {field.sentence} |\n" for field in served.fields)
    return (
        _INTRODUCTION.format(kind=served.kind, every=_name_fields(served))
        + "".join(rows)
        + _render_status(served.left_out)
    )


def _name_fields(served: ServedName) -> str:
    upstream = registry.provider_of(served).upstream
    return f"Every field of upstream's {served.version}" if upstream else f"Every field of {served.version}"


def _render_status(left_out: Sequence[ServedField]) -> str:
    """Render the fields of the status that are left out, one row for each reason; nothing if there are none."""
    if not left_out:
        return ""
    fields: dict[str, list[str]] = {}
    for field in left_out:
        fields.setdefault(field.sentence, []).append(f"`{field.path}`")
    return _STATUS + "".join(f"| {', '.join(paths)} | {why} |\n" for why, paths in fields.items())


def main(arguments: list[str] | None = None) -> int:
    """Generate or check the files. Return exit code 0, or 1 if ``--check`` finds a stale file."""
    parser = argparse.ArgumentParser(prog="python -m freehold.providers.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where the CRDs are (default: %(default)s)")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the pages are (default: %(default)s)")
    options = parser.parse_args(arguments)
    if not options.check:
        write_crds(options.directory)
        write_pages(options.docs)
        return 0
    paths = [options.directory / name for name in find_stale(options.directory)]
    paths += [options.docs / name for name in find_stale_pages(options.docs)]
    for path in paths:
        print(f"{path} is out of date; run `make crds`", file=sys.stderr)
    return 1 if paths else 0


if __name__ == "__main__":
    raise SystemExit(main())
