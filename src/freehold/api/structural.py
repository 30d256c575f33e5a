"""Translation of a pydantic model to a structural schema: the subset of OpenAPI v3 that CRDs support.

The table of pydantic's output and what a CRD needs is in docs/reference/kubernetes.md#crd-schemas; the rules come
from Kubernetes' "structural schema" page and the API server's own validation. Types without an exact
translation (unions of models, tuples of fixed length, pattern properties) are refused, never approximated.
``schema_lint`` checks the result.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from freehold.api.base import ApiModel, ApiRule, build_validations
from freehold.api.patterns import TAG_CHARACTERS, TAG_KEY, TAG_VALUE, WORDS

Schema = dict[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"

_REFUSED = {
    "allOf": "several schemas for one value",
    "discriminator": "a union of models; use one object with optional members and a CEL rule",
    "if": "a conditional schema; use a CEL rule",
    "not": "a negated schema; use a CEL rule",
    "oneOf": "a union; use one object with optional members and a CEL rule",
    "patternProperties": "property names by pattern",
    "prefixItems": "a tuple of fixed length; use an object",
    "propertyNames": "constrained property names",
}
_DROPPED = frozenset({"title", "examples"})


class NotStructural(ValueError):
    """A type that a structural schema cannot express. ``path`` is the field, in JSONPath without the ``$``."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path or 'the root'} cannot be part of a CRD: {reason}")
        self.path = path
        self.reason = reason


def build_structural_schema(model: type[BaseModel]) -> Schema:
    """Build the structural schema of one model (:func:`build_structural_schemas`)."""
    (schema,) = build_structural_schemas((model,))
    return schema


@cache
def build_structural_schemas(models: tuple[type[BaseModel], ...]) -> tuple[Schema, ...]:
    """Build the structural schemas of models, with docstrings as descriptions and all references inlined.

    What several have in common is translated once. They are built once, and nobody changes them. Raises
    ``NotStructural`` naming the field that has no translation.
    """
    roots, document = models_json_schema(
        [(model, "validation") for model in models], by_alias=True, schema_generator=_DocumentedSchema
    )
    inliner = _Inliner(document.get("$defs", {}))
    return tuple(inliner.convert_node(roots[model, "validation"], path="", within=()) for model in models)


def read_field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Read the docstring below each field, from the class and its bases; the most derived class wins."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if issubclass(cls, BaseModel) and cls is not BaseModel:
            tree = _parse_classes(cls.__module__).get(cls.__qualname__) or _parse_class(cls)
            for field, text in zip(tree.body, tree.body[1:], strict=False):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                        found[name] = join_lines(doc)
    return found


@cache
def _parse_classes(module: str) -> Mapping[str, ast.ClassDef]:
    """Parse the classes of a module once: inspect would parse the whole module for each class."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


def _parse_class(cls: type[BaseModel]) -> ast.ClassDef:
    """Parse a class that is nested in another one, or in a function."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    return tree


def join_lines(text: str) -> str:
    """Join the lines of each paragraph of a docstring, for a description."""
    paragraphs = inspect.cleandoc(text).replace("``", "`").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


