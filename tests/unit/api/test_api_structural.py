"""From pydantic's schema to that of a CRD (docs/reference/kubernetes.md#crd-schemas), and each rule of the lint."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from freehold.api.schema_lint import RULES, SchemaFinding, lint
from freehold.api.structural import NotStructural, build_structural_schema, read_field_docstrings
from harness.rows import over_rows


class Leaf(BaseModel):
    """A leaf
    of two lines."""

    name: str
    """Its name."""


class Tree(BaseModel):
    children: list[Tree] = Field(default_factory=list)


class Everything(BaseModel):
    """All types that have a translation."""

    leaf: Leaf | None = None
    """The one leaf."""
    leaves: list[Leaf] = Field(default_factory=list)
    by_name: dict[str, Leaf] = Field(default_factory=dict)
    needed: str | None
    with_default: str | None = "x"
    port: int | str = 80
    choice: Literal["a"] = "a"
    above: Annotated[int, Field(gt=0)] = 1
    unique: set[str] = Field(default_factory=set)
    anything: Any = None
    free: dict[str, Any] = Field(default_factory=dict)
    tree: Tree | None = None


LEAF = {
    "description": "A leaf of two lines.",
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "description": "Its name."}},
}
ANY = {"x-kubernetes-preserve-unknown-fields": True}
ROWS: dict[str, dict[str, Any]] = {
    "leaf": {**LEAF, "description": "The one leaf."},
    "leaves": {"type": "array", "items": LEAF},
    "by_name": {"type": "object", "additionalProperties": LEAF},
    "needed": {"type": "string", "nullable": True},
    "with_default": {"type": "string", "nullable": True, "default": "x"},
    "port": {"x-kubernetes-int-or-string": True, "default": 80},
    "choice": {"type": "string", "enum": ["a"], "default": "a"},
    "above": {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "default": 1},
    "unique": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "anything": ANY,
    "free": {"type": "object", **ANY},
    "tree": {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"type": "object", **ANY}}},
    },
}


@over_rows("field", ROWS)
def test_a_type_is_translated(field: str) -> None:
    assert build_structural_schema(Everything)["properties"][field] == ROWS[field]


def test_the_translation_of_everything_passes_the_lint() -> None:
    assert lint(build_structural_schema(Everything)) == ()


class UnionOfModels(BaseModel):
    it: Leaf | Tree


class FixedTuple(BaseModel):
    it: tuple[int, str]


class FloatOrInt(BaseModel):
    it: list[float | int]


class Keys(BaseModel):
    it: dict[Annotated[str, Field(pattern="^a")], str]


REFUSED: dict[type[BaseModel], str] = {UnionOfModels: "it", FixedTuple: "it", FloatOrInt: "it[*]", Keys: "it"}


@pytest.mark.parametrize("model, path", REFUSED.items(), ids=lambda value: getattr(value, "__name__", str(value)))
def test_a_type_that_a_crd_cannot_express_is_refused_with_its_path(model: type[BaseModel], path: str) -> None:
    """An approximation would accept or refuse other objects than the type does."""
    with pytest.raises(NotStructural) as refusal:
        build_structural_schema(model)
    assert refusal.value.path == path
    assert "cannot be part of a CRD" in str(refusal.value)


class Base(BaseModel):
    a: str = ""
    """From the base."""
    b: str = ""
    """From the base."""


class Derived(Base):
    b: str = ""
    """From below."""


def test_field_docstrings_are_inherited_and_overridden() -> None:
    assert read_field_docstrings(Derived) == {"a": "From the base.", "b": "From below."}


def field(node: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"it": node}}


STRING = {"type": "string"}
FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "ref left over": ("keyword", {"type": "object", "$ref": "#/x"}),
    "anyOf left over": ("keyword", {"type": "string", "anyOf": []}),
    "uniqueItems": ("keyword", {"type": "array", "items": STRING, "uniqueItems": True}),
    "no type": ("type", {}),
    "null type": ("type", {"type": "null"}),
    "type beside int-or-string": ("type", {"type": "string", "x-kubernetes-int-or-string": True}),
    "preserve on a string": ("type", {"type": "string", **ANY}),
    "properties and values": ("properties", {"type": "object", "properties": {}, "additionalProperties": STRING}),
    "values false": ("properties", {"type": "object", "additionalProperties": False}),
    "properties of a string": ("properties", {"type": "string", "properties": {}}),
    "array without items": ("items", {"type": "array"}),
    "items of a string": ("items", {"type": "string", "items": STRING}),
    "required but unknown": ("required", {"type": "object", "required": ["x"]}),
    "exclusive bound as number": ("bounds", {"type": "integer", "exclusiveMinimum": 0}),
    "bounds crossed": ("bounds", {"type": "string", "minLength": 2, "maxLength": 1}),
    "look-ahead": ("pattern", {"type": "string", "pattern": "^(?!a)b"}),
    "back reference": ("pattern", {"type": "string", "pattern": r"^(a)\1$"}),
    "broken pattern": ("pattern", {"type": "string", "pattern": "("}),
    "empty enum": ("enum", {"type": "string", "enum": []}),
    "enum of another type": ("enum", {"type": "string", "enum": [1]}),
    "default null": ("default", {"type": "string", "default": None}),
    "default of another type": ("default", {"type": "integer", "default": True}),
    "default outside enum": ("default", {"type": "string", "enum": ["a"], "default": "b"}),
    "default against pattern": ("default", {"type": "string", "pattern": "^a", "default": "b"}),
    "list type of a string": ("list-type", {"type": "string", "x-kubernetes-list-type": "set"}),
    "unknown list type": ("list-type", {"type": "array", "items": STRING, "x-kubernetes-list-type": "bag"}),
    "map without keys": ("list-type", {"type": "array", "items": STRING, "x-kubernetes-list-type": "map"}),
    "set of objects": ("list-type", {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}),
    "key optional": (
        "list-type",
        {
            "type": "array",
            "items": {"type": "object", "properties": {"k": STRING}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
    ),
    "map type of a string": ("map-type", {"type": "string", "x-kubernetes-map-type": "atomic"}),
    "CEL without message": ("cel", {"type": "string", "x-kubernetes-validations": [{"rule": "true"}]}),
    "CEL compares objects": (
        "cel-types",
        {
            "type": "object",
            "properties": {name: {"type": "object", "properties": {"k": STRING}} for name in "ab"},
            "x-kubernetes-validations": [{"rule": "!has(self.a) || self.a == self.b", "message": "no"}],
        },
    ),
    "CEL with a reserved word": (
        "cel-names",
        {"type": "object", "x-kubernetes-validations": [{"rule": "self.namespace == ''", "message": "no"}]},
    ),
    "CEL that matches texts of a list without limit": (
        "cel-budget",
        {
            "type": "array",
            "items": {
                "type": "string",
                "x-kubernetes-validations": [{"rule": "self.matches('^a')", "message": "no"}],
            },
        },
    ),
    "empty CEL": ("cel", {"type": "string", "x-kubernetes-validations": [{"rule": " ", "message": "no"}]}),
}


@over_rows(("rule", "node"), FAULTS.values(), ids=FAULTS.keys())
def test_the_lint_finds_what_the_api_server_would_refuse(rule: str, node: dict[str, Any]) -> None:
    assert rule in {finding.rule for finding in lint(field(node)) if finding.path == "it"}


def test_every_rule_of_the_lint_is_tried() -> None:
    """A rule that finds no fault in any test may not work."""
    assert {rule for rule, _ in FAULTS.values()} == set(RULES)


def test_the_root_is_a_plain_object() -> None:
    assert {finding.rule for finding in lint({"type": "string", "nullable": True})} == {"root-object"}
    metadata = {"type": "object", "properties": {"metadata": {"type": "object", "required": []}}}
    assert lint(metadata) == (SchemaFinding("metadata", "metadata-plain", "metadata may only declare its type"),)
