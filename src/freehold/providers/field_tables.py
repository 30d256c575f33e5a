"""Pages of docs about the fields of a kind, generated from its list of served fields."""

from __future__ import annotations

from collections.abc import Sequence

from freehold.api.served import ServedName
from freehold.api.served_fields import ServedField
from freehold.providers.registry import SERVED

TABLES: dict[str, ServedName] = {f"{each.kind.lower()}-fields.md": each for each in SERVED if each.fields}
"""File name -> the kind that it is about."""

_INTRODUCTION = """\
# The fields of {kind}
Generated from `{kind}`'s list of served fields by `make crds`. Do not edit.

Every field of upstream's {version} is accepted and kept. A row speaks for the fields below it too, unless they have a
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


def rendered() -> dict[str, str]:
    """File name -> content; deterministic."""
    return {file: _page(served) for file, served in TABLES.items()}


def _page(served: ServedName) -> str:
    rows = (f"| `{field.path}` | {field.serving.value} | {field.sentence} |\n" for field in served.fields)
    return _INTRODUCTION.format(kind=served.kind, version=served.version) + "".join(rows) + _status(served.left_out)


def _status(left_out: Sequence[ServedField]) -> str:
    """One row for each reason."""
    fields: dict[str, list[str]] = {}
    for field in left_out:
        fields.setdefault(field.sentence, []).append(f"`{field.path}`")
    return _STATUS + "".join(f"| {', '.join(paths)} | {why} |\n" for why, paths in fields.items())
