"""``freehold manifests``: the objects of an installation, from the table of its options."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from freehold.cli.errors import CliError
from freehold.install.options import ROWS, InstallOptions, InvalidInstallOption, Row, to_json

_DEFAULTS = InstallOptions()
_WORDS = {"true": True, "false": False}


def build_parameters() -> list[click.Parameter]:
    """Build the options of the command, one for each row of the table."""
    return [_build_option(row) for row in ROWS]


def run(clusterctl: Path | None, **given: Any) -> None:
    """Print the objects, or write the files of a provider for clusterctl."""
    options = InstallOptions(**{row.field: _convert(row, given[row.field]) for row in ROWS})
    try:
        if clusterctl is None:
            from freehold.install.manifest import render_manifest

            click.echo(render_manifest(options), nl=False)
        else:
            from freehold.install.clusterctl import write_provider

            try:
                written = write_provider(clusterctl, options)
            except OSError as problem:
                raise CliError(f"--clusterctl {clusterctl} cannot be written: {problem.strerror}") from problem
            for path in written:
                click.echo(path)
    except InvalidInstallOption as problem:
        raise click.UsageError(str(problem), click.get_current_context()) from problem


def _build_option(row: Row) -> click.Option:
    default = to_json(getattr(_DEFAULTS, row.field))
    names = [row.option, row.field]
    match row.schema.get("type"):
        case "boolean":
            return click.Option(names, default=default, help=row.help, show_default=True)
        case "integer":
            return click.Option(names, type=int, default=default, help=row.help, show_default=True)
        case "object":
            shown = ", ".join(f"{name}={value}" for name, value in default.items()) or "none"
            help_ = f"{row.help} [default: {shown}]"
            return click.Option(names, multiple=True, metavar="NAME=VALUE,…", help=help_)
        case "array":
            text = ",".join(map(str, default))
            return click.Option(names, default=text, metavar="ITEM,…", help=row.help, show_default=True)
        case _:
            return click.Option(names, default=default, help=row.help, show_default=bool(default))


def _convert(row: Row, given: Any) -> Any:
    """Convert what the command line says to the value of an option. The table says whether it can be."""
    match row.schema.get("type"):
        case "array":
            words = [each.strip() for each in given.split(",") if each.strip()]
            numbers = row.schema["items"].get("type") == "integer"
            return tuple(int(each) if numbers and each.isdecimal() else each for each in words)
        case "object":
            return {**getattr(_DEFAULTS, row.field), **dict(_parse_pairs(row, given))}
        case _:
            return given


def _parse_pairs(row: Row, given: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    """Parse NAME=VALUE,…; only where a value is any text it may have a comma, and one option has one pair."""
    names = row.schema.get("properties")
    for pair in (each.strip() for text in given for each in (text.split(",") if names is not None else [text])):
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not {row.expects}", param_hint=row.option)
        truth = names is not None and names.get(name, {}).get("type") == "boolean"
        yield name, _WORDS.get(value.lower(), value) if truth else value
