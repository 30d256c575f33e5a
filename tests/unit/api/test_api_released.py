"""An object that is valid for any released version of upstream's v1beta2 is accepted, and none of its fields pruned.

The fields of the releases are data: tests/data/upstream/releases. The newest ones, whole, with their defaults, are
compared in ``test_api_superset`` and ``test_aws_types_superset``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from freehold.api.crd import build_crd
from freehold.api.schema_lint import walk
from freehold.api.served_kind import ServedKind
from freehold.providers.crds import SERVED
from harness.schemas import AT_LEAST, AT_MOST, Schema, schema_of

RELEASES = Path(__file__).parents[2] / "data" / "upstream" / "releases"
KINDS = [each for each in SERVED if (RELEASES / f"{each.plural}.{each.version}.yaml").exists()]


def released(kind: ServedKind) -> dict[str, list[dict[str, Any]]]:
    text = (RELEASES / f"{kind.plural}.{kind.version}.yaml").read_text(encoding="utf-8")
    fields: dict[str, list[dict[str, Any]]] = yaml.safe_load(text)["fields"]
    return fields


def refused(ours: Schema, fields: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Each way in which ours refuses what a release accepted, as a sentence with the field's path.

    Of the status, which the operator writes, only what would be pruned.
    """
    nodes = dict(walk(ours))
    required = {f"{path}.{name}" for path, node in nodes.items() if path for name in node.get("required", ())}
    for path, rows in fields.items():
        if path not in nodes:
            yield f"{path}: is missing, so the API server would prune it"
        elif path.startswith("spec"):
            yield from (
                f"{path}: {said}, of {row.get('in', 'all')}" for row in rows for said in _narrower(nodes[path], row)
            )
            if path in required and not all(row.get("required") for row in rows):
                yield f"{path}: is required, and optional in a release"


def _narrower(ours: Schema, row: dict[str, Any]) -> Iterator[str]:
    """What a release had no bound for, and the newest one has, is no difference: nobody's object has more."""
    if ours.get("type") != row.get("type"):
        yield f"type is {ours.get('type')!r}, theirs {row.get('type')!r}"
    if "enum" in ours and not set(row.get("enum", ours["enum"])) <= set(ours["enum"]):
        yield f"enum is {ours['enum']!r}, theirs {row['enum']!r}"
    if "pattern" in ours and "pattern" in row and ours["pattern"] != row["pattern"]:
        yield f"pattern is {ours['pattern']!r}, theirs {row['pattern']!r}"
    if "pattern" in ours and not all(re.search(ours["pattern"], each) for each in row.get("enum", ())):
        yield f"pattern is {ours['pattern']!r}, theirs are {row['enum']!r}"
    for keywords, sign in ((AT_MOST, 1), (AT_LEAST, -1)):
        for keyword in keywords:
            if keyword in ours and keyword in row and sign * ours[keyword] > sign * row[keyword]:
                yield f"{keyword} is {ours[keyword]}, theirs {row[keyword]}"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_what_a_release_accepted_is_accepted_and_kept(kind: ServedKind) -> None:
    found = list(refused(schema_of(build_crd(kind)), released(kind)))
    assert not found, "\n" + "\n".join(found)


NEWEST_ONLY = {
    "AWSMachine", "AWSMachineTemplate", "AWSClusterTemplate", "AWSManagedControlPlane",
    "AWSManagedControlPlaneTemplate", "AWSManagedCluster", "AWSManagedClusterTemplate",
}  # fmt: skip
"""Compared with the newest release alone (test_aws_types_superset)."""


def test_every_kind_of_upstreams_is_compared() -> None:
    compared = {each.kind for each in KINDS} | NEWEST_ONLY
    assert compared == {each.kind for each in SERVED if each.version == "v1beta2"}


ONE = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}}, "required": ["a"]}
OURS = {"type": "object", "properties": {"spec": ONE}}


@pytest.mark.parametrize(
    ("path", "row", "said"),
    [
        ("spec.a", {"type": "string", "enum": ["x"], "required": True}, ""),
        ("spec.b", {"type": "string"}, "spec.b: is missing"),
        ("spec.a", {"type": "integer", "required": True}, "spec.a: type is 'string'"),
        ("spec.a", {"type": "string", "enum": ["z"], "required": True}, "spec.a: enum is"),
        ("spec.a", {"type": "string", "enum": ["x"]}, "spec.a: is required"),
        ("status.a", {"type": "string"}, "status.a: is missing"),
    ],
)
def test_the_comparison_finds_what_is_refused(path: str, row: dict[str, Any], said: str) -> None:
    found = list(refused(OURS, {path: [row]}))
    assert [each[: len(said)] for each in found] == ([said] if said else [])
