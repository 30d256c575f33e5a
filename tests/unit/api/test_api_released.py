"""An object that is valid for any released version of upstream's v1beta2 is accepted, and none of its fields pruned.

The fields of the releases are data: tests/data/upstream/releases. The newest ones, whole, with their defaults, are
compared in ``test_api_superset`` and ``test_api_aws_superset``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from freehold.api.crd import SERVED, custom_resource_definition
from freehold.api.schema_lint import walk
from freehold.api.served_kind import ServedKind
from harness.schemas import AT_LEAST, AT_MOST, Schema, schema_of

RELEASES = Path(__file__).parents[2] / "data" / "upstream" / "releases"
KINDS = [each for each in SERVED if (RELEASES / f"{each.plural}.{each.version}.yaml").exists()]


def released(kind: ServedKind) -> dict[str, list[dict[str, Any]]]:
    text = (RELEASES / f"{kind.plural}.{kind.version}.yaml").read_text(encoding="utf-8")
    fields: dict[str, list[dict[str, Any]]] = yaml.safe_load(text)["fields"]
    return fields


def refused(ours: Schema, released: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Each way in which ours refuses what a release accepted, as a sentence with the field's path."""
    nodes = dict(walk(ours))
    required = {f"{path}.{name}" if path else name for path, node in nodes.items() for name in node.get("required", ())}
    for path, rows in released.items():
        if path not in nodes:
            yield f"{path}: is missing, so the API server would prune it"
            continue
        for row in rows:
            yield from (f"{path}: {said} ({row.get('in', 'all')})" for said in _narrower(nodes[path], row))
        if path in required and not all(row.get("required") for row in rows):
            yield f"{path}: is required, and optional in some release"


def _narrower(ours: Schema, row: dict[str, Any]) -> Iterator[str]:
    for keyword in ("type", "format", "pattern"):
        if keyword in ours and ours[keyword] != row.get(keyword):
            yield f"{keyword} is {ours[keyword]!r}, theirs {row.get(keyword)!r}"
    if "enum" in ours and not set(row.get("enum", ["anything"])) <= set(ours["enum"]):
        yield f"enum is {ours['enum']!r}, theirs {row.get('enum')!r}"
    for keywords, sign in ((AT_MOST, 1), (AT_LEAST, -1)):
        for keyword in keywords:
            if keyword in ours and (keyword not in row or sign * ours[keyword] > sign * row[keyword]):
                yield f"{keyword} is {ours[keyword]}, theirs {row.get(keyword)}"
