"""The list of served fields speaks for every field of the schema, and finds what an object sets."""

from __future__ import annotations

from typing import Any

import pytest

from freehold.api.crd import build_crd
from freehold.api.schema_lint import walk
from freehold.api.served_fields import ServedField, Serving, find_covering, find_occurrences
from freehold.api.served_kind import ServedKind
from freehold.providers.aws.cluster.types.crd import AWS_CLUSTERS
from freehold.providers.aws.control_plane.types.crd import AWS_MANAGED_CONTROL_PLANES
from freehold.providers.aws.machine.types.crd import AWS_MACHINES
from freehold.providers.generate import TABLES, render_pages
from harness.schemas import schema_of

KINDS = pytest.mark.parametrize(
    "kind", [AWS_CLUSTERS, AWS_MACHINES, AWS_MANAGED_CONTROL_PLANES], ids=lambda kind: kind.kind
)
ASKED_FOR_BY_AN_EMPTY_OBJECT = {"AWSCluster": ["spec.network.vpc.ipv6"]}


def leaves(kind: ServedKind = AWS_CLUSTERS) -> list[str]:
    """Every field of the spec that has no fields below it, and those which an empty object asks for.

    A list or map of texts is one field.
    """
    paths = [path for path, _ in walk(schema_of(build_crd(kind)))]
    fields = [path for path in paths if path.startswith("spec.") and not path.endswith(("[*]", ".*"))]
    above = {path.rpartition(".")[0].removesuffix("[*]") for path in fields}
    return [path for path in fields if path not in above] + ASKED_FOR_BY_AN_EMPTY_OBJECT.get(kind.kind, [])


@KINDS
def test_every_field_of_the_schema_is_spoken_for(kind: ServedKind) -> None:
    """A field that nobody thought of would be accepted, kept, and silently not acted on."""
    assert [path for path in leaves(kind) if find_covering(kind.name.fields, path) is None] == []


@KINDS
def test_every_entry_is_a_field_of_the_schema_and_there_once(kind: ServedKind) -> None:
    paths = [path for path, _ in walk(schema_of(build_crd(kind)))]
    every = (*kind.name.fields, *kind.name.left_out)
    assert [field.path for field in every if field.path not in paths] == []
    assert len({field.path for field in every}) == len(every)


@KINDS
def test_what_is_not_acted_on_says_why(kind: ServedKind) -> None:
    every = (*kind.name.fields, *kind.name.left_out)
    assert [field.path for field in every if not (field.serving is Serving.SERVED or field.sentence)] == []


def test_the_nearest_entry_speaks() -> None:
    fields = (ServedField("spec.a"), ServedField("spec.a.b", Serving.IGNORED), ServedField("spec.ab"))
    found = [find_covering(fields, path) for path in ("spec.a.c", "spec.a.b", "spec.a[*].b", "spec.ab", "spec.x")]
    assert [field and field.path for field in found] == ["spec.a", "spec.a.b", "spec.a", "spec.ab", None]


OCCURRENCES: dict[str, tuple[Any, str, list[str]]] = {
    "a field": ({"spec": {"a": 1}}, "spec.a", ["spec.a"]),
    "in each item": ({"spec": {"l": [{"a": 1}, {}, {"a": 2}]}}, "spec.l[*].a", ["spec.l[0].a", "spec.l[2].a"]),
    "an object": ({"spec": {"a": {"b": 1}}}, "spec.a", ["spec.a"]),
    "empty values say nothing": ({"spec": {"l": [{"a": v} for v in ("", [], {}, None, False)]}}, "spec.l[*].a", []),
    "not there": ({"spec": {}}, "spec.a.b[*].c", []),
    "of another type": ({"spec": {"a": "text"}}, "spec.a[*].b", []),
}  # fmt: skip


@pytest.mark.parametrize(("value", "path", "found"), OCCURRENCES.values(), ids=OCCURRENCES.keys())
def test_what_an_object_sets_is_found(value: Any, path: str, found: list[str]) -> None:
    assert [at for at, _ in find_occurrences(value, path)] == found


def test_a_page_has_a_row_for_each_entry() -> None:
    for file, page in render_pages().items():
        spec, _, status = page.partition("## Status\n")
        rows = [line for line in spec.splitlines() if line.startswith("| `")]
        assert [row.split("`")[1] for row in rows] == [field.path for field in TABLES[file].fields]
        told = [line.strip("| ").split(" | ") for line in status.splitlines() if line.startswith("| `")]
        left_out = [(path, why) for paths, why in told for path in paths.replace("`", "").split(", ")]
        assert sorted(left_out) == sorted((field.path, field.sentence) for field in TABLES[file].left_out)
