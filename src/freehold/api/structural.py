"""Translates a pydantic model to a structural schema: the subset of OpenAPI v3 that CRDs support.

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
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from freehold.api.base import ApiModel, Rule, checked
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


def structural(model: type[BaseModel]) -> Schema:
    """The structural schema of a model, with docstrings as descriptions and all references inlined.

    Raises ``NotStructural`` naming the field that has no translation.
    """
    document = model.model_json_schema(by_alias=True, mode="validation", schema_generator=_Documented)
    definitions = document.pop("$defs", {})
    return _Inliner(definitions).node(document, path="", within=())


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Field name -> the docstring below it, from the class and its bases; the most derived class wins."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if issubclass(cls, BaseModel) and cls is not BaseModel:
            tree = _classes(cls.__module__).get(cls.__qualname__) or _parsed(cls)
            for field, text in zip(tree.body, tree.body[1:], strict=False):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                        found[name] = one_line(doc)
    return found


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    """The classes of a module, parsed once: to find one class in it, inspect reads all of it, as often as asked."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


def _parsed(cls: type[BaseModel]) -> ast.ClassDef:
    """Of a class within another one, or within a function."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    return tree


def one_line(text: str) -> str:
    """A docstring as a description: paragraphs are kept, lines within a paragraph are joined."""
    paragraphs = inspect.cleandoc(text).replace("``", "`").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


class _Documented(GenerateJsonSchema):
    """pydantic's generator, plus the docstrings below the fields and the rules of the models."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        built = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        texts = field_docstrings(model)
        for name, field in model.model_fields.items():
            if name in texts:
                built["properties"][field.alias or name].setdefault("description", texts[name])
        if "description" in built:
            built["description"] = one_line(built["description"])
        if issubclass(model, ApiModel) and model.RULES:
            built |= checked(*(rule for rule in model.RULES if not rule.of))
            for of in {rule.of for rule in model.RULES if rule.of}:
                built["properties"][of] |= checked(*(rule for rule in model.RULES if rule.of == of))
        return built


class _Inliner:
    """Converts pydantic's JSON schema to a structural schema, node by node."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def node(self, source: Schema, path: str, within: tuple[str, ...], required: bool = False) -> Schema:
        """Convert one node with its descendants; ``within`` names the models being inlined, to detect recursion."""
        source, within = self._dereference(source, within)
        if within and within[-1] in within[:-1]:
            return _described(source, {"type": "object", PRESERVE: True})
        if "anyOf" in source:
            return self._any_of(source, path, within, required)
        for keyword, reason in _REFUSED.items():
            if keyword in source:
                raise NotStructural(path, reason)
        target = {key: value for key, value in source.items() if key not in _DROPPED}
        _constants(target)
        _bounds(target)
        _defaults(target)
        _sets(target)
        _characters(target)
        self._children(target, path, within)
        if "type" not in target and INT_OR_STRING not in target:
            target[PRESERVE] = True
        return target

    def _dereference(self, source: Schema, within: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        while "$ref" in source:
            name = source["$ref"].rsplit("/", 1)[-1]
            own = {key: value for key, value in source.items() if key != "$ref"}
            source, within = {**self._definitions[name], **own}, (*within, name)
        return source, within

    def _any_of(self, source: Schema, path: str, within: tuple[str, ...], required: bool) -> Schema:
        """``T | None`` becomes an optional ``T``; ``int | str`` becomes int-or-string; other unions are refused."""
        branches = [branch for branch in source["anyOf"] if branch.get("type") != "null"]
        rest = {key: value for key, value in source.items() if key != "anyOf"}
        if {str(branch.get("type")) for branch in branches} == {"integer", "string"} and len(branches) == 2:
            target = {key: value for key, value in rest.items() if key not in _DROPPED}
            _defaults(target)
            target[INT_OR_STRING] = True
        elif len(branches) == 1:
            target = self.node({**branches[0], **rest}, path, within)
        else:
            raise NotStructural(path, "a union of types; use one object with optional members and a CEL rule")
        if len(branches) < len(source["anyOf"]) and (required or "default" in target):
            target["nullable"] = True
        return target

    def _children(self, target: Schema, path: str, within: tuple[str, ...]) -> None:
        required = set(target.get("required", ()))
        if "properties" in target:
            target["properties"] = {
                name: self.node(child, f"{path}.{name}" if path else name, within, name in required)
                for name, child in target["properties"].items()
            }
        if "items" in target:
            target["items"] = self.node(target["items"], f"{path}[*]", within, required=True)
        values = target.pop("additionalProperties", None)
        if isinstance(values, dict) and values:
            target["additionalProperties"] = self.node(values, f"{path}.*", within, required=True)
        elif "properties" not in target and values in (True, {}):
            target[PRESERVE] = True


def _described(source: Schema, target: Schema) -> Schema:
    return {"description": source["description"], **target} if "description" in source else target


def _constants(target: Schema) -> None:
    """``const`` becomes an enum with one value; an enum needs a type."""
    if "const" in target:
        target["enum"] = [target.pop("const")]
    if "enum" in target and "type" not in target:
        kinds = {str: "string", bool: "boolean", int: "integer"}
        (target["type"],) = {kinds[type(value)] for value in target["enum"]}


def _bounds(target: Schema) -> None:
    """OpenAPI v3.0 expresses exclusive bounds as a flag next to the bound."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if exclusive in target:
            target[bound] = target[exclusive]
            target[exclusive] = True


def _defaults(target: Schema) -> None:
    """Drop null and empty defaults: an optional field without a value is absent."""
    if "default" in target and target["default"] in (None, [], {}, ()):
        del target["default"]


def _sets(target: Schema) -> None:
    """``uniqueItems`` is forbidden (its check is quadratic); sets use a list type."""
    if target.pop("uniqueItems", False):
        target["x-kubernetes-list-type"] = "set"


def _characters(target: Schema) -> None:
    """A pattern of tags becomes a rule that names the wrong character: of a pattern, kubectl prints the pattern."""
    pattern = target.get("pattern")
    if pattern in (TAG_KEY, TAG_VALUE):
        del target["pattern"]
        found = f"self.find('{TAG_CHARACTERS}')"
        wrong = f"""({found} == '' ? " is not allowed: " : " has '" + {found} + "' in it: ")"""
        told = f"""\"'\" + self + \"'\" + {wrong} + \"{WORDS[pattern]}\""""
        target |= checked(Rule(f"size(self) == 0 || self.matches('{pattern}')", WORDS[pattern], told=told))