class _DocumentedSchema(GenerateJsonSchema):
    """The generator of pydantic, with the docstrings below the fields and the rules of the models."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        built = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        texts = read_field_docstrings(model)
        for name, field in model.model_fields.items():
            if name in texts:
                built["properties"][field.alias or name].setdefault("description", texts[name])
        if "description" in built:
            built["description"] = join_lines(built["description"])
        if issubclass(model, ApiModel) and model.RULES:
            built |= build_validations(*(rule for rule in model.RULES if not rule.of))
            for of in {rule.of for rule in model.RULES if rule.of}:
                built["properties"][of] |= build_validations(*(rule for rule in model.RULES if rule.of == of))
        return built


class _Inliner:
    """A converter of pydantic's JSON schema to a structural schema, node by node."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def convert_node(self, source: Schema, path: str, within: tuple[str, ...], required: bool = False) -> Schema:
        """Convert one node with its descendants; ``within`` names the models being inlined, to detect recursion."""
        source, within = self._dereference(source, within)
        if within and within[-1] in within[:-1]:
            return _add_description(source, {"type": "object", PRESERVE: True})
        if "anyOf" in source:
            return self._convert_any_of(source, path, within, required)
        for keyword, reason in _REFUSED.items():
            if keyword in source:
                raise NotStructural(path, reason)
        target = {key: value for key, value in source.items() if key not in _DROPPED}
        _convert_constants(target)
        _convert_bounds(target)
        _drop_empty_defaults(target)
        _convert_sets(target)
        _convert_tag_pattern(target)
        self._convert_children(target, path, within)
        if "type" not in target and INT_OR_STRING not in target:
            target[PRESERVE] = True
        return target

    def _dereference(self, source: Schema, within: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        while "$ref" in source:
            name = source["$ref"].rsplit("/", 1)[-1]
            own = {key: value for key, value in source.items() if key != "$ref"}
            source, within = {**self._definitions[name], **own}, (*within, name)
        return source, within

    def _convert_any_of(self, source: Schema, path: str, within: tuple[str, ...], required: bool) -> Schema:
        """Convert ``T | None`` to an optional ``T``, ``int | str`` to int-or-string. Other unions are refused."""
        branches = [branch for branch in source["anyOf"] if branch.get("type") != "null"]
        rest = {key: value for key, value in source.items() if key != "anyOf"}
        if {str(branch.get("type")) for branch in branches} == {"integer", "string"} and len(branches) == 2:
            target = {key: value for key, value in rest.items() if key not in _DROPPED}
            _drop_empty_defaults(target)
            target[INT_OR_STRING] = True
        elif len(branches) == 1:
            target = self.convert_node({**branches[0], **rest}, path, within)
        else:
            raise NotStructural(path, "a union of types; use one object with optional members and a CEL rule")
        if len(branches) < len(source["anyOf"]) and (required or "default" in target):
            target["nullable"] = True
        return target

    def _convert_children(self, target: Schema, path: str, within: tuple[str, ...]) -> None:
        required = set(target.get("required", ()))
        if "properties" in target:
            target["properties"] = {
                name: self.convert_node(child, f"{path}.{name}" if path else name, within, name in required)
                for name, child in target["properties"].items()
            }
        if "items" in target:
            target["items"] = self.convert_node(target["items"], f"{path}[*]", within, required=True)
        values = target.pop("additionalProperties", None)
        if isinstance(values, dict) and values:
            target["additionalProperties"] = self.convert_node(values, f"{path}.*", within, required=True)
        elif "properties" not in target and values in (True, {}):
            target[PRESERVE] = True


def _add_description(source: Schema, target: Schema) -> Schema:
    return {"description": source["description"], **target} if "description" in source else target


def _convert_constants(target: Schema) -> None:
    """Convert ``const`` to an enum with one value; an enum needs a type."""
    if "const" in target:
        target["enum"] = [target.pop("const")]
    if "enum" in target and "type" not in target:
        kinds = {str: "string", bool: "boolean", int: "integer"}
        (target["type"],) = {kinds[type(value)] for value in target["enum"]}


def _convert_bounds(target: Schema) -> None:
    """Convert exclusive bounds: OpenAPI v3.0 has a flag next to the bound."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if exclusive in target:
            target[bound] = target[exclusive]
            target[exclusive] = True


def _drop_empty_defaults(target: Schema) -> None:
    """Drop null and empty defaults: an optional field without a value is absent."""
    if "default" in target and target["default"] in (None, [], {}, ()):
        del target["default"]


def _convert_sets(target: Schema) -> None:
    """Convert ``uniqueItems``, which is forbidden (its check is quadratic), to a list type."""
    if target.pop("uniqueItems", False):
        target["x-kubernetes-list-type"] = "set"


def _convert_tag_pattern(target: Schema) -> None:
    """Convert a pattern of tags to a rule that names the wrong character; of a pattern, kubectl prints the pattern."""
    pattern = target.get("pattern")
    if pattern in (TAG_KEY, TAG_VALUE):
        del target["pattern"]
        found = f"self.find('{TAG_CHARACTERS}')"
        wrong = f"""({found} == '' ? " is not allowed: " : " has '" + {found} + "' in it: ")"""
        told = f"""\"'\" + self + \"'\" + {wrong} + \"{WORDS[pattern]}\""""
        target |= build_validations(ApiRule(f"size(self) == 0 || self.matches('{pattern}')", WORDS[pattern], told=told))
